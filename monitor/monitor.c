/* SPDX-License-Identifier: MIT */
/* Computes rates from two consecutive readings. The same readings always give the same rows. */
#include <errno.h>

#include "monitor/monitor.h"

#define FPS_STALE_PERIODS 2.5

/*
 * A GPU does at most one second of work per second. The limit is larger, because some work is
 * counted only when it ends, and because a reading may be later than its timestamp.
 */
#define GROWTH_MAX_FACTOR 1.5
#define GROWTH_MARGIN_S	  0.2

static bool is_plausible(uint64_t grown_ns, double dt_s)
{
	return (double)grown_ns <= (dt_s * GROWTH_MAX_FACTOR + GROWTH_MARGIN_S) * 1e9;
}

static void sample_busy(const struct gpu_reading *last, const struct gpu_reading *now,
			struct monitor_row *row)
{
	uint64_t busy_ns = now->busy_ns - last->busy_ns, sched_ns = now->sched_ns - last->sched_ns;
	struct sample *sample = &row->sample;

	if (!now->busy_valid || !last->busy_valid || sample->dt_s == 0)
		row->read_errno = now->busy_valid ? 0 : ENODATA;
	else if (now->busy_ns < last->busy_ns || now->sched_ns < last->sched_ns)
		row->read_errno = ERANGE; /* a counter was reset: only this period is invalid */
	else if (!is_plausible(busy_ns, sample->dt_s) || !is_plausible(sched_ns, sample->dt_s))
		row->read_errno = ERANGE;
	else if (sched_ns == 0)
		row->read_errno = ENODATA; /* the vGPU had no allotted time */
	else
		sample->busy_valid = true;
	if (!sample->busy_valid)
		return;
	sample->load = (double)busy_ns / 1e9 / sample->dt_s;
	sample->util = (double)busy_ns / (double)sched_ns;
}

/* Computes the FPS from frames that the backend counts. */
static void sample_backend_frames(const struct gpu_reading *last, const struct gpu_reading *now,
				  struct monitor_row *row)
{
	struct sample *sample = &row->sample;

	row->frames = now->frames;
	if (!last->frames_valid || sample->dt_s == 0 || now->frames < last->frames)
		return;
	sample->fps_valid = true;
	sample->fps = (double)(now->frames - last->frames) / sample->dt_s;
	sample->p99_valid = now->frame_p99_ms > 0;
	sample->frame_p99_ms = sample->p99_valid ? (double)now->frame_p99_ms : 0;
}

/* Computes the frame times of this period. Leaves them unset if a bucket counter has decreased. */
static void sample_frame_times(const struct fps_totals *last, const struct fps_totals *now,
			       struct monitor_row *row)
{
	uint64_t frame_time[FPS_WIRE_BUCKETS];

	if (now->gpu_frames > last->gpu_frames && now->gpu_time_ns >= last->gpu_time_ns)
		row->frame_gpu_ms = (double)(now->gpu_time_ns - last->gpu_time_ns) / 1e6 /
				    (double)(now->gpu_frames - last->gpu_frames);
	for (int i = 0; i < FPS_WIRE_BUCKETS; i++) {
		if (now->frame_time[i] < last->frame_time[i])
			return;
		frame_time[i] = now->frame_time[i] - last->frame_time[i];
	}
	row->sample.frame_p99_ms = fps_percentile_ms(frame_time, 0.01);
	row->sample.p99_valid = row->sample.frame_p99_ms > 0;
	row->frame_p50_ms = fps_percentile_ms(frame_time, 0.5);
	row->frame_max_ms = fps_percentile_ms(frame_time, 0);
	/* A new longest gap replaces the maximum from the buckets, because the gap is exact. */
	if (row->sample.p99_valid && now->longest_gap_ns > last->longest_gap_ns)
		row->frame_max_ms = (double)now->longest_gap_ns / 1e6;
}

/*
 * Uses the frame times of the previous period again if @held is true and this period has none,
 * because a program in a virtual machine may send no message in a period.
 */
static void hold_frame_times(struct monitor_track *track, bool held, struct monitor_row *row)
{
	struct monitor_frame_times *reported = &track->reported;

	if (held && !row->sample.p99_valid && reported->p99_ms > 0) {
		row->sample.p99_valid = true;
		row->sample.frame_p99_ms = reported->p99_ms;
		row->frame_p50_ms = reported->p50_ms;
		row->frame_max_ms = reported->max_ms;
		row->frame_gpu_ms = reported->gpu_ms;
	}
	*reported = (struct monitor_frame_times){
		.p99_ms = row->sample.frame_p99_ms,
		.p50_ms = row->frame_p50_ms,
		.max_ms = row->frame_max_ms,
		.gpu_ms = row->frame_gpu_ms,
	};
}

/*
 * Returns the time between two counts of frames, by the clock of the GPU. The time between the
 * readings of the GPU differs from it, because its thread may read late.
 */
static double counted_s(const struct fps_totals *last, const struct fps_totals *now, double speed,
			const struct monitor_row *row)
{
	if (last->at_ns == 0 || now->at_ns <= last->at_ns)
		return row->sample.dt_s;
	return (double)(now->at_ns - last->at_ns) / 1e9 * speed;
}

/*
 * Computes the FPS from frames that programs report. A program that connects during a period would
 * give a meaningless rate. The FPS of a period are therefore valid only if a program was connected
 * at the start of the period. A connected program without new frames has 0 FPS. Parts of frames
 * count at both ends of the period, so that a short period is not wrong by a frame. A program in a
 * virtual machine reports by its own clock, up to two times in a period or not at all. Its FPS are
 * the rate between its last two messages.
 */
static void sample_reported_frames(struct monitor_track *track, const struct fps_totals *now,
				   double period_s, double speed, struct monitor_row *row)
{
	const struct fps_totals *last = &track->fps_last;
	struct sample *sample = &row->sample;
	uint64_t seen = now->frames - now->reported_frames,
		 before = last->frames - last->reported_frames;

	row->frames = now->frames;
	row->present = fps_present_of(now);
	if (track->fps_primed && last->open > 0 && sample->dt_s > 0 &&
	    sample->dt_s <= FPS_STALE_PERIODS * period_s && now->frames >= last->frames &&
	    seen >= before) {
		double frames =
			(double)(seen - before) + now->partial_frames - last->partial_frames;

		sample->fps_valid = true;
		sample->fps = frames > 0 ? frames / counted_s(last, now, speed, row) : 0;
	}
	if (now->reporting > 0) {
		sample->fps_valid = true;
		sample->fps += now->reported_fps;
	}
	if (sample->fps > MONITOR_FPS_MAX) {
		sample->fps_valid = false;
		sample->fps = 0;
	}
	if (sample->fps_valid && track->fps_primed)
		sample_frame_times(last, now, row);
	hold_frame_times(track, now->reporting > 0 && sample->fps > 0, row);
	track->fps_primed = true;
	track->fps_last = *now;
}

static void sample_age(struct monitor_track *track, struct monitor_row *row)
{
	uint64_t at_ns = track->last.at_ns;

	if (row->sample.fps_valid || (!track->fps_seen && row->frames > 0))
		track->fps_valid_at_ns = at_ns;
	track->fps_seen |= row->frames > 0;
	row->fps_seen = track->fps_seen;
	if (row->fps_seen && at_ns > track->fps_valid_at_ns)
		row->fps_age_s = (double)(at_ns - track->fps_valid_at_ns) / 1e9;
}

/*
 * Handles a failed reading. The next successful sample covers the time since the last successful
 * reading.
 */
static void sample_nothing(struct monitor_track *track, int error, struct monitor_row *row)
{
	row->read_errno = error;
	row->frames = track->fps_primed ? track->fps_last.frames : track->last.frames;
	sample_age(track, row);
}

void monitor_sample(struct monitor_track *track, int error, const struct gpu_reading *reading,
		    const struct fps_totals *fps, double period_s, double speed,
		    struct monitor_row *ret_row)
{
	*ret_row = (struct monitor_row){0};
	if (error == -ENODEV) {
		/* A vGPU that is created later under the same name is a different vGPU. */
		*track = (struct monitor_track){0};
		ret_row->gone = true;
		ret_row->read_errno = ENODEV;
		return;
	}
	if (error < 0) {
		sample_nothing(track, -error, ret_row);
		return;
	}
	ret_row->reading = *reading;
	if (track->primed && reading->at_ns > track->last.at_ns)
		ret_row->sample.dt_s = (double)(reading->at_ns - track->last.at_ns) / 1e9;
	sample_busy(&track->last, reading, ret_row);
	if (reading->frames_valid)
		sample_backend_frames(&track->last, reading, ret_row);
	else if (fps)
		sample_reported_frames(track, fps, period_s, speed, ret_row);
	else
		track->fps_primed = false;
	track->primed = true;
	track->last = *reading;
	sample_age(track, ret_row);
}
