/* SPDX-License-Identifier: MIT */
/*
 * Checks in virtual time whether the caps of a policy (default qos) settle. Prints two tables.
 *
 * Waves: the demand of the tenants is constant or a square wave. After a change of any demand, the
 * caps have SETTLED_PERIODS to settle. In rows with two or more tenants, the sum of the contracts
 * exceeds the GPU, but the sum of the demands does not.
 *
 * Rest: all demands are constant, and their sum is 50 to 200 % of the GPU. After the first valid
 * readings, the caps have REST_S or REST_PERIODS to come to rest. Then each tenant must have at
 * least its entitlement, which is the smaller of its demand and its share of the GPU by contract.
 *
 * The exit status is 1 if a row of either table fails.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/experiment/experiment.h"

#define SETTLED_PERIODS 5
#define OFF_POINTS	2.0
#define TENANTS_MAX	8

struct wave {
	const char *title;
	int tenants, contract_pct;
	double low_pct, high_pct;
	bool alternating; /* odd tenants have low demand while even tenants have high demand */
};

static const struct wave waves[] = {
	{"1", 1, 90, 5, 70, false},	      {"2 in step", 2, 90, 5, 42, false},
	{"2 alternate", 2, 90, 10, 70, true}, {"8 in step", 8, 50, 2, 10, false},
	{"8 alternate", 8, 50, 3, 15, true},
};

static const double periods_s[] = {0, 2, 4, 8, 15, 30, 60, 120}; /* 0: constant */

/* Figures of the second half of a run, when the policy has learned the demand. */
struct figures {
	int seconds;
	int vgpu_s, broken_s;
	int settled_vgpu_s; /* vGPU-seconds in which no demand had changed for SETTLED_PERIODS */
	int off_vgpu_s;	    /* those settled_vgpu_s in which load and demand differ by more than
			       OFF_POINTS */
	double worst_points;
	int moves;
	int idle_moves; /* cap moves in the seconds that settled_vgpu_s counts */
};

static int fail(const char *what)
{
	fprintf(stderr, "stability: %s\n", what);
	return 2;
}

/* Adds a tenant, whose workload the caller sets. @target_fps: -1: none. */
static struct scenario_tenant *add_tenant(struct scenario *scenario, int contract_pct,
					  double target_fps)
{
	struct scenario_tenant *tenant = &scenario->tenants[scenario->n_tenants++];

	*tenant = (struct scenario_tenant){.flavor = -1,
					   .contract_pct = contract_pct,
					   .target_fps = target_fps,
					   .weight = 1,
					   .count = 1};
	snprintf(tenant->name, sizeof(tenant->name), "t%d", scenario->n_tenants);
	return tenant;
}

static int make(const struct wave *wave, double period_s, struct scenario *scenario)
{
	struct err err = {""};

	scenario_default(scenario);
	scenario->seconds = period_s > 60 ? (int)(20 * period_s) : 1200;
	scenario->max_vgpus = wave->tenants;
	for (int i = 0; i < wave->tenants; i++) {
		struct scenario_tenant *tenant = add_tenant(scenario, wave->contract_pct, -1);
		bool shifted = wave->alternating && i % 2;

		if (period_s > 0)
			snprintf(tenant->workload_text, sizeof(tenant->workload_text),
				 "square:period_s=%g,low_pct=%g,high_pct=%g,phase_s=%g", period_s,
				 wave->low_pct, wave->high_pct, shifted ? period_s / 2 : 0);
		else
			snprintf(tenant->workload_text, sizeof(tenant->workload_text),
				 "load:pct=%g", shifted ? wave->low_pct : wave->high_pct);
		if (workload_parse(tenant->workload_text, &tenant->workload, &err) < 0)
			return fail(err.msg);
	}
	return scenario_check(scenario, &err) < 0 ? fail(err.msg) : 0;
}

/* Returns whether no demand changed in the SETTLED_PERIODS before the current period. */
static bool is_settled(double now_s, double period_s)
{
	double changed_s =
		period_s > 0 ? floor((now_s - 1e-6) / (period_s / 2)) * (period_s / 2) : 0;

	return now_s - 1 - changed_s > SETTLED_PERIODS - 1e-6;
}

static void add_period(const struct experiment *experiment, bool settled, int moves,
		       struct figures *figures)
{
	const struct experiment_vgpu *vgpu;

	figures->seconds++;
	figures->moves += moves;
	figures->idle_moves += settled ? moves : 0;
	for (int i = 0; (vgpu = experiment_current_vgpu_at(experiment, i)); i++) {
		double off_points = 100 * fabs(vgpu->sample.load - vgpu->sample.demand);

		figures->vgpu_s++;
		figures->broken_s += vgpu->sample.broken;
		if (!settled)
			continue;
		figures->settled_vgpu_s++;
		figures->off_vgpu_s += off_points > OFF_POINTS;
		figures->worst_points = fmax(figures->worst_points, off_points);
	}
}

static int play(const struct wave *wave, double period_s, const struct policy *policy,
		struct figures *ret_figures)
{
	static struct scenario scenario;
	struct experiment_summary sum = {0};
	struct err err = {""};
	struct experiment *experiment;

	*ret_figures = (struct figures){0};
	if (make(wave, period_s, &scenario) != 0)
		return 2;
	if (experiment_new(&scenario, policy, 1, NULL, &experiment, &err) < 0)
		return fail(err.msg);
	for (bool more = true; more;) {
		int moves = sum.cap_moves;
		double now_s;

		more = experiment_step(experiment);
		now_s = experiment_now_s(experiment);
		experiment_summarize(experiment, &sum);
		if (now_s > scenario.seconds / 2.0)
			add_period(experiment, is_settled(now_s, period_s), sum.cap_moves - moves,
				   ret_figures);
	}
	experiment_free(experiment);
	return 0;
}

/* Prints a row of the table. Returns whether the caps settle. */
static bool print(const struct wave *wave, double period_s, const struct figures *figures)
{
	bool settles = figures->idle_moves == 0 && figures->off_vgpu_s == 0;
	char period[16] = "constant";

	if (period_s > 0)
		snprintf(period, sizeof(period), "%g", period_s);
	printf("%-11s %8s %10.1f %9d", wave->title, period,
	       60.0 * figures->moves / figures->seconds, figures->idle_moves);
	if (figures->settled_vgpu_s > 0)
		printf(" %8.1f %7.1f", 100.0 * figures->off_vgpu_s / figures->settled_vgpu_s,
		       figures->worst_points);
	else
		printf(" %8s %7s", "-", "-");
	printf(" %9.1f%s\n", 100.0 * figures->broken_s / figures->vgpu_s,
	       settles ? "" : "  does not settle");
	return settles;
}

static int report_waves(const struct policy *policy)
{
	bool all_settle = true;

	printf("Policy %s, square waves, PERIOD in s. SETTLED (cap moves), OFF and WORST count "
	       "from %d s "
	       "after a change of demand.\n%-11s %8s %10s %9s %8s %7s %9s\n",
	       policy->name, SETTLED_PERIODS, "TENANTS", "PERIOD", "WRITES/MIN", "SETTLED", "OFF %",
	       "WORST", "BROKEN %");
	for (size_t w = 0; w < ARRAY_SIZE(waves); w++) {
		for (size_t p = 0; p < ARRAY_SIZE(periods_s); p++) {
			struct figures figures;

			if (play(&waves[w], periods_s[p], policy, &figures) != 0)
				return 2;
			all_settle = print(&waves[w], periods_s[p], &figures) && all_settle;
		}
	}
	return all_settle ? 0 : 1;
}

/* --- rest --- */

#define REST_S	     5.0
#define REST_PERIODS 2	/* at periods above REST_S / REST_PERIODS, this many periods */
#define RUN_S	     60 /* longer than a vGPU is cold */
#define FRAMES_FPS   60
#define TOLERATED    0.975 /* of its demand: a tenant with 60 FPS gets at least 58.5 */
#define MEASURABLE   0.965 /* use of a cap with which the demand is not limited by it */
#define COUNTING     0.02  /* error of a demand that is measured by counting frames */

struct rest_case {
	int tenants, sum_pct;
	bool equal, frames;
	int period_ms;
	enum policy_sharing sharing;
};

struct rest {
	double rest_s; /* time from the first valid readings to the last cap write */
	int late;      /* cap writes after the limit */
	double least;  /* smallest cap / entitlement at the end */
	int unserved;  /* tenants that get less than their demand, although all demands fit */
};

static const int rest_tenants[] = {2, 3, 5, 8, 16, 32, 64};
static const int rest_sums_pct[] = {50, 80, 95, 100, 105, 108, 120, 150, 200};
static const int rest_periods_ms[] = {200, 1000, 2000, 5000};

static double rest_limit_s(const struct rest_case *row)
{
	return fmax(REST_S, REST_PERIODS * row->period_ms / 1000.0);
}

/* Unequal tenants have demands of 3:1:2 and contracts of 1:2:3:1, so that some want more and some
 * less than their share. */
static double rest_demand_pct(const struct rest_case *row, int index)
{
	static const int parts[] = {3, 1, 2};
	int sum = 0;

	if (row->equal)
		return (double)row->sum_pct / row->tenants;
	for (int i = 0; i < row->tenants; i++)
		sum += parts[i % 3];
	/* of two tenants, one may reach 100 % of the GPU; the other one has the rest */
	return fmin(100, fmax((double)row->sum_pct * parts[index % 3] / sum,
			      row->tenants == 2 ? row->sum_pct - 100 : 0));
}

static int rest_contract_pct(const struct rest_case *row, int index)
{
	static const int parts[] = {1, 2, 3, 1};
	int least_pct = (int)ceil(rest_demand_pct(row, index));
	int pct = row->equal ? 2 * least_pct : 80 * parts[index % 4] / row->tenants;

	pct = pct > least_pct ? pct : least_pct;
	return pct < 100 ? pct : 100;
}

static int make_rest(const struct rest_case *row, struct scenario *scenario)
{
	struct err err = {""};

	scenario_default(scenario);
	scenario->seconds = RUN_S;
	scenario->period_ms = row->period_ms;
	scenario->sharing = row->sharing;
	scenario->max_vgpus = row->tenants;
	for (int i = 0; i < row->tenants; i++) {
		struct scenario_tenant *tenant = add_tenant(scenario, rest_contract_pct(row, i),
							    row->frames ? FRAMES_FPS : -1);
		double pct = rest_demand_pct(row, i);

		if (row->frames)
			snprintf(tenant->workload_text, sizeof(tenant->workload_text),
				 "frame:gpu_ms=%g,cpu_ms=1,fps_max=%d", 10 * pct / FRAMES_FPS,
				 FRAMES_FPS + 1);
		else
			snprintf(tenant->workload_text, sizeof(tenant->workload_text),
				 "load:pct=%g", pct);
		if (workload_parse(tenant->workload_text, &tenant->workload, &err) < 0)
			return fail(err.msg);
	}
	return scenario_check(scenario, &err) < 0 ? fail(err.msg) : 0;
}

/* Compares the caps at the end with the entitlements. A cap is in whole percent, so a share is
 * rounded down, and a demand of all tenants fits if the demands fit after rounding up. */
static void judge_rest(const struct rest_case *row, const struct experiment *experiment,
		       struct rest *rest)
{
	const struct experiment_vgpu *vgpu;
	int contracts_pct = 0, needed_pct = 0, short_of = 0;

	for (int i = 0; i < row->tenants; i++) {
		contracts_pct += rest_contract_pct(row, i);
		needed_pct += (int)ceil(rest_demand_pct(row, i) / MEASURABLE);
	}
	for (int i = 0; (vgpu = experiment_current_vgpu_at(experiment, i)); i++) {
		double demand_pct = TOLERATED * rest_demand_pct(row, i);
		double share_pct = fmax(1, 100 * rest_contract_pct(row, i) / contracts_pct);
		double has_pct = vgpu->sampled_cap_pct;

		if (row->sharing == POLICY_SHARING_GUARANTEE)
			has_pct = fmax(has_pct, 100 * vgpu->sample.load);
		rest->least = fmin(rest->least, has_pct / fmin(demand_pct, share_pct));
		short_of += has_pct < (1 - COUNTING) * demand_pct;
	}
	rest->unserved = needed_pct <= 100 ? short_of : 0;
}

static int play_rest(const struct rest_case *row, const struct policy *policy,
		     struct rest *ret_rest)
{
	static struct scenario scenario;
	double read_s = 2 * row->period_ms / 1000.0, limit_s = rest_limit_s(row);
	struct experiment_summary sum = {0};
	struct err err = {""};
	struct experiment *experiment;

	*ret_rest = (struct rest){.least = INFINITY};
	if (make_rest(row, &scenario) != 0)
		return 2;
	if (experiment_new(&scenario, policy, 1, NULL, &experiment, &err) < 0)
		return fail(err.msg);
	for (bool more = true; more;) {
		int moves = sum.cap_moves;
		double since_s;

		more = experiment_step(experiment);
		since_s = experiment_now_s(experiment) - read_s;
		experiment_summarize(experiment, &sum);
		if (sum.cap_moves == moves)
			continue;
		ret_rest->rest_s = since_s;
		if (since_s > limit_s + 1e-6)
			ret_rest->late += sum.cap_moves - moves;
	}
	judge_rest(row, experiment, ret_rest);
	experiment_free(experiment);
	return 0;
}

static bool print_rest(const struct rest_case *row, const struct rest *rest)
{
	bool rests = rest->late == 0 && rest->least > 1 - COUNTING && rest->unserved == 0;

	printf("%-9s %7d %5d %-8s %-7s %7g %8.1f %7d %8.2f %9d%s\n",
	       policy_sharing_name(row->sharing), row->tenants, row->sum_pct,
	       row->equal ? "equal" : "unequal", row->frames ? "frames" : "work",
	       row->period_ms / 1000.0, rest->rest_s, rest->late, rest->least, rest->unserved,
	       rests ? "" : "  fails");
	return rests;
}

/* The rows of the table: each array and list of kinds is a digit of @index. */
static struct rest_case rest_at(size_t index)
{
	struct rest_case row;

	row.period_ms = rest_periods_ms[index % ARRAY_SIZE(rest_periods_ms)];
	index /= ARRAY_SIZE(rest_periods_ms);
	row.equal = index % 2 == 0;
	row.frames = index / 2 % 2 == 0;
	index /= 4;
	row.sum_pct = rest_sums_pct[index % ARRAY_SIZE(rest_sums_pct)];
	index /= ARRAY_SIZE(rest_sums_pct);
	row.tenants = rest_tenants[index % ARRAY_SIZE(rest_tenants)];
	index /= ARRAY_SIZE(rest_tenants);
	row.sharing = index == 0 ? POLICY_SHARING_HARD : POLICY_SHARING_GUARANTEE;
	return row;
}

static int report_rest(const struct policy *policy)
{
	const size_t n = ARRAY_SIZE(rest_tenants) * ARRAY_SIZE(rest_sums_pct) *
			 ARRAY_SIZE(rest_periods_ms) * 2 * 2 * 2;
	int failed = 0;

	printf("Policy %s, constant demands. SUM: of all demands, %%. REST: seconds from the first "
	       "valid readings\nto the last cap write. LATE: cap writes after %g s or %d periods. "
	       "LEAST: smallest cap / entitlement.\n%-9s %7s %5s %-8s %-7s %7s %8s %7s %8s %9s\n",
	       policy->name, REST_S, REST_PERIODS, "SHARING", "TENANTS", "SUM", "SHARES", "DEMAND",
	       "PERIOD", "REST", "LATE", "LEAST", "UNSERVED");
	for (size_t i = 0; i < n; i++) {
		struct rest_case row = rest_at(i);
		struct rest rest;

		if (play_rest(&row, policy, &rest) != 0)
			return 2;
		failed += !print_rest(&row, &rest);
	}
	printf("%d of %zu rows fail.\n", failed, n);
	return failed == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	bool only_waves = argc > 1 && strcmp(argv[1], "waves") == 0;
	bool only_rest = argc > 1 && strcmp(argv[1], "rest") == 0;
	int named = only_waves || only_rest ? 2 : 1, status = 0;
	const struct policy *policy = policy_find(argc > named ? argv[named] : "qos");

	if (!policy || argc > named + 1)
		return fail("usage: stability [waves | rest] [POLICY]");
	if (!only_rest)
		status = report_waves(policy);
	if (!only_waves && status < 2) {
		int r = report_rest(policy);

		status = r > status ? r : status;
	}
	return status;
}
