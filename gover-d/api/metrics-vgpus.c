/* SPDX-License-Identifier: MIT */
/*
 * The metrics of vGPUs, as a table, and the histogram of frame times. A value that does not exist
 * at the moment is left out.
 */
#include <math.h>

#include "base/cleanup.h"
#include "gover-d/api/metrics-vgpus.h"

static double vgpu_cap(const struct vgpu *v)
{
	return v->device ? v->cap_pct : NAN;
}

static double vgpu_cap_ratio(const struct vgpu *v)
{
	return vgpu_cap(v) / 100;
}

static double vgpu_initial_cap(const struct vgpu *v)
{
	return v->contract.terms.initial_cap_pct;
}

static double vgpu_initial_cap_ratio(const struct vgpu *v)
{
	return vgpu_initial_cap(v) / 100;
}

static double vgpu_load(const struct vgpu *v)
{
	return v->row.busy_valid ? 100 * v->row.load : NAN;
}

static double vgpu_load_ratio(const struct vgpu *v)
{
	return vgpu_load(v) / 100;
}

static double vgpu_util(const struct vgpu *v)
{
	return v->row.busy_valid ? 100 * v->row.util : NAN;
}

static double vgpu_util_ratio(const struct vgpu *v)
{
	return vgpu_util(v) / 100;
}

static double vgpu_busy(const struct vgpu *v)
{
	return v->row.busy_valid ? (double)v->row.busy_ns / NS_PER_S : NAN;
}

static double vgpu_frames(const struct vgpu *v)
{
	return v->row.fps_seen ? (double)v->row.frames : NAN;
}

static double vgpu_fps(const struct vgpu *v)
{
	return v->row.fps_valid ? v->row.fps : NAN;
}

static double vgpu_target(const struct vgpu *v)
{
	return v->contract.terms.target_fps;
}

static double vgpu_target_rate(const struct vgpu *v)
{
	return v->contract.target_rate;
}

static double vgpu_p99(const struct vgpu *v)
{
	return v->row.p99_valid ? v->row.frame_p99_ms / 1000 : NAN;
}

static double vgpu_p50(const struct vgpu *v)
{
	return v->row.frame_p50_ms > 0 ? v->row.frame_p50_ms / 1000 : NAN;
}

static double vgpu_longest(const struct vgpu *v)
{
	return v->row.frame_max_ms > 0 ? v->row.frame_max_ms / 1000 : NAN;
}

static double vgpu_frame_gpu(const struct vgpu *v)
{
	return v->row.frame_gpu_ms > 0 ? v->row.frame_gpu_ms / 1000 : NAN;
}

static double vgpu_reading_age(const struct vgpu *v)
{
	return v->read_ns ? (double)(clock_now().mono_ns - v->read_ns) / NS_PER_S : NAN;
}

static double vgpu_fps_age(const struct vgpu *v)
{
	return v->row.fps_seen ? v->row.fps_age_s : NAN;
}

/*
 * Returns the mean of |load - cap| as a fraction of the GPU. Only periods in which the vGPU used
 * its whole cap (utilisation above overload_pct) count. NAN: no such period.
 */
static double vgpu_share_error(const struct vgpu *v)
{
	return v->tally.cap_error_s > 0 ? v->tally.cap_error_pct_s / v->tally.cap_error_s / 100
					: NAN;
}

static double vgpu_share_error_s(const struct vgpu *v)
{
	return v->tally.cap_error_pct_s / 100;
}

static double vgpu_saturated(const struct vgpu *v)
{
	return v->tally.cap_error_s;
}

static double vgpu_missing(const struct vgpu *v)
{
	return !v->device;
}

static double vgpu_held(const struct vgpu *v)
{
	return v->contract.held;
}

static double vgpu_overloaded(const struct vgpu *v)
{
	return v->view.overloaded;
}

static double vgpu_short(const struct vgpu *v)
{
	return v->view.short_of_target;
}

static double vgpu_seen(const struct vgpu *v)
{
	return v->tally.seen_s;
}

static double vgpu_broken(const struct vgpu *v)
{
	return v->tally.broken_s;
}

static double vgpu_promise_broken(const struct vgpu *v)
{
	bool known = v->device && v->promise.state != PROMISE_UNKNOWN;

	return known ? v->promise.state == PROMISE_BROKEN : NAN;
}

static double vgpu_broken_fast(const struct vgpu *v)
{
	return promise_fast_pct(&v->promise);
}

static double vgpu_broken_fast_ratio(const struct vgpu *v)
{
	return vgpu_broken_fast(v) / 100;
}

static double vgpu_broken_slow(const struct vgpu *v)
{
	return promise_slow_pct(&v->promise);
}

static double vgpu_broken_slow_ratio(const struct vgpu *v)
{
	return vgpu_broken_slow(v) / 100;
}

static double vgpu_wanted(const struct vgpu *v)
{
	return v->device && v->promise.track.seen ? v->promise.track.want_pct : NAN;
}

static double vgpu_wanted_ratio(const struct vgpu *v)
{
	return vgpu_wanted(v) / 100;
}

static double vgpu_steals_in(const struct vgpu *v)
{
	return (double)v->tally.steals_in;
}

static double vgpu_steals_out(const struct vgpu *v)
{
	return (double)v->tally.steals_out;
}

static double vgpu_cap_writes(const struct vgpu *v)
{
	return (double)v->tally.cap_writes;
}

static double vgpu_memory(const struct vgpu *v)
{
	return v->row.memory_valid ? (double)v->row.memory_bytes : NAN;
}

static double vgpu_memory_limit(const struct vgpu *v)
{
	if (v->contract.memory_mib > 0)
		return v->contract.memory_mib * 1048576.0;
	return v->row.memory_max_valid ? (double)v->row.memory_max_bytes : NAN;
}

/* The vGPUs that have a metric, by what they deliver. */
enum delivers { ANY, FRAMES, WORK };

/* The metrics in percent remain for one release after those in fractions (_ratio). */
static const struct vgpu_metric {
	const char *name, *type, *help;
	double (*value)(const struct vgpu *vgpu);
	enum delivers delivers;
} vgpu_metrics[] = {
	{"gover_vgpu_cap_ratio", "gauge", "Cap in force of the vGPU, as a fraction of the GPU.",
	 vgpu_cap_ratio, ANY},
	{"gover_vgpu_cap_percent", "gauge",
	 "Cap in force of the vGPU. Deprecated: use gover_vgpu_cap_ratio.", vgpu_cap, ANY},
	{"gover_vgpu_initial_cap_ratio", "gauge", "Sold cap of the vGPU, as a fraction of the GPU.",
	 vgpu_initial_cap_ratio, ANY},
	{"gover_vgpu_initial_cap_percent", "gauge",
	 "Sold cap of the vGPU. Deprecated: use gover_vgpu_initial_cap_ratio.", vgpu_initial_cap,
	 ANY},
	{"gover_vgpu_load_ratio", "gauge",
	 "GPU time used by the vGPU, as a fraction of the whole GPU.", vgpu_load_ratio, ANY},
	{"gover_vgpu_load_percent", "gauge",
	 "GPU time used by the vGPU, in percent of the whole GPU. Deprecated: use "
	 "gover_vgpu_load_ratio.",
	 vgpu_load, ANY},
	{"gover_vgpu_utilization_ratio", "gauge",
	 "GPU time used by the vGPU, as a fraction of the allotted time.", vgpu_util_ratio, ANY},
	{"gover_vgpu_utilization_percent", "gauge",
	 "GPU time used by the vGPU, in percent of the allotted time. Deprecated: use "
	 "gover_vgpu_utilization_ratio.",
	 vgpu_util, ANY},
	{"gover_vgpu_busy_seconds_total", "counter", "GPU time used by the vGPU.", vgpu_busy, ANY},
	{"gover_vgpu_frames_total", "counter", "Frames presented by the vGPU.", vgpu_frames,
	 FRAMES},
	{"gover_vgpu_fps", "gauge", "Frame rate of the vGPU.", vgpu_fps, FRAMES},
	{"gover_vgpu_target_fps", "gauge", "Promised frame rate; 0: no promise.", vgpu_target,
	 FRAMES},
	{"gover_vgpu_work_units_total", "counter", "Units of work finished by the vGPU.",
	 vgpu_frames, WORK},
	{"gover_vgpu_rate", "gauge", "Units of work per second of the vGPU.", vgpu_fps, WORK},
	{"gover_vgpu_target_rate", "gauge", "Promised units of work per second; 0: no promise.",
	 vgpu_target_rate, WORK},
	{"gover_vgpu_memory_bytes", "gauge", "Device memory used by the vGPU.", vgpu_memory, ANY},
	{"gover_vgpu_memory_limit_bytes", "gauge",
	 "Limit of device memory of the vGPU; no line: no limit.", vgpu_memory_limit, ANY},
	{"gover_vgpu_frame_p50_seconds", "gauge", "Median frame time.", vgpu_p50, FRAMES},
	{"gover_vgpu_frame_p99_seconds", "gauge", "99th percentile of the frame time.", vgpu_p99,
	 FRAMES},
	{"gover_vgpu_frame_max_seconds", "gauge", "Longest frame time.", vgpu_longest, FRAMES},
	{"gover_vgpu_frame_gpu_seconds", "gauge", "Mean GPU time per frame.", vgpu_frame_gpu,
	 FRAMES},
	{"gover_vgpu_reading_age_seconds", "gauge",
	 "Time since the busy time of the vGPU was last read.", vgpu_reading_age, ANY},
	{"gover_vgpu_fps_age_seconds", "gauge",
	 "Time since the frame rate of the vGPU was last valid.", vgpu_fps_age, FRAMES},
	{"gover_vgpu_share_error_ratio", "gauge",
	 "Mean of |load - cap| while the vGPU used its whole cap.", vgpu_share_error, ANY},
	{"gover_vgpu_share_error_seconds_total", "counter",
	 "Integral of |load - cap| while the vGPU used its whole cap.", vgpu_share_error_s, ANY},
	{"gover_vgpu_saturated_seconds_total", "counter",
	 "Time in which the vGPU used its whole cap.", vgpu_saturated, ANY},
	{"gover_vgpu_missing", "gauge", "1 if the contract exists but its vGPU does not, else 0.",
	 vgpu_missing, ANY},
	{"gover_vgpu_held", "gauge", "1 if an operator holds the cap, else 0.", vgpu_held, ANY},
	{"gover_vgpu_overloaded", "gauge", "1 if the vGPU is overloaded, else 0.", vgpu_overloaded,
	 ANY},
	{"gover_vgpu_short_of_target", "gauge",
	 "1 if the rate of the vGPU is below its target, else 0.", vgpu_short, ANY},
	{"gover_vgpu_seen_seconds_total", "counter", "Time with valid samples.", vgpu_seen, ANY},
	{"gover_vgpu_broken_seconds_total", "counter", "Time with a broken promise.", vgpu_broken,
	 ANY},
	{"gover_vgpu_promise_broken", "gauge",
	 "1 if the promise of the contract is broken, else 0; no line: unknown.",
	 vgpu_promise_broken, ANY},
	{"gover_vgpu_broken_fast_ratio", "gauge",
	 "Fraction of promise_fast_window_s in which the promise was broken.",
	 vgpu_broken_fast_ratio, ANY},
	{"gover_vgpu_broken_fast_percent", "gauge",
	 "Share of promise_fast_window_s in which the promise was broken. Deprecated: use "
	 "gover_vgpu_broken_fast_ratio.",
	 vgpu_broken_fast, ANY},
	{"gover_vgpu_broken_slow_ratio", "gauge",
	 "Fraction of promise_slow_window_s in which the promise was broken.",
	 vgpu_broken_slow_ratio, ANY},
	{"gover_vgpu_broken_slow_percent", "gauge",
	 "Share of promise_slow_window_s in which the promise was broken. Deprecated: use "
	 "gover_vgpu_broken_slow_ratio.",
	 vgpu_broken_slow, ANY},
	{"gover_vgpu_wanted_ratio", "gauge",
	 "Demand of the vGPU, as a fraction of the whole GPU, at most its contract.",
	 vgpu_wanted_ratio, ANY},
	{"gover_vgpu_wanted_percent", "gauge",
	 "Demand of the vGPU, in percent of the whole GPU, at most its contract. Deprecated: use "
	 "gover_vgpu_wanted_ratio.",
	 vgpu_wanted, ANY},
	{"gover_vgpu_steals_in_total", "counter",
	 "Number of steals that raised the cap of the vGPU.", vgpu_steals_in, ANY},
	{"gover_vgpu_steals_out_total", "counter",
	 "Number of steals that lowered the cap of the vGPU.", vgpu_steals_out, ANY},
	{"gover_vgpu_cap_writes_total", "counter", "Number of cap writes.", vgpu_cap_writes, ANY},
};

/*
 * Buckets of gover_vgpu_frame_seconds: the ends of some of the finer buckets in which frames are
 * counted (fps-preload/wire.h). @end: number of finer buckets up to this end.
 */
static const struct frame_bound {
	int end;
	const char *text;
} frame_bounds[] = {
	{16, "0.0016"},	     {20, "0.0032"},
	{22, "0.004525483"}, {24, "0.0064"},
	{26, "0.009050967"}, {28, "0.0128"},
	{30, "0.018101934"}, {32, "0.0256"},
	{34, "0.036203867"}, {36, "0.0512"},
	{40, "0.1024"},	     {44, "0.2048"},
	{48, "0.4096"},	     {FPS_WIRE_BUCKETS, "+Inf"},
};

/* Each frame counts with the middle of its bucket, so the error of the sum is at most 9 %. */
static double sum_frame_times(const uint64_t frame_time[FPS_WIRE_BUCKETS])
{
	double sum_s = 0;

	for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
		if (frame_time[b] > 0)
			sum_s += (double)frame_time[b] * FPS_WIRE_BUCKET0_NS / NS_PER_S *
				 exp2((b + 0.5) / 4);
	return sum_s;
}

static void write_frame_labels(const struct metrics_out *out, const char *suffix,
			       const struct vgpu *v)
{
	fprintf(out->file, "gover_vgpu_frame_seconds_%s", suffix);
	metrics_format_label(out, "{", "gpu", v->contract.gpu);
	metrics_format_label(out, ",", "vgpu", v->contract.id);
	metrics_format_label(out, ",", "vm", v->contract.vm);
}

/* A vGPU whose backend counts the frames itself has no lines. */
static void write_frames(const struct metrics_out *out, const struct vgpu *v)
{
	const uint64_t *frame_time = v->monitor.fps_last.frame_time;
	uint64_t n = 0, total = 0;
	int b = 0;

	for (int i = 0; i < FPS_WIRE_BUCKETS; i++)
		total += frame_time[i];
	if (total == 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(frame_bounds); i++) {
		while (b < frame_bounds[i].end)
			n += frame_time[b++];
		write_frame_labels(out, "bucket", v);
		fprintf(out->file, ",le=\"%s\"} %llu\n", frame_bounds[i].text,
			(unsigned long long)n);
	}
	write_frame_labels(out, "sum", v);
	fprintf(out->file, "} %.15g\n", sum_frame_times(frame_time));
	write_frame_labels(out, "count", v);
	fprintf(out->file, "} %llu\n", (unsigned long long)total);
}

static void write_frame_times(const struct metrics_out *out, const struct host *host)
{
	metrics_format_head(out, "gover_vgpu_frame_seconds", "histogram",
			    "Frame times reported by programs; the sum is an estimate.");
	for (int g = 0; g < host->n_gpus; g++)
		for (const struct vgpu *v = host->gpus[g].vgpus; v; v = v->next)
			if (host_gpu_unit(&host->gpus[g], &v->contract) == GPU_FRAMES)
				write_frames(out, v);
}

static void write_vgpu(const struct metrics_out *out, const struct vgpu_metric *m,
		       const struct host_gpu *gpu, const struct vgpu *v)
{
	enum delivers delivers = host_gpu_unit(gpu, &v->contract) == GPU_WORK ? WORK : FRAMES;
	double value = m->value(v);

	if (!isfinite(value) || (m->delivers != ANY && m->delivers != delivers))
		return;
	fputs(m->name, out->file);
	metrics_format_label(out, "{", "gpu", v->contract.gpu);
	metrics_format_label(out, ",", "vgpu", v->contract.id);
	metrics_format_label(out, ",", "vm", v->contract.vm);
	fprintf(out->file, "} %.15g\n", value);
}

void metrics_vgpus_write(const struct metrics_out *out, const struct host *host)
{
	for (size_t i = 0; i < ARRAY_SIZE(vgpu_metrics); i++) {
		const struct vgpu_metric *m = &vgpu_metrics[i];

		metrics_format_head(out, m->name, m->type, m->help);
		for (int g = 0; g < host->n_gpus; g++)
			for (const struct vgpu *v = host->gpus[g].vgpus; v; v = v->next)
				write_vgpu(out, m, &host->gpus[g], v);
	}
	write_frame_times(out, host);
}
