/* SPDX-License-Identifier: MIT */
/*
 * Metrics are listed in tables. Each row contains a name, a type, a help text and an expression for
 * the value. If the value is not finite, the metric has no line.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "db/db.h"
#include "gover-d/alert/webhook.h"
#include "gover-d/api/metrics-format.h"
#include "gover-d/api/metrics.h"
#include "gover-d/config/config.h"
#include "gover-d/config/flavor.h"
#include "gover-d/core/frames.h"
#include "gover-d/core/history.h"
#include "gover-d/model/host.h"
#include "monitor/fps/fps.h"

/* Values from which the metrics of the host are computed. */
struct facts {
	const struct view *view;
	const struct host *host;
	const struct metrics_source *source;
	struct db_stats history;
	struct fps_hub_stats fps;
	struct metrics_tick tick;
	struct webhook_stats webhook;
};

static int by_size(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

struct metrics_tick metrics_tick(const struct host *host)
{
	size_t n = host->n_tick_us < TICKS_TIMED ? host->n_tick_us : TICKS_TIMED;
	uint32_t us[TICKS_TIMED];

	if (n == 0)
		return (struct metrics_tick){.p50_us = NAN, .p99_us = NAN};
	memcpy(us, host->tick_us, n * sizeof(us[0]));
	qsort(us, n, sizeof(us[0]), by_size);
	return (struct metrics_tick){.p50_us = us[n / 2], .p99_us = us[n * 99 / 100]};
}

/* Amounts exist only if a price is set, or was set since the daemon started. */
static double revenue(const struct facts *f)
{
	struct flavor flavor;

	for (int i = 0; flavor_at(f->view->config, i, &flavor); i++)
		if (flavor.price_per_cap_hour >= 0)
			return f->host->revenue;
	return f->host->revenue > 0 ? f->host->revenue : NAN;
}

static double penalty(const struct facts *f)
{
	struct flavor flavor;

	for (int i = 0; flavor_at(f->view->config, i, &flavor); i++)
		if (flavor.penalty_per_broken_s >= 0)
			return f->host->penalty;
	return f->host->penalty > 0 ? f->host->penalty : NAN;
}

static int count_vgpus(const struct host *host)
{
	int n = 0;

	for (int i = 0; i < host->n_gpus; i++)
		n += host->gpus[i].n_vgpus;
	return n;
}

/* Returns the sum of the sold caps as a fraction of all GPUs; NAN: no GPU. */
static double overbooking(const struct host *host)
{
	int sum = 0;

	for (int i = 0; i < host->n_gpus; i++)
		sum += host_gpu_sum_initial_cap_pct(&host->gpus[i]);
	return host->n_gpus ? sum / 100.0 / host->n_gpus : NAN;
}

static double seconds_since(uint64_t mono_ns)
{
	return (double)(clock_now().mono_ns - mono_ns) / NS_PER_S;
}

static double promise_broken(const struct vgpu *v)
{
	bool known = v->device && v->promise.state != PROMISE_UNKNOWN;

	return known ? v->promise.state == PROMISE_BROKEN : NAN;
}

static double memory_limit(const struct vgpu *v)
{
	if (v->contract.memory_mib > 0)
		return v->contract.memory_mib * 1048576.0;
	return v->row.memory_max_valid ? (double)v->row.memory_max_bytes : NAN;
}

/*
 * Mean of |load - cap| as a fraction of the GPU. Only periods in which the vGPU used its whole cap
 * (utilisation above overload_pct) count. NAN: no such period.
 */
static double share_error(const struct vgpu_tally *tally)
{
	return tally->cap_error_s > 0 ? tally->cap_error_pct_s / tally->cap_error_s / 100 : NAN;
}

/*
 * METRIC(name, type, help, value)
 * TWIN(name of the fraction, deprecated name of the percentage, help of each, value in percent)
 * The metrics in percent remain for one release after those in fractions (_ratio).
 */
#define HOST_METRICS(METRIC)                                                                       \
	METRIC(gover_start_time_seconds, gauge, "Unix time of the start of the daemon.",           \
	       (double)f->host->started.wall_ms / 1000)                                            \
	METRIC(gover_last_tick_timestamp_seconds, gauge, "Unix time of the last tick.",            \
	       f->host->ready ? (double)f->host->ticked.wall_ms / 1000 : NAN)                      \
	METRIC(gover_period_seconds, gauge, "Length of a control period.",                         \
	       f->view->config->period_ms / 1000.0)                                                \
	METRIC(gover_ready, gauge, "1 if the first tick is finished, else 0.", f->host->ready)     \
	METRIC(gover_dry_run, gauge, "1 in a dry run, else 0.", f->view->dry_run)                  \
	METRIC(gover_ticks_total, counter, "Number of ticks.", (double)f->host->ticks)             \
	METRIC(gover_late_ticks_total, counter, "Ticks late by more than half a period.",          \
	       (double)f->host->late_ticks)                                                        \
	METRIC(gover_tick_p50_seconds, gauge,                                                      \
	       "Median time from the scheduled start of a tick to its last cap write. "            \
	       "Deprecated: use gover_tick_duration_seconds.",                                     \
	       f->tick.p50_us / 1e6)                                                               \
	METRIC(gover_tick_p99_seconds, gauge,                                                      \
	       "99th percentile of the time from the scheduled start of a tick to its last cap "   \
	       "write. Deprecated: use gover_tick_duration_seconds.",                              \
	       f->tick.p99_us / 1e6)                                                               \
	METRIC(gover_gaps_total, counter,                                                          \
	       "Late ticks that restart the counts of consecutive periods.",                       \
	       (double)f->host->gaps)                                                              \
	METRIC(gover_revenue_total, counter, "Revenue since the start of the daemon.", revenue(f)) \
	METRIC(gover_penalty_total, counter, "Penalties since the start of the daemon.",           \
	       penalty(f))                                                                         \
	METRIC(gover_history_enabled, gauge, "1 if the history is available, else 0.",             \
	       f->view->history->db != NULL)                                                       \
	METRIC(gover_history_queued, gauge, "History records waiting to be written.",              \
	       f->history.queued)                                                                  \
	METRIC(gover_history_written_total, counter, "History records written.",                   \
	       (double)f->history.written)                                                         \
	METRIC(gover_history_dropped_total, counter, "Lost history records.",                      \
	       (double)f->history.dropped)                                                         \
	METRIC(gover_history_errors_total, counter, "Failed history transactions.",                \
	       (double)f->history.errors)                                                          \
	METRIC(gover_fps_sources, gauge, "Connected programs that report frames.", f->fps.open)    \
	METRIC(gover_fps_unmatched_sources, gauge,                                                 \
	       "Connected programs that report frames but belong to no vGPU.", f->fps.unmatched)   \
	METRIC(gover_fps_refused_total, counter,                                                   \
	       "Rejected connections of programs that report frames.", (double)f->fps.refused)     \
	METRIC(gover_fps_dropped_total, counter, "Number of ignored frame reports.",               \
	       (double)f->fps.dropped)                                                             \
	METRIC(gover_vgpus, gauge, "Number of vGPUs on this host.", count_vgpus(f->host))          \
	METRIC(gover_overbooking_ratio, gauge, "Sum of the sold caps as a fraction of all GPUs.",  \
	       overbooking(f->host))                                                               \
	METRIC(gover_webhook_queued, gauge, "Webhook messages waiting to be sent.",                \
	       f->view->webhook ? f->webhook.waiting : NAN)                                        \
	METRIC(gover_webhook_failing, gauge,                                                       \
	       "1 if the last attempt to send a webhook message failed, else 0.",                  \
	       f->view->webhook ? f->webhook.failed_tries > 0 : NAN)                               \
	METRIC(gover_webhook_retries_total, counter,                                               \
	       "Repeated attempts to send a webhook message.",                                     \
	       f->view->webhook ? (double)f->webhook.retried : NAN)                                \
	METRIC(gover_tls_certificate_expiry_timestamp_seconds, gauge,                              \
	       "Unix time at which the TLS certificate expires.",                                  \
	       f->source->tls_expires_s ? (double)f->source->tls_expires_s : NAN)

/* Metrics of one GPU, g. */
#define GPU_METRICS(METRIC, TWIN)                                                                 \
	METRIC(gover_gpu_vgpus, gauge, "Number of vGPUs on this GPU.", g->n_vgpus)                \
	TWIN(gover_gpu_cap_ratio, gover_gpu_cap_percent,                                          \
	     "Sum of the caps in force, as a fraction of this GPU.", "Sum of the caps in force.", \
	     host_gpu_sum_cap_pct(g))                                                             \
	TWIN(gover_gpu_initial_cap_ratio, gover_gpu_initial_cap_percent,                          \
	     "Sum of the sold caps, as a fraction of this GPU.", "Sum of the sold caps.",         \
	     host_gpu_sum_initial_cap_pct(g))                                                     \
	TWIN(gover_gpu_utilization_ratio, gover_gpu_utilization_percent,                          \
	     "Physical utilisation of the GPU, as a fraction.",                                   \
	     "Physical utilisation of the GPU.", g->util_pct)                                     \
	TWIN(gover_gpu_load_ratio, gover_gpu_load_percent,                                        \
	     "GPU time used by all vGPUs of this GPU, as a fraction.",                            \
	     "GPU time used by all vGPUs of this GPU.",                                           \
	     g->telemetry_valid ? 100 * g->view.total_load : NAN)                                 \
	METRIC(gover_gpu_overbooking_ratio, gauge,                                                \
	       "Sum of the sold caps as a fraction of this GPU.",                                 \
	       host_gpu_sum_initial_cap_pct(g) / 100.0)                                           \
	METRIC(gover_gpu_reading_age_seconds, gauge,                                              \
	       "Time since the busy times of all vGPUs of this GPU were last valid.",             \
	       g->telemetry_at_ns ? seconds_since(g->telemetry_at_ns) : NAN)                      \
	METRIC(gover_gpu_calm_periods, gauge, "Consecutive periods without an overloaded vGPU.",  \
	       g->view.calm_run)                                                                  \
	METRIC(gover_gpu_telemetry_valid, gauge, "1 if all busy times are valid, else 0.",        \
	       g->telemetry_valid)                                                                \
	METRIC(gover_gpu_acting, gauge, "1 if the policy acts on this GPU, else 0.",              \
	       g->mode == GPU_MODE_ACT)                                                           \
	METRIC(gover_gpu_guarantees, gauge,                                                       \
	       "1 if caps are shares that are always available, 0 if caps are hard limits.",      \
	       g->traits.guarantees)                                                              \
	METRIC(gover_gpu_selling, gauge, "1 if selling is on for this GPU, else 0.", g->selling)

/* Metrics of one vGPU, v. The last column selects the vGPUs that have the metric; default: all. */
#define VGPU_METRICS(METRIC, TWIN)                                                                 \
	TWIN(gover_vgpu_cap_ratio, gover_vgpu_cap_percent,                                         \
	     "Cap in force of the vGPU, as a fraction of the GPU.", "Cap in force of the vGPU.",   \
	     v->device ? v->cap_pct : NAN)                                                         \
	TWIN(gover_vgpu_initial_cap_ratio, gover_vgpu_initial_cap_percent,                         \
	     "Sold cap of the vGPU, as a fraction of the GPU.", "Sold cap of the vGPU.",           \
	     v->contract.terms.initial_cap_pct)                                                    \
	TWIN(gover_vgpu_load_ratio, gover_vgpu_load_percent,                                       \
	     "GPU time used by the vGPU, as a fraction of the whole GPU.",                         \
	     "GPU time used by the vGPU, in percent of the whole GPU.",                            \
	     v->row.busy_valid ? 100 * v->row.load : NAN)                                          \
	TWIN(gover_vgpu_utilization_ratio, gover_vgpu_utilization_percent,                         \
	     "GPU time used by the vGPU, as a fraction of the allotted time.",                     \
	     "GPU time used by the vGPU, in percent of the allotted time.",                        \
	     v->row.busy_valid ? 100 * v->row.util : NAN)                                          \
	METRIC(gover_vgpu_busy_seconds_total, counter, "GPU time used by the vGPU.",               \
	       v->row.busy_valid ? (double)v->row.busy_ns / NS_PER_S : NAN)                        \
	METRIC(gover_vgpu_frames_total, counter, "Frames presented by the vGPU.",                  \
	       v->row.fps_seen ? (double)v->row.frames : NAN, .delivers = FRAMES)                  \
	METRIC(gover_vgpu_fps, gauge, "Frame rate of the vGPU.",                                   \
	       v->row.fps_valid ? v->row.fps : NAN, .delivers = FRAMES)                            \
	METRIC(gover_vgpu_target_fps, gauge, "Promised frame rate; 0: no promise.",                \
	       v->contract.terms.target_fps, .delivers = FRAMES)                                   \
	METRIC(gover_vgpu_work_units_total, counter, "Units of work finished by the vGPU.",        \
	       v->row.fps_seen ? (double)v->row.frames : NAN, .delivers = WORK)                    \
	METRIC(gover_vgpu_rate, gauge, "Units of work per second of the vGPU.",                    \
	       v->row.fps_valid ? v->row.fps : NAN, .delivers = WORK)                              \
	METRIC(gover_vgpu_target_rate, gauge, "Promised units of work per second; 0: no promise.", \
	       v->contract.target_rate, .delivers = WORK)                                          \
	METRIC(gover_vgpu_memory_bytes, gauge, "Device memory used by the vGPU.",                  \
	       v->row.memory_valid ? (double)v->row.memory_bytes : NAN)                            \
	METRIC(gover_vgpu_memory_limit_bytes, gauge,                                               \
	       "Limit of device memory of the vGPU; no line: no limit.", memory_limit(v))          \
	METRIC(gover_vgpu_frame_p50_seconds, gauge, "Median frame time.",                          \
	       v->row.frame_p50_ms > 0 ? v->row.frame_p50_ms / 1000 : NAN, .delivers = FRAMES)     \
	METRIC(gover_vgpu_frame_p99_seconds, gauge, "99th percentile of the frame time.",          \
	       v->row.p99_valid ? v->row.frame_p99_ms / 1000 : NAN, .delivers = FRAMES)            \
	METRIC(gover_vgpu_frame_max_seconds, gauge, "Longest frame time.",                         \
	       v->row.frame_max_ms > 0 ? v->row.frame_max_ms / 1000 : NAN, .delivers = FRAMES)     \
	METRIC(gover_vgpu_frame_gpu_seconds, gauge, "Mean GPU time per frame.",                    \
	       v->row.frame_gpu_ms > 0 ? v->row.frame_gpu_ms / 1000 : NAN, .delivers = FRAMES)     \
	METRIC(gover_vgpu_reading_age_seconds, gauge,                                              \
	       "Time since the busy time of the vGPU was last read.",                              \
	       v->read_ns ? seconds_since(v->read_ns) : NAN)                                       \
	METRIC(gover_vgpu_fps_age_seconds, gauge,                                                  \
	       "Time since the frame rate of the vGPU was last valid.",                            \
	       v->row.fps_seen ? v->row.fps_age_s : NAN, .delivers = FRAMES)                       \
	METRIC(gover_vgpu_share_error_ratio, gauge,                                                \
	       "Mean of |load - cap| while the vGPU used its whole cap.", share_error(&v->tally))  \
	METRIC(gover_vgpu_share_error_seconds_total, counter,                                      \
	       "Integral of |load - cap| while the vGPU used its whole cap.",                      \
	       v->tally.cap_error_pct_s / 100)                                                     \
	METRIC(gover_vgpu_saturated_seconds_total, counter,                                        \
	       "Time in which the vGPU used its whole cap.", v->tally.cap_error_s)                 \
	METRIC(gover_vgpu_missing, gauge,                                                          \
	       "1 if the contract exists but its vGPU does not, else 0.", !v->device)              \
	METRIC(gover_vgpu_held, gauge, "1 if an operator holds the cap, else 0.",                  \
	       v->contract.held)                                                                   \
	METRIC(gover_vgpu_overloaded, gauge, "1 if the vGPU is overloaded, else 0.",               \
	       v->view.overloaded)                                                                 \
	METRIC(gover_vgpu_short_of_target, gauge,                                                  \
	       "1 if the rate of the vGPU is below its target, else 0.", v->view.short_of_target)  \
	METRIC(gover_vgpu_seen_seconds_total, counter, "Time with valid samples.",                 \
	       v->tally.seen_s)                                                                    \
	METRIC(gover_vgpu_broken_seconds_total, counter, "Time with a broken promise.",            \
	       v->tally.broken_s)                                                                  \
	METRIC(gover_vgpu_promise_broken, gauge,                                                   \
	       "1 if the promise of the contract is broken, else 0; no line: unknown.",            \
	       promise_broken(v))                                                                  \
	TWIN(gover_vgpu_broken_fast_ratio, gover_vgpu_broken_fast_percent,                         \
	     "Fraction of promise_fast_window_s in which the promise was broken.",                 \
	     "Share of promise_fast_window_s in which the promise was broken.",                    \
	     promise_fast_pct(&v->promise))                                                        \
	TWIN(gover_vgpu_broken_slow_ratio, gover_vgpu_broken_slow_percent,                         \
	     "Fraction of promise_slow_window_s in which the promise was broken.",                 \
	     "Share of promise_slow_window_s in which the promise was broken.",                    \
	     promise_slow_pct(&v->promise))                                                        \
	TWIN(gover_vgpu_wanted_ratio, gover_vgpu_wanted_percent,                                   \
	     "Demand of the vGPU, as a fraction of the whole GPU, at most its contract.",          \
	     "Demand of the vGPU, in percent of the whole GPU, at most its contract.",             \
	     v->device && v->promise.track.seen ? v->promise.track.want_pct : NAN)                 \
	METRIC(gover_vgpu_steals_in_total, counter,                                                \
	       "Number of steals that raised the cap of the vGPU.", (double)v->tally.steals_in)    \
	METRIC(gover_vgpu_steals_out_total, counter,                                               \
	       "Number of steals that lowered the cap of the vGPU.", (double)v->tally.steals_out)  \
	METRIC(gover_vgpu_cap_writes_total, counter, "Number of cap writes.",                      \
	       (double)v->tally.cap_writes)

/* The vGPUs that have a metric, by what they deliver. */
enum delivers { ANY, FRAMES, WORK };

struct metric {
	const char *name, *type, *help;
	double (*value)(const struct facts *f, const struct host_gpu *g, const struct vgpu *v);
	enum delivers delivers;
};

#define FUNCTION(NAME, TYPE, HELP, VALUE, ...)                                                    \
	static double NAME(const struct facts *f, const struct host_gpu *g, const struct vgpu *v) \
	{                                                                                         \
		(void)f, (void)g, (void)v;                                                        \
		return VALUE;                                                                     \
	}
#define TWIN_FUNCTIONS(RATIO, PERCENT, HELP, PERCENT_HELP, VALUE) \
	FUNCTION(PERCENT, gauge, PERCENT_HELP, VALUE)             \
	FUNCTION(RATIO, gauge, HELP, PERCENT(f, g, v) / 100)
HOST_METRICS(FUNCTION)
GPU_METRICS(FUNCTION, TWIN_FUNCTIONS)
VGPU_METRICS(FUNCTION, TWIN_FUNCTIONS)

#define ROW(NAME, TYPE, HELP, VALUE, ...) \
	{.name = #NAME, .type = #TYPE, .help = (HELP), .value = NAME, __VA_ARGS__},
#define TWIN_ROWS(RATIO, PERCENT, HELP, PERCENT_HELP, VALUE) \
	ROW(RATIO, gauge, HELP, )                            \
	ROW(PERCENT, gauge, PERCENT_HELP " Deprecated: use " #RATIO ".", )
static const struct metric host_metrics[] = {HOST_METRICS(ROW)};
static const struct metric gpu_metrics[] = {GPU_METRICS(ROW, TWIN_ROWS)};
static const struct metric vgpu_metrics[] = {VGPU_METRICS(ROW, TWIN_ROWS)};

#define VGPU_LABELS(v) "gpu", (v)->contract.gpu, "vgpu", (v)->contract.id, "vm", (v)->contract.vm

#define FRAME_TIMES "gover_vgpu_frame_seconds"

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
		metrics_format_line(out, FRAME_TIMES "_bucket", (double)n, VGPU_LABELS(v), "le",
				    frame_bounds[i].text, METRICS_END);
	}
	metrics_format_line(out, FRAME_TIMES "_sum", sum_frame_times(frame_time), VGPU_LABELS(v),
			    METRICS_END);
	metrics_format_line(out, FRAME_TIMES "_count", (double)total, VGPU_LABELS(v), METRICS_END);
}

static void write_frame_times(const struct metrics_out *out, const struct host *host)
{
	metrics_format_head(out, FRAME_TIMES, "histogram",
			    "Frame times reported by programs; the sum is an estimate.");
	for (int g = 0; g < host->n_gpus; g++)
		for (const struct vgpu *v = host->gpus[g].vgpus; v; v = v->next)
			if (host_gpu_unit(&host->gpus[g], &v->contract) == GPU_FRAMES)
				write_frames(out, v);
}

static void write_host(const struct metrics_out *out, const struct facts *facts)
{
	metrics_format_head(out, "gover_build_info", "info", "Version of the daemon, as a label.");
	metrics_format_line(out, "gover_build_info", 1, "version", GOVER_VERSION, METRICS_END);
	for (size_t i = 0; i < ARRAY_SIZE(host_metrics); i++) {
		const struct metric *m = &host_metrics[i];

		metrics_format_head(out, m->name, m->type, m->help);
		metrics_format_line(out, m->name, m->value(facts, NULL, NULL), METRICS_END);
	}
}

static void write_gpus(const struct metrics_out *out, const struct host *host)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_metrics); i++) {
		const struct metric *m = &gpu_metrics[i];

		metrics_format_head(out, m->name, m->type, m->help);
		for (int g = 0; g < host->n_gpus; g++)
			metrics_format_line(out, m->name, m->value(NULL, &host->gpus[g], NULL),
					    "gpu", host->gpus[g].config.name, METRICS_END);
	}
}

static void write_vgpu(const struct metrics_out *out, const struct metric *m,
		       const struct host_gpu *gpu, const struct vgpu *v)
{
	enum delivers delivers = host_gpu_unit(gpu, &v->contract) == GPU_WORK ? WORK : FRAMES;

	if (m->delivers == ANY || m->delivers == delivers)
		metrics_format_line(out, m->name, m->value(NULL, NULL, v), VGPU_LABELS(v),
				    METRICS_END);
}

static void write_vgpus(const struct metrics_out *out, const struct host *host)
{
	for (size_t i = 0; i < ARRAY_SIZE(vgpu_metrics); i++) {
		const struct metric *m = &vgpu_metrics[i];

		metrics_format_head(out, m->name, m->type, m->help);
		for (int g = 0; g < host->n_gpus; g++)
			for (const struct vgpu *v = host->gpus[g].vgpus; v; v = v->next)
				write_vgpu(out, m, &host->gpus[g], v);
	}
	write_frame_times(out, host);
}

char *metrics_write(const struct view *view, const struct metrics_source *source)
{
	struct facts facts = {
		.view = view,
		.host = view->host,
		.source = source,
		.tick = metrics_tick(view->host),
	};
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	struct metrics_out out = {.file = file, .format = source->format};

	if (!file)
		xalloc_fail(0);
	if (view->history->db)
		db_stats(view->history->db, &facts.history);
	if (view->frames->hub)
		fps_hub_stats(view->frames->hub, &facts.fps);
	if (view->webhook)
		webhook_stats(view->webhook, &facts.webhook);
	write_host(&out, &facts);
	write_gpus(&out, view->host);
	write_vgpus(&out, view->host);
	metrics_lists_write(&out, view, source);
	metrics_format_end(&out);
	if (ferror(file) || fclose(file) != 0)
		xalloc_fail(size);
	return text;
}
