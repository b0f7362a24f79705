/* SPDX-License-Identifier: MIT */
/* The sim backend, called through the interface in gpu/gpu.h, and its control folder. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gpu/gpu.h"
#include "tests/unit/unit.h"

#define START (1000 * NS_PER_S) /* uptime of the host */

static const struct gpu_ops *const ops = &gpu_sim_ops;

/* A GPU to which one vGPU "a" with cap 50 is attached. */
struct rig {
	struct gpu *gpu;
	struct gpu_vgpu *a;
	char root[64]; /* path of the control folder */
};

static struct rig new_rig(double speed)
{
	struct gpu_config config = {.name = "gpu0", .backend = "sim", .speed = speed};
	struct rig rig = {.root = "/tmp/gover-test-sim.XXXXXX"};
	struct err err = {""};

	assert_non_null(mkdtemp(rig.root));
	strcpy(config.root, rig.root);
	assert_int_equal(ops->open(&config, &rig.gpu, &err), 0);
	assert_int_equal(ops->create(rig.gpu, "a", 50, &err), 0);
	assert_int_equal(ops->attach(rig.gpu, "a", START, &rig.a, &err), 0);
	return rig;
}

static void free_rig(struct rig *rig)
{
	ops->detach(rig->a);
	ops->close(rig->gpu);
	assert_int_equal(rmdir(rig->root), 0);
}

static void set_workload(struct rig *rig, const char *text)
{
	struct err err = {""};

	if (ops->label(rig->a, "workload", text, &err) < 0)
		fail_msg("%s", err.msg);
}

static struct gpu_reading read_at(struct rig *rig, uint64_t now_mono_ns)
{
	struct gpu_reading reading;

	assert_int_equal(ops->read(rig->a, now_mono_ns, &reading), 0);
	return reading;
}

/* Reads the GPU as a tick does, which also reads the control folder. */
static void look_at(struct rig *rig, uint64_t now_mono_ns)
{
	uint64_t at_ns, busy_ns;

	assert_int_equal(ops->physical(rig->gpu, now_mono_ns, &at_ns, &busy_ns), 0);
}

static void put(struct rig *rig, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", rig->root, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static bool take(struct rig *rig, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", rig->root, name);
	return unlink(path) == 0;
}

TEST(with_guarantees_a_vgpu_uses_idle_time_up_to_its_ceiling)
{
	struct rig rig = new_rig(1);
	struct gpu_traits traits;
	struct err err = {""};

	ops->traits(rig.gpu, &traits);
	assert_false(traits.guarantees);
	assert_int_equal(ops->set_sharing(rig.gpu, true, false, &err), 0);
	ops->traits(rig.gpu, &traits);
	assert_true(traits.guarantees);
	read_at(&rig, START);
	set_workload(&rig, "busy");
	assert_int_equal(ops->write_cap(rig.a, START, 20), 0);
	assert_int_equal(read_at(&rig, START + NS_PER_S).busy_ns, NS_PER_S / 2);
	assert_int_equal(ops->write_ceiling(rig.a, 80), 0);
	assert_int_equal(ops->write_ceiling(rig.a, 101), -EINVAL);
	(void)read_at(&rig, START + 2 * NS_PER_S);
	assert_in_range(read_at(&rig, START + 3 * NS_PER_S).busy_ns, 2050 * NS_PER_MS,
			2100 * NS_PER_MS);
	assert_int_equal(ops->set_sharing(rig.gpu, false, false, &err), 0);
	(void)read_at(&rig, START + 4 * NS_PER_S);
	assert_in_range(read_at(&rig, START + 4 * NS_PER_S).busy_ns, 2250 * NS_PER_MS,
			2300 * NS_PER_MS);
	free_rig(&rig);
}

TEST(traits_describe_the_gpu)
{
	struct rig rig = new_rig(1);
	struct gpu_traits traits;

	ops->traits(rig.gpu, &traits);
	assert_int_equal(traits.step_pct, 1);
	assert_int_equal(traits.floor_pct, 1);
	assert_int_equal(traits.min_interval_ms, 100);
	assert_int_equal(traits.share, GPU_HARD_CAP);
	assert_true(traits.creates);
	assert_true(traits.counts_frames);
	assert_true(traits.capacity_cores == 0);
	assert_null(ops->owner);
	assert_null(ops->places);
	free_rig(&rig);
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
		struct gpu *gpu;
		struct err err;

		strcpy(config.unit, rows[i].unit);
		assert_int_equal(ops->open(&config, &gpu, &err), 0);
		ops->traits(gpu, &traits);
		assert_int_equal(traits.unit, rows[i].counts);
		ops->close(gpu);
	}
}

TEST(a_missing_control_folder_is_reported)
{
	struct gpu_config config = {.name = "gpu7", .root = "/nonexistent/poke"};
	struct gpu *gpu = NULL;
	struct err err = {""};

	assert_int_equal(ops->open(&config, &gpu, &err), -ENOENT);
	assert_string_equal(err.msg, "gpu gpu7: control folder /nonexistent/poke: No such file "
				     "or directory");
	assert_null(gpu);
	ops->close(NULL);
	ops->detach(NULL);
}

TEST(invalid_requests_are_rejected_with_a_message)
{
	struct rig rig = new_rig(1);
	struct gpu_vgpu *vgpu = NULL;
	struct err err = {""};

	assert_int_equal(ops->create(rig.gpu, "a", 50, &err), -EEXIST);
	assert_string_equal(err.msg, "vGPU a exists already");
	assert_int_equal(ops->create(rig.gpu, "b", 0, &err), -EINVAL);
	assert_string_equal(err.msg, "vGPU b: cap 0 % is not allowed (allowed: 1..100)");
	assert_int_equal(ops->create(rig.gpu, "b", 101, &err), -EINVAL);
	assert_int_equal(ops->attach(rig.gpu, "b", START, &vgpu, &err), -ENOENT);
	assert_string_equal(err.msg, "vGPU b does not exist");
	assert_int_equal(ops->destroy(rig.gpu, "b", &err), -ENOENT);
	assert_string_equal(err.msg, "vGPU b does not exist");
	for (int i = 1; i < 256; i++) {
		char id[ID_MAX];

		snprintf(id, sizeof(id), "v%d", i);
		assert_int_equal(ops->create(rig.gpu, id, 1, &err), 0);
	}
	assert_int_equal(ops->create(rig.gpu, "b", 1, &err), -ENOSPC);
	assert_string_equal(err.msg, "vGPU b: too many vGPUs on a simulated GPU (limit 256)");
	free_rig(&rig);
}

static void note_found(void *userdata, const char *id, int initial_cap_pct)
{
	char *text = userdata;
	size_t length = strlen(text);

	snprintf(text + length, 64 - length, "%s=%d ", id, initial_cap_pct);
}

TEST(list_reports_existing_vgpus_with_their_initial_caps)
{
	struct rig rig = new_rig(1);
	char text[64] = "";

	assert_int_equal(ops->create(rig.gpu, "b", 20, NULL), 0);
	assert_int_equal(ops->write_cap(rig.a, START, 33), 0);
	assert_int_equal(ops->list(rig.gpu, note_found, text), 0);
	assert_non_null(strstr(text, "a=50 "));
	assert_non_null(strstr(text, "b=20 "));
	assert_int_equal(strlen(text), 10);
	assert_int_equal(ops->destroy(rig.gpu, "b", NULL), 0);
	text[0] = '\0';
	assert_int_equal(ops->list(rig.gpu, note_found, text), 0);
	assert_string_equal(text, "a=50 ");
	free_rig(&rig);
}

TEST(the_clock_is_host_time_multiplied_by_speed)
{
	static const struct {
		double speed, factor;
	} rows[] = {{0, 1}, {1, 1}, {20, 20}, {0.5, 0.5}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig rig = new_rig(rows[i].speed);
		uint64_t gpu_ns = (uint64_t)(rows[i].factor * 4e9);
		struct gpu_reading reading;
		uint64_t at_ns, busy_ns;

		set_workload(&rig, "busy");
		reading = read_at(&rig, START + 4 * NS_PER_S);
		assert_int_equal(reading.at_ns, gpu_ns);
		assert_int_equal(reading.sched_ns, gpu_ns / 2);
		assert_int_equal(reading.busy_ns, gpu_ns / 2);
		assert_int_equal(ops->physical(rig.gpu, START + 4 * NS_PER_S, &at_ns, &busy_ns), 0);
		assert_int_equal(at_ns, gpu_ns);
		assert_int_equal(busy_ns, gpu_ns / 2);
		free_rig(&rig);
	}
}

TEST(an_earlier_instant_does_not_change_the_clock)
{
	struct rig rig = new_rig(1);

	set_workload(&rig, "busy");
	assert_int_equal(read_at(&rig, START + NS_PER_S).at_ns, NS_PER_S);
	assert_int_equal(read_at(&rig, START).at_ns, NS_PER_S);
	assert_int_equal(read_at(&rig, START - NS_PER_S).at_ns, NS_PER_S);
	free_rig(&rig);
}

TEST(a_reading_has_frames_only_if_the_workload_makes_them)
{
	struct rig rig = new_rig(1);
	struct gpu_reading reading = read_at(&rig, START);

	assert_true(reading.busy_valid && reading.cap_valid);
	assert_int_equal(reading.cap_pct, 50);
	assert_false(reading.frames_valid);
	set_workload(&rig, "glxgears:fps_max=100");
	reading = read_at(&rig, START + 2 * NS_PER_S);
	assert_true(reading.frames_valid);
	assert_in_range(reading.frames, 199, 201);
	assert_true(reading.frame_p99_ms > 9.6f && reading.frame_p99_ms < 10.6f);
	assert_in_range(reading.busy_ns, 97 * NS_PER_MS, 103 * NS_PER_MS);
	reading = read_at(&rig, START + 2 * NS_PER_S);
	assert_true(reading.frame_p99_ms == 0);
	set_workload(&rig, "idle");
	assert_false(read_at(&rig, START + 3 * NS_PER_S).frames_valid);
	free_rig(&rig);
}

TEST(a_written_cap_is_read_back_and_enforced)
{
	static const int refused[] = {0, -1, 101, INT_MAX, INT_MIN};
	struct rig rig = new_rig(1);
	struct gpu_reading before, after;
	int cap_pct = -1;

	set_workload(&rig, "busy");
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		assert_int_equal(ops->write_cap(rig.a, START, refused[i]), -EINVAL);
	assert_int_equal(ops->read_cap(rig.a, &cap_pct), 0);
	assert_int_equal(cap_pct, 50);
	assert_int_equal(ops->write_cap(rig.a, START, 20), 0);
	assert_int_equal(ops->read_cap(rig.a, &cap_pct), 0);
	assert_int_equal(cap_pct, 20);
	before = read_at(&rig, START + NS_PER_S);
	after = read_at(&rig, START + 2 * NS_PER_S);
	assert_int_equal(after.cap_pct, 20);
	assert_int_equal(after.busy_ns - before.busy_ns, 200 * NS_PER_MS);
	assert_int_equal(after.sched_ns - before.sched_ns, 200 * NS_PER_MS);
	free_rig(&rig);
}

TEST(only_the_label_workload_has_an_effect)
{
	struct rig rig = new_rig(1);
	struct err err = {""};

	assert_int_equal(ops->label(rig.a, "team", "quake", &err), 0);
	assert_int_equal(ops->label(rig.a, "workload", "quake", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "unknown workload 'quake'"));
	set_workload(&rig, "glxgears");
	free_rig(&rig);
}

TEST(a_removed_vgpu_gives_an_error)
{
	struct rig rig = new_rig(1);
	struct gpu_vgpu *again;
	struct gpu_reading reading;
	struct err err = {""};
	int cap_pct;

	assert_int_equal(ops->destroy(rig.gpu, "a", &err), 0);
	assert_int_equal(ops->create(rig.gpu, "a", 30, &err), 0);
	assert_int_equal(ops->attach(rig.gpu, "a", START, &again, &err), 0);
	/* The old handle does not refer to a new vGPU with the same id. */
	assert_int_equal(ops->read(rig.a, START, &reading), -ENODEV);
	assert_int_equal(ops->write_cap(rig.a, START, 10), -ENODEV);
	assert_int_equal(ops->read_cap(rig.a, &cap_pct), -ENODEV);
	assert_int_equal(ops->label(rig.a, "workload", "busy", &err), -ENODEV);
	assert_string_equal(err.msg, "workload: the vGPU does not exist any more");
	assert_int_equal(ops->read(again, START, &reading), 0);
	assert_int_equal(reading.cap_pct, 30);
	assert_true(ops->identity(again) != 0);
	assert_true(ops->identity(again) != ops->identity(rig.a));
	ops->detach(again);
	free_rig(&rig);
}

TEST(the_control_folder_sets_caps_as_a_foreign_writer)
{
	struct rig rig = new_rig(1);

	put(&rig, "a.cap", "15\n");
	assert_int_equal(read_at(&rig, START + NS_PER_S).cap_pct, 50);
	look_at(&rig, START + NS_PER_S);
	assert_int_equal(read_at(&rig, START + NS_PER_S).cap_pct, 15);
	assert_false(take(&rig, "a.cap"));
	put(&rig, "a.cap", "0");
	look_at(&rig, START + 2 * NS_PER_S);
	assert_int_equal(read_at(&rig, START + 2 * NS_PER_S).cap_pct, 0);
	free_rig(&rig);
}

TEST(the_control_folder_sets_workloads)
{
	struct rig rig = new_rig(1);

	put(&rig, "a.workload", "load:pct=10\n");
	look_at(&rig, START);
	assert_int_equal(read_at(&rig, START + NS_PER_S).busy_ns, 100 * NS_PER_MS);
	free_rig(&rig);
}

TEST(the_control_folder_removes_a_vgpu)
{
	struct rig rig = new_rig(1);
	struct gpu_reading reading;
	char text[64] = "";

	put(&rig, "a.gone", "");
	look_at(&rig, START);
	assert_int_equal(ops->read(rig.a, START, &reading), -ENODEV);
	ops->list(rig.gpu, note_found, text);
	assert_string_equal(text, "");
	free_rig(&rig);
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
	struct rig rig = new_rig(1);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char bad[64];

		snprintf(bad, sizeof(bad), "%s.bad", rows[i].name);
		put(&rig, rows[i].name, rows[i].text);
		look_at(&rig, START);
		assert_true(take(&rig, bad));
		assert_false(take(&rig, rows[i].name));
		assert_int_equal(read_at(&rig, START).cap_pct, 50);
	}
	free_rig(&rig);
}

TEST(other_files_in_the_control_folder_are_ignored)
{
	/*
	 * Files that the backend must not remove: empty commands, which may not be written
	 * completely, and files with other names.
	 */
	static const char *const names[] = {"a.cap", "a.workload", "README",
					    ".cap",  "a.cap.bad",  "a.cap.new"};
	struct rig rig = new_rig(1);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put(&rig, names[i], "");
	look_at(&rig, START);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_true(take(&rig, names[i]));
	free_rig(&rig);
}

TEST(a_removed_control_folder_changes_nothing)
{
	struct rig rig = new_rig(1);

	assert_int_equal(rmdir(rig.root), 0);
	look_at(&rig, START + NS_PER_S);
	assert_int_equal(mkdir(rig.root, 0700), 0);
	put(&rig, "a.cap", "9");
	look_at(&rig, START + 2 * NS_PER_S);
	assert_int_equal(read_at(&rig, START + 2 * NS_PER_S).cap_pct, 9);
	free_rig(&rig);
}
