/* SPDX-License-Identifier: MIT */
/* The loads of a vGPU in its last periods, as a ring. */
#include "policy/window.h"

void window_add(struct policy_track *track, double load)
{
	track->window_load[track->window_next] = (float)load;
	track->window_next = (track->window_next + 1) % POLICY_WINDOW_MAX;
	if (track->window_fill < POLICY_WINDOW_MAX)
		track->window_fill++;
}

double window_at(const struct policy_track *track, int ago)
{
	int at = (track->window_next - ago + POLICY_WINDOW_MAX) % POLICY_WINDOW_MAX;

	return (double)track->window_load[at];
}

double window_max(const struct policy_track *track, int periods)
{
	int n = periods < track->window_fill ? periods : track->window_fill;
	double max = 0;

	if (n < 1)
		return 1;
	for (int ago = 1; ago <= n; ago++) {
		double load = window_at(track, ago);

		if (load > max)
			max = load;
	}
	return max;
}

/* Returns the k-th largest of n loads. k is at most 4, because n is at most POLICY_WINDOW_MAX. */
double window_p99(const struct policy_track *track, int periods)
{
	int n = periods < track->window_fill ? periods : track->window_fill;
	int k = n - (99 * n + 99) / 100 + 1;
	double largest[POLICY_WINDOW_MAX / 100 + 1] = {0};

	if (n < 1)
		return 1;
	for (int ago = 1; ago <= n; ago++) {
		double load = window_at(track, ago);

		for (int i = 0; i < k; i++) {
			if (load > largest[i]) {
				double smaller = largest[i];

				largest[i] = load;
				load = smaller;
			}
		}
	}
	return largest[k - 1];
}
