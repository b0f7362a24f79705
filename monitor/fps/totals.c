/* SPDX-License-Identifier: MIT */
/* Values derived from the totals of a vGPU. */
#include <math.h>

#include "monitor/fps/totals.h"

/* Returns the middle of the bucket that contains the percentile. The error is at most 9 %. */
double fps_percentile_ms(const uint64_t frame_time[FPS_WIRE_BUCKETS], double above)
{
	uint64_t frames = 0, up_to = 0;
	int b = 0;

	for (int i = 0; i < FPS_WIRE_BUCKETS; i++)
		frames += frame_time[i];
	if (frames == 0)
		return 0;
	for (; b < FPS_WIRE_BUCKETS - 1; b++) {
		up_to += frame_time[b];
		if (up_to >= frames - (uint64_t)((double)frames * above))
			break;
	}
	return FPS_WIRE_BUCKET0_NS / 1e6 * exp2((b + 0.5) / 4);
}

enum fps_present fps_present_of(const struct fps_totals *totals)
{
	if (totals->present_waits > 0)
		return FPS_PRESENT_WAITS;
	return totals->open > 0 && totals->present_outside == totals->open && totals->reporting == 0
		       ? FPS_PRESENT_OUTSIDE
		       : FPS_PRESENT_UNKNOWN;
}
