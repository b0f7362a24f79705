/* SPDX-License-Identifier: MIT */
/*
 * The scheduling policy for i915 (kernel/gover_sched_policy): shares, turns, accounting, files, and
 * vGPUs that stop or are removed while workloads are in flight. The test compiles the files of the
 * kernel module.
 *
 * The rig is a simulated i915 GVT-g: guests that submit workloads, engines, the threads that
 * dispatch and decide, and a clock that the test advances. It calls the policy as gvt/scheduler.c
 * and gvt/vgpu.c of Linux 6.1 do.
 */
#include "kernel/gover_sched_policy/sched_policy.c"
#include "kernel/gover_sched_policy/sched_sysfs.c"
#include "gvt.h"
#include "kernel/sched/sched.h"
#include "tests/unit/unit.h"

#define VGPUS 7
#define MS    NSEC_PER_MSEC
#define S     NSEC_PER_SEC
#define START 1000000000ULL /* uptime of the machine in ns */

/*
 * The load of a guest on an engine: workloads of equal length with a pause after each workload.
 * Without a pause, the queue always contains two workloads.
 */
struct habit {
	u64 length_ns; /* 0: no workloads */
	u64 pause_ns;
	u64 next_ns;
};

struct guest {
	struct intel_vgpu vgpu;
	struct habit habits[ENGINES];
	bool exists;
};

struct rig {
	struct drm_i915_private i915;
	struct intel_gt gt;
	struct intel_gvt gvt;
	struct intel_vgpu idle;
	struct guest guests[VGPUS];
	u64 delay_ns;	/* delay of the service thread after a request */
	u64 service_ns; /* time at which the service thread runs; 0: no request */
	unsigned int schedules;
	bool quiet; /* true: guests submit no workloads */
};

static struct rig rig;

unsigned int spins_held;
static u64 clock_ns;

u64 ktime_get_ns(void)
{
	return clock_ns;
}

int sysfs_emit(char *buf, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	n = vsnprintf(buf, PAGE_SIZE, format, args);
#pragma GCC diagnostic pop
	va_end(args);
	return n;
}

int kstrtou32(const char *text, unsigned int base, u32 *ret_number)
{
	char *end;
	unsigned long long number = strtoull(text, &end, (int)base);

	if (end == text || *text == '-' || (*end != '\0' && strcmp(end, "\n") != 0))
		return -EINVAL;
	if (number > UINT32_MAX)
		return -ERANGE;
	*ret_number = (u32)number;
	return 0;
}

/* --- a device, its vGPUs --- */

static struct gvt_sched_data *sched_data_of(void)
{
	return rig.gvt.scheduler.sched_data;
}

static int rig_init(void)
{
	rig = (struct rig){0};
	clock_ns = START;
	for (int e = 0; e < ENGINES; e++)
		rig.gt.engine[e].id = (enum intel_engine_id)e;
	rig.gt.i915 = &rig.i915;
	rig.gvt.gt = &rig.gt;
	assert_int_equal(intel_gvt_init_sched_policy(&rig.gvt), 0);
	rig.idle.gvt = &rig.gvt;
	for (int e = 0; e < ENGINES; e++)
		INIT_LIST_HEAD(&rig.idle.submission.workload_q_head[e]);
	assert_int_equal(intel_vgpu_init_sched_policy(&rig.idle), 0);
	rig.gvt.idle_vgpu = &rig.idle;
	return 0;
}

/* Creates a vGPU without a guest. Its share of the GPU is 1/@parts. */
static struct guest *rig_create(int parts)
{
	struct guest *guest = rig.guests;

	while (guest->exists)
		guest++;
	*guest = (struct guest){.exists = true};
	guest->vgpu.gvt = &rig.gvt;
	guest->vgpu.id = (int)(guest - rig.guests) + 1;
	guest->vgpu.sched_ctl.weight = 16 / parts;
	for (int e = 0; e < ENGINES; e++)
		INIT_LIST_HEAD(&guest->vgpu.submission.workload_q_head[e]);
	assert_int_equal(intel_vgpu_init_sched_policy(&guest->vgpu), 0);
	return guest;
}

/* Creates a vGPU with the initial cap @cap whose guest submits workloads of @length_ns. */
static struct guest *rig_add(u32 cap, u64 length_ns)
{
	struct guest *guest = rig_create(8);

	assert_int_equal(intel_vgpu_set_initial_cap(&guest->vgpu, cap), 0);
	guest->vgpu.active = true;
	intel_vgpu_start_schedule(&guest->vgpu);
	guest->habits[RCS0].length_ns = length_ns;
	return guest;
}

/* --- workloads --- */

static void submit(struct guest *guest, int e, u64 length_ns)
{
	struct intel_vgpu_workload *workload = calloc(1, sizeof(*workload));

	assert_non_null(workload);
	workload->vgpu = &guest->vgpu;
	workload->length_ns = length_ns;
	list_add_tail(&workload->list, &guest->vgpu.submission.workload_q_head[e]);
	intel_gvt_kick_schedule(&rig.gvt);
	wake_up(&rig.gvt.scheduler.waitq[e]);
}

static unsigned int queued(const struct guest *guest, int e)
{
	const struct list_head *head = &guest->vgpu.submission.workload_q_head[e];
	unsigned int n = 0;

	for (const struct list_head *at = head->next; at != head; at = at->next)
		n++;
	return n;
}

/* like pick_next_workload() */
static void dispatch(int e)
{
	struct intel_gvt_workload_scheduler *scheduler = &rig.gvt.scheduler;
	struct intel_vgpu *vgpu = scheduler->current_vgpu;
	struct intel_vgpu_workload *workload;

	scheduler->waitq[e].woken = false;
	mutex_lock(&rig.gvt.sched_lock);
	if (vgpu && !scheduler->need_reschedule && vgpu->active &&
	    !list_empty(&vgpu->submission.workload_q_head[e])) {
		assert_null(scheduler->current_workload[e]);
		workload = container_of(vgpu->submission.workload_q_head[e].next,
					struct intel_vgpu_workload, list);
		workload->end_ns = clock_ns + workload->length_ns;
		scheduler->current_workload[e] = workload;
		scheduler->engine_owner[e] = vgpu;
		intel_vgpu_begin_workload(vgpu);
	}
	mutex_unlock(&rig.gvt.sched_lock);
}

/* like complete_current_workload() */
static void complete(int e)
{
	struct intel_gvt_workload_scheduler *scheduler = &rig.gvt.scheduler;
	struct intel_vgpu_workload *workload = scheduler->current_workload[e];
	struct guest *guest = container_of(workload->vgpu, struct guest, vgpu);

	mutex_lock(&rig.gvt.sched_lock);
	scheduler->current_workload[e] = NULL;
	list_del(&workload->list);
	intel_vgpu_end_workload(&guest->vgpu);
	if (scheduler->need_reschedule)
		intel_gvt_request_service(&rig.gvt, INTEL_GVT_REQUEST_EVENT_SCHED);
	mutex_unlock(&rig.gvt.sched_lock);
	free(workload);
	guest->habits[e].next_ns = clock_ns + guest->habits[e].pause_ns;
	scheduler->waitq[e].woken = true;
}

static bool in_flight(const struct guest *guest)
{
	for (int e = 0; e < ENGINES; e++) {
		const struct intel_vgpu_workload *workload = rig.gvt.scheduler.current_workload[e];

		if (workload && (!guest || workload->vgpu == &guest->vgpu))
			return true;
	}
	return false;
}

/* --- time --- */

static void guests_submit(void)
{
	if (rig.quiet)
		return;
	for (struct guest *guest = rig.guests; guest < rig.guests + VGPUS; guest++) {
		for (int e = 0; guest->exists && guest->vgpu.active && e < ENGINES; e++) {
			const struct habit *habit = &guest->habits[e];
			unsigned int wanted = habit->pause_ns > 0 ? 1 : 2;

			while (habit->length_ns > 0 && habit->next_ns <= clock_ns &&
			       queued(guest, e) < wanted)
				submit(guest, e, habit->length_ns);
		}
	}
}

/* Runs the threads until no thread has work. */
static void settle(void)
{
	struct intel_gvt_workload_scheduler *scheduler = &rig.gvt.scheduler;
	bool again = true;

	while (again) {
		again = false;
		if (rig.gvt.service_request != 0 && rig.service_ns == 0)
			rig.service_ns = clock_ns + rig.delay_ns;
		if (rig.service_ns != 0 && rig.service_ns <= clock_ns) {
			rig.service_ns = 0;
			rig.schedules++;
			intel_gvt_schedule(&rig.gvt);
			again = true;
		}
		for (int e = 0; e < ENGINES; e++) {
			if (scheduler->waitq[e].woken && !scheduler->current_workload[e]) {
				dispatch(e);
				again = true;
			}
		}
	}
}

static u64 earlier(u64 a, u64 b_ns)
{
	return b_ns != 0 && b_ns < a ? b_ns : a;
}

/* Advances the clock to the next event, but not beyond @to_ns. */
static void step(u64 to_ns)
{
	struct hrtimer *timer = &sched_data_of()->timer;
	u64 at_ns = earlier(earlier(to_ns, timer->at_ns), rig.service_ns);

	for (int e = 0; e < ENGINES; e++) {
		if (rig.gvt.scheduler.current_workload[e])
			at_ns = earlier(at_ns, rig.gvt.scheduler.current_workload[e]->end_ns);
		for (struct guest *guest = rig.guests; guest < rig.guests + VGPUS; guest++)
			if (guest->exists && guest->habits[e].next_ns > clock_ns)
				at_ns = earlier(at_ns, guest->habits[e].next_ns);
	}
	clock_ns = max_t(u64, clock_ns, at_ns);
	if (timer->at_ns != 0 && timer->at_ns <= clock_ns) {
		timer->at_ns = 0;
		assert_int_equal(timer->function(timer), HRTIMER_NORESTART);
	}
	for (int e = 0; e < ENGINES; e++) {
		const struct intel_vgpu_workload *workload = rig.gvt.scheduler.current_workload[e];

		if (workload && workload->end_ns <= clock_ns)
			complete(e);
	}
}

static void rig_run(u64 ns)
{
	u64 to_ns = clock_ns + ns;

	guests_submit();
	settle();
	while (clock_ns < to_ns) {
		step(to_ns);
		guests_submit();
		settle();
	}
}

/* Advances the clock without work to the beginning of the next second, when slices are full. */
static void rig_begin(void)
{
	rig.quiet = true;
	while (sched_data_of()->sched.slot != SCHED_SLOTS - 1)
		rig_run(1 * MS);
	while (sched_data_of()->sched.slot != 0)
		rig_run(1 * MS);
	rig.quiet = false;
}

/* --- results --- */

static struct intel_vgpu_sched_state state_of_guest(struct guest *guest)
{
	struct intel_vgpu_sched_state sched;

	intel_vgpu_read_sched(&guest->vgpu, &sched);
	return sched;
}

static u64 busy(struct guest *guest)
{
	return state_of_guest(guest).busy_ns;
}

static void assert_near(u64 ns, u64 wanted_ns, u64 off_ns)
{
	assert_in_range(ns, wanted_ns - off_ns, wanted_ns + off_ns);
}

/* Checks that the guest used @pct percent of the GPU in the last ten seconds. The tolerance @off is
 * in tenths of a percent. */
static void assert_share(struct guest *guest, u64 busy_before_ns, u64 pct, u64 off)
{
	assert_near(busy(guest) - busy_before_ns, pct * 100 * MS, off * 10 * MS);
}

/* --- the end --- */

static void drop_queue(struct guest *guest)
{
	for (int e = 0; e < ENGINES; e++) {
		struct list_head *head = &guest->vgpu.submission.workload_q_head[e];

		while (!list_empty(head)) {
			struct intel_vgpu_workload *workload =
				container_of(head->next, struct intel_vgpu_workload, list);

			list_del(&workload->list);
			free(workload);
		}
	}
}

/* like intel_gvt_release_vgpu() */
static void rig_close(struct guest *guest)
{
	guest->vgpu.active = false;
	while (in_flight(guest)) {
		step(UINT64_MAX);
		settle();
	}
	intel_vgpu_stop_schedule(&guest->vgpu);
	drop_queue(guest);
}

static void rig_remove(struct guest *guest)
{
	rig_close(guest);
	intel_vgpu_clean_sched_policy(&guest->vgpu);
	assert_null(guest->vgpu.sched_data);
	guest->exists = false;
}

static int rig_fini(void)
{
	for (struct guest *guest = rig.guests; guest < rig.guests + VGPUS; guest++)
		if (guest->exists)
			rig_remove(guest);
	assert_int_equal(sched_data_of()->timer.at_ns, 0);
	intel_vgpu_clean_sched_policy(&rig.idle);
	rig.gvt.idle_vgpu = NULL;
	settle();
	assert_null(rig.gvt.scheduler.current_vgpu);
	intel_gvt_clean_sched_policy(&rig.gvt);
	assert_null(rig.gvt.scheduler.sched_data);
	assert_int_equal(rig.i915.runtime_pm.held, 0);
	return 0;
}

FIXTURE(rig_init, rig_fini)

/* --- shares --- */

TEST(caps_are_shares)
{
	struct guest *a, *b, *c;

	a = rig_add(20, 1 * MS);
	b = rig_add(30, 1 * MS);
	c = rig_add(50, 1 * MS);
	rig_begin();
	rig_run(10 * S);
	assert_share(a, 0, 20, 5);
	assert_share(b, 0, 30, 5);
	assert_share(c, 0, 50, 5);
}

TEST(a_cap_is_hard)
{
	struct guest *a = rig_add(30, 1 * MS);

	rig_add(70, 0);
	rig_begin();
	rig_run(10 * S);
	assert_share(a, 0, 30, 5);
}

TEST(cap_0_is_no_limit)
{
	struct guest *a;
	u64 allotted_ns;

	a = rig_add(0, 1 * MS);
	rig_begin();
	allotted_ns = state_of_guest(a).sched_ns;
	rig_run(10 * S);
	assert_share(a, 0, 100, 1);
	assert_int_equal(state_of_guest(a).sched_ns - allotted_ns, 10 * S);
}

TEST(caps_above_100_are_reduced_in_proportion)
{
	struct guest *a = rig_add(80, 1 * MS), *b = rig_add(40, 1 * MS);

	rig_begin();
	rig_run(10 * S);
	assert_near(busy(a) + busy(b), 10 * S, 10 * MS);
	assert_near(busy(a), 6667 * MS, 300 * MS);
}

/* A workload cannot be preempted. Its overrun is deducted from the next slots. */
TEST(long_workloads_are_deducted)
{
	struct guest *a = rig_add(10, 16 * MS), *b = rig_add(90, 1 * MS);

	rig_begin();
	rig_run(10 * S);
	/* In each second, vGPU a can exceed its share by at most one workload of 16 ms. */
	assert_in_range(busy(a), 990 * MS, 1000 * MS + 10 * 16 * MS);
	assert_true(busy(b) >= 8800 * MS);
}

TEST(a_late_service_thread_does_not_change_shares)
{
	struct guest *a, *b;
	u64 allotted_ns;

	rig.delay_ns = 5 * MS;
	a = rig_add(25, 1 * MS);
	b = rig_add(40, 1 * MS);
	rig_begin();
	allotted_ns = state_of_guest(a).sched_ns;
	rig_run(10 * S);
	assert_share(a, 0, 25, 5);
	assert_share(b, 0, 40, 5);
	assert_int_equal(state_of_guest(a).sched_ns - allotted_ns, 2500 * MS);
}

TEST(weight_shares_the_whole_gpu)
{
	struct guest *a, *b;
	char name[PAGE_SIZE];

	rig_fini();
	assert_int_equal(param_discipline->set("weight\n", NULL), 0);
	assert_true(param_discipline->get(name, NULL) > 0);
	assert_string_equal(name, "weight\n");
	rig_init();
	a = rig_add(10, 1 * MS);
	b = rig_add(30, 1 * MS);
	rig_begin();
	rig_run(10 * S);
	assert_share(a, 0, 25, 5);
	assert_share(b, 0, 75, 5);
	assert_int_equal(param_discipline->set("cap", NULL), 0);
	assert_int_equal(param_discipline->set("fair", NULL), -EINVAL);
	assert_int_equal(param_discipline->set("weightweightweight", NULL), -EINVAL);
	assert_string_equal(chosen_discipline->name, "cap");
}

/* --- guarantee --- */

static void change_sharing(const char *word)
{
	assert_int_equal(intel_gvt_set_sharing(&rig.gvt, word), 0);
	assert_string_equal(intel_gvt_sharing(&rig.gvt), word);
}

/* Adds a guest with the initial cap @initial_cap, which is the ceiling, and the cap @cap. */
static struct guest *add_guest(u32 initial_cap, u32 cap, u64 length_ns)
{
	struct guest *guest = rig_add(initial_cap, length_ns);

	assert_int_equal(intel_vgpu_set_cap(&guest->vgpu, cap), 0);
	return guest;
}

TEST(idle_time_is_given_up_to_the_ceiling)
{
	static const struct {
		int ceiling; /* -1: the initial cap */
		u64 share;
	} cases[] = {{-1, 60}, {45, 45}, {100, 100}, {0, 100}, {10, 20}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct guest *a;
		u64 allotted_ns;

		change_sharing("guarantee");
		a = add_guest(60, 20, 1 * MS);
		rig_add(80, 0);
		if (cases[i].ceiling >= 0)
			assert_int_equal(intel_vgpu_set_ceiling(&a->vgpu, (u32)cases[i].ceiling),
					 0);
		rig_begin();
		allotted_ns = state_of_guest(a).sched_ns;
		rig_run(10 * S);
		assert_share(a, 0, cases[i].share, 5);
		assert_int_equal(state_of_guest(a).sched_ns - allotted_ns, 2 * S);
		rig_fini();
		rig_init();
	}
}

TEST(a_guarantee_does_not_depend_on_the_borrower)
{
	struct guest *a, *b;

	change_sharing("guarantee");
	a = add_guest(100, 30, 4 * MS);
	b = add_guest(70, 70, 0);
	rig_begin();
	rig_run(10 * S);
	assert_share(a, 0, 100, 1);
	b->habits[RCS0].length_ns = 4 * MS;
	rig_begin();
	rig_run(10 * S);
	assert_share(b, 0, 70, 5);
}

/* The borrower has a workload of 20 ms in flight, which cannot be preempted. */
TEST(a_guest_with_slice_waits_for_one_workload_at_most)
{
	struct guest *a, *b;

	change_sharing("guarantee");
	a = add_guest(100, 10, 20 * MS);
	b = add_guest(90, 90, 0);
	rig_begin();
	rig_run(45 * MS);
	assert_int_equal(busy(a), 45 * MS);
	submit(b, RCS0, 5 * MS);
	rig_run(15 * MS);
	assert_int_equal(busy(b), 0);
	rig_run(5 * MS);
	assert_int_equal(busy(b), 5 * MS);
	assert_int_equal(busy(a), 60 * MS);
}

/* The caps 10 and 30 leave 60 %, of which the guests borrow 15 and 45. */
TEST(spare_time_is_shared_in_proportion_to_caps)
{
	struct guest *a, *b;

	change_sharing("guarantee");
	a = add_guest(100, 10, 1 * MS);
	b = add_guest(100, 30, 1 * MS);
	rig_begin();
	rig_run(10 * S);
	assert_share(a, 0, 25, 5);
	assert_share(b, 0, 75, 5);
}

/* The workload of vGPU a is in flight during both changes. */
TEST(a_changed_discipline_is_in_force_at_once)
{
	struct guest *a = add_guest(100, 20, 0);

	assert_string_equal(intel_gvt_sharing(&rig.gvt), "hard");
	rig_begin();
	for (int i = 0; i < 10; i++)
		submit(a, RCS0, 8 * MS);
	rig_run(30 * MS);
	/* The third workload overran the slice of 20 ms. */
	assert_int_equal(busy(a), 24 * MS);
	assert_ptr_equal(rig.gvt.scheduler.current_vgpu, &rig.idle);
	change_sharing("guarantee");
	rig_run(20 * MS + 500000);
	change_sharing("hard");
	rig_run(40 * MS);
	/* The workload in flight ends, and no other begins before the next slot. */
	assert_int_equal(busy(a), 48 * MS);
	/* Only the time after the change is a debt. */
	assert_int_equal(((struct vgpu_sched_data *)a->vgpu.sched_data)->sched.slice_ns,
			 -(3 * (int64_t)MS + 500000));
	rig_run(11 * MS);
	assert_true(busy(a) > 48 * MS);
}

TEST(other_words_change_nothing)
{
	static const char *const words[] = {"",		"\n",	      "cap",	       "weight",
					    "Hard",	" hard",      "hard ",	       "har",
					    "hard\n\n", "guarantee_", "guarantee hard"};

	change_sharing("guarantee");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_int_equal(intel_gvt_set_sharing(&rig.gvt, words[i]), -EINVAL);
	assert_string_equal(intel_gvt_sharing(&rig.gvt), "guarantee");
}

/* --- turns --- */

TEST(a_single_vgpu_is_dispatched_at_once)
{
	struct guest *a;

	rig.delay_ns = 100000;
	a = rig_add(50, 0);
	a->habits[RCS0] = (struct habit){.length_ns = 1 * MS, .pause_ns = 4 * MS};
	rig_begin();
	rig_run(20 * MS);
	assert_ptr_equal(rig.gvt.scheduler.current_vgpu, &a->vgpu);
	submit(a, BCS0, 1 * MS);
	settle();
	assert_true(in_flight(a));
}

TEST(without_slice_a_vgpu_waits_for_the_next_slot)
{
	struct guest *a = rig_add(10, 1 * MS);

	rig_begin();
	rig_run(50 * MS);
	assert_near(busy(a), 10 * MS, 1 * MS);
	assert_ptr_equal(rig.gvt.scheduler.current_vgpu, &rig.idle);
	assert_true(queued(a, RCS0) > 0);
	rig_run(100 * MS);
	assert_near(busy(a), 20 * MS, 1 * MS);
}

TEST(a_vgpu_without_work_leaves_at_once)
{
	struct guest *a = rig_add(50, 0), *b = rig_add(50, 0);

	rig_begin();
	submit(a, RCS0, 300000);
	submit(b, RCS0, 300000);
	rig_run(600000);
	assert_int_equal(busy(a), 300000);
	assert_int_equal(busy(b), 300000);
}

TEST(a_switch_waits_for_every_engine)
{
	struct guest *a = rig_add(50, 0), *b = rig_add(50, 0);

	rig_begin();
	submit(a, RCS0, 4 * MS);
	submit(a, BCS0, 9 * MS);
	rig_run(1 * MS);
	submit(a, RCS0, 1 * MS);
	submit(b, RCS0, 1 * MS);
	rig_run(7 * MS);
	assert_ptr_equal(rig.gvt.scheduler.current_vgpu, &a->vgpu);
	assert_true(rig.gvt.scheduler.need_reschedule);
	assert_null(rig.gvt.scheduler.current_workload[RCS0]);
	assert_int_equal(busy(b), 0);
	rig_run(2 * MS);
	assert_int_equal(busy(a), 9 * MS);
	assert_int_equal(busy(b), 1 * MS);
}

/* vGPU b is removed while it waits for the end of a workload of vGPU a. */
TEST(the_next_vgpu_can_be_removed)
{
	struct guest *a = rig_add(50, 10 * MS), *b = rig_add(50, 0);

	rig_begin();
	rig_run(1 * MS);
	submit(b, RCS0, 1 * MS);
	rig_run(5 * MS);
	assert_true(rig.gvt.scheduler.need_reschedule);
	rig_remove(b);
	settle();
	assert_false(rig.gvt.scheduler.need_reschedule);
	rig_run(30 * MS);
	assert_int_equal(busy(a), 36 * MS);
}

TEST(an_idle_gpu_needs_decisions_only_at_slots)
{
	rig_add(50, 0);
	rig_run(1 * S);
	rig.schedules = 0;
	rig_run(10 * S);
	assert_in_range(rig.schedules, 99, 101);
}

TEST(a_busy_gpu_switches_with_the_rounds)
{
	struct intel_vgpu *last = NULL;
	unsigned int switches = 0;

	rig_add(30, 100000);
	rig_add(70, 100000);
	rig_begin();
	for (int i = 0; i < 100000; i++) {
		rig_run(10000);
		switches += rig.gvt.scheduler.current_vgpu != last;
		last = rig.gvt.scheduler.current_vgpu;
	}
	/* 200 rounds with two switches each */
	assert_in_range(switches, 350, 410);
}

/*
 * vGPU b has its turn, but must wait for a workload of vGPU a. The turn does not get shorter during
 * this wait, so no timer is needed for the end of the turn.
 */
TEST(a_short_rest_of_a_slice_needs_few_timers)
{
	struct guest *a = rig_add(0, 0), *b = rig_add(1, 0);

	rig_begin();
	submit(b, RCS0, 999000);
	rig_run(1 * MS);
	submit(a, RCS0, 50 * MS);
	rig_run(10 * MS);
	submit(b, RCS0, 1 * MS);
	rig.schedules = 0;
	rig_run(39 * MS);
	assert_in_range(rig.schedules, 1, 40);
	rig_run(2 * MS);
	assert_int_equal(busy(b), 1999000);
}

/* --- accounting --- */

TEST(parallel_engines_count_once)
{
	struct guest *a;

	rig.delay_ns = 1 * MS;
	a = rig_add(0, 0);
	rig_begin();
	submit(a, RCS0, 10 * MS);
	rig_run(5 * MS);
	submit(a, BCS0, 10 * MS);
	rig_run(30 * MS);
	/* from 1 ms, when the vGPU got the GPU, to 15 ms, when its second engine finished */
	assert_int_equal(busy(a), 14 * MS);
}

TEST(a_long_workload_is_counted_while_it_runs)
{
	struct guest *a = rig_add(0, 0);

	rig_begin();
	submit(a, RCS0, 500 * MS);
	rig_run(123 * MS);
	assert_int_equal(busy(a), 123 * MS);
	rig_run(123 * MS);
	assert_int_equal(busy(a), 246 * MS);
}

TEST(a_new_cap_takes_effect_at_the_next_slot)
{
	struct guest *a;
	u64 allotted_ns;

	a = rig_add(0, 1 * MS);
	rig_begin();
	allotted_ns = state_of_guest(a).sched_ns;
	rig_run(10 * MS);
	assert_int_equal(intel_vgpu_set_cap(&a->vgpu, 40), 0);
	assert_int_equal(state_of_guest(a).cap_pct, 40);
	rig_run(90 * MS);
	assert_int_equal(busy(a), 100 * MS);
	rig_run(500 * MS);
	assert_near(busy(a), 300 * MS, 1 * MS);
	assert_int_equal(state_of_guest(a).sched_ns - allotted_ns, 300 * MS);
}

TEST(an_expired_lease_restores_the_initial_cap)
{
	struct guest *a = rig_create(4);

	assert_int_equal(intel_vgpu_set_lease(&a->vgpu, 700), 0);
	assert_int_equal(intel_vgpu_set_cap(&a->vgpu, 80), 0);
	assert_int_equal(state_of_guest(a).lease_ns, 700 * MS);
	rig_run(650 * MS);
	assert_int_equal(state_of_guest(a).cap_pct, 80);
	assert_int_equal(intel_vgpu_set_lease(&a->vgpu, 700), 0);
	rig_run(699 * MS);
	assert_int_equal(state_of_guest(a).cap_pct, 80);
	rig_run(101 * MS);
	assert_int_equal(state_of_guest(a).cap_pct, 25);
}

/* The lease must expire although no file is read and no guest runs. */
TEST(a_lease_ends_without_a_reader)
{
	struct guest *a = rig_create(4);

	assert_int_equal(intel_vgpu_set_lease(&a->vgpu, 650), 0);
	assert_int_equal(intel_vgpu_set_cap(&a->vgpu, 80), 0);
	rig_run(15 * S);
	assert_int_equal(state_of_guest(a).sched_ns, 25 * MS + 80 * 6 * MS + 25 * 143 * MS);
}

/* A lease limits the cap only: it changes neither the discipline nor the ceiling. */
TEST(a_lease_ends_under_guarantee_too)
{
	struct guest *a;

	assert_int_equal(intel_gvt_set_sharing(&rig.gvt, "guarantee"), 0);
	a = rig_create(4);
	assert_int_equal(intel_vgpu_set_lease(&a->vgpu, 700), 0);
	assert_int_equal(intel_vgpu_set_ceiling(&a->vgpu, 90), 0);
	assert_int_equal(intel_vgpu_set_cap(&a->vgpu, 80), 0);
	rig_run(900 * MS);
	assert_int_equal(state_of_guest(a).cap_pct, 25);
	assert_int_equal(state_of_guest(a).ceiling_pct, 90);
	assert_string_equal(intel_gvt_sharing(&rig.gvt), "guarantee");
}

TEST(the_policy_continues_after_a_suspended_machine)
{
	struct guest *a;
	u64 allotted_ns;

	a = rig_add(20, 1 * MS);
	rig_begin();
	allotted_ns = state_of_guest(a).sched_ns;
	rig_run(1 * MS + 500000);
	clock_ns += 3600 * S;
	rig_run(1);
	/* The workload was in flight while the machine was suspended. */
	assert_near(busy(a), 3600 * S, 2 * MS);
	assert_int_equal(sched_data_of()->sched.slot_end_ns, clock_ns - 1 + SCHED_SLOT_NS);
	rig_run(2 * S);
	assert_near(state_of_guest(a).sched_ns - allotted_ns, 3602 * S / 5, 1 * MS);
	rig_begin();
	allotted_ns = busy(a);
	rig_run(10 * S);
	assert_share(a, allotted_ns, 20, 5);
}

/* --- files --- */

static ssize_t put(struct guest *guest, const char *name, const char *text)
{
	struct device dev = {.data = &guest->vgpu};

	for (size_t i = 0; i < ARRAY_SIZE(intel_vgpu_sched_attrs); i++) {
		struct device_attribute *attr = &intel_vgpu_sched_attrs[i];

		if (strcmp(attr->attr.name, name) == 0)
			return attr->store ? attr->store(&dev, attr, text, strlen(text)) : -EACCES;
	}
	return -ENOENT;
}

static const char *get(struct guest *guest, const char *name)
{
	static char text[PAGE_SIZE];
	struct device dev = {.data = &guest->vgpu};

	for (size_t i = 0; i < ARRAY_SIZE(intel_vgpu_sched_attrs); i++) {
		struct device_attribute *attr = &intel_vgpu_sched_attrs[i];

		if (strcmp(attr->attr.name, name) == 0)
			return attr->show(&dev, attr, text) > 0 ? text : "?";
	}
	return "none";
}

TEST(files_are_read_and_written)
{
	static const struct {
		const char *name, *text;
		ssize_t want;
	} cases[] = {
		{"initial_cap", "101\n", -EINVAL},
		{"initial_cap", "40\n", 3},
		{"cap_ceiling", "101\n", -EINVAL},
		{"cap_ceiling", "all\n", -EINVAL},
		{"cap_ceiling", "4294967296\n", -ERANGE},
		{"cap", "101\n", -EINVAL},
		{"cap", "-1\n", -EINVAL},
		{"cap", "many\n", -EINVAL},
		{"cap", "99999999999\n", -ERANGE},
		{"cap", "55\n", 3},
		{"initial_cap", "50\n", -EPERM},
		{"cap_lease_ms", "4294967296\n", -ERANGE},
		{"cap_lease_ms", "4294967295\n", 11},
		{"cap_ceiling", "70\n", 3},
		{"busy_time", "0\n", -EACCES},
		{"sched_time", "0\n", -EACCES},
	};
	struct guest *a = rig_create(2);

	assert_string_equal(get(a, "cap"), "50\n");
	assert_string_equal(get(a, "initial_cap"), "50\n");
	assert_string_equal(get(a, "cap_ceiling"), "50\n");
	assert_string_equal(get(a, "cap_lease_ms"), "0\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(put(a, cases[i].name, cases[i].text), cases[i].want);
	assert_string_equal(get(a, "cap"), "55\n");
	assert_string_equal(get(a, "initial_cap"), "40\n");
	assert_string_equal(get(a, "cap_ceiling"), "70\n");
	assert_string_equal(get(a, "cap_lease_ms"), "4294967295\n");
	rig_run(1 * S);
	assert_string_equal(get(a, "busy_time"), "0\n");
	/* The initial cap of 50 % was in force during the first 100 ms. */
	assert_string_equal(get(a, "sched_time"), "545000000\n");
}

TEST(the_file_of_the_gpu_is_read_and_written)
{
	struct device_attribute *attr = &intel_gvt_sharing_attr;
	struct device dev = {.data = &rig.i915};
	char text[PAGE_SIZE];

	rig.i915.gvt = &rig.gvt;
	assert_string_equal(attr->attr.name, "gover_sharing");
	assert_int_equal(attr->attr.mode, 0644);
	assert_int_equal(attr->show(&dev, attr, text), 5);
	assert_string_equal(text, "hard\n");
	assert_int_equal(attr->store(&dev, attr, "guarantee\n", 10), 10);
	assert_int_equal(attr->store(&dev, attr, "weight\n", 7), -EINVAL);
	assert_int_equal(attr->show(&dev, attr, text), 10);
	assert_string_equal(text, "guarantee\n");
	rig.i915.gvt = NULL; /* as at the beginning of intel_gvt_clean_device() */
	assert_int_equal(attr->show(&dev, attr, text), -ENODEV);
	assert_int_equal(attr->store(&dev, attr, "hard\n", 5), -ENODEV);
}

TEST(the_initial_cap_depends_on_the_type)
{
	const int parts[] = {8, 4, 2, 1};
	const unsigned int caps[] = {12, 25, 50, 100};

	for (int i = 0; i < 4; i++)
		assert_int_equal(state_of_guest(rig_create(parts[i])).cap_pct, caps[i]);
}

/* --- stopping and removing --- */

TEST(a_reset_keeps_cap_and_counters)
{
	struct guest *a, *b;
	u64 before_ns;

	a = rig_add(50, 3 * MS);
	b = rig_add(50, 3 * MS);
	assert_int_equal(intel_vgpu_set_cap(&a->vgpu, 30), 0);
	rig_run(1001 * MS);
	/* As in intel_gvt_reset_vgpu(), first stop the vGPU, then wait for workloads in flight. */
	while (!in_flight(a))
		rig_run(1 * MS);
	before_ns = busy(a);
	intel_vgpu_stop_schedule(&a->vgpu);
	intel_vgpu_stop_schedule(&a->vgpu);
	assert_null(rig.gvt.scheduler.current_vgpu);
	assert_null(rig.gvt.scheduler.engine_owner[RCS0]);
	a->habits[RCS0].length_ns = 0;
	while (in_flight(a))
		rig_run(100000);
	drop_queue(a);
	assert_true(busy(a) > before_ns);
	before_ns = busy(b);
	rig_run(1 * S);
	assert_near(busy(b) - before_ns, 500 * MS, 10 * MS);

	intel_vgpu_start_schedule(&a->vgpu);
	intel_vgpu_start_schedule(&a->vgpu);
	a->habits[RCS0].length_ns = 3 * MS;
	assert_int_equal(state_of_guest(a).cap_pct, 30);
	before_ns = busy(a);
	assert_true(before_ns > 200 * MS);
	rig_run(10 * S);
	assert_share(a, before_ns, 30, 5);
}

TEST(a_stopped_vgpu_is_not_dispatched)
{
	struct guest *a = rig_add(0, 0);

	intel_vgpu_stop_schedule(&a->vgpu);
	submit(a, RCS0, 1 * MS);
	rig_run(1 * S);
	assert_int_equal(busy(a), 0);
	intel_vgpu_start_schedule(&a->vgpu);
	rig_run(2 * MS);
	assert_int_equal(busy(a), 1 * MS);
}

TEST(removing_the_last_vgpu_stops_the_timer)
{
	struct guest *a;

	assert_int_equal(sched_data_of()->timer.at_ns, 0);
	a = rig_add(50, 1 * MS);
	rig_run(1 * S);
	assert_true(sched_data_of()->timer.at_ns > clock_ns);
	rig_remove(a);
	settle();
	assert_int_equal(sched_data_of()->timer.at_ns, 0);
	clock_ns += 100 * S;
	a = rig_add(50, 1 * MS);
	rig_run(10 * S);
	assert_share(a, 0, 50, 5);
}

/*
 * The rig checks locking and dispatching. rig_fini() checks that everything is freed.
 */
TEST(random_operations_keep_the_rules)
{
	unsigned int seed = 7;

	rig.delay_ns = 50000;
	for (int i = 0; i < 4000; i++) {
		struct guest *guest;

		seed = seed * 1103515245 + 12345;
		guest = &rig.guests[(seed >> 16) % VGPUS];
		if (!guest->exists)
			guest = rig_add((seed >> 20) % 101, (seed >> 8) % 20 * MS / 4);
		else if ((seed >> 24) % 4 == 0)
			rig_remove(guest);
		else if ((seed >> 24) % 4 == 1)
			assert_int_equal(intel_vgpu_set_cap(&guest->vgpu, (seed >> 20) % 101), 0);
		else if ((seed >> 24) % 8 == 2)
			assert_int_equal(intel_gvt_set_sharing(
						 &rig.gvt, (seed >> 8) % 2 ? "hard" : "guarantee"),
					 0);
		else if ((seed >> 24) % 8 == 6)
			assert_int_equal(intel_vgpu_set_ceiling(&guest->vgpu, (seed >> 20) % 101),
					 0);
		else if ((seed >> 24) % 8 == 3)
			guest->habits[BCS0].length_ns = (seed >> 8) % 8 * MS;
		else
			intel_vgpu_stop_schedule(&guest->vgpu);
		rig_run((seed >> 12) % 30 * MS);
		for (int j = 0; j < VGPUS; j++)
			if (rig.guests[j].exists && rig.guests[j].vgpu.active)
				intel_vgpu_start_schedule(&rig.guests[j].vgpu);
	}
}
