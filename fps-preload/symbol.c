/* SPDX-License-Identifier: MIT */
/*
 * Finds the real functions. Calls of dlsym() and dlvsym() from here would reach the exported hooks,
 * so the real functions are looked up in the symbol table of the C library. A function marked
 * SYMBOL_EARLY must not call an external function by name.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "fps-preload/symbol.h"

/* Relaxed atomic access is enough, because every thread finds the same values. */
static symbol_dlsym_fn libc_dlsym;
static void *next_dlsym;
static void *next_dlvsym;

/* The start of the DT_GNU_HASH section; Bloom filter, buckets and chains follow. */
struct gnu_hash {
	uint32_t buckets;
	uint32_t first_symbol;
	uint32_t bloom_words;
	uint32_t bloom_shift;
};

SYMBOL_EARLY static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/*
 * Returns the address in entry @tag of the dynamic section. Some loaders store the address relative
 * to the library; this function makes it absolute.
 */
SYMBOL_EARLY static const void *section(const struct link_map *object, long tag)
{
	for (const ElfW(Dyn) *entry = object->l_ld; entry->d_tag != DT_NULL; entry++) {
		ElfW(Addr) address = entry->d_un.d_ptr;

		if (entry->d_tag == tag)
			return (const void *)(address < object->l_addr ? address + object->l_addr
								       : address);
	}
	return NULL;
}

SYMBOL_EARLY static void *object_find(const struct link_map *object, const char *name)
{
	const struct gnu_hash *table = section(object, DT_GNU_HASH);
	const ElfW(Sym) *symbols = section(object, DT_SYMTAB);
	const char *strings = section(object, DT_STRTAB);
	const uint32_t *buckets, *chains;
	uint32_t hash = hash_of(name), i;

	if (!table || !symbols || !strings || table->buckets == 0)
		return NULL;
	buckets = (const uint32_t *)((const ElfW(Addr) *)(table + 1) + table->bloom_words);
	chains = buckets + table->buckets;
	i = buckets[hash % table->buckets];
	if (i < table->first_symbol)
		return NULL;
	for (;; i++) {
		uint32_t link = chains[i - table->first_symbol];

		if ((link | 1) == (hash | 1) && symbols[i].st_shndx != SHN_UNDEF &&
		    symbol_same(strings + symbols[i].st_name, name))
			return (void *)(object->l_addr + symbols[i].st_value);
		if (link & 1)
			return NULL;
	}
}

SYMBOL_EARLY static bool begins(const char *text, const char *start)
{
	while (*start && *text == *start) {
		text++;
		start++;
	}
	return !*start;
}

/* Returns true for libc.so.6, and for libdl.so.2, which contains dlsym() before glibc 2.34. */
SYMBOL_EARLY static bool is_c_library(const struct link_map *object)
{
	const char *name = object->l_name;

	for (const char *c = name; *c; c++)
		if (*c == '/')
			name = c + 1;
	return begins(name, "libc.so.") || begins(name, "libdl.so.");
}

/* Used in place of dlsym() if the C library is not found. */
SYMBOL_EARLY static void *find_nothing(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return NULL;
}

SYMBOL_EARLY static void *find_nothing_versioned(void *handle, const char *name,
						 const char *version)
{
	(void)version;
	return find_nothing(handle, name);
}

SYMBOL_EARLY static symbol_dlsym_fn libc_dlsym_get(void)
{
	symbol_dlsym_fn found = __atomic_load_n(&libc_dlsym, __ATOMIC_RELAXED);
	const struct link_map *object = _r_debug.r_map;

	if (found)
		return found;
	for (; object && !found; object = object->l_next)
		if (is_c_library(object))
			found = (symbol_dlsym_fn)object_find(object, "dlsym");
	if (!found)
		found = find_nothing;
	__atomic_store_n(&libc_dlsym, found, __ATOMIC_RELAXED);
	return found;
}

/*
 * Looks up @name in the libraries after this library: RTLD_NEXT means the libraries after that of
 * the caller. A hook must not tail-call this function, because the caller could then be the
 * program.
 */
SYMBOL_EARLY static void *next_find(void **found_before, const char *name, void *fallback)
{
	void *found = __atomic_load_n(found_before, __ATOMIC_RELAXED);

	if (!found) {
		found = libc_dlsym_get()(RTLD_NEXT, name);
		if (!found)
			found = fallback;
		__atomic_store_n(found_before, found, __ATOMIC_RELAXED);
	}
	return found;
}

SYMBOL_EARLY symbol_dlsym_fn symbol_dlsym(void)
{
	return (symbol_dlsym_fn)next_find(&next_dlsym, "dlsym", (void *)find_nothing);
}

SYMBOL_EARLY symbol_dlvsym_fn symbol_dlvsym(void)
{
	return (symbol_dlvsym_fn)next_find(&next_dlvsym, "dlvsym", (void *)find_nothing_versioned);
}

/* Returns DT_SONAME of the object, or NULL. */
static const char *soname_of(const struct dl_phdr_info *object)
{
	struct link_map map = {.l_addr = object->dlpi_addr};
	const char *strings;

	for (size_t i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			map.l_ld = (ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	strings = map.l_ld ? section(&map, DT_STRTAB) : NULL;
	for (const ElfW(Dyn) *entry = map.l_ld; strings && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_SONAME)
			return strings + entry->d_un.d_val;
	return NULL;
}

static int has_name(struct dl_phdr_info *object, size_t size, void *name)
{
	const char *slash = strrchr(object->dlpi_name, '/'), *soname = soname_of(object);

	(void)size;
	return strcmp(slash ? slash + 1 : object->dlpi_name, name) == 0 ||
	       (soname && strcmp(soname, name) == 0);
}

/*
 * Like dlopen() with RTLD_NOLOAD. dlopen() alone searches the file system for a library that is not
 * loaded, and a filter of system calls may end the program there.
 */
static void *find_loaded(const char *library)
{
	return dl_iterate_phdr(has_name, (void *)(uintptr_t)library)
		       ? dlopen(library, RTLD_LAZY | RTLD_NOLOAD)
		       : NULL;
}

void *symbol_find(const char *name)
{
	/*
	 * These libraries are also searched, because RTLD_NEXT does not find libraries that were
	 * loaded with RTLD_LOCAL.
	 */
	static const char *const libraries[] = {"libGL.so.1", "libGLX.so.0", "libEGL.so.1"};
	symbol_dlsym_fn find = libc_dlsym_get();
	void *found = find(RTLD_NEXT, name);

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]) && !found; i++) {
		void *library = find_loaded(libraries[i]);

		if (!library)
			continue;
		found = find(library, name);
		/* A library whose function is used stays open. */
		if (!found)
			(void)dlclose(library);
	}
	return found;
}
