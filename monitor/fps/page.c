/* SPDX-License-Identifier: MIT */
/*
 * Reads pages of FPS counters. The writer is untrusted and may write at any time: a number from a
 * page is never used as a size, an index or a pointer.
 */

#include "base/clock.h"
#include "monitor/fps/page.h"

/*
 * The GPU time of a frame becomes known after the frame was presented. New GPU times may therefore
 * belong to frames from before the last reading: to at most GPU_FRAMES_LATE frames, which were
 * presented at most GPU_LATE_NS before that reading.
 */
#define GPU_FRAMES_LATE 1024
#define GPU_LATE_NS	(10 * NS_PER_S)

bool fps_page_plausible(const struct fps_counters *before, const struct fps_counters *after,
			uint64_t elapsed_ns)
{
	uint64_t most = FPS_PLAUSIBLE + FPS_PLAUSIBLE * (elapsed_ns / NS_PER_S);
	uint64_t timed = 0;

	for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
		timed += (uint32_t)(after->frame_time[b] - before->frame_time[b]);
	return after->frames >= before->frames && after->frames - before->frames <= most &&
	       timed <= most;
}

void fps_gpu_time_add(struct fps_totals *totals, uint64_t drawn, uint64_t gpu_frames,
		      uint64_t gpu_time_ns, uint64_t elapsed_ns)
{
	if (gpu_frames > drawn + GPU_FRAMES_LATE ||
	    gpu_time_ns > FPS_WIRE_LANES * (elapsed_ns + GPU_LATE_NS))
		return;
	totals->gpu_frames += gpu_frames;
	totals->gpu_time_ns += gpu_time_ns;
}

void fps_page_add(struct fps_totals *totals, const struct fps_counters *before,
		  const struct fps_counters *after, uint64_t from_ns, uint64_t now_ns)
{
	uint64_t newest_ns = after->last_ns;

	if (after->gpu_frames >= before->gpu_frames && after->gpu_time_ns >= before->gpu_time_ns)
		fps_gpu_time_add(totals, after->frames - before->frames,
				 after->gpu_frames - before->gpu_frames,
				 after->gpu_time_ns - before->gpu_time_ns, now_ns - from_ns);
	/*
	 * A gap may be longer than this period, because it may have started before the last
	 * reading. A gap longer than the uptime of the host is implausible.
	 */
	if (after->longest_gap_ns > before->longest_gap_ns && after->longest_gap_ns <= now_ns &&
	    after->longest_gap_ns > totals->longest_gap_ns)
		totals->longest_gap_ns = after->longest_gap_ns;
	for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
		totals->frame_time[b] += (uint32_t)(after->frame_time[b] - before->frame_time[b]);
	if (after->frames == before->frames)
		return;
	totals->frames += after->frames - before->frames;
	/* The newest frame was presented in this period, so limit its time to this period. */
	if (newest_ns < from_ns)
		newest_ns = from_ns;
	if (newest_ns > now_ns)
		newest_ns = now_ns;
	if (newest_ns > totals->newest_ns)
		totals->newest_ns = newest_ns;
}
