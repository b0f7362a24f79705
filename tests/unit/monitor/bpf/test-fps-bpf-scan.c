/* SPDX-License-Identifier: MIT */
/*
 * The scan finds the libraries in the loader cache and the libraries that the programs of a control
 * group use. The BPF program and the library use the same buckets.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "monitor/bpf/count.h"
#include "monitor/bpf/scan.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

TEST_WITH(libraries_that_present_are_known_by_name, NULL, NULL)
{
	assert_true(fps_bpf_scan_is_library("libGL.so.1.7.0"));
	assert_true(fps_bpf_scan_is_library("libGLX.so.0"));
	assert_true(fps_bpf_scan_is_library("libEGL.so"));
	assert_true(fps_bpf_scan_is_library("libvulkan.so.1"));
	assert_false(fps_bpf_scan_is_library("libGLX_mesa.so.0"));
	assert_false(fps_bpf_scan_is_library("libGL.so2"));
	assert_false(fps_bpf_scan_is_library("libGLU.so.1"));
	assert_false(fps_bpf_scan_is_library(""));
}

static char found[16][160];
static int n_found;

static int make_folder(void)
{
	n_found = 0;
	return temp_folder_make();
}

FIXTURE(make_folder, temp_folder_remove)

static void note(void *userdata, const char *path)
{
	(void)userdata;
	assert_in_range(n_found, 0, ARRAY_SIZE(found) - 1);
	snprintf(found[n_found++], sizeof(found[0]), "%s", path);
}

static void put_file(const char *name, const void *bytes, size_t size)
{
	char path[160], *slash;

	snprintf(path, sizeof(path), "%s/%s", temp_folder, name);
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

/* An ld.so.cache in the new format with two entries, preceded by an old-format header. */
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
	snprintf(path, sizeof(path), "%s/cache", temp_folder);
	return fps_bpf_scan_cache(path, note, NULL);
}

TEST(the_loader_cache_is_read)
{
	static const char *paths[2] = {"/lib/libc.so.6", "/lib/x/libEGL.so.1"};
	char cache[512];
	size_t size = make_cache(cache, paths);

	assert_int_equal(read_cache(cache, size), 0);
	assert_int_equal(n_found, 1);
	assert_string_equal(found[0], "/lib/x/libEGL.so.1");
	cache[16 + 21] = 1; /* the header announces 258 entries instead of 2 */
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

TEST(programs_of_a_group_and_its_subgroups_are_scanned)
{
	struct fps_bpf_scan *scan = NULL;
	char group[96], proc[80], path[128];

	put_text("proc/10/maps", MAPS);
	put_text("proc/11/maps", "01-02 r-xp 00001000 08:01 80 /libEGL.so.1");
	put_text("group/cgroup.procs", "10\n0\n99\n");
	put_text("group/below/cgroup.procs", "11\n");
	snprintf(group, sizeof(group), "%s/group", temp_folder);
	snprintf(proc, sizeof(proc), "%s/proc", temp_folder);
	scan = fps_bpf_scan_new(proc);
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

TEST(old_programs_are_scanned_less_often)
{
	struct fps_bpf_scan *scan = NULL;
	char group[96], proc[80];
	int looks = 0;

	put_text("proc/10/maps", "01-02 r-xp 00001000 08:01 80 /libEGL.so.1");
	put_text("group/cgroup.procs", "10\n");
	snprintf(group, sizeof(group), "%s/group", temp_folder);
	snprintf(proc, sizeof(proc), "%s/proc", temp_folder);
	scan = fps_bpf_scan_new(proc);
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

/* --- counters --- */

TEST(the_bpf_program_and_the_library_use_the_same_buckets)
{
	uint64_t random = 1;

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
