/* SPDX-License-Identifier: MIT */
/*
 * Measures the policies with demand that is made to mislead them: it rises slowly, repeats with a
 * period longer than a policy remembers, or rises for all tenants at once. Tenants arrive by
 * offers, without migrations. Each pattern repeats at least three times, at control periods of 0.2
 * to 5 s. At 1 s, it is also measured with a hook without effect: the policy expects migrations,
 * but none happens. Figures are means of several seeds.
 *
 *   adversarial [--sharing hard|guarantee] [--pattern NAME] [--seeds N] [--quick]
 *
 * --quick: one seed, only periods of 1 s, and no search for the best schedule.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "tests/bench/eval/pool.h"

#define POINTS_MAX   128
#define POLICIES_MAX 16
#define GOAL_PCT     2.0 /* broken time that qos may have if a schedule is found that has no more */
#define EQUAL_POINTS 0.1 /* broken times that differ by less are equal */
#define FUND_WINDOW  "30" /* seconds; a window has at most 300 periods */
#define SEEDS	     3
#define SEEDS_MAX    100
#define DAY_S	     1200 /* length of a day: 72 times faster */

struct pattern {
	const char *name, *title;
	int seconds;
	const char *workload; /* for a trace, its options */
	/* Fills @points with one cycle of a trace and returns their number; NULL: no trace. */
	int (*draw)(struct trace_point *points);
	bool shared;	  /* true: all tenants rise at the same time */
	bool unreachable; /* true: one more tenant has a target that it cannot reach */
	bool tiny;	  /* true: 72 small vGPUs instead of 16 large ones */
};

static int add(struct trace_point *points, int n, double t_s, double pct)
{
	points[n] = (struct trace_point){.t_s = t_s, .demand_pct = pct};
	return n + 1;
}

static int draw_ramp(struct trace_point *points)
{
	int n = add(points, 0, 0, 2);

	n = add(points, n, 890, 48);
	n = add(points, n, 891, 2);
	return add(points, n, 900, 2);
}

static int draw_flash(struct trace_point *points)
{
	int n = add(points, 0, 0, 3);

	n = add(points, n, 420, 3);
	n = add(points, n, 421, 40);
	n = add(points, n, 480, 40);
	n = add(points, n, 481, 3);
	return add(points, n, 900, 3);
}

static int draw_day(struct trace_point *points)
{
	int n = 0;

	for (int t = 0; t <= DAY_S; t += 20) {
		double wave = (1 - cos(2 * M_PI * t / DAY_S)) / 2;

		n = add(points, n, t, 3 + 39 * wave * wave);
	}
	return n;
}

#define CYCLE "trace:file=made,loop=on,interpolate=on,gap_s=100000"

static const struct pattern patterns[] = {
	{"ramp", "rises from 2 to 48 % in 890 s", 2700, CYCLE, draw_ramp, false, false, false},
	{"square-70", "2 or 44 %, period 70 s", 1500, "square:period_s=70,low_pct=2,high_pct=44",
	 NULL, false, false, false},
	{"square-310", "2 or 44 %, period 310 s", 1860, "square:period_s=310,low_pct=2,high_pct=44",
	 NULL, false, false, false},
	{"square-620", "2 or 44 %, period 620 s", 2480, "square:period_s=620,low_pct=2,high_pct=44",
	 NULL, false, false, false},
	{"poisson", "bursts of 45 %, 8 s, pauses of 72 s, random", 2400,
	 "burst:on_s=8,off_s=72,pct=45", NULL, false, false, false},
	{"flash-crowd", "3 %, all 40 % for 60 s every 900 s", 3600, CYCLE, draw_flash, true, false,
	 false},
	{"diurnal", "3 to 42 %, all together, a day lasts 1200 s", 3600, CYCLE, draw_day, true,
	 false, false},
	{"idle", "2 %", 1800, "load:pct=2", NULL, false, false, false},
	{"steady", "10 %", 1800, "load:pct=10", NULL, false, false, false},
	{"unreachable", "10 %, and one tenant with a target it cannot reach", 1800, "load:pct=10",
	 NULL, false, true, false},
	{"tiny", "72 vGPUs of 2 %, which use 1 %", 1200, "load:pct=1", NULL, false, false, true},
};

static const int periods_ms[] = {200, 1000, 2000, 5000};
enum { PERIODS = ARRAY_SIZE(periods_ms), REFERENCE = 1 }; /* REFERENCE: index of 1 s */

/* One pattern at one control period, with or without a hook. */
struct cell {
	const struct pattern *pattern;
	int period_ms;
	bool hook;
	struct pool_row *rows; /* policies, then the best schedule found */
};

static struct {
	const char *sharing, *only;
	bool quick;
	int seeds;
} options = {.sharing = "guarantee", .seeds = SEEDS};

static struct cell cells[ARRAY_SIZE(patterns) * (PERIODS + 1)];
static int n_cells, n_policies, qos, gover;

/* --- scenarios --- */

static struct scenario_tenant *add_tenant(struct scenario *scenario, const char *name)
{
	struct scenario_tenant *tenant = &scenario->tenants[scenario->n_tenants++];

	*tenant = (struct scenario_tenant){.flavor = -1,
					   .target_fps = -1,
					   .weight = 1,
					   .arrive_s = SCENARIO_BY_OFFER,
					   .count = 1};
	snprintf(tenant->name, sizeof(tenant->name), "%s", name);
	return tenant;
}

static void set_workload(struct scenario_tenant *tenant, const struct pattern *pattern)
{
	struct trace_point points[POINTS_MAX];
	struct trace *trace = NULL;
	struct err err = {""};
	int r;

	snprintf(tenant->workload_text, sizeof(tenant->workload_text), "%s", pattern->workload);
	if (!pattern->draw) {
		r = workload_parse(pattern->workload, &tenant->workload, &err);
	} else {
		r = trace_new(points, (size_t)pattern->draw(points), &trace, &err);
		if (r == 0)
			r = workload_from_trace(pattern->workload, trace, &tenant->workload, &err);
	}
	if (r < 0)
		pool_die(err.msg);
}

/* The scenario and its trace live until the program ends. */
static const struct scenario *make_scenario(const struct pattern *pattern, int period_ms, bool hook)
{
	struct scenario *scenario = malloc(sizeof(*scenario));
	struct scenario_tenant *tenant;
	struct err err = {""};

	if (!scenario)
		pool_die("out of memory");
	scenario_default(scenario);
	scenario->seconds = pattern->seconds;
	scenario->period_ms = period_ms;
	scenario->start = pattern->tiny ? 24 : 2;
	tenant = add_tenant(scenario, "a");
	tenant->shared_clock = pattern->shared;
	set_workload(tenant, pattern);
	if (pattern->unreachable) {
		tenant = add_tenant(scenario, "unreachable");
		tenant->arrive_s = 0;
		tenant->target_fps = 1000;
		snprintf(tenant->workload_text, sizeof(tenant->workload_text), "plot3d");
		if (workload_parse("plot3d", &tenant->workload, &err) < 0)
			pool_die(err.msg);
	}
	if (pattern->tiny) {
		scenario->max_vgpus = 72;
		scenario->probation_s = 10;
		scenario->flavor_cap_pct = 2;
		scenario->params.min_newcomer_pct = 1;
	}
	pool_set(scenario, "host.sharing", options.sharing);
	pool_set(scenario, "fund_window_s", FUND_WINDOW);
	if (hook) {
		pool_set(scenario, "scenario.migrate", "on");
		pool_set(scenario, "scenario.migrate_capacity", "0");
	}
	if (scenario_check(scenario, &err) < 0)
		pool_die(err.msg);
	return scenario;
}

static void make_cell(const struct pattern *pattern, int period_ms, bool hook)
{
	const struct scenario *scenario = make_scenario(pattern, period_ms, hook);
	struct cell *cell = &cells[n_cells++];

	*cell = (struct cell){.pattern = pattern, .period_ms = period_ms, .hook = hook};
	cell->rows = calloc((size_t)n_policies + 1, sizeof(*cell->rows));
	if (!cell->rows)
		pool_die("out of memory");
	for (int k = 0; k < n_policies; k++)
		pool_make_row(&cell->rows[k], scenario, POOL_POLICY, policy_at((size_t)k)->name, 1,
			      options.seeds);
	/* At 0.2 s and with a hook, the schedule found at 1 s without one is shown instead. */
	if (!options.quick && period_ms >= periods_ms[REFERENCE] && !hook)
		pool_make_row(&cell->rows[n_policies], scenario, POOL_FOUND_BY_FUTURE, NULL, 1,
			      options.seeds);
}

static void make_cells(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (options.only && strcmp(options.only, patterns[i].name) != 0)
			continue;
		for (int p = 0; p < PERIODS; p++) {
			if (options.quick && p != REFERENCE)
				continue;
			make_cell(&patterns[i], periods_ms[p], false);
			if (p == REFERENCE)
				make_cell(&patterns[i], periods_ms[p], true);
		}
	}
}

static void play_cells(void)
{
	size_t width = (size_t)n_policies + 1;
	struct pool_row *all = calloc(width * (size_t)n_cells, sizeof(*all));

	if (!all)
		pool_die("out of memory");
	for (int i = 0; i < n_cells; i++)
		memcpy(&all[(size_t)i * width], cells[i].rows, width * sizeof(*all));
	pool_play(all, (int)width * n_cells);
	free(all);
	for (int i = 0; i < n_cells; i++) {
		int other = cells[i].hook ? i - 1 : i + 1;

		if (cells[i].rows[n_policies].n_runs == 0 && other < n_cells &&
		    cells[other].pattern == cells[i].pattern)
			cells[i].rows[n_policies] = cells[other].rows[n_policies];
	}
}

/* --- the table --- */

static struct pool_figures figures_of(const struct cell *cell, int row)
{
	return pool_figures_of(&cell->rows[row], 0, cell->rows[row].n_runs);
}

/* Returns the policy other than qos and gover that sells most and keeps the goal, or -1. */
static int best_other(const struct cell *cell)
{
	double most = 0;
	int best = -1;

	for (int i = 0; i < n_policies; i++) {
		struct pool_figures f = figures_of(cell, i);

		if (i == qos || i == gover || f.broken > GOAL_PCT || (best >= 0 && f.sold <= most))
			continue;
		best = i;
		most = f.sold;
	}
	return best;
}

enum verdict { NONE, MET, MISSED };

static const char *const verdict_names[] = {[NONE] = "-", [MET] = "ok", [MISSED] = "MISSED"};

static enum verdict judge_broken(const struct cell *cell)
{
	/* true: some run keeps the goal */
	bool possible = best_other(cell) >= 0 || figures_of(cell, gover).broken <= GOAL_PCT;

	if (cell->rows[n_policies].n_runs > 0)
		possible |= figures_of(cell, n_policies).broken <= GOAL_PCT;
	if (cell->hook) /* the cell before is the same without a hook */
		possible |= figures_of(cell - 1, qos).broken <= GOAL_PCT;
	if (figures_of(cell, qos).broken <= GOAL_PCT)
		return MET;
	return possible ? MISSED : NONE;
}

static enum verdict judge_sold(const struct cell *cell)
{
	struct pool_figures mine = figures_of(cell, qos), other = figures_of(cell, gover);

	if (other.broken > mine.broken + EQUAL_POINTS)
		return NONE;
	return mine.sold >= other.sold ? MET : MISSED;
}

static bool start_keeps_limit(const struct pool_row *row)
{
	bool keeps = true;

	for (int i = 0; i < row->n_runs; i++)
		keeps &= row->runs[i].start_keeps_limit;
	return keeps;
}

static void print_cell(const struct cell *cell)
{
	struct pool_figures mine = figures_of(cell, qos), other = figures_of(cell, gover);
	const struct pool_row *found = &cell->rows[n_policies];
	int best = best_other(cell);

	printf("%-12s %5.1f %-4s  %8.1f %7.2f %7.2f %7.2f  %8.1f %7.2f ", cell->pattern->name,
	       cell->period_ms / 1000.0, cell->hook ? "yes" : "no", mine.sold / 1000, mine.broken,
	       mine.worst_vgpu, mine.shortfall, other.sold / 1000, other.broken);
	if (best < 0)
		printf(" %-7s %8s %7s", "-", "-", "-");
	else
		printf(" %-7s %8.1f %7.2f", policy_at((size_t)best)->name,
		       figures_of(cell, best).sold / 1000, figures_of(cell, best).broken);
	if (found->n_runs == 0)
		printf("  %8s %7s", "-", "-");
	else
		printf("  %8.1f %6.2f%s", figures_of(cell, n_policies).sold / 1000,
		       figures_of(cell, n_policies).broken, start_keeps_limit(found) ? " " : "!");
	printf("  %-6s  %s\n", verdict_names[judge_broken(cell)], verdict_names[judge_sold(cell)]);
}

static void print_counts(enum verdict (*judge)(const struct cell *cell), const char *text)
{
	int counts[3] = {0};

	for (int i = 0; i < n_cells; i++)
		counts[judge(&cells[i])]++;
	printf("%s: %d of %d\n", text, counts[MET], counts[MET] + counts[MISSED]);
}

/*
 * Prints the patterns together for each control period, for the choice of the default period. No
 * period helps a tenant with an unreachable target.
 */
static void print_periods(void)
{
	printf("\nPatterns with reachable targets by control period, policy qos, without a hook:\n"
	       "per s      sold  broken  worst pattern   short\n");
	for (int p = 0; p < PERIODS; p++) {
		struct pool_figures sum = {0};
		int n = 0;

		for (int i = 0; i < n_cells; i++) {
			struct pool_figures f = figures_of(&cells[i], qos);

			if (cells[i].hook || cells[i].pattern->unreachable ||
			    cells[i].period_ms != periods_ms[p])
				continue;
			sum.sold += f.sold;
			sum.broken += f.broken;
			sum.shortfall += f.shortfall;
			sum.worst_mix = fmax(sum.worst_mix, f.broken);
			n++;
		}
		if (n > 0)
			printf("%5.1f  %8.1f %7.2f        %7.2f %7.2f\n", periods_ms[p] / 1000.0,
			       sum.sold / 1000, sum.broken / n, sum.worst_mix, sum.shortfall / n);
	}
}

static void print_table(void)
{
	printf("Adversarial demand, sharing %s, means of seeds 1 to %d, fund_window_s "
	       "= " FUND_WINDOW
	       ". Tenants arrive by\noffers, without migrations. hook: the policy expects "
	       "migrations, but none happens.\n\n",
	       options.sharing, options.seeds);
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
		if (!options.only || strcmp(options.only, patterns[i].name) == 0)
			printf("%-12s %s; %d s\n", patterns[i].name, patterns[i].title,
			       patterns[i].seconds);
	printf("\n%-12s %5s %-4s  %32s  %16s  %24s  %16s  %s\n", "", "", "",
	       "--------------- qos ------------", "----- gover ----", "-- best other <= 2 % ---",
	       "-- best found --", "verdicts on qos");
	printf("%-12s %5s %-4s  %8s %7s %7s %7s  %8s %7s  %-7s %8s %7s  %8s %7s  %-6s  %s\n",
	       "pattern", "per s", "hook", "sold", "broken", "worst", "short", "sold", "broken",
	       "policy", "sold", "broken", "sold", "broken", "broken", "sold");
	for (int i = 0; i < n_cells; i++)
		print_cell(&cells[i]);
	printf("\nsold: thousands of %% x s. broken, short: percent of the vGPU-seconds. worst: "
	       "broken time of the worst vGPU of\n"
	       "all seeds. best found: the best schedule that a search with knowledge of the "
	       "future "
	       "found; for 0.2 s and with\n"
	       "a hook, at 1 s without one. !: the start alone breaks 1 %% with one of the seeds. "
	       "Verdict broken: qos keeps 2 %%\n"
	       "(-: neither qos nor any other run does). Verdict sold: qos sells at least as much "
	       "as "
	       "gover (-: gover has more\n"
	       "broken time).\n\n");
	print_counts(
		judge_broken,
		"broken time <= 2 % wherever another policy or the best schedule found keeps it");
	print_counts(judge_sold, "sold >= gover at equal broken time");
	print_periods();
}

static int fail_usage(void)
{
	fputs("usage: adversarial [--sharing hard|guarantee] [--pattern NAME] [--seeds N] "
	      "[--quick]\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int64_t seeds;

		if (strcmp(argv[i], "--quick") == 0) {
			options.quick = true;
			options.seeds = 1;
		} else if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc &&
			   parse_int(argv[i + 1], 1, SEEDS_MAX, &seeds) == 0) {
			options.seeds = (int)seeds;
			i++;
		} else if (strcmp(argv[i], "--sharing") == 0 && i + 1 < argc) {
			options.sharing = argv[++i];
		} else if (strcmp(argv[i], "--pattern") == 0 && i + 1 < argc) {
			options.only = argv[++i];
		} else {
			return fail_usage();
		}
	}
	for (; policy_at((size_t)n_policies); n_policies++) {
		qos = strcmp(policy_at((size_t)n_policies)->name, "qos") == 0 ? n_policies : qos;
		gover = strcmp(policy_at((size_t)n_policies)->name, "gover") == 0 ? n_policies
										  : gover;
	}
	make_cells();
	if (n_cells == 0)
		return fail_usage();
	play_cells();
	print_table();
	return 0;
}
