/* SPDX-License-Identifier: MIT */
/* When a promise counts as broken, why, and when its alarm begins and ends. */
#include "policy/promise/promise.h"
#include "tests/unit/policy/test-policy.h"

#define VGPUS 3

/* A GPU with vGPUs v (the first), a and b. */
static struct rig {
	struct promise_limits limits;
	struct promise_gpu host;
	struct promise_vgpu promises[VGPUS], *pointers[VGPUS];
} rig;

static void prepare(const struct given given[VGPUS + 1])
{
	memset(&rig, 0, sizeof(rig));
	bench_init(given, 1);
	promise_limits_default(&rig.limits);
	rig.host = (struct promise_gpu){.telemetry_valid = true, .acts = true, .hard_caps = true};
	for (int i = 0; i < VGPUS; i++) {
		rig.pointers[i] = &rig.promises[i];
		bench.vgpus[i].sample.dt_s = 1;
	}
}

/* Judges periods in which no cap changes. */
static void judge(int periods)
{
	for (int i = 0; i < periods; i++) {
		bench_step();
		promise_step(&bench.params, &rig.limits, &bench.gpu, &rig.host, rig.pointers);
	}
}

static const struct promise_vgpu *v(void)
{
	return &rig.promises[0];
}

/* --- causes --- */

/* The vGPU v is short of its target in every row. Changes of the rig before the periods. */
static void nothing(void)
{
}

static void stale(void)
{
	rig.host.telemetry_valid = false;
}

static void unread(void)
{
	bench.vgpus[0].sample.busy_valid = false;
}

static void relative_slices(void)
{
	rig.host.hard_caps = false;
}

static void foreign(void)
{
	rig.promises[0].foreign = true;
}

static void frozen(void)
{
	rig.host.acts = false;
}

static void write_fails(void)
{
	rig.promises[0].write_failed = true;
}

static const struct {
	const char *rule;
	struct given given[VGPUS + 1];
	void (*change)(void);
	enum promise_cause cause;
} cause_rows[] = {
	{"108 % are wanted",
	 .given = {{"v", 50, 36, .util = 1, .target = 60, .fps = 45},
		   {"a", 50, 32, .util = .94},
		   {"b", 50, 32, .util = .94}},
	 nothing, PROMISE_GPU_OVERCOMMITTED},
	{"telemetry of the GPU",
	 .given = {{"v", 50, 36, .util = 1, .target = 60, .fps = 45},
		   {"a", 50, 32, .util = .94},
		   {"b", 50, 32, .util = .94}},
	 stale, PROMISE_TELEMETRY_STALE},
	{"telemetry of the vGPU",
	 .given = {{"v", 50, 36, .util = 1, .target = 60, .fps = 45},
		   {"a", 50, 32, .util = .94},
		   {"b", 50, 32, .util = .94}},
	 unread, PROMISE_TELEMETRY_STALE},
	{"another vGPU uses 60 % with a cap of 20 %",
	 .given = {{"v", 50, 30, .util = .5, .target = 60, .fps = 45},
		   {"a", 50, 20, .util = 3},
		   {"b", 50, 20, .util = .5}},
	 nothing, PROMISE_CAPS_NOT_ENFORCED},
	{"a use of 1.2 caps is the noise of slices",
	 .given = {{"v", 50, 30, .util = .5, .target = 60, .fps = 45},
		   {"a", 50, 20, .util = 1.2},
		   {"b", 50, 20, .util = .5}},
	 nothing, PROMISE_GUEST_LIMIT},
	{"a large factor of a small cap is noise too",
	 .given = {{"v", 50, 30, .util = .5, .target = 60, .fps = 45},
		   {"a", 50, 1, .util = 2},
		   {"b", 50, 20, .util = .5}},
	 nothing, PROMISE_GUEST_LIMIT},
	{"a slice is no limit",
	 .given = {{"v", 50, 30, .util = .5, .target = 60, .fps = 45},
		   {"a", 50, 20, .util = 3},
		   {"b", 50, 20, .util = .5}},
	 relative_slices, PROMISE_GUEST_LIMIT},
	{"held by another program",
	 .given = {{"v", 50, 30, .util = 1, .target = 60, .fps = 45, .held = true},
		   {"a", 50, 30, .util = .5},
		   {"b", 50, 30, .util = .5}},
	 foreign, PROMISE_FOREIGN_CAP},
	{"held by an operator",
	 .given = {{"v", 50, 30, .util = 1, .target = 60, .fps = 45, .held = true},
		   {"a", 50, 30, .util = .5},
		   {"b", 50, 30, .util = .5}},
	 nothing, PROMISE_HELD},
	{"at the contract",
	 .given = {{"v", 30, 30, .util = 1, .target = 60, .fps = 45},
		   {"a", 50, 30, .util = .5},
		   {"b", 50, 30, .util = .5}},
	 nothing, PROMISE_CONTRACT_TOO_SMALL},
	{"frozen",
	 .given = {{"v", 50, 30, .util = 1, .target = 60, .fps = 45},
		   {"a", 50, 30, .util = .5},
		   {"b", 50, 30, .util = .5}},
	 frozen, PROMISE_NOT_ACTING},
	{"the cap cannot be written",
	 .given = {{"v", 50, 30, .util = 1, .target = 60, .fps = 45},
		   {"a", 50, 30, .util = .5},
		   {"b", 50, 30, .util = .5}},
	 write_fails, PROMISE_CAP_WRITE_FAILED},
	{"others are held",
	 .given = {{"v", 50, 30, .util = 1, .target = 60, .fps = 45},
		   {"a", 50, 35, .util = .1, .held = true},
		   {"b", 50, 35, .util = .1, .held = true}},
	 nothing, PROMISE_DONORS_AT_FLOOR},
	{"others are at their floors",
	 .given = {{"v", 50, 30, .util = 1, .target = 60, .fps = 45},
		   {"a", 50, 35, .util = .1, .min_cap = 35},
		   {"b", 50, 35, .util = .1, .min_cap = 35}},
	 nothing, PROMISE_DONORS_AT_FLOOR},
	{"a donor has cap to give",
	 .given = {{"v", 50, 30, .util = 1, .target = 60, .fps = 45},
		   {"a", 50, 35, .util = .1},
		   {"b", 50, 35, .util = .9}},
	 nothing, PROMISE_ADJUSTING},
	{"without a target: less than the contract",
	 .given = {{"v", 60, 30, .util = 1},
		   {"a", 50, 35, .util = .95},
		   {"b", 50, 35, .util = .95}},
	 nothing, PROMISE_GPU_OVERCOMMITTED},
};

TEST(the_first_cause_that_applies_is_reported)
{
	for (size_t i = 0; i < sizeof(cause_rows) / sizeof(cause_rows[0]); i++) {
		prepare(cause_rows[i].given);
		cause_rows[i].change();
		judge(10);
		if (v()->state != PROMISE_BROKEN || v()->cause != cause_rows[i].cause)
			fail_msg("%s: state %d, cause %s instead of %s", cause_rows[i].rule,
				 v()->state, promise_cause_name(v()->cause),
				 promise_cause_name(cause_rows[i].cause));
	}
}

static const struct given idle_policy[VGPUS + 1] = {
	{"v", 50, 30, .util = 1, .target = 60, .fps = 45},
	{"a", 50, 35, .util = .1},
	{"b", 50, 35, .util = .1}};

TEST(a_policy_that_raises_no_cap_for_15_s_is_the_cause)
{
	prepare(idle_policy);
	judge(15);
	assert_int_equal(v()->cause, PROMISE_ADJUSTING);
	judge(15); /* the older cause has lost its weight */
	assert_int_equal(v()->cause, PROMISE_POLICY_IDLE);
	for (int i = 0; i < 30; i++) {
		bench.vgpus[0].cap_pct += i % 10 == 0;
		judge(1);
	}
	assert_int_equal(v()->cause, PROMISE_ADJUSTING);
}

TEST(every_cause_has_a_name_and_an_urgency)
{
	for (int i = PROMISE_NO_CAUSE + 1; i < PROMISE_CAUSE_COUNT; i++) {
		const char *name = promise_cause_name((enum promise_cause)i);
		enum promise_urgency urgency = promise_cause_urgency((enum promise_cause)i);

		assert_int_equal(promise_cause_find(name), i);
		assert_int_equal(urgency, i == PROMISE_GUEST_LIMIT ? PROMISE_INFO
					  : i == PROMISE_ADJUSTING || i == PROMISE_FRAMES_MISSING ||
							  i == PROMISE_SERVICE_UNKNOWN
						  ? PROMISE_WARNING
						  : PROMISE_CRITICAL);
	}
	assert_null(promise_cause_name(PROMISE_NO_CAUSE));
	assert_int_equal(promise_cause_find(""), PROMISE_NO_CAUSE);
	assert_int_equal(promise_cause_find("heldx"), PROMISE_NO_CAUSE);
}

/* --- demands --- */

TEST(the_demand_is_measured_where_it_can_be)
{
	static const struct {
		const char *rule;
		struct given v;
		double want_pct;
		bool estimated;
	} rows[] = {
		{"the target needs 36 * 60 / 45",
		 .v = {"v", 50, 36, .util = 1, .target = 60, .fps = 45}, 48, false},
		{"a renderer without pacing needs less than it uses",
		 .v = {"v", 50, 50, .util = 1, .target = 60, .fps = 100}, 30, false},
		{"at most the contract", .v = {"v", 40, 36, .util = 1, .target = 60, .fps = 30}, 40,
		 false},
		{"with burst at most the GPU",
		 .v = {"v", 40, 36, .util = 1, .target = 60, .fps = 10, .burst = true}, 100, false},
		{"a guest that is the limit wants what it uses",
		 .v = {"v", 50, 40, .util = .5, .target = 60, .fps = 30}, 20, false},
		{"without a target the use", {"v", 50, 40, .util = .9}, 36, false},
		{"the whole cap is used: the contract", {"v", 50, 36, .util = 1}, 50, true},
		{"the whole contract is used", {"v", 50, 50, .util = 1}, 50, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct given given[VGPUS + 1] = {
			rows[i].v, {"a", 50, 10, .util = .5}, {"b", 50, 10, .util = .5}};

		prepare(given);
		judge(60);
		if (fabs(v()->track.want_pct - rows[i].want_pct) > 0.01 ||
		    (rig.host.wanted_pct > rig.host.sure_pct + 1) != rows[i].estimated ||
		    fabs(rig.host.wanted_pct - rows[i].want_pct - 10) > 0.02)
			fail_msg("%s: wants %g %%", rows[i].rule, v()->track.want_pct);
	}
}

TEST(spare_cap_is_the_pool_and_what_donors_need_not)
{
	static const struct given given[VGPUS + 1] = {{"v", 50, 20, .util = .95},
						      {"a", 50, 40, .util = .5, .min_cap = 30},
						      {"b", 50, 20, .util = .1, .held = true}};

	prepare(given);
	judge(1);
	/* pool 20; v needs its cap; a gives 10 above its floor; b is held */
	assert_int_equal(rig.host.spare_pct, 30);
}

/* --- alarms --- */

static void serve(double fps, int periods)
{
	bench_read(&bench.vgpus[0], 1, fps);
	judge(periods);
}

static const struct given lone[VGPUS + 1] = {{"v", 30, 30, .util = 1, .target = 60, .fps = 60},
					     {"a", 50, 30, .util = .5},
					     {"b", 50, 30, .util = .5}};

TEST(half_of_the_fast_window_raises_the_alarm)
{
	prepare(lone);
	serve(60, 100);
	serve(40, 29);
	assert_false(v()->alarm);
	serve(40, 1);
	assert_true(v()->alarm);
	assert_int_equal(v()->alarm_cause, PROMISE_CONTRACT_TOO_SMALL);
	assert_int_equal((int)round(promise_fast_pct(v())), 50);
	/* It ends when a quarter of the window is left. */
	serve(60, 44);
	assert_true(v()->alarm);
	assert_int_equal(v()->state, PROMISE_KEPT);
	serve(60, 3);
	assert_false(v()->alarm);
	assert_int_equal(v()->cause, PROMISE_NO_CAUSE);
}

TEST(one_bad_period_in_twelve_raises_the_alarm_of_the_slow_window)
{
	int s = 0;

	prepare(lone);
	while (!v()->alarm && s < 3600) {
		serve(s % 12 == 0 ? 40 : 60, 1);
		s++;
	}
	/* 5 % of an hour are 180 bad seconds, which are complete after 180 * 12 s */
	assert_in_range(s, 2140, 2165);
	assert_true(v()->track.burn[PROMISE_HOST].slow_burns);
	assert_false(v()->track.burn[PROMISE_HOST].fast_burns);
	serve(60, 380); /* 2.5 % of the newest sixth of the window are 15 s */
	assert_true(v()->alarm);
	serve(60, 140);
	assert_false(v()->alarm);
}

TEST(a_service_around_the_limit_raises_one_alarm)
{
	int raised = 0;

	prepare(lone);
	for (int s = 0; s < 3600; s++) {
		bool before = v()->alarm;

		serve(s / 10 % 2 ? 40 : 60, 1);
		raised += v()->alarm && !before;
	}
	assert_int_equal(raised, 1);
}

TEST(a_guest_that_is_the_limit_has_an_alarm_of_its_own)
{
	static const struct given given[VGPUS + 1] = {
		{"v", 50, 30, .util = .4, .target = 60, .fps = 45},
		{"a", 50, 30, .util = .5},
		{"b", 50, 30, .util = .5}};

	prepare(given);
	judge(40);
	assert_true(v()->alarm);
	assert_int_equal(v()->alarm_cause, PROMISE_GUEST_LIMIT);
	/* The host becomes the limit: its alarm waits for its own window. */
	bench_read(&bench.vgpus[0], 1, 45);
	bench.vgpus[0].held = true;
	judge(25);
	assert_int_equal(v()->cause, PROMISE_HELD);
	assert_int_equal(v()->alarm_cause, PROMISE_GUEST_LIMIT);
	judge(10);
	assert_int_equal(v()->alarm_cause, PROMISE_HELD);
}

TEST(a_paused_program_is_no_broken_promise)
{
	static const struct given given[VGPUS + 1] = {
		{"v", 50, 30, .util = 0, .target = 60, .fps = 0},
		{"a", 50, 30, .util = .5},
		{"b", 50, 30, .util = .5}};

	prepare(given);
	judge(100);
	assert_false(v()->alarm);
	assert_int_equal(v()->state, PROMISE_KEPT);
}

TEST(missing_readings_are_unknown)
{
	double before;

	prepare(lone);
	serve(40, 40);
	before = promise_fast_pct(v());
	/* Unreadable busy time freezes the windows. */
	bench_read(&bench.vgpus[0], NAN, NAN);
	judge(100);
	assert_int_equal(v()->state, PROMISE_UNKNOWN);
	assert_int_equal(v()->cause, PROMISE_TELEMETRY_STALE);
	assert_true(v()->alarm);
	assert_true(promise_fast_pct(v()) == before);
	/* Without a reading the state stays, and the period does not count. */
	serve(40, 5);
	before = promise_fast_pct(v());
	bench.vgpus[0].sample.dt_s = 0;
	judge(1000);
	assert_int_equal(v()->state, PROMISE_BROKEN);
	assert_true(promise_fast_pct(v()) == before);
}

TEST(programs_that_have_ended_end_the_alarm)
{
	prepare(lone);
	serve(40, 40);
	assert_true(v()->alarm);
	serve(NAN, 60);
	assert_int_equal(v()->state, PROMISE_UNKNOWN);
	assert_int_equal(v()->cause, PROMISE_FRAMES_MISSING);
	assert_false(v()->alarm);
}

TEST(a_new_vgpu_has_no_cause)
{
	prepare(lone);
	bench_read(&bench.vgpus[0], NAN, NAN);
	bench.vgpus[0].sample.dt_s = 0;
	judge(1);
	assert_int_equal(v()->state, PROMISE_UNKNOWN);
	assert_int_equal(v()->cause, PROMISE_NO_CAUSE);
}

/* Another vGPU takes the whole GPU, because its cap is not enforced. */
TEST(a_starved_vgpu_is_not_idle)
{
	static const struct given given[VGPUS + 1] = {
		{"v", 50, 40, .util = 0, .target = 60, .fps = 0},
		{"a", 50, 20, .util = 4.5},
		{"b", 50, 20, .util = .1}};

	prepare(given);
	judge(40);
	assert_true(v()->alarm);
	assert_int_equal(v()->alarm_cause, PROMISE_CAPS_NOT_ENFORCED);
}

TEST(a_share_of_100_percent_can_be_reached)
{
	prepare(lone);
	rig.limits.fast_pct = 100;
	serve(40, 59);
	assert_false(v()->alarm);
	serve(40, 2);
	assert_true(v()->alarm);
}

TEST(breaks_of_two_minutes_in_each_half_hour_raise_few_alarms)
{
	int raised = 0;

	prepare(lone);
	for (int s = 0; s < 24 * 3600; s++) {
		bool before = v()->alarm;

		serve(s % 1800 < 120 ? 40 : 60, 1);
		raised += v()->alarm && !before;
	}
	assert_in_range(raised, 1, 48); /* one for each break */
	prepare(lone);
	raised = 0;
	for (int s = 0; s < 24 * 3600; s++) {
		bool before = v()->alarm;

		serve(s % 420 < 25 ? 40 : 60, 1);
		raised += v()->alarm && !before;
	}
	assert_int_equal(raised, 1);
}

TEST(the_slow_window_survives_a_restart)
{
	double bad_s;

	prepare(lone);
	for (int s = 0; s < 2000; s++)
		serve(s % 12 == 0 ? 40 : 60, 1);
	bad_s = promise_slow_bad_s(v());
	assert_in_range((int)round(bad_s), 160, 170);
	prepare(lone);
	promise_restore_slow(&rig.promises[0], &rig.limits, bad_s, false);
	for (int s = 0; s < 300 && !v()->alarm; s++)
		serve(s % 12 == 0 ? 40 : 60, 1);
	assert_true(v()->alarm); /* 180 bad seconds were reached */
}

TEST(an_alarm_of_an_earlier_run_continues_and_ends)
{
	prepare(lone);
	promise_resume(&rig.promises[0], &rig.limits, PROMISE_HELD);
	serve(60, 1);
	assert_true(v()->alarm);
	assert_int_equal(v()->alarm_cause, PROMISE_HELD);
	serve(60, 46);
	assert_false(v()->alarm);
	promise_resume(&rig.promises[0], &rig.limits, PROMISE_NO_CAUSE);
	serve(60, 1);
	assert_true(v()->alarm);
	promise_reset(&rig.promises[0]);
	serve(60, 1);
	assert_false(v()->alarm);
}

TEST(long_and_short_periods_count_the_same)
{
	static const double periods_s[] = {0.1, 0.2, 1, 5, 7.5};

	for (size_t i = 0; i < sizeof(periods_s) / sizeof(periods_s[0]); i++) {
		double s = 0;

		prepare(lone);
		bench.vgpus[0].sample.dt_s = periods_s[i];
		while (!v()->alarm && s < 100) {
			serve(40, 1);
			s += periods_s[i];
		}
		if (s < 30 - 0.01 || s > 30 + 7.5)
			fail_msg("periods of %g s: raised after %g s", periods_s[i], s);
	}
}

TEST(a_window_has_no_more_than_its_length)
{
	struct promise_limits limits;
	struct promise_burn burn = {.fast_burns = false};

	promise_limits_default(&limits);
	burn_add(&burn, &limits, 1e9, 1e9);
	assert_true(burn_share_pct(&burn.fast, PROMISE_SLOTS) <= 100);
	assert_true(burn_share_pct(&burn.fast, PROMISE_SLOTS) > 98);
	assert_true(burn_share_pct(&burn.slow, PROMISE_SLOTS) <= 100);
	burn_add(&burn, &limits, 59.9, 0);
	assert_true(burn_share_pct(&burn.fast, PROMISE_SLOTS) < 2);
	limits.fast_window_s = 120; /* a changed window begins again */
	burn_add(&burn, &limits, 12, 12);
	assert_int_equal((int)round(burn_share_pct(&burn.fast, PROMISE_SLOTS)), 10);
}
