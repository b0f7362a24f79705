/* SPDX-License-Identifier: MIT */
/* The search in library files finds the functions that present frames. A malformed file must not
 * crash it. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "monitor/bpf/bpf.c"
#include "tests/unit/unit.h"

#define CODE_ADDRESS 0x3000
#define CODE_OFFSET  0x1000

struct library {
	Elf64_Ehdr head;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[4];
	Elf64_Sym symbols[6];
	Elf64_Dyn entries[2];
	char names[256];
	_Alignas(CODE_OFFSET) unsigned char code[64];
};

static struct library l;
static struct symbols symbols;

static uint32_t put_name(const char *name)
{
	size_t at = 1;

	while (l.names[at])
		at += strlen(l.names + at) + 1;
	strcpy(l.names + at, name);
	return (uint32_t)at;
}

static void put_symbol(int i, const char *name, uint64_t address)
{
	l.symbols[i] = (Elf64_Sym){
		.st_name = put_name(name),
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = address ? 1 : SHN_UNDEF,
		.st_value = address,
	};
}

static Elf64_Shdr section(uint32_t type, size_t at, size_t size)
{
	return (Elf64_Shdr){.sh_type = type, .sh_offset = at, .sh_size = size, .sh_link = 3};
}

/*
 * A library with three functions that present (two of them at the same address), one imported
 * function that presents, and one other function.
 */
static void make_library(const char *needed)
{
	l = (struct library){.head.e_type = ET_DYN};
	memcpy(l.head.e_ident, ELFMAG, SELFMAG);
	l.head.e_ident[EI_CLASS] = ELFCLASS64;
	l.head.e_ident[EI_DATA] = ELFDATA2LSB;
	l.head.e_ident[EI_VERSION] = EV_CURRENT;
	l.head.e_version = EV_CURRENT;
	l.head.e_shoff = offsetof(struct library, sections);
	l.head.e_shentsize = sizeof(Elf64_Shdr);
	l.head.e_shnum = 4;
	l.head.e_phoff = offsetof(struct library, segments);
	l.head.e_phentsize = sizeof(Elf64_Phdr);
	l.head.e_phnum = 2;
	l.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x1000};
	l.segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
				     .p_flags = PF_R | PF_X,
				     .p_offset = CODE_OFFSET,
				     .p_vaddr = CODE_ADDRESS,
				     .p_filesz = 0x100};
	l.sections[1] = section(SHT_DYNSYM, offsetof(struct library, symbols), sizeof(l.symbols));
	l.sections[2] = section(SHT_DYNAMIC, offsetof(struct library, entries), sizeof(l.entries));
	l.sections[3] = section(SHT_STRTAB, offsetof(struct library, names), sizeof(l.names));
	put_symbol(1, "glXSwapBuffers", CODE_ADDRESS);
	put_symbol(2, "glXSwapBuffersMscOML", CODE_ADDRESS + 0x20);
	put_symbol(3, "eglSwapBuffers", CODE_ADDRESS + 0x20);
	put_symbol(4, "vkQueuePresentKHR", 0);
	put_symbol(5, "glXSwapIntervalEXT", CODE_ADDRESS + 0x40);
	l.entries[0] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = put_name(needed)};
}

static int read_bytes(size_t size)
{
	CLEANUP_CLOSE int fd = memfd_create("library", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, &l, size), (ssize_t)size);
	return read_symbols(fd, &symbols);
}

TEST(each_present_function_is_found_once)
{
	make_library("libc.so.6");
	assert_int_equal(read_bytes(sizeof(l)), 0);
	assert_int_equal(symbols.n, 2);
	assert_int_equal(symbols.offset[0], CODE_OFFSET);
	assert_int_equal(symbols.offset[1], CODE_OFFSET + 0x20);
}

/* libGL of libglvnd forwards glXSwapBuffers to libGLX, where the probe is attached. */
TEST(a_forwarded_function_is_skipped)
{
	make_library("libGLX.so.0");
	assert_int_equal(read_bytes(sizeof(l)), 0);
	assert_int_equal(symbols.n, 1);
	assert_int_equal(symbols.offset[0], CODE_OFFSET + 0x20);
}

TEST(endbr_before_a_push_is_skipped)
{
	static const struct {
		unsigned char code[6];
		uint64_t past;
	} rows[] = {
		{{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48}, 4}, /* endbr64, push %rbp */
		{{0xf3, 0x0f, 0x1e, 0xfb, 0x53, 0x83}, 4}, /* endbr32, push %ebx */
		{{0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54}, 4}, /* push %r12 */
		{{0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x85}, 0}, /* endbr64, but no push */
		{{0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x89}, 0},
		{{0xf3, 0x0f, 0x1e, 0xc0, 0x55, 0x48}, 0}, /* not endbr */
		{{0x55, 0x48, 0x89, 0xe5, 0x55, 0x48}, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		make_library("libc.so.6");
		memcpy(l.code, rows[i].code, sizeof(rows[i].code));
		assert_int_equal(read_bytes(sizeof(l)), 0);
		assert_int_equal(symbols.offset[0], CODE_OFFSET + rows[i].past);
	}
}

TEST(symbols_outside_executable_code_are_ignored)
{
	make_library("libc.so.6");
	l.symbols[1].st_value = 0x10;		      /* address in the data segment */
	l.symbols[2].st_value = CODE_ADDRESS + 0x100; /* address after the code segment */
	l.symbols[3].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	assert_int_equal(read_bytes(sizeof(l)), 0);
	assert_int_equal(symbols.n, 0);
}

/* This test program is a valid ELF file without functions that present. */
TEST(a_real_library_is_read)
{
	CLEANUP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	symbols.n = 9;
	assert_int_equal(read_symbols(fd, &symbols), 0);
	assert_int_equal(symbols.n, 0);
}

TEST(a_truncated_library_is_rejected)
{
	make_library("libGLX.so.0");
	for (size_t size = 0; size < offsetof(struct library, names) + sizeof(l.names); size++)
		assert_int_equal(read_bytes(size), -EINVAL);
}

TEST(random_corruption_is_harmless)
{
	const size_t size = offsetof(struct library, code);
	unsigned int random = 1;

	for (int i = 0; i < 20000; i++) {
		unsigned char *bytes = (unsigned char *)&l;

		symbols.n = 0;
		make_library(i % 2 ? "libGLX.so.0" : "libc.so.6");
		l.head.e_ident[EI_CLASS] = i % 5 ? ELFCLASS64 : ELFCLASS32;
		for (int flips = i % 4; flips >= 0; flips--) {
			random = random * 1103515245 + 12345;
			bytes[(random >> 8) % size] = (unsigned char)(random >> 3);
		}
		(void)read_bytes(size);
		assert_in_range(symbols.n, 0, SYMBOLS_MAX);
	}
}

TEST(files_that_are_not_regular_or_too_large_are_rejected)
{
	CLEANUP_CLOSE int device = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int large = memfd_create("library", MFD_CLOEXEC);

	assert_int_equal(read_symbols(device, &symbols), -EINVAL);
	assert_int_equal(ftruncate(large, (64 << 20) + 1), 0);
	assert_int_equal(read_symbols(large, &symbols), -EFBIG);
}

/* Extended section numbering could make libelf allocate memory for millions of sections. */
TEST(a_section_count_outside_the_header_is_rejected)
{
	make_library("libc.so.6");
	l.head.e_shnum = 0;
	l.sections[0].sh_size = 4;
	assert_int_equal(read_bytes(sizeof(l)), -EINVAL);
}

TEST(unterminated_names_are_rejected)
{
	make_library("libc.so.6");
	l.names[sizeof(l.names) - 1] = 'x';
	assert_int_equal(read_bytes(sizeof(l)), -EINVAL);
}
