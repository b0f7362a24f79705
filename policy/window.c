/* SPDX-License-Identifier: MIT */
/* The ring of use that a vGPU's track keeps for rule 9. Must never hold a reading that is not
 * valid. */
#include "policy/window.h"

void window_add(struct policy_track *track, double load)
{
	track->window_load[track->window_next] = (float)load;
	track->window_next = (track->window_next + 1) % POLICY_WINDOW_MAX;
	if (track->window_fill < POLICY_WINDOW_MAX)
		track->window_fill++;
}

double window_max(const struct policy_track *track, int periods)
{
	int n = periods < track->window_fill ? periods : track->window_fill;
	float max = 0;

	if (n < 1)
		return 1;
	for (int i = 1; i <= n; i++) {
		int at = (track->window_next - i + POLICY_WINDOW_MAX) % POLICY_WINDOW_MAX;

		if (track->window_load[at] > max)
			max = track->window_load[at];
	}
	return (double)max;
}
