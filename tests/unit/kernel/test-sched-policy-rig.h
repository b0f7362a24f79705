/* SPDX-License-Identifier: MIT */
/*
 * A simulated i915 GVT-g: guests that submit workloads, engines, the threads that dispatch and
 * decide, and a clock that the test advances. The rig calls the policy as gvt/scheduler.c and
 * gvt/vgpu.c of Linux 6.1 do. Included only by test-sched-policy*, after the policy.
 */
#ifndef TESTS_UNIT_KERNEL_TEST_SCHED_POLICY_RIG_H
#define TESTS_UNIT_KERNEL_TEST_SCHED_POLICY_RIG_H

#include "gvt.h"
#include "sched/sched.h"
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

#endif
