/* SPDX-License-Identifier: MIT */
/*
 * Access to a GPU whose functions hang or are slow: no call waits for long, and nothing is lost.
 * Also tests the choice of [gpu] sharing.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gpu/io.h"
#include "tests/unit/unit.h"

#define BUSY   "the other discipline stays"
#define VGPUS  3
#define LONG_S 60 /* limit for what must happen, however slow the machine is */

/* --- a fake backend: each of its functions can be made to hang --- */

enum function { OPEN, LIST, ATTACH, DETACH, READ, READ_CAP, WRITE_CAP, CLOSE, FUNCTIONS };

struct gpu_vgpu {
	int index;
	int cap_pct;
	bool attached;
};

struct scheduler {
	bool has_guarantees; /* otherwise the scheduler has only limits */
	bool has_third;	     /* a third discipline is in force; by_default does not change it */
	bool cannot_change;  /* every change fails */
	bool guarantees;
};

static struct gpu {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct gpu_vgpu vgpus[VGPUS];
	bool hangs[FUNCTIONS];
	int inside[FUNCTIONS]; /* number of calls that have begun and not ended */
	int calls[FUNCTIONS];
	int open_errno;
	int delay_ms; /* duration of each reading */
	struct scheduler scheduler;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void pass(enum function function)
{
	pthread_mutex_lock(&fake.lock);
	fake.calls[function]++;
	fake.inside[function]++;
	pthread_cond_broadcast(&fake.changed);
	while (fake.hangs[function])
		pthread_cond_wait(&fake.changed, &fake.lock);
	fake.inside[function]--;
	pthread_cond_broadcast(&fake.changed);
	pthread_mutex_unlock(&fake.lock);
}

static void set_hang(enum function function, bool hangs)
{
	pthread_mutex_lock(&fake.lock);
	fake.hangs[function] = hangs;
	pthread_cond_broadcast(&fake.changed);
	pthread_mutex_unlock(&fake.lock);
}

/* Waits until a call of @function has begun, or with @calls > 0 until @calls of them have ended. */
static void await(enum function function, int calls)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LONG_S;
	pthread_mutex_lock(&fake.lock);
	while (calls ? fake.calls[function] < calls || fake.inside[function] > 0
		     : fake.inside[function] == 0)
		assert_int_equal(pthread_cond_timedwait(&fake.changed, &fake.lock, &until), 0);
	pthread_mutex_unlock(&fake.lock);
}

static int fake_open(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr)
{
	(void)config;
	pass(OPEN);
	if (fake.open_errno)
		return err_fail(reterr, fake.open_errno, "the test rejects it");
	*ret_gpu = &fake;
	return 0;
}

static void fake_close(struct gpu *gpu)
{
	(void)gpu;
	pass(CLOSE);
}

static int fake_list(struct gpu *gpu, gpu_found_fn found, void *userdata)
{
	pass(LIST);
	for (int i = 0; i < VGPUS; i++)
		found(userdata, (char[]){(char)('a' + i), '\0'}, gpu->vgpus[i].cap_pct);
	return 0;
}

static int fake_attach(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		       struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	int index = id[0] - 'a';

	(void)now_mono_ns;
	pass(ATTACH);
	if (index < 0 || index >= VGPUS)
		return err_fail(reterr, ENOENT, "no vGPU %s", id);
	gpu->vgpus[index].attached = true;
	*ret_vgpu = &gpu->vgpus[index];
	return 0;
}

static void fake_detach(struct gpu_vgpu *vgpu)
{
	pass(DETACH);
	vgpu->attached = false;
}

static int fake_read(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, struct gpu_reading *ret_reading)
{
	int cap_pct = vgpu->cap_pct;

	(void)usleep((useconds_t)fake.delay_ms * 1000);
	pass(READ);
	*ret_reading = (struct gpu_reading){.at_ns = now_mono_ns,
					    .busy_valid = true,
					    .busy_ns = (uint64_t)vgpu->index,
					    .cap_valid = true,
					    .cap_pct = cap_pct};
	return 0;
}

static int fake_read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	pass(READ_CAP);
	*ret_cap_pct = vgpu->cap_pct;
	return 0;
}

static int fake_write_cap(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	(void)now_mono_ns;
	pass(WRITE_CAP);
	vgpu->cap_pct = cap_pct;
	return 0;
}

static void fake_traits(const struct gpu *gpu, struct gpu_traits *ret_traits)
{
	*ret_traits = (struct gpu_traits){.step_pct = 1, .guarantees = gpu->scheduler.guarantees};
}

static int fake_set_sharing(struct gpu *gpu, bool guarantee, bool by_default, struct err *reterr)
{
	struct scheduler *scheduler = &gpu->scheduler;

	if (scheduler->cannot_change)
		return err_fail(reterr, EIO, "sharing = %s: I/O error",
				gpu_sharing_name(guarantee));
	if (scheduler->has_third && by_default) {
		scheduler->guarantees = false;
		(void)err_fail(reterr, EBUSY, BUSY);
		return 1;
	}
	if (guarantee && !scheduler->has_guarantees)
		return err_fail(reterr, EOPNOTSUPP, "sharing = guarantee: only hard caps");
	scheduler->guarantees = guarantee;
	return 0;
}

/* The tests of the sharing set in_memory and set_sharing. */
static struct gpu_ops fake_ops = {
	.name = "fake",
	.open = fake_open,
	.close = fake_close,
	.list = fake_list,
	.attach = fake_attach,
	.detach = fake_detach,
	.read = fake_read,
	.read_cap = fake_read_cap,
	.write_cap = fake_write_cap,
	.traits = fake_traits,
};

/* These functions replace gpu/gpu.c. */
const struct gpu_ops *gpu_at(size_t index)
{
	return index == 0 ? &fake_ops : NULL;
}

const struct gpu_ops *gpu_find(const char *backend)
{
	return strcmp(backend, "fake") == 0 ? &fake_ops : NULL;
}

const struct gpu_ops *gpu_auto(const struct gpu_config *config)
{
	(void)config;
	return NULL;
}

/* --- the fixture: an open GPU with the attached vGPUs a, b and c --- */

static struct gpu_config config;
static struct gpu_io_patience patience;
static struct gpu_io *io;
static struct gpu_vgpu *vgpus[VGPUS];
static struct err err;

static uint64_t in_s(int s)
{
	return clock_now().mono_ns + (uint64_t)s * NS_PER_S;
}

static void begin_gpu(void)
{
	config = (struct gpu_config){.name = "gpu0", .backend = "fake"};
	patience = (struct gpu_io_patience){0};
	err.msg[0] = '\0';
	assert_int_equal(gpu_io_new(&config, &patience, &io, &err), 0);
}

static int set_up(void)
{
	memset(fake.calls, 0, sizeof(fake.calls));
	memset(fake.hangs, 0, sizeof(fake.hangs));
	fake.open_errno = fake.delay_ms = 0;
	for (int i = 0; i < VGPUS; i++)
		fake.vgpus[i] = (struct gpu_vgpu){.index = i, .cap_pct = 30};
	begin_gpu();
	assert_int_equal(gpu_io_wait_open(io, in_s(LONG_S), &err), 0);
	for (int i = 0; i < VGPUS; i++)
		assert_int_equal(
			gpu_io_attach(io, (char[]){(char)('a' + i), '\0'}, 0, &vgpus[i], &err), 0);
	return 0;
}

/* Lets all functions go on, closes the GPU and checks that each vGPU was detached. */
static int tear_down(void)
{
	for (int i = 0; i < FUNCTIONS; i++)
		set_hang((enum function)i, false);
	for (int i = 0; i < VGPUS; i++)
		gpu_io_detach(io, vgpus[i]);
	io = gpu_io_free(io);
	await(CLOSE, 1);
	for (int i = 0; i < VGPUS; i++)
		assert_false(fake.vgpus[i].attached);
	return 0;
}

FIXTURE(set_up, tear_down)

static void start_sweep(void)
{
	struct gpu_io_sweep *sweep = gpu_io_next_sweep(io);

	assert_non_null(sweep);
	sweep->lists = true;
	sweep->slow_ns = NS_PER_S;
	sweep->n_samples = VGPUS;
	for (int i = 0; i < VGPUS; i++)
		sweep->samples[i] = (struct gpu_io_sample){.device = vgpus[i], .lease_ms = -1};
	gpu_io_start_sweep(io, 0);
}

static const struct gpu_io_sweep *take_sweep(void)
{
	uint64_t until_ns = in_s(LONG_S);
	const struct gpu_io_sweep *sweep = NULL;

	while (!sweep && clock_now().mono_ns < until_ns)
		sweep = gpu_io_take_sweep(io, clock_now().mono_ns + 100 * NS_PER_MS);
	assert_non_null(sweep);
	return sweep;
}

/* --- the tests --- */

TEST(a_sweep_lists_and_reads_all_vgpus)
{
	const struct gpu_io_sweep *sweep;

	start_sweep();
	sweep = take_sweep();
	assert_int_equal(sweep->list_error, 0);
	assert_int_equal(sweep->n_listed, VGPUS);
	for (int i = 0; i < VGPUS; i++) {
		assert_int_equal(sweep->listed[i].id[0], 'a' + i);
		assert_ptr_equal(sweep->samples[i].device, vgpus[i]);
		assert_int_equal(sweep->samples[i].read_error, 0);
		assert_int_equal(sweep->samples[i].reading.busy_ns, i);
		assert_true(sweep->samples[i].read_ns >= sweep->samples[i].reading.at_ns);
		assert_int_equal(sweep->samples[i].renewed_ns, 0);
	}
	assert_false(sweep->physical_valid);
	assert_null(gpu_io_take_sweep(io, 0)); /* the results are taken once */
	assert_int_equal(gpu_io_silent_ns(io), 0);
}

TEST(a_hanging_read_delays_neither_the_caller_nor_later_sweeps)
{
	int cap_pct;

	set_hang(READ, true);
	start_sweep();
	await(READ, 0);
	assert_null(gpu_io_take_sweep(io, clock_now().mono_ns + 50 * NS_PER_MS));
	assert_null(gpu_io_next_sweep(io)); /* the sweep has not ended */
	assert_int_equal(gpu_io_read_cap(io, vgpus[0], &cap_pct), -ETIMEDOUT);
	while (!gpu_io_silent_ns(io))
		(void)usleep(10000);
	for (int i = 0; i < 1000; i++) /* each would wait for GPU_IO_WAIT_MS otherwise */
		assert_int_equal(gpu_io_write_cap(io, vgpus[0], 0, 60), -ETIMEDOUT);
	assert_int_equal(gpu_io_create(io, "d", 10, &err), -ETIMEDOUT);
	assert_string_equal(err.msg, "GPU gpu0 does not answer");

	set_hang(READ, false);
	assert_int_equal(take_sweep()->n_samples, VGPUS);
	assert_int_equal(gpu_io_silent_ns(io), 0);
	assert_int_equal(fake.calls[WRITE_CAP], 0);
	start_sweep();
	assert_int_equal(take_sweep()->samples[2].read_error, 0);
}

TEST(a_caller_without_a_loop_waits_longer)
{
	struct gpu_reading reading;

	fake.delay_ms = GPU_IO_WAIT_MS + 200;
	patience = (struct gpu_io_patience){.max_ns = LONG_S * NS_PER_S};
	for (int i = 0; i < 3; i++)
		assert_int_equal(gpu_io_read(io, vgpus[0], 0, &reading), 0);
	patience = (struct gpu_io_patience){0};
	assert_int_equal(gpu_io_read(io, vgpus[0], 0, &reading), -ETIMEDOUT);
}

TEST(a_write_that_hangs_takes_effect_later_and_is_not_repeated)
{
	int cap_pct;

	set_hang(WRITE_CAP, true);
	assert_int_equal(gpu_io_write_cap(io, vgpus[0], 0, 60), -ETIMEDOUT);
	assert_int_equal(gpu_io_write_cap(io, vgpus[0], 0, 70), -ETIMEDOUT);
	set_hang(WRITE_CAP, false);
	await(WRITE_CAP, 1);
	patience = (struct gpu_io_patience){0};
	while (gpu_io_read_cap(io, vgpus[0], &cap_pct) < 0)
		(void)usleep(10000);
	assert_int_equal(cap_pct, 60);
	assert_int_equal(fake.calls[WRITE_CAP], 1);
}

TEST(a_vgpu_whose_attachment_was_given_up_is_detached)
{
	struct gpu_vgpu *vgpu;

	gpu_io_detach(io, vgpus[0]);
	await(DETACH, 1);
	set_hang(ATTACH, true);
	assert_int_equal(gpu_io_attach(io, "a", 0, &vgpu, &err), -ETIMEDOUT);
	vgpus[0] = NULL;
	set_hang(ATTACH, false);
	await(DETACH, 2);
}

TEST(a_call_does_not_wait_for_the_rest_of_a_slow_sweep)
{
	int cap_pct, read;

	set_hang(READ, true);
	start_sweep();
	await(READ, 0);
	fake.delay_ms = 200;
	set_hang(READ, false);
	assert_int_equal(gpu_io_read_cap(io, vgpus[0], &cap_pct), 0);
	pthread_mutex_lock(&fake.lock);
	read = fake.calls[READ];
	pthread_mutex_unlock(&fake.lock);
	assert_true(read < VGPUS);
	(void)take_sweep();
}

TEST(a_cap_that_was_written_during_a_sweep_is_not_reported)
{
	const struct gpu_io_sweep *sweep;

	fake.delay_ms = 100;
	start_sweep();
	await(READ, 1);
	assert_int_equal(gpu_io_write_cap(io, vgpus[0], 0, 60), 0);
	sweep = take_sweep();
	assert_false(sweep->samples[0].reading.cap_valid);
	assert_true(sweep->samples[2].reading.cap_valid);
	assert_true(sweep->samples[0].reading.busy_valid);
}

TEST(a_backend_without_memory_limits_is_unsupported)
{
	assert_int_equal(gpu_io_write_memory(io, vgpus[0], 1), -EOPNOTSUPP);
}

TEST(a_vgpu_detached_during_a_sweep_has_no_results)
{
	const struct gpu_io_sweep *sweep;

	set_hang(READ, true);
	start_sweep();
	await(READ, 0);
	gpu_io_detach(io, vgpus[2]); /* does not wait */
	vgpus[2] = NULL;
	set_hang(READ, false);
	sweep = take_sweep();
	assert_null(sweep->samples[2].device);
	assert_int_equal(fake.calls[READ], 2);
	await(DETACH, 1);
}

TEST(a_reading_that_took_too_long_is_invalid)
{
	fake.delay_ms = 30;
	start_sweep();
	(void)take_sweep();
	for (int i = 0; i < 2; i++) {
		struct gpu_io_sweep *sweep = gpu_io_next_sweep(io);

		sweep->slow_ns = i == 0 ? 10 * NS_PER_MS : LONG_S * NS_PER_S;
		gpu_io_start_sweep(io, 0);
		assert_int_equal(take_sweep()->samples[0].read_error, i == 0 ? -ETIMEDOUT : 0);
	}
}

TEST(a_gpu_that_hangs_while_it_is_opened_opens_later)
{
	tear_down();
	memset(vgpus, 0, sizeof(vgpus));
	set_hang(OPEN, true);
	begin_gpu();
	assert_int_equal(gpu_io_wait_open(io, clock_now().mono_ns, &err), -EINPROGRESS);
	assert_null(gpu_io_next_sweep(io));
	assert_int_equal(gpu_io_create(io, "a", 10, &err), -ETIMEDOUT);
	set_hang(OPEN, false);
	assert_int_equal(gpu_io_wait_open(io, in_s(LONG_S), &err), 0);
	assert_non_null(gpu_io_next_sweep(io));
	fake.calls[CLOSE] = 0;
}

TEST(a_gpu_that_could_not_be_opened_can_be_opened_again)
{
	tear_down();
	memset(vgpus, 0, sizeof(vgpus));
	fake.calls[CLOSE] = 0;
	fake.open_errno = EACCES;
	begin_gpu();
	assert_int_equal(gpu_io_wait_open(io, in_s(LONG_S), &err), -EACCES);
	assert_string_equal(err.msg, "the test rejects it");
	fake.open_errno = 0;
	gpu_io_reopen(io);
	assert_int_equal(gpu_io_wait_open(io, in_s(LONG_S), &err), 0);
}

/* Its thread ends when the read returns. */
TEST(a_gpu_that_hangs_can_be_closed)
{
	set_hang(READ, true);
	start_sweep();
	await(READ, 0);
	for (int i = 0; i < VGPUS; i++)
		gpu_io_detach(io, vgpus[i]);
	memset(vgpus, 0, sizeof(vgpus));
	io = gpu_io_free(io);
	assert_int_equal(fake.calls[CLOSE], 0);
	set_hang(READ, false);
	await(CLOSE, 1);
	begin_gpu();
}

TEST(an_unknown_backend_is_rejected)
{
	struct gpu_config unknown = {.name = "gpu0", .backend = "quantum"};
	struct gpu_io *none;

	assert_int_equal(gpu_io_new(&unknown, &patience, &none, &err), -EINVAL);
	assert_string_equal(err.msg, "backend: \"quantum\" is unknown");
}

/* --- the choice of [gpu] sharing --- */

static int open_fake(const char *sharing, bool paper_mode)
{
	config = (struct gpu_config){.name = "gpu0", .backend = "fake", .paper_mode = paper_mode};
	snprintf(config.sharing, sizeof(config.sharing), "%s", sharing);
	assert_int_equal(gpu_io_new(&config, &patience, &io, &err), 0);
	return gpu_io_wait_open(io, 0, &err);
}

static bool guarantees(void)
{
	struct gpu_traits traits;

	gpu_io_traits(io, &traits);
	return traits.guarantees;
}

static int set_up_sharing(void)
{
	fake.scheduler = (struct scheduler){.has_guarantees = true};
	fake_ops.in_memory = true;
	fake_ops.sharing.set = fake_set_sharing;
	err.msg[0] = '\0';
	return 0;
}

static int tear_down_sharing(void)
{
	io = gpu_io_free(io);
	fake_ops.in_memory = false;
	fake_ops.sharing.set = NULL;
	return 0;
}

static const struct choice {
	const char *name, *sharing;
	struct scheduler scheduler;
	bool paper_mode, only_limits;
	int result;
	bool guarantees;
	const char *why;
} choices[] = {
	{"auto takes guarantee", "auto", .scheduler.has_guarantees = true, .guarantees = true,
	 .why = ""},
	{"auto without it is hard", "auto", .why = "sharing = guarantee: only hard caps"},
	{"auto on a backend without it", "auto", .only_limits = true,
	 .why = "backend fake has only hard caps"},
	{"auto in paper mode", "auto", .scheduler.has_guarantees = true, .paper_mode = true,
	 .why = "the caps of the paper are hard limits (paper_mode = on)"},
	{"auto resets guarantee in paper mode", "auto",
	 .scheduler = {.has_guarantees = true, .guarantees = true}, .paper_mode = true,
	 .why = "the caps of the paper are hard limits (paper_mode = on)"},
	{"auto does not change a third discipline", "auto",
	 .scheduler = {.has_guarantees = true, .has_third = true}, .why = BUSY},
	{"auto does not change it in paper mode", "auto", .scheduler.has_third = true,
	 .paper_mode = true, .why = BUSY},
	{"auto fails if neither can be set", "auto", .scheduler.cannot_change = true,
	 .result = -EIO},
	{"guarantee", "guarantee", .scheduler.has_guarantees = true, .guarantees = true, .why = ""},
	{"guarantee replaces a third discipline", "guarantee",
	 .scheduler = {.has_guarantees = true, .has_third = true}, .guarantees = true, .why = ""},
	{"guarantee without it", "guarantee", .result = -EINVAL},
	{"guarantee on a backend without it", "guarantee", .only_limits = true, .result = -EINVAL},
	{"hard", "hard", .scheduler = {.has_guarantees = true, .guarantees = true}, .why = ""},
	{"hard replaces a third discipline", "hard", .scheduler.has_third = true, .why = ""},
	{"hard on a backend without guarantees", "hard", .only_limits = true, .why = ""},
};

TEST_WITH(the_sharing_is_chosen_at_the_start, NULL, NULL)
{
	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		const struct choice *choice = &choices[i];
		int r;

		(void)set_up_sharing();
		fake.scheduler = choice->scheduler;
		if (choice->only_limits)
			fake_ops.sharing.set = NULL;
		r = open_fake(choice->sharing, choice->paper_mode);
		if (r != choice->result || (r == 0 && guarantees() != choice->guarantees))
			fail_msg("%s: %d %s", choice->name, r, err.msg);
		if (r == 0 && strcmp(gpu_io_sharing_why(io), choice->why) != 0)
			fail_msg("%s: reason \"%s\"", choice->name, gpu_io_sharing_why(io));
		(void)tear_down_sharing();
	}
}

TEST_WITH(paper_mode_changes_an_open_gpu, set_up_sharing, tear_down_sharing)
{
	assert_int_equal(open_fake("auto", false), 0);
	assert_true(guarantees());
	assert_int_equal(gpu_io_choose_sharing(io, true, &err), 0);
	assert_false(guarantees());
	assert_non_null(strstr(gpu_io_sharing_why(io), "paper_mode = on"));
	assert_int_equal(gpu_io_choose_sharing(io, false, &err), 0);
	assert_true(guarantees());
	assert_string_equal(gpu_io_sharing_why(io), "");
}

TEST_WITH(a_failed_change_keeps_the_earlier_reason, set_up_sharing, tear_down_sharing)
{
	assert_int_equal(open_fake("auto", false), 0);
	fake.scheduler.cannot_change = true;
	assert_int_equal(gpu_io_choose_sharing(io, true, &err), -EIO);
	assert_string_equal(err.msg, "sharing = hard: I/O error");
	assert_true(guarantees());
	assert_string_equal(gpu_io_sharing_why(io), "");
}
