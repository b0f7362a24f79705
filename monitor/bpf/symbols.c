/* SPDX-License-Identifier: MIT */
/*
 * Looks up dynamic symbols with libelf, in a private copy of the file: a tenant may change or
 * truncate the file at any time. Each table is bounded, so a malformed file costs little time.
 */
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "monitor/bpf/symbols.h"

#define FILE_MAX_BYTES (64u << 20)
#define TABLE_MAX_BYTES \
	(8u << 20) /* maximum bytes of one table of symbols or names; Mesa needs 2 MB */
#define SEGMENTS_MAX 256

static const char *const functions[] = {
	"glXSwapBuffers",
	"glXSwapBuffersMscOML",
	"eglSwapBuffers",
	"eglSwapBuffersWithDamageKHR",
	"eglSwapBuffersWithDamageEXT",
	"vkQueuePresentKHR",
};
_Static_assert(ARRAY_SIZE(functions) <= FPS_BPF_SYMBOLS_MAX, "each function has an offset");

/*
 * libGL of libglvnd forwards this function to libGLX. The BPF program is attached in libGLX only,
 * where it also counts programs that call libGLX directly.
 */
#define FORWARDED    "glXSwapBuffers"
#define FORWARDED_TO "libGLX.so."

struct image {
	unsigned char *bytes;
	size_t size;
	Elf *elf;
};

static int copy_file(int fd, struct image *image)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return -EINVAL;
	if (st.st_size > FILE_MAX_BYTES)
		return -EFBIG;
	image->bytes = xmalloc((size_t)st.st_size);
	while (image->size < (size_t)st.st_size &&
	       (n = pread(fd, image->bytes + image->size, (size_t)st.st_size - image->size,
			  (off_t)image->size)) != 0) {
		if (n < 0)
			return -errno;
		image->size += (size_t)n;
	}
	return 0;
}

/*
 * Returns true if the ELF header contains the number of sections. If it contains 0, libelf accepts
 * a larger number from another place in the file and allocates memory for all these sections. Such
 * a file is rejected.
 */
static bool has_sections(const struct image *image)
{
	bool is_64 = image->size > EI_CLASS && image->bytes[EI_CLASS] == ELFCLASS64;
	size_t at = is_64 ? offsetof(Elf64_Ehdr, e_shnum) : offsetof(Elf32_Ehdr, e_shnum);

	return at + 1 < image->size && (image->bytes[at] || image->bytes[at + 1]);
}

static int open_elf(struct image *image)
{
	size_t segments;

	if (elf_version(EV_CURRENT) == EV_NONE || !has_sections(image))
		return -EINVAL;
	image->elf = elf_memory((char *)image->bytes, image->size);
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF ||
	    image->bytes[EI_DATA] != ELFDATA2LSB || elf_getphdrnum(image->elf, &segments) < 0 ||
	    segments > SEGMENTS_MAX)
		return -EINVAL;
	return 0;
}

static Elf_Data *get_table(Elf_Scn *section)
{
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;

	return data && data->d_buf && data->d_size <= TABLE_MAX_BYTES ? data : NULL;
}

/* Finds the first section of @type and its string table, which must end in a NUL. */
static bool find_section(Elf *elf, Elf64_Word type, Elf_Data **ret_table, Elf_Data **ret_names)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf_Data *table, *names;

	do
		section = elf_nextscn(elf, section);
	while (section && (!gelf_getshdr(section, &header) || header.sh_type != type));
	table = get_table(section);
	names = table ? get_table(elf_getscn(elf, header.sh_link)) : NULL;
	if (!names || names->d_size == 0 || ((const char *)names->d_buf)[names->d_size - 1] != '\0')
		return false;
	*ret_table = table;
	*ret_names = names;
	return true;
}

static const char *name_at(const Elf_Data *names, uint64_t at)
{
	return at < names->d_size ? (const char *)names->d_buf + at : "";
}

static bool forwards(Elf *elf)
{
	Elf_Data *entries, *names;
	GElf_Dyn entry;

	if (!find_section(elf, SHT_DYNAMIC, &entries, &names))
		return false;
	for (int i = 0; gelf_getdyn(entries, i, &entry); i++)
		if (entry.d_tag == DT_NEEDED && strncmp(name_at(names, entry.d_un.d_val),
							FORWARDED_TO, strlen(FORWARDED_TO)) == 0)
			return true;
	return false;
}

/*
 * Translates the address of a function into a file offset. Returns false if the address is not in
 * executable code.
 */
static bool find_offset(Elf *elf, uint64_t address, uint64_t *ret_offset)
{
	GElf_Phdr segment;

	for (int i = 0; gelf_getphdr(elf, i, &segment); i++) {
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
		    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*ret_offset = segment.p_offset + (address - segment.p_vaddr);
		return *ret_offset >= segment.p_offset;
	}
	return false;
}

/*
 * Skips an endbr instruction (x86) if a push follows. The kernel emulates a probed push, but
 * single-steps a probed endbr, which takes ten times as long in a virtual machine.
 */
static uint64_t skip_endbr(const struct image *image, uint64_t offset)
{
	static const unsigned char endbr[] = {
		0xf3, 0x0f, 0x1e}; /* the last byte is fa (endbr64) or fb (endbr32) */
	const unsigned char *code, *next;

	if (offset >= image->size || image->size - offset < 6)
		return offset;
	code = image->bytes + offset;
	if (memcmp(code, endbr, sizeof(endbr)) != 0 || (code[3] != 0xfa && code[3] != 0xfb))
		return offset;
	next = code + 4;
	next += *next == 0x41;
	return *next >= 0x50 && *next <= 0x57 ? offset + 4 : offset;
}

static bool is_function(const char *name, bool forwarded)
{
	if (forwarded && strcmp(name, FORWARDED) == 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (strcmp(name, functions[i]) == 0)
			return true;
	return false;
}

/* Adds @offset unless it is known, because two names may refer to the same function. */
static void add_offset(struct fps_bpf_symbols *symbols, uint64_t offset)
{
	for (int i = 0; i < symbols->n; i++)
		if (symbols->offset[i] == offset)
			return;
	if (symbols->n < FPS_BPF_SYMBOLS_MAX)
		symbols->offset[symbols->n++] = offset;
}

static int find_functions(const struct image *image, struct fps_bpf_symbols *symbols)
{
	bool forwarded = forwards(image->elf);
	Elf_Data *table, *names;
	GElf_Sym symbol;
	uint64_t offset;

	if (!find_section(image->elf, SHT_DYNSYM, &table, &names))
		return -EINVAL;
	for (int i = 0; gelf_getsym(table, i, &symbol); i++)
		if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
		    is_function(name_at(names, symbol.st_name), forwarded) &&
		    find_offset(image->elf, symbol.st_value, &offset))
			add_offset(symbols, skip_endbr(image, offset));
	return 0;
}

int fps_bpf_symbols_read(int fd, struct fps_bpf_symbols *ret_symbols)
{
	struct fps_bpf_symbols symbols = {.n = 0};
	struct image image = {.size = 0};
	int r = copy_file(fd, &image);

	if (r == 0)
		r = open_elf(&image);
	if (r == 0)
		r = find_functions(&image, &symbols);
	if (r == 0)
		*ret_symbols = symbols;
	(void)elf_end(image.elf);
	free(image.bytes);
	return r;
}
