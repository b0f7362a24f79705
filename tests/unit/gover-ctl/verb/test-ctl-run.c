/* SPDX-License-Identifier: MIT */
/* Steps of `run`, and contract options. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-ctl/verb/launch.h"
#include "gover-ctl/verb/contract-args.h"
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

TEST(the_library_is_found_beside_the_program_or_in_its_prefix)
{
	char exe[PATH_MAX], found[PATH_MAX], wanted[PATH_MAX];
	struct err err;

	put_file("usr/bin/gover-ctl", 0755);
	in_folder("usr/bin/gover-ctl", exe);
	assert_int_equal(launch_find_library(&launch_fps, NULL, exe, found, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/usr/bin/"));
	assert_non_null(strstr(err.msg, "GOVER_FPS_LIB"));

	put_file("usr/lib/gover/libgover-fps.so", 0644);
	assert_int_equal(launch_find_library(&launch_fps, NULL, exe, found, &err), 0);
	assert_string_equal(found, in_folder("usr/bin/../lib/gover/libgover-fps.so", wanted));

	put_file("usr/bin/libgover-fps.so", 0644);
	assert_int_equal(launch_find_library(&launch_fps, "", exe, found, &err), 0);
	assert_string_equal(found, in_folder("usr/bin/libgover-fps.so", wanted));

	assert_int_equal(launch_find_library(&launch_cl, NULL, exe, found, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "GOVER_CL_LIB"));
	put_file("usr/lib/gover/libgover-cl.so", 0644);
	assert_int_equal(launch_find_library(&launch_cl, NULL, exe, found, &err), 0);
	assert_string_equal(found, in_folder("usr/bin/../lib/gover/libgover-cl.so", wanted));
}

TEST(the_environment_overrides_the_library)
{
	char path[PATH_MAX], found[PATH_MAX];
	struct err err;

	put_file("mine.so", 0644);
	assert_int_equal(launch_find_library(&launch_fps, in_folder("mine.so", path),
					     "/nowhere/exe", found, &err),
			 0);
	assert_string_equal(found, path);
	assert_int_equal(launch_find_library(&launch_fps, in_folder("none.so", path),
					     "/nowhere/exe", found, &err),
			 -ENOENT);
	assert_non_null(strstr(err.msg, "none.so"));
}

TEST(a_path_that_breaks_ld_preload_is_rejected)
{
	static const char *const names[] = {"a b.so", "a:b.so"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[PATH_MAX], found[PATH_MAX];
		struct err err;

		put_file(names[i], 0644);
		assert_int_equal(launch_find_library(&launch_fps, in_folder(names[i], path), "/x",
						     found, &err),
				 -EINVAL);
		assert_non_null(strstr(err.msg, names[i]));
	}
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

/* Returns arguments that contain these options of `run`. */
static struct args make_args(const char *cap, const char *target, const char *gpu,
			     const char *label)
{
	struct args args = {0};

	args.values[OPTION_RUN_CAP] = cap;
	args.values[OPTION_TARGET_FPS] = target;
	args.values[OPTION_GPU] = gpu;
	if (label)
		args.labels[args.n_labels++] = label;
	return args;
}

TEST(options_that_differ_from_the_contract_are_listed)
{
	static const struct {
		const char *cap, *target, *gpu, *label;
		int n;
		const char *message;
	} rows[] = {
		{NULL, NULL, NULL, NULL, 0, ""},
		{"50", "60", "gpu0", "tenant=x", 0, ""},
		{"50", "60.0", NULL, NULL, 0, ""},
		{"40", NULL, NULL, NULL, 1, "--cap is 50, not 40"},
		{NULL, "30", NULL, NULL, 1, "--target-fps is 60, not 30"},
		{NULL, NULL, "gpu1", NULL, 1, "--gpu is gpu0, not gpu1"},
		{NULL, NULL, NULL, "tenant=y", 1, "label tenant is x, not y"},
		{NULL, NULL, NULL, "new=y", 1, "label new is not set, not y"},
		{"40", "30", NULL, NULL, 2, "--cap is 50, not 40; --target-fps is 60, not 30"},
	};
	json_t *vgpu = json_loads("{\"id\": \"a\", \"gpu\": \"gpu0\", \"initial_cap_pct\": 50, "
				  "\"target_fps\": 60, \"labels\": {\"tenant\": \"x\"}}",
				  0, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct args args =
			make_args(rows[i].cap, rows[i].target, rows[i].gpu, rows[i].label);
		char text[256];

		assert_int_equal(contract_args_list_differences(&args, vgpu, text, sizeof(text)),
				 rows[i].n);
		assert_string_equal(text, rows[i].message);
	}
	json_decref(vgpu);
}

/* target_fps is null on a GPU that counts units of work. */
TEST(a_field_that_is_null_is_not_set)
{
	struct args args = make_args(NULL, "30", NULL, NULL);
	json_t *vgpu = json_loads("{\"target_fps\": null}", 0, NULL);
	char text[256];

	assert_int_equal(contract_args_list_differences(&args, vgpu, text, sizeof(text)), 1);
	assert_string_equal(text, "--target-fps is not set, not 30");
	json_decref(vgpu);
}

TEST(a_long_list_of_differences_is_cut_at_its_limit)
{
	struct args args = make_args("40", "30", "gpu1", "new=y");
	json_t *vgpu = json_object();
	char text[40];

	assert_int_equal(contract_args_list_differences(&args, vgpu, text, sizeof(text)), 4);
	assert_int_equal(strlen(text), sizeof(text) - 1);
	json_decref(vgpu);
}

TEST(only_given_options_are_sent)
{
	struct args args = make_args("40", "59.5", NULL, NULL);
	json_t *body = contract_args_make_body(&args);
	CLEANUP_FREE char *text = json_dumps(body, JSON_COMPACT);

	assert_string_equal(text, "{\"initial_cap_pct\":40,\"target_fps\":59.5}");
	json_decref(body);
}

TEST(labels_are_merged_with_existing_ones)
{
	struct args args = {.labels = {"a=1", "b=", "c=x=y", "none="}, .n_labels = 4};
	json_t *labels = json_pack("{s:s, s:s, s:s}", "a", "0", "b", "0", "d", "0");
	CLEANUP_FREE char *text = NULL;

	contract_args_merge_labels(&args, labels);
	text = json_dumps(labels, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, "{\"a\":\"1\",\"c\":\"x=y\",\"d\":\"0\"}");
	json_decref(labels);
}
