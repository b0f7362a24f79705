/* SPDX-License-Identifier: MIT */
/* The steps of the verb `run`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-ctl/verb/launch.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

FIXTURE_ONCE(temp_folder_make, temp_folder_remove)

static const char *in_folder(const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", temp_folder, name);
	return path;
}

/* Creates a file and its parent folders. */
static void put_file(const char *name, mode_t mode)
{
	char path[PATH_MAX], *slash;

	in_folder(name, path);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(file_make_dirs(path), 0);
	*slash = '/';
	assert_int_equal(file_replace(path, "", 0), 0);
	assert_int_equal(chmod(path, mode), 0);
}

TEST(our_library_comes_first)
{
	char value[16] = "";

	assert_int_equal(launch_make_list("/l.so", NULL, value, sizeof(value)), 0);
	assert_string_equal(value, "/l.so");
	assert_int_equal(launch_make_list("/l.so", "", value, sizeof(value)), 0);
	assert_string_equal(value, "/l.so");
	assert_int_equal(launch_make_list("/l.so", "/m.so", value, sizeof(value)), 0);
	assert_string_equal(value, "/l.so:/m.so");
	assert_int_equal(launch_make_list("/l.so", "/m.so:/n.so", value, sizeof(value)),
			 -ENAMETOOLONG);
}

TEST(the_frame_limit_is_slightly_above_the_target)
{
	static const struct {
		double target, limit;
	} rows[] = {
		{0, 0}, {-1, 0}, {30, 31}, {60, 61}, {100, 101}, {200, 202}, {1000, 1010},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_float_equal(launch_choose_fps_max(rows[i].target), rows[i].limit, 1e-9);
}

TEST(a_command_is_searched_in_path)
{
	char path[PATH_MAX], search[2 * PATH_MAX], here[PATH_MAX];

	put_file("bin1/data", 0644);
	put_file("bin2/data", 0755);
	put_file("bin2/only-data", 0644);
	snprintf(search, sizeof(search), "%s/none:%s/bin1:%s/bin2", temp_folder, temp_folder,
		 temp_folder);
	assert_int_equal(file_find_command("data", search), 0);
	assert_int_equal(file_find_command("only-data", search), -EACCES);
	assert_int_equal(file_find_command("missing", search), -ENOENT);
	assert_int_equal(file_find_command("", search), -ENOENT);
	assert_int_equal(file_find_command("data", ""), -ENOENT);
	assert_int_equal(file_find_command(in_folder("bin2/data", path), ""), 0);
	assert_int_equal(file_find_command(in_folder("bin1/data", path), search), -EACCES);
	assert_int_equal(file_find_command(in_folder("bin9/data", path), search), -ENOENT);
	assert_int_equal(file_find_command(temp_folder, search), -EACCES);

	/* An empty entry of PATH means the current folder. */
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(in_folder("bin2", path)), 0);
	assert_int_equal(file_find_command("data", "/none::/none2"), 0);
	assert_int_equal(chdir(here), 0);
}

TEST(a_process_is_written_to_every_cgroup_file)
{
	char one[PATH_MAX], two[PATH_MAX];
	CLEANUP_FREE char *text1 = NULL, *text2 = NULL;
	struct err err;
	json_t *vgpu;

	put_file("cpu/procs", 0644);
	put_file("cpuset/procs", 0644);
	vgpu = json_pack("{s:s, s:s, s:{s:[s,s]}}", "id", "a", "gpu", "g", "attach", "cgroup_procs",
			 in_folder("cpu/procs", one), in_folder("cpuset/procs", two));
	assert_int_equal(launch_enter_vgpu(vgpu, 4711, &err), 0);
	json_decref(vgpu);
	assert_int_equal(file_read(one, 64, &text1, NULL), 0);
	assert_int_equal(file_read(two, 64, &text2, NULL), 0);
	assert_string_equal(text1, "4711\n");
	assert_string_equal(text2, "4711\n");
}

TEST(a_vgpu_without_cgroups_runs_no_program)
{
	static const struct {
		const char *vgpu;
		int result;
		const char *message;
	} rows[] = {
		{"{\"id\": \"a\", \"gpu\": \"g\", \"attach\": {\"cgroup_procs\": []}}", -EOPNOTSUPP,
		 "vGPU 'a': the backend of GPU 'g' cannot run programs"},
		{"{\"id\": \"a\", \"gpu\": \"g\", \"attach\": null}", -EOPNOTSUPP, "vGPU 'a'"},
		{"{\"id\": \"a\", \"attach\": {\"cgroup_procs\": [3]}}", -EPROTO, "cgroup_procs"},
		{"{\"id\": \"a\", \"attach\": {\"cgroup_procs\": [\"/nowhere/procs\"]}}", -ENOENT,
		 "/nowhere/procs: No such file"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *vgpu = json_loads(rows[i].vgpu, 0, NULL);
		struct err err = {.msg = ""};
		int r = launch_enter_vgpu(vgpu, 1, &err);

		json_decref(vgpu);
		if (r != rows[i].result || !strstr(err.msg, rows[i].message))
			fail_msg("%s gave %d, \"%s\"", rows[i].vgpu, r, err.msg);
	}
}
