/* SPDX-License-Identifier: MIT */
/*
 * A reader of ELF, of both sizes: sections, segments, dynamic symbols. Everything is read with a
 * bound into memory of ours before it is looked at. Must never follow a number out of the file
 * without asking whether it can be.
 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "monitor/bpf/symbols.h"

#define SECTIONS_MAX 4096
#define SEGMENTS_MAX 256
#define TABLE_MAX    (8u << 20) /* bytes of symbols, or of names; Mesa's largest has 2 MB */

/* The functions, as programs call them or ask a library for them. */
static const char *const functions[] = {
	"glXSwapBuffers",
	"glXSwapBuffersMscOML",
	"eglSwapBuffers",
	"eglSwapBuffersWithDamageKHR",
	"eglSwapBuffersWithDamageEXT",
	"vkQueuePresentKHR",
};
_Static_assert(ARRAY_SIZE(functions) <= FPS_BPF_SYMBOLS_MAX, "each may have a place of its own");

/* libglvnd's libGL hands this one on to libGLX, where it is met by those who call it there too. */
#define HANDED_ON    "glXSwapBuffers"
#define HANDED_ON_TO "libGLX.so."

struct elf {
	int fd;
	bool wide; /* 64 bits */
	uint64_t sections_at, segments_at;
	size_t n_sections, n_segments;
};

struct table {
	unsigned char *bytes;
	size_t size;
};

static void table_freep(struct table *table)
{
	free(table->bytes);
}

#define CLEANUP_TABLE __attribute__((cleanup(table_freep)))

static int read_at(int fd, uint64_t at, void *to, size_t size)
{
	ssize_t n = at > INT64_MAX ? 0 : pread(fd, to, size, (off_t)at);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EINVAL;
}

static int read_table(int fd, uint64_t at, uint64_t size, struct table *ret_table)
{
	CLEANUP_FREE unsigned char *bytes = NULL;
	int r;

	if (size == 0 || size > TABLE_MAX)
		return -EINVAL;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	r = read_at(fd, at, bytes, size);
	if (r < 0)
		return r;
	*ret_table = (struct table){bytes, size};
	bytes = NULL;
	return 0;
}

static int elf_open(int fd, struct elf *elf)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr narrow;
		Elf64_Ehdr wide;
	} head;
	int r = read_at(fd, 0, &head, sizeof(head));
	bool fits;

	if (r < 0)
		return r;
	if (memcmp(head.ident, ELFMAG, SELFMAG) != 0 || head.ident[EI_DATA] != ELFDATA2LSB)
		return -EINVAL;
	*elf = (struct elf){.fd = fd, .wide = head.ident[EI_CLASS] == ELFCLASS64};
	if (elf->wide) {
		elf->sections_at = head.wide.e_shoff;
		elf->n_sections = head.wide.e_shnum;
		elf->segments_at = head.wide.e_phoff;
		elf->n_segments = head.wide.e_phnum;
		fits = head.wide.e_shentsize == sizeof(Elf64_Shdr) &&
		       head.wide.e_phentsize == sizeof(Elf64_Phdr);
	} else {
		elf->sections_at = head.narrow.e_shoff;
		elf->n_sections = head.narrow.e_shnum;
		elf->segments_at = head.narrow.e_phoff;
		elf->n_segments = head.narrow.e_phnum;
		fits = head.ident[EI_CLASS] == ELFCLASS32 &&
		       head.narrow.e_shentsize == sizeof(Elf32_Shdr) &&
		       head.narrow.e_phentsize == sizeof(Elf32_Phdr);
	}
	return fits && elf->n_sections <= SECTIONS_MAX && elf->n_segments <= SEGMENTS_MAX ? 0
											  : -EINVAL;
}

/* Tables of both sizes, an entry as the wide one has it. The caller has seen that it is there. */

static Elf64_Shdr section_in(const struct elf *elf, const struct table *table, size_t i)
{
	Elf64_Shdr wide;
	Elf32_Shdr narrow;

	if (elf->wide) {
		memcpy(&wide, table->bytes + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, table->bytes + i * sizeof(narrow), sizeof(narrow));
	return (Elf64_Shdr){
		.sh_type = narrow.sh_type,
		.sh_offset = narrow.sh_offset,
		.sh_size = narrow.sh_size,
		.sh_link = narrow.sh_link,
	};
}

static Elf64_Phdr segment_in(const struct elf *elf, const struct table *table, size_t i)
{
	Elf64_Phdr wide;
	Elf32_Phdr narrow;

	if (elf->wide) {
		memcpy(&wide, table->bytes + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, table->bytes + i * sizeof(narrow), sizeof(narrow));
	return (Elf64_Phdr){
		.p_type = narrow.p_type,
		.p_flags = narrow.p_flags,
		.p_offset = narrow.p_offset,
		.p_vaddr = narrow.p_vaddr,
		.p_filesz = narrow.p_filesz,
	};
}

static Elf64_Sym symbol_in(const struct elf *elf, const struct table *table, size_t i)
{
	Elf64_Sym wide;
	Elf32_Sym narrow;

	if (elf->wide) {
		memcpy(&wide, table->bytes + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, table->bytes + i * sizeof(narrow), sizeof(narrow));
	return (Elf64_Sym){
		.st_name = narrow.st_name,
		.st_info = narrow.st_info,
		.st_shndx = narrow.st_shndx,
		.st_value = narrow.st_value,
	};
}

static Elf64_Dyn entry_in(const struct elf *elf, const struct table *table, size_t i)
{
	Elf64_Dyn wide;
	Elf32_Dyn narrow;

	if (elf->wide) {
		memcpy(&wide, table->bytes + i * sizeof(wide), sizeof(wide));
		return wide;
	}
	memcpy(&narrow, table->bytes + i * sizeof(narrow), sizeof(narrow));
	return (Elf64_Dyn){.d_tag = narrow.d_tag, .d_un.d_val = narrow.d_un.d_val};
}

/* A section of @type with the names that belong to it; false: there is none, or it is broken. */
static bool find_section(const struct elf *elf, const struct table *sections, uint32_t type,
			 struct table *ret_table, struct table *ret_names)
{
	for (size_t i = 0; i < elf->n_sections; i++) {
		Elf64_Shdr section = section_in(elf, sections, i), names;

		if (section.sh_type != type || section.sh_link >= elf->n_sections)
			continue;
		names = section_in(elf, sections, section.sh_link);
		return read_table(elf->fd, section.sh_offset, section.sh_size, ret_table) == 0 &&
		       read_table(elf->fd, names.sh_offset, names.sh_size, ret_names) == 0;
	}
	return false;
}

/* NULL: it does not end within its table. */
static const char *name_in(const struct table *names, uint64_t at)
{
	if (at >= names->size || !memchr(names->bytes + at, '\0', names->size - at))
		return NULL;
	return (const char *)names->bytes + at;
}

static bool hands_on(const struct elf *elf, const struct table *sections)
{
	CLEANUP_TABLE struct table entries = {0}, names = {0};
	size_t size = elf->wide ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);

	if (!find_section(elf, sections, SHT_DYNAMIC, &entries, &names))
		return false;
	for (size_t i = 0; i < entries.size / size; i++) {
		Elf64_Dyn entry = entry_in(elf, &entries, i);
		const char *needed =
			entry.d_tag == DT_NEEDED ? name_in(&names, entry.d_un.d_val) : NULL;

		if (needed && strncmp(needed, HANDED_ON_TO, strlen(HANDED_ON_TO)) == 0)
			return true;
	}
	return false;
}

/* Where in the file the code at @address is; false: it is not code. */
static bool find_place(const struct elf *elf, const struct table *segments, uint64_t address,
		       uint64_t *ret_place)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		Elf64_Phdr segment = segment_in(elf, segments, i);

		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
		    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*ret_place = segment.p_offset + (address - segment.p_vaddr);
		return *ret_place >= segment.p_offset;
	}
	return false;
}

/*
 * A first instruction that only marks where calls may land costs the kernel a step of its own, ten
 * times the rest on a virtual machine; the push behind it does not. x86; elsewhere no function
 * begins with these bytes.
 */
static uint64_t past_mark(int fd, uint64_t place)
{
	static const unsigned char mark[] = {0xf3, 0x0f, 0x1e}; /* endbr64 fa, endbr32 fb */
	unsigned char code[6];
	const unsigned char *next = code + 4;

	if (read_at(fd, place, code, sizeof(code)) < 0 || memcmp(code, mark, sizeof(mark)) != 0 ||
	    (code[3] != 0xfa && code[3] != 0xfb))
		return place;
	next += *next == 0x41;
	return *next >= 0x50 && *next <= 0x57 ? place + 4 : place;
}

static bool is_function(const char *name, bool handed_on)
{
	if (!name || (handed_on && strcmp(name, HANDED_ON) == 0))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (strcmp(name, functions[i]) == 0)
			return true;
	return false;
}

/* Two names may be one function. */
static void add_place(struct fps_bpf_symbols *file, uint64_t place)
{
	for (int i = 0; i < file->n; i++)
		if (file->place[i] == place)
			return;
	if (file->n < FPS_BPF_SYMBOLS_MAX)
		file->place[file->n++] = place;
}

int fps_bpf_symbols_read(int fd, struct fps_bpf_symbols *ret_file)
{
	CLEANUP_TABLE struct table sections = {0}, segments = {0}, symbols = {0}, names = {0};
	struct fps_bpf_symbols file = {.n = 0};
	struct elf elf;
	bool handed_on;
	int r = elf_open(fd, &elf);

	if (r == 0)
		r = read_table(fd, elf.sections_at,
			       elf.n_sections *
				       (elf.wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)),
			       &sections);
	if (r == 0)
		r = read_table(fd, elf.segments_at,
			       elf.n_segments *
				       (elf.wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)),
			       &segments);
	if (r < 0)
		return r;
	if (!find_section(&elf, &sections, SHT_DYNSYM, &symbols, &names))
		return -EINVAL;
	handed_on = hands_on(&elf, &sections);
	for (size_t i = 0; i < symbols.size / (elf.wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
	     i++) {
		Elf64_Sym symbol = symbol_in(&elf, &symbols, i);
		uint64_t place;

		if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
		    is_function(name_in(&names, symbol.st_name), handed_on) &&
		    find_place(&elf, &segments, symbol.st_value, &place))
			add_place(&file, past_mark(fd, place));
	}
	*ret_file = file;
	return 0;
}

bool fps_bpf_symbols_is_library(const char *name)
{
	static const char *const names[] = {"libGL.so", "libGLX.so", "libEGL.so", "libvulkan.so"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);

		if (strncmp(name, names[i], n) == 0 && (name[n] == '\0' || name[n] == '.'))
			return true;
	}
	return false;
}
