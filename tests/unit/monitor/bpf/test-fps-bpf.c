/* SPDX-License-Identifier: MIT */
/*
 * Where programs present: functions in library files, which may be anything, and library files in
 * use by the host and by a control group's programs. And the kernel's buckets are everyone's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "monitor/bpf/count.h"
#include "monitor/bpf/symbols.h"
#include "monitor/bpf/scan.h"

/* --- library files --- */

#define CODE_ADDRESS 0x3000
#define CODE_PLACE   0x1000

struct library {
	Elf64_Ehdr head;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[4];
	Elf64_Sym symbols[6];
	Elf64_Dyn entries[2];
	char names[256];
	_Alignas(CODE_PLACE) unsigned char code[64];
};

static uint32_t put_name(struct library *l, const char *name)
{
	size_t at = 1;

	while (l->names[at])
		at += strlen(l->names + at) + 1;
	strcpy(l->names + at, name);
	return (uint32_t)at;
}

static void put_symbol(struct library *l, int i, const char *name, uint64_t address)
{
	l->symbols[i] = (Elf64_Sym){
		.st_name = put_name(l, name),
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = address ? 1 : SHN_UNDEF,
		.st_value = address,
	};
}

static Elf64_Shdr section(uint32_t type, size_t at, size_t size)
{
	return (Elf64_Shdr){.sh_type = type, .sh_offset = at, .sh_size = size, .sh_link = 3};
}

/* A library with three functions that present, two of which are one, one that it only calls, and
 * one that does not present. */
static void make_library(struct library *l, const char *needed)
{
	*l = (struct library){.head.e_type = ET_DYN};
	memcpy(l->head.e_ident, ELFMAG, SELFMAG);
	l->head.e_ident[EI_CLASS] = ELFCLASS64;
	l->head.e_ident[EI_DATA] = ELFDATA2LSB;
	l->head.e_shoff = offsetof(struct library, sections);
	l->head.e_shentsize = sizeof(Elf64_Shdr);
	l->head.e_shnum = 4;
	l->head.e_phoff = offsetof(struct library, segments);
	l->head.e_phentsize = sizeof(Elf64_Phdr);
	l->head.e_phnum = 2;
	l->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x1000};
	l->segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R | PF_X,
				      .p_offset = CODE_PLACE,
				      .p_vaddr = CODE_ADDRESS,
				      .p_filesz = 0x100};
	l->sections[1] = section(SHT_DYNSYM, offsetof(struct library, symbols), sizeof(l->symbols));
	l->sections[2] =
		section(SHT_DYNAMIC, offsetof(struct library, entries), sizeof(l->entries));
	l->sections[3] = section(SHT_STRTAB, offsetof(struct library, names), sizeof(l->names));
	put_symbol(l, 1, "glXSwapBuffers", CODE_ADDRESS);
	put_symbol(l, 2, "glXSwapBuffersMscOML", CODE_ADDRESS + 0x20);
	put_symbol(l, 3, "eglSwapBuffers", CODE_ADDRESS + 0x20);
	put_symbol(l, 4, "vkQueuePresentKHR", 0);
	put_symbol(l, 5, "glXSwapIntervalEXT", CODE_ADDRESS + 0x40);
	l->entries[0] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = put_name(l, needed)};
}

static int read_bytes(const void *bytes, size_t size, struct fps_bpf_symbols *file)
{
	CLEANUP_CLOSE int fd = memfd_create("library", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	return fps_bpf_symbols_read(fd, file);
}

static void functions_that_present_are_found_once_each(void **state)
{
	struct fps_bpf_symbols file;
	struct library l;

	(void)state;
	make_library(&l, "libc.so.6");
	assert_int_equal(read_bytes(&l, sizeof(l), &file), 0);
	assert_int_equal(file.n, 2);
	assert_int_equal(file.place[0], CODE_PLACE);
	assert_int_equal(file.place[1], CODE_PLACE + 0x20);
}

/* libglvnd's libGL: what it hands on to libGLX is met there. */
static void what_is_handed_on_is_met_where_it_goes(void **state)
{
	struct fps_bpf_symbols file;
	struct library l;

	(void)state;
	make_library(&l, "libGLX.so.0");
	assert_int_equal(read_bytes(&l, sizeof(l), &file), 0);
	assert_int_equal(file.n, 1);
	assert_int_equal(file.place[0], CODE_PLACE + 0x20);
}

/* The kernel need not step over the mark that calls may land there. */
static void a_mark_before_a_push_is_passed_over(void **state)
{
	static const struct {
		unsigned char code[6];
		uint64_t past;
	} rows[] = {
		{{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48}, 4}, /* endbr64, push %rbp */
		{{0xf3, 0x0f, 0x1e, 0xfb, 0x53, 0x83}, 4}, /* endbr32, push %ebx */
		{{0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54}, 4}, /* push %r12 */
		{{0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x85}, 0}, /* a loop may begin there */
		{{0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x89}, 0},
		{{0xf3, 0x0f, 0x1e, 0xc0, 0x55, 0x48}, 0}, /* another instruction */
		{{0x55, 0x48, 0x89, 0xe5, 0x55, 0x48}, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fps_bpf_symbols file;
		struct library l;

		make_library(&l, "libc.so.6");
		memcpy(l.code, rows[i].code, sizeof(rows[i].code));
		assert_int_equal(read_bytes(&l, sizeof(l), &file), 0);
		assert_int_equal(file.place[0], CODE_PLACE + rows[i].past);
	}
}

static void what_is_no_code_is_no_place(void **state)
{
	struct fps_bpf_symbols file;
	struct library l;

	(void)state;
	make_library(&l, "libc.so.6");
	l.symbols[1].st_value = 0x10;		      /* in the segment of data */
	l.symbols[2].st_value = CODE_ADDRESS + 0x100; /* one past the end */
	l.symbols[3].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	assert_int_equal(read_bytes(&l, sizeof(l), &file), 0);
	assert_int_equal(file.n, 0);
}

/* This very program's C library stands for all real ones: nothing presents in it. */
static void real_libraries_are_read(void **state)
{
	CLEANUP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct fps_bpf_symbols file = {.n = 9};

	(void)state;
	assert_int_equal(fps_bpf_symbols_read(fd, &file), 0);
	assert_int_equal(file.n, 0);
}

static void a_library_cut_short_is_refused_or_empty(void **state)
{
	struct fps_bpf_symbols file;
	struct library l;

	(void)state;
	make_library(&l, "libGLX.so.0");
	for (size_t size = 0; size < offsetof(struct library, names) + sizeof(l.names); size++)
		assert_int_equal(read_bytes(&l, size, &file), -EINVAL);
}

static void no_number_in_a_library_is_believed(void **state)
{
	const size_t size = offsetof(struct library, code);
	unsigned int random = 1;
	struct library l;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct fps_bpf_symbols file = {.n = 0};
		unsigned char *bytes = (unsigned char *)&l;

		make_library(&l, i % 2 ? "libGLX.so.0" : "libc.so.6");
		l.head.e_ident[EI_CLASS] = i % 5 ? ELFCLASS64 : ELFCLASS32;
		for (int flips = i % 4; flips >= 0; flips--) {
			random = random * 1103515245 + 12345;
			bytes[(random >> 8) % size] = (unsigned char)(random >> 3);
		}
		(void)read_bytes(&l, size, &file);
		assert_in_range(file.n, 0, FPS_BPF_SYMBOLS_MAX);
	}
}

static void libraries_are_told_by_their_names(void **state)
{
	(void)state;
	assert_true(fps_bpf_symbols_is_library("libGL.so.1.7.0"));
	assert_true(fps_bpf_symbols_is_library("libGLX.so.0"));
	assert_true(fps_bpf_symbols_is_library("libEGL.so"));
	assert_true(fps_bpf_symbols_is_library("libvulkan.so.1"));
	assert_false(fps_bpf_symbols_is_library("libGLX_mesa.so.0"));
	assert_false(fps_bpf_symbols_is_library("libGL.so2"));
	assert_false(fps_bpf_symbols_is_library("libGLU.so.1"));
	assert_false(fps_bpf_symbols_is_library(""));
}

/* --- library files in use --- */

static char folder[64];
static char found[16][160];
static int n_found;

static int make_folder(void **state)
{
	(void)state;
	n_found = 0;
	snprintf(folder, sizeof(folder), "/tmp/gover-test-present.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static void note(void *userdata, const char *path)
{
	(void)userdata;
	assert_in_range(n_found, 0, ARRAY_SIZE(found) - 1);
	snprintf(found[n_found++], sizeof(found[0]), "%s", path);
}

static void put_file(const char *name, const void *bytes, size_t size)
{
	char path[160], *slash;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(file_make_dirs(path), 0);
	*slash = '/';
	assert_int_equal(file_replace(path, bytes, size), 0);
}

static void put_text(const char *name, const char *text)
{
	put_file(name, text, strlen(text));
}

/* An ld.so.cache with two entries, whose paths are @paths, behind an older one. */
static size_t make_cache(char *cache, const char *paths[2])
{
	size_t head = 16, at = head + 48 + 2 * 24;

	memset(cache, 0, 512);
	memcpy(cache, "ld.so-1.7.0", 11);
	memcpy(cache + head, "glibc-ld.so.cache1.1", 20);
	cache[head + 20] = 2;
	for (int i = 0; i < 2; i++) {
		uint32_t place = (uint32_t)(at - head);

		memcpy(cache + head + 48 + i * 24 + 8, &place, sizeof(place));
		strcpy(cache + at, paths[i]);
		at += strlen(paths[i]) + 1;
	}
	return at;
}

static int read_cache(const char *cache, size_t size)
{
	char path[80];

	put_file("cache", cache, size);
	snprintf(path, sizeof(path), "%s/cache", folder);
	return fps_bpf_scan_cache(path, note, NULL);
}

static void the_loader_s_list_is_read(void **state)
{
	static const char *paths[2] = {"/lib/libc.so.6", "/lib/x/libEGL.so.1"};
	char cache[512];
	size_t size = make_cache(cache, paths);

	(void)state;
	assert_int_equal(read_cache(cache, size), 0);
	assert_int_equal(n_found, 1);
	assert_string_equal(found[0], "/lib/x/libEGL.so.1");
	cache[16 + 21] = 1; /* 258 entries: more than there are */
	assert_int_equal(read_cache(cache, size), -EINVAL);
	cache[16] = 'G';
	assert_int_equal(read_cache(cache, size), -EINVAL);
	assert_int_equal(fps_bpf_scan_cache("/nowhere/cache", note, NULL), -ENOENT);
	assert_int_equal(n_found, 1);
}

#define MAPS                                                                      \
	"7f01-7f02 r--p 00000000 08:01 77 /usr/lib/libGL.so.1.7.0\n"              \
	"7f02-7f03 r-xp 00001000 08:01 77 /usr/lib/libGL.so.1.7.0\n"              \
	"7f04-7f05 r-xp 00001000 08:01 78 /usr/lib/libc.so.6\n"                   \
	"7f06-7f07 r-xp 00000000 00:00 0\n"                                       \
	"7f08-7f09 r-xp 00001000 08:01 79 /with space/libvulkan.so.1 (deleted)\n" \
	"broken\n"

static void a_group_s_programs_and_those_below_are_looked_at(void **state)
{
	struct fps_bpf_scan *scan = NULL;
	char group[96], proc[80], path[128];

	(void)state;
	put_text("proc/10/maps", MAPS);
	put_text("proc/11/maps", "01-02 r-xp 00001000 08:01 80 /libEGL.so.1");
	put_text("group/cgroup.procs", "10\n0\n99\n");
	put_text("group/below/cgroup.procs", "11\n");
	snprintf(group, sizeof(group), "%s/group", folder);
	snprintf(proc, sizeof(proc), "%s/proc", folder);
	assert_int_equal(fps_bpf_scan_new(proc, &scan), 0);
	fps_bpf_scan_begin(scan);
	fps_bpf_scan_group(scan, group, note, NULL);
	fps_bpf_scan_end(scan);
	assert_int_equal(n_found, 3);
	snprintf(path, sizeof(path), "%s/10/map_files/7f02-7f03", proc);
	assert_string_equal(found[0], path);
	snprintf(path, sizeof(path), "%s/10/map_files/7f08-7f09", proc);
	assert_string_equal(found[1], path);
	snprintf(path, sizeof(path), "%s/11/map_files/01-02", proc);
	assert_string_equal(found[2], path);
	assert_null(fps_bpf_scan_free(scan));
}

/* A program that has run for long is looked at once a round, a new one at every scan. */
static void old_programs_are_looked_at_now_and_then(void **state)
{
	struct fps_bpf_scan *scan = NULL;
	char group[96], proc[80];
	int looks = 0;

	(void)state;
	put_text("proc/10/maps", "01-02 r-xp 00001000 08:01 80 /libEGL.so.1");
	put_text("group/cgroup.procs", "10\n");
	snprintf(group, sizeof(group), "%s/group", folder);
	snprintf(proc, sizeof(proc), "%s/proc", folder);
	assert_int_equal(fps_bpf_scan_new(proc, &scan), 0);
	for (int i = 0; i < 4 * FPS_BPF_SCAN_ROUND; i++) {
		n_found = 0;
		fps_bpf_scan_begin(scan);
		fps_bpf_scan_group(scan, group, note, NULL);
		fps_bpf_scan_end(scan);
		looks += n_found;
		if (i == 2)
			assert_int_equal(looks, 3);
	}
	assert_in_range(looks, 8, 9);
	fps_bpf_scan_free(scan);
}

/* --- buckets --- */

static void the_kernel_s_buckets_are_everyone_s(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int bit = 0; bit < 64; bit++)
		for (int64_t off = -2; off <= 2; off++) {
			uint64_t ns = (1ULL << bit) + (uint64_t)off;

			assert_int_equal(fps_bpf_bucket(ns), fps_wire_bucket(ns));
		}
	for (int octave = 0; octave < 17; octave++)
		for (uint64_t edge = 99999; edge < 200002; edge++)
			assert_int_equal(fps_bpf_bucket(edge << octave),
					 fps_wire_bucket(edge << octave));
	for (int i = 0; i < 1000000; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		assert_int_equal(fps_bpf_bucket(random >> (random & 63)),
				 fps_wire_bucket(random >> (random & 63)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_that_present_are_found_once_each),
		cmocka_unit_test(what_is_handed_on_is_met_where_it_goes),
		cmocka_unit_test(a_mark_before_a_push_is_passed_over),
		cmocka_unit_test(what_is_no_code_is_no_place),
		cmocka_unit_test(real_libraries_are_read),
		cmocka_unit_test(a_library_cut_short_is_refused_or_empty),
		cmocka_unit_test(no_number_in_a_library_is_believed),
		cmocka_unit_test(libraries_are_told_by_their_names),
		cmocka_unit_test_setup_teardown(the_loader_s_list_is_read, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(a_group_s_programs_and_those_below_are_looked_at,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(old_programs_are_looked_at_now_and_then,
						make_folder, remove_folder),
		cmocka_unit_test(the_kernel_s_buckets_are_everyone_s),
	};

	return cmocka_run_group_tests_name("where programs present", tests, NULL, NULL);
}
