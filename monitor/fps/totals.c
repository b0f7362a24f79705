/* SPDX-License-Identifier: MIT */
/*
 * The writer of a page is untrusted and may write at any time: a number from a page is never used
 * as a size, an index or a pointer.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "monitor/fps/totals.h"

bool fps_quota_take(struct fps_quota *quota, int *held)
{
	int limit = *held < quota->few ? quota->all : quota->all - quota->reserved;

	if (*held >= quota->each || quota->used >= limit)
		return false;
	quota->used++;
	(*held)++;
	return true;
}

void fps_quota_give(struct fps_quota *quota, int *held)
{
	quota->used--;
	(*held)--;
}

void fps_refusals_add(struct fps_refusals *refusals, int held, uint64_t now_ns)
{
	refusals->n++;
	refusals->newest_ns = now_ns;
	refusals->held = held;
}

/*
 * A rate from a count is wrong by up to one frame at each end of the period, that is 10 FPS if the
 * period is 200 ms. The parts of the frames at both ends correct it. A sum over several periods is
 * not changed by more than one frame, because the part at the end of a period is that at the begin
 * of the next.
 */
#define PAUSE_NS NS_PER_S

double fps_phase_take(struct fps_phase *phase, uint64_t frames, uint64_t newest_ns, uint64_t now_ns)
{
	uint64_t passed_ns;

	if (frames > 0) {
		if (phase->newest_ns > 0 && newest_ns > phase->newest_ns)
			phase->interval_ns = (newest_ns - phase->newest_ns) / frames;
		if (phase->interval_ns > PAUSE_NS)
			phase->interval_ns = 0;
		phase->newest_ns = newest_ns;
	}
	if (phase->interval_ns == 0 || now_ns <= phase->newest_ns)
		return 0;
	passed_ns = now_ns - phase->newest_ns;
	return passed_ns < phase->interval_ns ? (double)passed_ns / (double)phase->interval_ns : 1;
}

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

/* --- pages --- */

/*
 * The GPU time of a frame becomes known after the frame was presented. New GPU times may therefore
 * belong to frames from before the last reading: to at most GPU_FRAMES_LATE frames, which were
 * presented at most FPS_GPU_LATE_NS before that reading.
 */
#define GPU_FRAMES_LATE 1024

void fps_gpu_time_add(struct fps_totals *totals, uint64_t drawn, uint64_t gpu_frames,
		      uint64_t gpu_time_ns, uint64_t elapsed_ns)
{
	uint64_t longest_ns = elapsed_ns + FPS_GPU_LATE_NS;

	if (gpu_frames == 0 || gpu_frames > drawn + GPU_FRAMES_LATE ||
	    gpu_time_ns / longest_ns >= FPS_WIRE_LANES || gpu_time_ns / longest_ns >= gpu_frames)
		return;
	totals->gpu_frames += gpu_frames;
	totals->gpu_time_ns += gpu_time_ns;
}

/* The newest frame was presented in this period, so its time is limited to this period. */
static uint64_t newest_frame_ns(const struct fps_counters *after, uint64_t from_ns, uint64_t now_ns)
{
	uint64_t newest_ns = after->last_ns > from_ns ? after->last_ns : from_ns;

	return newest_ns < now_ns ? newest_ns : now_ns;
}

/* Adds the difference between two readings. */
static void add(struct fps_totals *totals, const struct fps_counters *before,
		const struct fps_counters *after, uint64_t from_ns, uint64_t now_ns)
{
	uint64_t newest_ns = newest_frame_ns(after, from_ns, now_ns);

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
	if (newest_ns > totals->newest_ns)
		totals->newest_ns = newest_ns;
}

/*
 * Returns true if the counters of a program can plausibly change to @after, and takes the new
 * frames from those that the program may present. GPU time is checked separately, so that a wrong
 * GPU time does not invalidate the frames.
 */
static bool is_plausible(struct fps_reading *reading, const struct fps_counters *after,
			 uint64_t elapsed_ns)
{
	const struct fps_counters *before = &reading->counted;
	uint64_t frames = after->frames - before->frames, timed = 0;
	/* Whole seconds and the rest, because a product with all nanoseconds could overflow. */
	uint64_t most = reading->spare + FPS_PLAUSIBLE * (elapsed_ns / NS_PER_S) +
			FPS_PLAUSIBLE * (elapsed_ns % NS_PER_S) / NS_PER_S;
	bool ok;

	for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
		timed += (uint32_t)(after->frame_time[b] - before->frame_time[b]);
	ok = after->frames >= before->frames && frames <= most && timed <= most;
	if (ok)
		most -= frames > timed ? frames : timed;
	reading->spare = most < FPS_PLAUSIBLE ? most : FPS_PLAUSIBLE;
	return ok;
}

/*
 * Compares the present calls with the last reading. A wrong counter can only give a wrong result
 * for this program.
 */
static enum fps_present take_present(struct fps_reading *reading, const struct fps_page *page)
{
	uint32_t lanes = __atomic_load_n(&page->lanes, __ATOMIC_RELAXED);
	bool inside = false, waits = false;

	for (uint32_t l = 0; l < lanes && l < FPS_WIRE_LANES; l++) {
		const struct fps_lane *lane = &page->lane[l];
		/*
		 * Read in this order: an unchanged @begun then shows that no call has begun since
		 * the last reading. @ended may exceed it if the stores are seen out of order.
		 */
		uint32_t ended = __atomic_load_n(&lane->presents_ended, __ATOMIC_ACQUIRE);
		uint32_t begun = __atomic_load_n(&lane->presents_begun, __ATOMIC_RELAXED);
		bool is_inside = (int32_t)(begun - ended) > 0;

		inside |= is_inside;
		waits |= is_inside && begun == reading->presents_begun[l];
		reading->presents_begun[l] = begun;
	}
	if (!(__atomic_load_n(&page->features, __ATOMIC_RELAXED) & FPS_PAGE_PRESENTS))
		return FPS_PRESENT_UNKNOWN;
	if (waits)
		return FPS_PRESENT_WAITS;
	return inside ? FPS_PRESENT_UNKNOWN : FPS_PRESENT_OUTSIDE;
}

void fps_reading_begin(struct fps_reading *reading, uint64_t now_ns)
{
	*reading = (struct fps_reading){.at_ns = now_ns, .spare = FPS_PLAUSIBLE};
}

void fps_reading_skip(struct fps_reading *reading, const struct fps_page *page)
{
	fps_wire_sum(page, &reading->counted);
}

void fps_reading_take(struct fps_reading *reading, const struct fps_page *page, uint64_t now_ns,
		      struct fps_totals *totals)
{
	struct fps_counters now;
	uint64_t frames = 0;

	fps_wire_sum(page, &now);
	if (totals && is_plausible(reading, &now, now_ns - reading->at_ns)) {
		add(totals, &reading->counted, &now, reading->at_ns, now_ns);
		frames = now.frames - reading->counted.frames;
	}
	reading->partial_frames = fps_phase_take(
		&reading->phase, frames, newest_frame_ns(&now, reading->at_ns, now_ns), now_ns);
	reading->present = take_present(reading, page);
	reading->counted = now;
	reading->at_ns = now_ns;
}

void fps_reading_add_state(const struct fps_reading *reading, struct fps_totals *totals)
{
	totals->partial_frames += reading->partial_frames;
	totals->present_outside += reading->present == FPS_PRESENT_OUTSIDE;
	totals->present_waits += reading->present == FPS_PRESENT_WAITS;
}
