/* SPDX-License-Identifier: MIT */
/* Shares of the GPU from active and total ticks. */
#include "gpu/xe/usage.h"

/* A counter that decreases was reset: the function was disabled meanwhile. */
static double growth(uint64_t last, uint64_t now)
{
	return now > last ? (double)(now - last) : 0;
}

static bool is_comparable(const struct xe_usage *usage, const struct xe_counts *now)
{
	return usage->known && now->n_engines > 0 && now->n_engines == usage->last.n_engines;
}

static double clamp(double share)
{
	return share > 1 ? 1 : share;
}

/* Adds the share of the busiest engine to one function. @whole: ticks of all functions per engine.
 */
static void add(struct xe_usage *usage, const struct xe_counts *now, const double *whole,
		double dt_ns)
{
	double busy = 0, sched = 0;

	for (int e = 0; e < now->n_engines; e++) {
		double active, total;

		if (whole[e] <= 0)
			continue;
		active = growth(usage->last.active[e], now->active[e]) / whole[e];
		total = growth(usage->last.total[e], now->total[e]) / whole[e];
		busy = active > busy ? active : busy;
		sched = total > sched ? total : sched;
	}
	usage->busy_ns += clamp(busy) * dt_ns;
	usage->sched_ns += clamp(sched) * dt_ns;
}

/* Computes the ticks of the whole GPU since the last call, for each engine. */
static void measure(struct xe_usage *const *usages, const struct xe_counts *counts, int n,
		    double dt_ns, struct xe_rate *rate, double whole[XE_ENGINES_MAX])
{
	bool complete = dt_ns > 0;

	for (int i = 0; i < n; i++) {
		complete = complete && usages[i]->valid;
		for (int e = 0; usages[i]->valid && e < counts[i].n_engines; e++)
			whole[e] += growth(usages[i]->last.total[e], counts[i].total[e]);
	}
	for (int e = 0; e < XE_ENGINES_MAX; e++)
		if (complete)
			rate->ticks_per_ns[e] = whole[e] / dt_ns;
		else if (rate->known)
			whole[e] = rate->ticks_per_ns[e] * dt_ns;
	rate->known = rate->known || complete;
}

/* True if the total ticks of a function have grown, or if no function can be compared. */
static bool is_counting(struct xe_usage *const *usages, const struct xe_counts *counts, int n)
{
	bool compared = false, grown = false;

	for (int i = 0; i < n; i++)
		for (int e = 0; usages[i]->valid && e < counts[i].n_engines; e++) {
			compared = true;
			grown = grown || counts[i].total[e] > usages[i]->last.total[e];
		}
	return grown || !compared;
}

bool xe_usage_advance(struct xe_usage *const *usages, const struct xe_counts *counts, int n,
		      double dt_ns, struct xe_rate *rate)
{
	double whole[XE_ENGINES_MAX] = {0};
	bool counting;

	for (int i = 0; i < n; i++)
		usages[i]->valid = is_comparable(usages[i], &counts[i]);
	counting = is_counting(usages, counts, n);
	measure(usages, counts, n, dt_ns, rate, whole);
	for (int i = 0; i < n; i++) {
		if (usages[i]->valid)
			add(usages[i], &counts[i], whole, dt_ns);
		usages[i]->known = counts[i].n_engines > 0;
		usages[i]->last = counts[i];
	}
	return counting;
}
