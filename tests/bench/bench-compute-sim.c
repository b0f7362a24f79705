/* SPDX-License-Identifier: MIT */
/*
 * Prints the experiments of FairGV and VMCG with the disciplines of compute/arbiter/, in virtual
 * time: the least and greatest value of ten seeds. Argument "tune": the seeds that constants were
 * chosen with. tests/unit/bench/ asserts the same figures.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/bench/compute/figures.h"

static uint64_t first_seed = COMPUTE_SEED_REPORT;

/* The least and greatest value over the seeds. */
struct range {
	double least, most;
};

static void add(struct range *range, double value, int nth)
{
	range->least = nth == 0 || value < range->least ? value : range->least;
	range->most = nth == 0 || value > range->most ? value : range->most;
}

static void print_mixes(const char *title, const struct compute_mix *mix, bool lambda)
{
	printf("\n%s\n%-12s %-16s %-16s %s\n", title, "", lambda ? "lambda" : "MMR", "busy %",
	       "share % (first seed)");
	for (const struct arbiter_discipline *d = arbiter_disciplines; d->name; d++) {
		struct compute_mix row = *mix;
		struct compute_result result, first = {0};
		struct range figure = {0, 0}, busy = {0, 0};

		row.discipline = d->name;
		for (int i = 0; i < COMPUTE_SEEDS; i++) {
			result = compute_figure_mix(&row, first_seed + (uint64_t)i);
			first = i == 0 ? result : first;
			add(&figure, lambda ? result.lambda : result.mmr, i);
			add(&busy, result.busy_pct, i);
		}
		printf("%-12s %6.3f .. %.3f  %6.2f .. %-6.2f ", d->name, figure.least, figure.most,
		       busy.least, busy.most);
		for (int i = 0; mix->weights[i] > 0; i++)
			printf(" %6.2f", first.share_pct[i]);
		printf("\n");
	}
}

static void print_caps(unsigned int one, unsigned int two, unsigned int unit_one_us,
		       unsigned int unit_two_us)
{
	static const char *const names[] = {"cap", "fair", "guarantee", "credit", "vmcg", "rr"};

	printf("\ncaps %u/%u, units of %.1f and %.1f ms\n%-12s %-18s %s\n", one, two,
	       unit_one_us / 1e3, unit_two_us / 1e3, "", "share %", "share %");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct compute_mix mix = {
			names[i], {1, 1}, {one, two}, {unit_one_us, unit_two_us}, 10};
		struct range a = {0, 0}, b = {0, 0};

		for (int s = 0; s < COMPUTE_SEEDS; s++) {
			struct compute_result result =
				compute_figure_mix(&mix, first_seed + (uint64_t)s);

			add(&a, result.share_pct[0], s);
			add(&b, result.share_pct[1], s);
		}
		printf("%-12s %6.2f .. %-6.2f  %6.2f .. %-6.2f\n", names[i], a.least, a.most,
		       b.least, b.most);
	}
}

static void print_fig_10(void)
{
	printf("\nFairGV Fig. 10: utilisation %%, BS beside MM that sleeps\n%-28s", "sleep");
	for (unsigned int pct = 50; pct <= 80; pct += 10)
		printf(" %5u %%", pct);
	for (int conserving = 1; conserving >= 0; conserving--) {
		printf("\n%-28s", conserving ? "work-conserving" : "not work-conserving");
		for (unsigned int pct = 50; pct <= 80; pct += 10)
			printf(" %7.2f", compute_figure_utilisation(pct, conserving, first_seed));
	}
	printf("\n");
}

static void print_fig_11(unsigned int unit_us, const char *program)
{
	static const unsigned int others_us[] = {21, 52, 104, 207, 391, 803, 1605};
	static const char *const names[] = {"credit, blind (Credit-poll)", "credit", "fair"};

	printf("\nFairGV Fig. 11: run time of %s (%u us) over the run time alone\n%-28s", program,
	       unit_us, "unit of the other, us");
	for (size_t i = 0; i < ARRAY_SIZE(others_us); i++)
		printf(" %6u", others_us[i]);
	for (int row = COMPUTE_CREDIT_BLIND; row <= COMPUTE_FAIR; row++) {
		printf("\n%-28s", names[row]);
		for (size_t i = 0; i < ARRAY_SIZE(others_us); i++)
			printf(" %6.2f",
			       compute_figure_run_time((enum compute_scheduler)row, unit_us,
						       others_us[i], first_seed));
	}
	printf("\n");
}

static void print_waits(void)
{
	printf("\nresponse of a synchronous tenant beside two saturating ones, and time until "
	       "others "
	       "run after the holder was stopped, ms\n%-12s %8s %8s %10s\n",
	       "", "mean", "max", "stopped");
	for (const struct arbiter_discipline *d = arbiter_disciplines; d->name; d++) {
		double mean_ms, max_ms;
		struct range stopped = {0, 0};

		compute_figure_response(d->name, first_seed, &mean_ms, &max_ms);
		for (int s = 0; s < 100; s++)
			add(&stopped, compute_figure_stopped(d->name, first_seed + (uint64_t)s), s);
		printf("%-12s %8.2f %8.2f %10.1f\n", d->name, mean_ms, max_ms, stopped.most);
	}
}

int main(int argc, char **argv)
{
	static const struct compute_mix three = {"", {1, 2, 3}, {0}, {200}, 10};
	static const struct compute_mix six = {"", {1, 2, 2, 3, 3, 4}, {0}, {200}, 10};
	static const struct compute_mix mixed = {"", {1, 1, 1}, {0}, {200, 1000, 10000}, 10};
	static const struct compute_mix lone = {"", {1}, {0}, {200}, 10};
	static const struct compute_mix same = {"", {1, 1, 1}, {0}, {1000}, 20};
	static const struct compute_mix hybrid = {"", {1, 1, 1}, {0}, {300, 1000, 2000}, 30};
	static const struct compute_mix priority = {"", {4, 2, 1}, {0}, {300, 1000, 2000}, 30};

	if (argc == 2 && strcmp(argv[1], "tune") == 0)
		first_seed = 1;
	printf("virtual time, hand-over %d us, %d seeds from %u\n", COMPUTE_HAND_OVER_NS / 1000,
	       COMPUTE_SEEDS, (unsigned int)first_seed);
	print_mixes("a lone tenant", &lone, false);
	print_mixes("weights 1:2:3, units of 0.2 ms (FairGV Fig. 8; goal of fair: 0.99)", &three,
		    false);
	print_mixes("weights 1:2:2:3:3:4, units of 0.2 ms (FairGV Fig. 9; goal of fair: 0.99)",
		    &six, false);
	print_mixes("weights 1:1:1, units of 0.2, 1 and 10 ms (goal of fcfs: below 0.1)", &mixed,
		    false);
	print_caps(30, 70, 200, 200);
	print_caps(10, 90, 200, 200);
	print_caps(10, 90, 10000, 1000);
	print_fig_10();
	print_fig_11(207, "MM");
	print_fig_11(133, "HS");
	print_mixes("VMCG 6.3: 1:1:1, the same program", &same, true);
	print_mixes("VMCG Fig. 16: 1:1:1, units of 0.3, 1 and 2 ms", &hybrid, true);
	print_mixes("VMCG Fig. 17: 4:2:1, units of 0.3, 1 and 2 ms", &priority, true);
	print_waits();
	return 0;
}
