/* SPDX-License-Identifier: MIT */
/*
 * One vGPU, one period, one row. Pure but for the reading it takes: the same readings give the same
 * rows. Must never make a number of two readings that do not belong together.
 */
#include <errno.h>

#include "monitor/monitor.h"

#define FPS_STALE_PERIODS 2.5

static void sample_busy(const struct gpu_reading *last, const struct gpu_reading *now,
			struct monitor_row *row)
{
	uint64_t sched_ns = now->sched_ns - last->sched_ns;

	row->busy_ns = now->busy_ns;
	if (!now->busy_valid || !last->busy_valid || row->dt_s == 0)
		row->read_errno = now->busy_valid ? 0 : ENODATA;
	else if (now->busy_ns < last->busy_ns || now->sched_ns < last->sched_ns)
		row->read_errno = ERANGE; /* began anew: the next period counts from here */
	else if (sched_ns == 0)
		row->read_errno = ENODATA; /* nothing was allotted of which it could be a share */
	else
		row->busy_valid = true;
	if (!row->busy_valid)
		return;
	row->load = (double)(now->busy_ns - last->busy_ns) / 1e9 / row->dt_s;
	row->util = (double)(now->busy_ns - last->busy_ns) / (double)sched_ns;
}

/* Frames the backend counts itself. */
static void sample_own_frames(const struct gpu_reading *last, const struct gpu_reading *now,
			      struct monitor_row *row)
{
	row->frames = now->frames;
	if (!last->frames_valid || row->dt_s == 0 || now->frames < last->frames)
		return;
	row->fps_valid = true;
	row->fps = (double)(now->frames - last->frames) / row->dt_s;
	row->p99_valid = now->frame_p99_ms > 0;
	row->frame_p99_ms = row->p99_valid ? (double)now->frame_p99_ms : 0;
}

static double new_frames_p99_ms(const struct fps_totals *last, const struct fps_totals *now)
{
	uint64_t frame_time[FPS_WIRE_BUCKETS];

	for (int i = 0; i < FPS_WIRE_BUCKETS; i++) {
		if (now->frame_time[i] < last->frame_time[i])
			return 0;
		frame_time[i] = now->frame_time[i] - last->frame_time[i];
	}
	return fps_p99_ms(frame_time);
}

/*
 * Frames that programs report. The FPS of a period is a number when a program was connected at its
 * beginning: the first one comes in the middle of a period, whose FPS would say little, and without
 * a program there is none. Connected without a new frame is 0 FPS. Programs in a virtual machine
 * tell by another clock than ours, none or two times in a period: theirs is the rate of their last
 * two messages.
 */
static void sample_reported_frames(struct monitor_track *track, const struct fps_totals *now,
				   double period_s, struct monitor_row *row)
{
	const struct fps_totals *last = &track->fps_last;
	uint64_t seen = now->frames - now->told_frames, before = last->frames - last->told_frames;

	row->frames = now->frames;
	if (track->fps_primed && last->open > 0 && row->dt_s > 0 &&
	    row->dt_s <= FPS_STALE_PERIODS * period_s && now->frames >= last->frames &&
	    seen >= before) {
		row->fps_valid = true;
		row->fps = (double)(seen - before) / row->dt_s;
	}
	if (now->telling > 0) {
		row->fps_valid = true;
		row->fps += now->told_fps;
	}
	if (row->fps_valid && track->fps_primed)
		row->frame_p99_ms = new_frames_p99_ms(last, now);
	if (row->frame_p99_ms <= 0 && now->telling > 0 && row->fps > 0)
		row->frame_p99_ms = track->told_p99_ms; /* no message in this period */
	row->p99_valid = row->frame_p99_ms > 0;
	track->told_p99_ms = row->frame_p99_ms;
	track->fps_primed = true;
	track->fps_last = *now;
}

static void sample_age(struct monitor_track *track, struct monitor_row *row)
{
	uint64_t at_ns = track->last.at_ns;

	if (row->fps_valid || (!track->fps_seen && row->frames > 0))
		track->fps_valid_at_ns = at_ns;
	track->fps_seen |= row->frames > 0;
	row->fps_seen = track->fps_seen;
	if (row->fps_seen && at_ns > track->fps_valid_at_ns)
		row->fps_age_s = (double)(at_ns - track->fps_valid_at_ns) / 1e9;
}

/* No reading is no instant either: what was known stands, and the next period is longer. */
static void sample_nothing(struct monitor_track *track, int error, struct monitor_row *row)
{
	row->read_errno = error;
	row->frames = track->fps_primed ? track->fps_last.frames : track->last.frames;
	sample_age(track, row);
}

void monitor_sample(struct monitor_track *track, const struct gpu_ops *ops, struct gpu_vgpu *vgpu,
		    const struct fps_totals *fps, uint64_t now_mono_ns, double period_s,
		    struct monitor_row *ret_row)
{
	struct gpu_reading now;
	int r = ops->read(vgpu, now_mono_ns, &now);

	*ret_row = (struct monitor_row){0};
	if (r == -ENODEV) {
		/* Whatever comes under this name later is another one. */
		*track = (struct monitor_track){0};
		ret_row->gone = true;
		ret_row->read_errno = ENODEV;
		return;
	}
	if (r < 0) {
		sample_nothing(track, -r, ret_row);
		return;
	}
	if (track->primed && now.at_ns > track->last.at_ns)
		ret_row->dt_s = (double)(now.at_ns - track->last.at_ns) / 1e9;
	sample_busy(&track->last, &now, ret_row);
	ret_row->cap_valid = now.cap_valid;
	ret_row->cap_pct = now.cap_valid ? now.cap_pct : 0;
	if (now.frames_valid)
		sample_own_frames(&track->last, &now, ret_row);
	else if (fps)
		sample_reported_frames(track, fps, period_s, ret_row);
	else
		track->fps_primed = false;
	track->primed = true;
	track->last = now;
	sample_age(track, ret_row);
}
