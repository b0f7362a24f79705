/* SPDX-License-Identifier: MIT */
/*
 * Checks in virtual time whether the caps of a policy (default qos) settle. The demand of the
 * tenants is constant or a square wave. Prints a table. After a change of any demand, the caps have
 * SETTLED_PERIODS to settle. The exit status is 1 if a cap moves or a demand is not served after
 * this time.
 *
 * In rows with two or more tenants, the sum of the contracts exceeds the GPU, but the sum of the
 * demands does not.
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

static int make(const struct wave *wave, double period_s, struct scenario *scenario)
{
	struct err err = {""};

	scenario_default(scenario);
	scenario->seconds = period_s > 60 ? (int)(20 * period_s) : 1200;
	scenario->max_vgpus = wave->tenants;
	for (int i = 0; i < wave->tenants; i++) {
		struct scenario_tenant *tenant = &scenario->tenants[scenario->n_tenants++];
		bool shifted = wave->alternating && i % 2;

		*tenant = (struct scenario_tenant){.flavor = -1,
						   .contract_pct = wave->contract_pct,
						   .target_fps = -1,
						   .weight = 1,
						   .count = 1};
		snprintf(tenant->name, sizeof(tenant->name), "t%d", i + 1);
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
	if (make(wave, period_s, &scenario) != 0 ||
	    experiment_new(&scenario, policy, NULL, 1, NULL, &experiment, &err) < 0)
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

int main(int argc, char **argv)
{
	const struct policy *policy = policy_find(argc > 1 ? argv[1] : "qos");
	bool all_settle = true;

	if (!policy || argc > 2)
		return fail("usage: stability [POLICY]");
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
