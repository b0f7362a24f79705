/* SPDX-License-Identifier: MIT */
/* The sim backend, called through the interface in gpu/gpu.h, and its control folder. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/gpu/test-gpu.h"

#define START (1000 * NS_PER_S) /* uptime of the host */

static const struct gpu_ops *const ops = &gpu_sim_ops;

/* A GPU to which one vGPU "a" with cap 50 is attached. Its control folder is temp_folder. */
static struct gpu *gpu;
static struct gpu_vgpu *a;
static struct err err;

static void open_gpu(double speed)
{
	struct gpu_config config = {.name = "gpu0", .backend = "sim", .speed = speed};

	strcpy(config.root, temp_folder);
	assert_int_equal(ops->open(&config, &gpu, &err), 0);
	assert_int_equal(ops->create(gpu, "a", 50, &err), 0);
	assert_int_equal(ops->attach(gpu, "a", START, &a, &err), 0);
}

static void close_gpu(void)
{
	ops->detach(a);
	ops->close(gpu);
}

static int begin(void)
{
	assert_int_equal(temp_folder_make(), 0);
	open_gpu(1);
	return 0;
}

static int end(void)
{
	close_gpu();
	return rmdir(temp_folder); /* the GPU has left no file */
}

FIXTURE(begin, end)

static void set_workload(const char *text)
{
	if (ops->label(a, "workload", text, &err) < 0)
		fail_msg("%s", err.msg);
}

static struct gpu_reading read_at(uint64_t now_mono_ns)
{
	struct gpu_reading reading;

	assert_int_equal(ops->read(a, now_mono_ns, &reading), 0);
	return reading;
}

/* Reads the GPU as a tick does, which also reads the control folder. */
static void look_at(uint64_t now_mono_ns)
{
	uint64_t at_ns, busy_ns;

	assert_int_equal(ops->observe.physical(gpu, now_mono_ns, &at_ns, &busy_ns), 0);
}

static void put(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", temp_folder, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static bool take(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", temp_folder, name);
	return unlink(path) == 0;
}

TEST(with_guarantees_a_vgpu_uses_idle_time_up_to_its_ceiling)
{
	struct gpu_traits traits;

	ops->traits(gpu, &traits);
	assert_false(traits.guarantees);
	assert_int_equal(ops->sharing.set(gpu, true, false, &err), 0);
	ops->traits(gpu, &traits);
	assert_true(traits.guarantees);
	read_at(START);
	set_workload("busy");
	assert_int_equal(ops->write_cap(a, START, 20), 0);
	assert_int_equal(read_at(START + NS_PER_S).busy_ns, NS_PER_S / 2);
	assert_int_equal(ops->sharing.write_ceiling(a, 80), 0);
	assert_int_equal(ops->sharing.write_ceiling(a, 101), -EINVAL);
	(void)read_at(START + 2 * NS_PER_S);
	assert_in_range(read_at(START + 3 * NS_PER_S).busy_ns, 2050 * NS_PER_MS, 2100 * NS_PER_MS);
	assert_int_equal(ops->sharing.set(gpu, false, false, &err), 0);
	(void)read_at(START + 4 * NS_PER_S);
	assert_in_range(read_at(START + 4 * NS_PER_S).busy_ns, 2250 * NS_PER_MS, 2300 * NS_PER_MS);
}

TEST(traits_describe_the_gpu)
{
	struct gpu_traits traits;

	ops->traits(gpu, &traits);
	assert_int_equal(traits.step_pct, 1);
	assert_int_equal(traits.floor_pct, 1);
	assert_int_equal(traits.min_interval_ms, 100);
	assert_int_equal(traits.share, GPU_HARD_CAP);
	assert_true(traits.creates);
	assert_true(traits.counts_frames);
	assert_true(traits.capacity_cores == 0);
	assert_null(ops->processes.owner);
	assert_null(ops->processes.places);
}

TEST(the_configuration_selects_the_unit)
{
	static const struct {
		const char *unit;
		enum gpu_unit counts;
	} rows[] = {{"", GPU_FRAMES}, {"frames", GPU_FRAMES}, {"work", GPU_WORK}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gpu_config config = {.name = "gpu0", .speed = 1};
		struct gpu_traits traits;
		struct gpu *other;

		strcpy(config.unit, rows[i].unit);
		assert_int_equal(ops->open(&config, &other, &err), 0);
		ops->traits(other, &traits);
		assert_int_equal(traits.unit, rows[i].counts);
		ops->close(other);
	}
}

TEST(a_missing_control_folder_is_reported)
{
	struct gpu_config config = {.name = "gpu7", .root = "/nonexistent/poke"};
	struct gpu *other = NULL;

	assert_int_equal(ops->open(&config, &other, &err), -ENOENT);
	assert_string_equal(err.msg, "gpu gpu7: control folder /nonexistent/poke: No such file "
				     "or directory");
	assert_null(other);
	ops->close(NULL);
	ops->detach(NULL);
}

TEST(invalid_requests_are_rejected_with_a_message)
{
	struct gpu_vgpu *vgpu = NULL;

	assert_int_equal(ops->create(gpu, "a", 50, &err), -EEXIST);
	assert_string_equal(err.msg, "vGPU a exists already");
	assert_int_equal(ops->create(gpu, "b", 0, &err), -EINVAL);
	assert_string_equal(err.msg, "vGPU b: cap 0 % is not allowed (allowed: 1..100)");
	assert_int_equal(ops->create(gpu, "b", 101, &err), -EINVAL);
	assert_int_equal(ops->attach(gpu, "b", START, &vgpu, &err), -ENOENT);
	assert_string_equal(err.msg, "vGPU b does not exist");
	assert_int_equal(ops->destroy(gpu, "b", &err), -ENOENT);
	assert_string_equal(err.msg, "vGPU b does not exist");
	for (int i = 1; i < 256; i++) {
		char id[ID_MAX];

		snprintf(id, sizeof(id), "v%d", i);
		assert_int_equal(ops->create(gpu, id, 1, &err), 0);
	}
	assert_int_equal(ops->create(gpu, "b", 1, &err), -ENOSPC);
	assert_string_equal(err.msg, "vGPU b: too many vGPUs on a simulated GPU (limit 256)");
}

static void note_found(void *userdata, const char *id, int initial_cap_pct)
{
	char *text = userdata;
	size_t length = strlen(text);

	snprintf(text + length, 64 - length, "%s=%d ", id, initial_cap_pct);
}

TEST(list_reports_existing_vgpus_with_their_initial_caps)
{
	char text[64] = "";

	assert_int_equal(ops->create(gpu, "b", 20, NULL), 0);
	assert_int_equal(ops->write_cap(a, START, 33), 0);
	assert_int_equal(ops->list(gpu, note_found, text), 0);
	assert_non_null(strstr(text, "a=50 "));
	assert_non_null(strstr(text, "b=20 "));
	assert_int_equal(strlen(text), 10);
	assert_int_equal(ops->destroy(gpu, "b", NULL), 0);
	text[0] = '\0';
	assert_int_equal(ops->list(gpu, note_found, text), 0);
	assert_string_equal(text, "a=50 ");
}

TEST(the_clock_is_host_time_multiplied_by_speed)
{
	static const struct {
		double speed, factor;
	} rows[] = {{0, 1}, {1, 1}, {20, 20}, {0.5, 0.5}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t gpu_ns = (uint64_t)(rows[i].factor * 4e9);
		struct gpu_reading reading;
		uint64_t at_ns, busy_ns;

		close_gpu();
		open_gpu(rows[i].speed);
		set_workload("busy");
		reading = read_at(START + 4 * NS_PER_S);
		assert_int_equal(reading.at_ns, gpu_ns);
		assert_int_equal(reading.sched_ns, gpu_ns / 2);
		assert_int_equal(reading.busy_ns, gpu_ns / 2);
		assert_int_equal(ops->observe.physical(gpu, START + 4 * NS_PER_S, &at_ns, &busy_ns),
				 0);
		assert_int_equal(at_ns, gpu_ns);
		assert_int_equal(busy_ns, gpu_ns / 2);
	}
}

TEST(an_earlier_instant_does_not_change_the_clock)
{
	set_workload("busy");
	assert_int_equal(read_at(START + NS_PER_S).at_ns, NS_PER_S);
	assert_int_equal(read_at(START).at_ns, NS_PER_S);
	assert_int_equal(read_at(START - NS_PER_S).at_ns, NS_PER_S);
}

TEST(a_reading_has_frames_only_if_the_workload_makes_them)
{
	struct gpu_reading reading = read_at(START);

	assert_true(reading.busy_valid && reading.cap_valid);
	assert_int_equal(reading.cap_pct, 50);
	assert_false(reading.frames_valid);
	set_workload("glxgears:fps_max=100");
	reading = read_at(START + 2 * NS_PER_S);
	assert_true(reading.frames_valid);
	assert_in_range(reading.frames, 199, 201);
	assert_true(reading.frame_p99_ms > 9.6f && reading.frame_p99_ms < 10.6f);
	assert_in_range(reading.busy_ns, 97 * NS_PER_MS, 103 * NS_PER_MS);
	reading = read_at(START + 2 * NS_PER_S);
	assert_true(reading.frame_p99_ms == 0);
	set_workload("idle");
	assert_false(read_at(START + 3 * NS_PER_S).frames_valid);
}

TEST(a_written_cap_is_read_back_and_enforced)
{
	static const int refused[] = {0, -1, 101, INT_MAX, INT_MIN};
	struct gpu_reading before, after;

	set_workload("busy");
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		assert_int_equal(ops->write_cap(a, START, refused[i]), -EINVAL);
	expect_cap(ops, a, 50);
	assert_int_equal(ops->write_cap(a, START, 20), 0);
	expect_cap(ops, a, 20);
	before = read_at(START + NS_PER_S);
	after = read_at(START + 2 * NS_PER_S);
	assert_int_equal(after.cap_pct, 20);
	assert_int_equal(after.busy_ns - before.busy_ns, 200 * NS_PER_MS);
	assert_int_equal(after.sched_ns - before.sched_ns, 200 * NS_PER_MS);
}

TEST(only_the_label_workload_has_an_effect)
{
	assert_int_equal(ops->label(a, "team", "quake", &err), 0);
	assert_int_equal(ops->label(a, "workload", "quake", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "unknown workload 'quake'"));
	set_workload("glxgears");
}

TEST(a_removed_vgpu_gives_an_error)
{
	struct gpu_vgpu *again;
	struct gpu_reading reading;
	int cap_pct;

	assert_int_equal(ops->destroy(gpu, "a", &err), 0);
	assert_int_equal(ops->create(gpu, "a", 30, &err), 0);
	assert_int_equal(ops->attach(gpu, "a", START, &again, &err), 0);
	/* The old handle does not refer to a new vGPU with the same id. */
	assert_int_equal(ops->read(a, START, &reading), -ENODEV);
	assert_int_equal(ops->write_cap(a, START, 10), -ENODEV);
	assert_int_equal(ops->read_cap(a, &cap_pct), -ENODEV);
	assert_int_equal(ops->label(a, "workload", "busy", &err), -ENODEV);
	assert_string_equal(err.msg, "workload: the vGPU does not exist any more");
	assert_int_equal(reading_at(ops, again, START).cap_pct, 30);
	assert_true(ops->identity(again) != 0);
	assert_true(ops->identity(again) != ops->identity(a));
	ops->detach(again);
}

TEST(the_control_folder_sets_caps_as_a_foreign_writer)
{
	put("a.cap", "15\n");
	assert_int_equal(read_at(START + NS_PER_S).cap_pct, 50);
	look_at(START + NS_PER_S);
	assert_int_equal(read_at(START + NS_PER_S).cap_pct, 15);
	assert_false(take("a.cap"));
	put("a.cap", "0");
	look_at(START + 2 * NS_PER_S);
	assert_int_equal(read_at(START + 2 * NS_PER_S).cap_pct, 0);
}

TEST(the_control_folder_sets_workloads)
{
	put("a.workload", "load:pct=10\n");
	look_at(START);
	assert_int_equal(read_at(START + NS_PER_S).busy_ns, 100 * NS_PER_MS);
}

TEST(the_control_folder_removes_a_vgpu)
{
	struct gpu_reading reading;
	char text[64] = "";

	put("a.gone", "");
	look_at(START);
	assert_int_equal(ops->read(a, START, &reading), -ENODEV);
	ops->list(gpu, note_found, text);
	assert_string_equal(text, "");
}

TEST(invalid_files_in_the_control_folder_are_renamed)
{
	static const struct {
		const char *name, *text;
	} rows[] = {
		{"a.cap", "101"},	    {"a.cap", "-1"}, {"a.cap", "ten"},
		{"a.cap", "20 30"},	    {"b.cap", "20"}, {"a.workload", "quake"},
		{"a.workload", "idle\n\n"}, {"b.gone", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char bad[64];

		snprintf(bad, sizeof(bad), "%s.bad", rows[i].name);
		put(rows[i].name, rows[i].text);
		look_at(START);
		assert_true(take(bad));
		assert_false(take(rows[i].name));
		assert_int_equal(read_at(START).cap_pct, 50);
	}
}

TEST(other_files_in_the_control_folder_are_ignored)
{
	/*
	 * Files that the backend must not remove: empty commands, which may not be written
	 * completely, and files with other names.
	 */
	static const char *const names[] = {"a.cap", "a.workload", "README",
					    ".cap",  "a.cap.bad",  "a.cap.new"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put(names[i], "");
	look_at(START);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_true(take(names[i]));
}

TEST(a_removed_control_folder_changes_nothing)
{
	assert_int_equal(rmdir(temp_folder), 0);
	look_at(START + NS_PER_S);
	assert_int_equal(mkdir(temp_folder, 0700), 0);
	put("a.cap", "9");
	look_at(START + 2 * NS_PER_S);
	assert_int_equal(read_at(START + 2 * NS_PER_S).cap_pct, 9);
}
