/* SPDX-License-Identifier: MIT */
/*
 * Metrics are listed in tables. Each row contains a name, a type, a help text and an expression for
 * the value. If the value is not finite, the metric has no line. The number of lines is bounded,
 * because no label value is taken from a request.
 *
 * In OpenMetrics, the header of a counter omits the suffix _total, the header of a metric states
 * its unit, and the text ends with "# EOF".
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "db/db.h"
#include "gover-d/alert/alerts.h"
#include "gover-d/alert/webhook.h"
#include "gover-d/api/metrics.h"
#include "gover-d/cap/frames.h"
#include "gover-d/config/config.h"
#include "gover-d/config/flavor.h"
#include "gover-d/manager/view.h"
#include "gover-d/model/decisions.h"
#include "gover-d/model/fleet.h"
#include "gover-d/model/host.h"
#include "gover-d/record/history.h"
#include "gover-d/sale/offers.h"
#include "gover-d/util/hook.h"
#include "gover-d/util/memory.h"
#include "monitor/fps/fps.h"

#define OPEN_TYPE "application/openmetrics-text"
#define TEXT_TYPE "text/plain"

#define LABEL_MAX CONTRACT_LABEL_MAX /* size of the longest value of a label, with NUL */

struct out {
	FILE *file;
	enum metrics_format format;
};

/* Ends the labels of write_line(), because a plain NULL need not be a pointer. */
#define END ((const char *)NULL)

const char *metrics_format_type(enum metrics_format format)
{
	return format == METRICS_OPEN ? OPEN_TYPE "; version=1.0.0; charset=utf-8"
				      : TEXT_TYPE "; version=0.0.4; charset=utf-8";
}

enum metrics_format metrics_format_choose(const char *accept)
{
	const char *open = accept ? strcasestr(accept, OPEN_TYPE) : NULL;
	const char *text = accept ? strcasestr(accept, TEXT_TYPE) : NULL;

	return open && (!text || open < text) ? METRICS_OPEN : METRICS_TEXT;
}

static size_t without_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), end = strlen(suffix);

	return n > end && strcmp(name + n - end, suffix) == 0 ? n - end : n;
}

/*
 * Returns the unit in @name; "": no unit. @family is the length of @name without _total or _info.
 */
static const char *unit_of(const char *name, size_t family)
{
	static const char *const units[] = {"seconds", "percent", "ratio"};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t n = strlen(units[i]);

		if (family > n && name[family - n - 1] == '_' &&
		    strncmp(name + family - n, units[i], n) == 0)
			return units[i];
	}
	return "";
}

/*
 * Writes the header lines of metric @name. @type is "gauge", "counter" (@name ends in _total),
 * "histogram" or "info" (@name ends in _info). The unit of the metric is the last word of @name
 * without _total, if this word is a known unit.
 */
static void write_head(const struct out *out, const char *name, const char *type, const char *help)
{
	size_t family = strcmp(type, "counter") == 0 ? without_suffix(name, "_total")
			: strcmp(type, "info") == 0  ? without_suffix(name, "_info")
						     : strlen(name);
	const char *unit = unit_of(name, family);

	if (out->format == METRICS_TEXT) {
		fprintf(out->file, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
			strcmp(type, "info") == 0 ? "gauge" : type);
		return;
	}
	fprintf(out->file, "# TYPE %.*s %s\n", (int)family, name, type);
	if (unit[0])
		fprintf(out->file, "# UNIT %.*s %s\n", (int)family, name, unit);
	fprintf(out->file, "# HELP %.*s %s\n", (int)family, name, help);
}

/* Labels are most of the text. The file belongs to one thread, so that it needs no lock. */
static void write_label(FILE *file, const char *before, const char *name, const char *text)
{
	char masked[LABEL_MAX];
	const char *value = masked;

	/* A text of the history, or of a file of an earlier version, was not checked. */
	snprintf(masked, sizeof(masked), "%s", text);
	text_mask_controls(masked);
	fputs_unlocked(before, file);
	fputs_unlocked(name, file);
	fputs_unlocked("=\"", file);
	while (*value) {
		size_t plain = strcspn(value, "\\\"");

		fwrite_unlocked(value, 1, plain, file);
		value += plain;
		if (!*value)
			break;
		fputc_unlocked('\\', file);
		fputc_unlocked(*value++, file);
	}
	fputc_unlocked('"', file);
}

/*
 * Writes a line, unless @value is not finite. The further arguments are the name and the value of
 * each label, and END.
 */
__attribute__((sentinel)) static void write_line(const struct out *out, const char *name,
						 double value, ...)
{
	const char *label, *before = "{";
	va_list ap;

	if (!isfinite(value))
		return;
	fputs_unlocked(name, out->file);
	va_start(ap, value);
	for (; (label = va_arg(ap, const char *)); before = ",")
		write_label(out->file, before, label, va_arg(ap, const char *));
	va_end(ap);
	fprintf(out->file, "%s %.15g\n", before[0] == ',' ? "}" : "", value);
}

/* Writes the header and the line of a metric without labels. */
static void write_single(const struct out *out, const char *name, const char *type,
			 const char *help, double value)
{
	write_head(out, name, type, help);
	write_line(out, name, value, END);
}

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
	return v->row.reading.memory_max_valid ? (double)v->row.reading.memory_max_bytes : NAN;
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
	METRIC(gover_gpu_calm_periods, gauge,                                                     \
	       "Consecutive periods in which no contract lacked capacity.", g->view.calm_run)     \
	METRIC(gover_gpu_telemetry_valid, gauge, "1 if all busy times are valid, else 0.",        \
	       g->telemetry_valid)                                                                \
	METRIC(gover_gpu_acting, gauge, "1 if the policy acts on this GPU, else 0.",              \
	       g->mode == GPU_MODE_ACT)                                                           \
	METRIC(gover_gpu_frozen, gauge, "1 if an operator has frozen this GPU, else 0.",          \
	       g->mode == GPU_MODE_FROZEN)                                                        \
	METRIC(gover_gpu_guarantees, gauge,                                                       \
	       "1 if caps are shares that are always available, 0 if caps are hard limits.",      \
	       g->traits.guarantees)                                                              \
	METRIC(gover_gpu_selling, gauge, "1 if selling is on for this GPU, else 0.", g->selling)

/* Metrics of one vGPU, v. The last column selects the vGPUs that have the metric; default: all. */
#define VGPU_METRICS(METRIC, TWIN)                                                                 \
	TWIN(gover_vgpu_cap_ratio, gover_vgpu_cap_percent,                                         \
	     "Cap in force of the vGPU, as a fraction of the GPU.", "Cap in force of the vGPU.",   \
	     v->device ? v->cap.pct : NAN)                                                         \
	TWIN(gover_vgpu_initial_cap_ratio, gover_vgpu_initial_cap_percent,                         \
	     "Sold cap of the vGPU, as a fraction of the GPU.", "Sold cap of the vGPU.",           \
	     v->contract.terms.initial_cap_pct)                                                    \
	TWIN(gover_vgpu_load_ratio, gover_vgpu_load_percent,                                       \
	     "GPU time used by the vGPU, as a fraction of the whole GPU.",                         \
	     "GPU time used by the vGPU, in percent of the whole GPU.",                            \
	     v->row.sample.busy_valid ? 100 * v->row.sample.load : NAN)                            \
	TWIN(gover_vgpu_utilization_ratio, gover_vgpu_utilization_percent,                         \
	     "GPU time used by the vGPU, as a fraction of the allotted time.",                     \
	     "GPU time used by the vGPU, in percent of the allotted time.",                        \
	     v->row.sample.busy_valid ? 100 * v->row.sample.util : NAN)                            \
	METRIC(gover_vgpu_busy_seconds_total, counter, "GPU time used by the vGPU.",               \
	       v->row.sample.busy_valid ? (double)v->row.reading.busy_ns / NS_PER_S : NAN)         \
	METRIC(gover_vgpu_frames_total, counter, "Frames presented by the vGPU.",                  \
	       v->row.fps_seen ? (double)v->row.frames : NAN, .delivers = FRAMES)                  \
	METRIC(gover_vgpu_fps, gauge, "Frame rate of the vGPU.",                                   \
	       v->row.sample.fps_valid ? v->row.sample.fps : NAN, .delivers = FRAMES)              \
	METRIC(gover_vgpu_target_fps, gauge, "Promised frame rate; 0: no promise.",                \
	       v->contract.terms.target_fps, .delivers = FRAMES)                                   \
	METRIC(gover_vgpu_work_units_total, counter, "Units of work finished by the vGPU.",        \
	       v->row.fps_seen ? (double)v->row.frames : NAN, .delivers = WORK)                    \
	METRIC(gover_vgpu_rate, gauge, "Units of work per second of the vGPU.",                    \
	       v->row.sample.fps_valid ? v->row.sample.fps : NAN, .delivers = WORK)                \
	METRIC(gover_vgpu_target_rate, gauge, "Promised units of work per second; 0: no promise.", \
	       v->contract.target_rate, .delivers = WORK)                                          \
	METRIC(gover_vgpu_memory_bytes, gauge, "Device memory used by the vGPU.",                  \
	       v->row.reading.memory_valid ? (double)v->row.reading.memory_bytes : NAN)            \
	METRIC(gover_vgpu_memory_limit_bytes, gauge,                                               \
	       "Limit of device memory of the vGPU; no line: no limit.", memory_limit(v))          \
	METRIC(gover_vgpu_frame_p50_seconds, gauge, "Median frame time.",                          \
	       v->row.frame_p50_ms > 0 ? v->row.frame_p50_ms / 1000 : NAN, .delivers = FRAMES)     \
	METRIC(gover_vgpu_frame_p99_seconds, gauge, "99th percentile of the frame time.",          \
	       v->row.sample.p99_valid ? v->row.sample.frame_p99_ms / 1000 : NAN,                  \
	       .delivers = FRAMES)                                                                 \
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
	       (double)vgpu_cap_writes(v))

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
static void write_frames(const struct out *out, const struct vgpu *v)
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
		write_line(out, FRAME_TIMES "_bucket", (double)n, VGPU_LABELS(v), "le",
			   frame_bounds[i].text, END);
	}
	write_line(out, FRAME_TIMES "_sum", sum_frame_times(frame_time), VGPU_LABELS(v), END);
	write_line(out, FRAME_TIMES "_count", (double)total, VGPU_LABELS(v), END);
}

static void write_frame_times(const struct out *out, const struct host *host)
{
	write_head(out, FRAME_TIMES, "histogram",
		   "Frame times reported by programs; the sum is an estimate.");
	for (int g = 0; g < host->n_gpus; g++)
		for (const struct vgpu *v = host->gpus[g].vgpus; v; v = v->next)
			if (host_gpu_unit(&host->gpus[g], &v->contract) == GPU_FRAMES)
				write_frames(out, v);
}

static void write_host(const struct out *out, const struct facts *facts)
{
	write_head(out, "gover_build_info", "info", "Version of the daemon, as a label.");
	write_line(out, "gover_build_info", 1, "version", GOVER_VERSION, END);
	for (size_t i = 0; i < ARRAY_SIZE(host_metrics); i++) {
		const struct metric *m = &host_metrics[i];

		write_single(out, m->name, m->type, m->help, m->value(facts, NULL, NULL));
	}
}

static void write_gpus(const struct out *out, const struct host *host)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_metrics); i++) {
		const struct metric *m = &gpu_metrics[i];

		write_head(out, m->name, m->type, m->help);
		for (int g = 0; g < host->n_gpus; g++)
			write_line(out, m->name, m->value(NULL, &host->gpus[g], NULL), "gpu",
				   host->gpus[g].config.name, END);
	}
}

static void write_vgpu(const struct out *out, const struct metric *m, const struct host_gpu *gpu,
		       const struct vgpu *v)
{
	enum delivers delivers = host_gpu_unit(gpu, &v->contract) == GPU_WORK ? WORK : FRAMES;

	if (m->delivers == ANY || m->delivers == delivers)
		write_line(out, m->name, m->value(NULL, NULL, v), VGPU_LABELS(v), END);
}

static void write_vgpus(const struct out *out, const struct host *host)
{
	for (size_t i = 0; i < ARRAY_SIZE(vgpu_metrics); i++) {
		const struct metric *m = &vgpu_metrics[i];

		write_head(out, m->name, m->type, m->help);
		for (int g = 0; g < host->n_gpus; g++)
			for (const struct vgpu *v = host->gpus[g].vgpus; v; v = v->next)
				write_vgpu(out, m, &host->gpus[g], v);
	}
	write_frame_times(out, host);
}

/* A contract or an offer without a flavour has the terms of [offer], and counts as that flavour. */
static const char *or_standard(const struct view *view, const char *flavor)
{
	return flavor[0] ? flavor : view->config->offer.flavor;
}

static void write_vgpu_info(const struct out *out, const struct view *view, const struct vgpu *v)
{
	/* Prometheus uses the label "instance" for the host. */
	write_line(out, "gover_vgpu_info", 1, "gpu", v->contract.gpu, "vgpu", v->contract.id, "vm",
		   v->contract.vm, "flavor", or_standard(view, v->contract.flavor), "project",
		   contract_label(&v->contract, CONTRACT_PROJECT), "server",
		   contract_label(&v->contract, CONTRACT_INSTANCE), END);
}

static bool lists(const struct view *view, const struct offer *offer, const char *flavor)
{
	for (int i = 0; i < offer->n_flavors; i++)
		if (strcmp(or_standard(view, offer->flavors[i].name), flavor) == 0)
			return true;
	return false;
}

static int count_open(const struct view *view, const char *gpu, const char *flavor)
{
	int n = 0;

	for (size_t i = 0; i < offers_count(view->offers); i++) {
		const struct offer *offer = offers_at(view->offers, i);

		n += offer->life.state == OFFER_OPEN && strcmp(offer->gpu, gpu) == 0 &&
		     lists(view, offer, flavor);
	}
	return n;
}

static void write_open_offers(const struct out *out, const struct view *view, const char *gpu)
{
	struct flavor flavor;

	for (int i = 0; flavor_at(view->config, i, &flavor); i++)
		write_line(out, "gover_open_offers", count_open(view, gpu, flavor.name), "gpu", gpu,
			   "flavor", flavor.name, END);
}

/*
 * Metrics that name flavours. gover_vgpu_info has the flavour and the owner of each vGPU, so that
 * its other metrics need no labels for them: Prometheus joins both.
 */
static void write_flavors(const struct out *out, const struct view *view)
{
	const struct host *host = view->host;

	write_head(out, "gover_vgpu_info", "info", "Flavour and owner of the vGPU, as labels.");
	for (int g = 0; g < host->n_gpus; g++)
		for (const struct vgpu *v = host->gpus[g].vgpus; v; v = v->next)
			write_vgpu_info(out, view, v);
	write_head(out, "gover_open_offers", "gauge",
		   "Number of open offers that list the flavour, by GPU and flavour.");
	for (int g = 0; g < host->n_gpus; g++)
		write_open_offers(out, view, host->gpus[g].config.name);
}

static void write_alerts(const struct out *out, const struct alerts *alerts)
{
	enum alert_severity severity;
	const char *name, *meaning;

	write_head(out, "gover_alerts", "gauge", "Number of active alerts, by name.");
	for (size_t i = 0; (name = alerts_name_at(i, &severity, &meaning)); i++) {
		int n = 0;

		for (size_t k = 0; k < alerts_count(alerts); k++)
			n += alerts_at(alerts, k)->cleared_ms == 0 &&
			     strcmp(alerts_at(alerts, k)->name, name) == 0;
		write_line(out, "gover_alerts", n, "name", name, "severity",
			   alert_severity_name(severity), END);
	}
}

static void write_offers(const struct out *out, const struct offers *offers)
{
	write_head(out, "gover_offers", "gauge", "Number of stored offers, by state.");
	for (int state = 0; state < OFFER_STATES; state++) {
		int n = 0;

		for (size_t k = 0; k < offers_count(offers); k++)
			n += (int)offers_at(offers, k)->life.state == state;
		write_line(out, "gover_offers", n, "state",
			   offer_state_name((enum offer_state)state), END);
	}
}

static void write_decisions(const struct out *out, const uint64_t *counts)
{
	write_head(out, "gover_decisions_total", "counter", "Number of decisions, by kind.");
	for (int kind = 0; kind < DECISION_KINDS; kind++) {
		if (kind >= POLICY_KINDS && counts[kind] == 0)
			continue;
		write_line(out, "gover_decisions_total", (double)counts[kind], "kind",
			   decision_kind_name((enum decision_kind)kind), END);
	}
}

/* Writes one line for each active alert. Its labels can be used in alerting rules. */
static void write_active(const struct out *out, const struct alerts *alerts)
{
	write_head(out, "gover_alert_active", "gauge", "Always 1; each active alert has one line.");
	for (size_t i = 0; i < alerts_count(alerts); i++) {
		const struct alert *a = alerts_at(alerts, i);

		if (a->cleared_ms)
			continue;
		write_line(out, "gover_alert_active", 1, "name", a->name, "severity",
			   alert_severity_name(a->severity), "gpu", a->gpu, "vgpu", a->vgpu, "vm",
			   a->vm, "silenced", a->silenced ? "true" : "false", END);
	}
}

static void write_delays(const struct out *out, const char *name, const char *help,
			 const struct host_delays *delays)
{
	uint64_t n = 0;

	write_head(out, name, "histogram", help);
	for (int i = 0; i < HOST_DELAY_BUCKETS; i++) {
		n += delays->counts[i];
		fprintf(out->file, "%s_bucket{le=\"%s\"} %llu\n", name, host_delay_bounds[i].text,
			(unsigned long long)n);
	}
	fprintf(out->file, "%s_sum %.15g\n%s_count %llu\n", name, delays->sum_s, name,
		(unsigned long long)n);
}

static void write_hooks(const struct out *out, const struct view *view)
{
	static const struct {
		const char *name, *help;
		size_t offset;
	} metrics[] = {
		{"gover_hook_runs_total", "Hook programs started.",
		 offsetof(struct hook_stats, run)},
		{"gover_hook_failures_total", "Hook programs that did not start or failed.",
		 offsetof(struct hook_stats, failed)},
		{"gover_hook_kills_total", "Hook programs killed at their time limit.",
		 offsetof(struct hook_stats, killed)},
		{"gover_hook_drops_total",
		 "Hook programs not started because too many were waiting.",
		 offsetof(struct hook_stats, dropped)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		write_head(out, metrics[i].name, "counter", metrics[i].help);
		for (int hook = 0; hook < HOOKS; hook++) {
			uint64_t value;

			memcpy(&value, (const char *)&view->hook_stats[hook] + metrics[i].offset,
			       sizeof(value));
			write_line(out, metrics[i].name, (double)value, "hook",
				   hook_name((enum hook)hook), END);
		}
	}
}

static void write_webhook(const struct out *out, const struct facts *f)
{
	const char *const name = "gover_webhook_messages_total";

	write_head(out, name, "counter", "Messages for the webhook, by result.");
	if (!f->view->webhook)
		return;
	write_line(out, name, (double)f->webhook.sent, "result", "sent", END);
	write_line(out, name, (double)f->webhook.refused, "result", "refused", END);
	write_line(out, name, (double)f->webhook.dropped, "result", "dropped", END);
}

static void write_over_limit(const struct out *out, const struct fps_hub_stats *s)
{
	write_head(out, "gover_fps_over_limit_total", "counter",
		   "Rejected connections of programs that report frames, because their "
		   "vGPU, or their user if they belong to no vGPU, had too many.");
	write_line(out, "gover_fps_over_limit_total", (double)(s->over_limit - s->users.n),
		   "holder", "vgpu", END);
	write_line(out, "gover_fps_over_limit_total", (double)s->users.n, "holder", "user", END);
}

static void write_leaks(const struct out *out, const struct fleet_report *report)
{
	write_head(out, "gover_fleet_leaked", "gauge",
		   "Allocations in the cloud without a contract or an offer, by GPU and "
		   "flavour.");
	for (size_t i = 0; i < report->n_leaks; i++) {
		const struct fleet_leak *leak = &report->leaks[i];

		write_line(out, "gover_fleet_leaked", leak->used - leak->sold, "gpu", leak->gpu,
			   "flavor", leak->flavor, END);
	}
}

/* Writes the last report of gover-fleet. Without a report, only the facts have lines. */
static void write_fleet(const struct out *out, const struct fleet *fleet)
{
	const struct fleet_report *report = &fleet->report;
	enum fleet_state state = fleet_state_at(fleet, clock_now());
	bool known = state != FLEET_UNKNOWN;

	write_head(out, "gover_fleet_state", "gauge",
		   "1 for the state of gover-fleet, 0 for the others.");
	for (int i = FLEET_PUBLISHED; known && i < FLEET_STATES; i++)
		write_line(out, "gover_fleet_state", i == (int)state, "state",
			   fleet_state_name((enum fleet_state)i), END);
	write_single(out, "gover_fleet_unverified", "gauge",
		     "Contracts that the cloud has not confirmed.",
		     known ? report->unverified : NAN);
	write_leaks(out, report);
	write_head(out, "gover_fleet_migrations_total", "counter",
		   "Migrations since the start of gover-fleet, by result.");
	for (int i = 0; known && i < FLEET_MIGRATION_STATES; i++)
		fprintf(out->file, "gover_fleet_migrations_total{result=\"%s\"} %lld\n",
			fleet_migration_name((enum fleet_migration_state)i),
			(long long)report->migrations[i]);
	write_head(out, "gover_migrations_total", "counter",
		   "Reported migrations of vGPUs to other hosts, by state.");
	for (int i = 0; i < FLEET_MIGRATION_STATES; i++)
		fprintf(out->file, "gover_migrations_total{state=\"%s\"} %llu\n",
			fleet_migration_name((enum fleet_migration_state)i),
			(unsigned long long)fleet->migrations[i]);
	write_single(out, "gover_migrations_in_progress", "gauge",
		     "Requested migrations whose end was not reported: 0 or 1.",
		     fleet->course.vgpu[0] != '\0');
	write_single(out, "gover_migration_seconds_total", "counter",
		     "Sum of the durations of completed migrations.", fleet->migration_s);
}

/* Writes the number of replies by route. Requests that match no route are counted together. */
static void write_http(const struct out *out, const struct metrics_source *source)
{
	write_head(out, "gover_http_requests_total", "counter",
		   "Answered requests, by route and status.");
	for (size_t i = 0; i < source->n_routes; i++) {
		const struct api_counter *counter = &source->routes[i].counter;

		for (int k = 0; k < API_STATUSES_MAX && counter->statuses[k].n; k++) {
			char status[16];

			snprintf(status, sizeof(status), "%u", counter->statuses[k].status);
			write_line(out, "gover_http_requests_total", (double)counter->statuses[k].n,
				   "method", source->routes[i].method, "route",
				   source->routes[i].route, "status", status, END);
		}
	}
}

static void write_lists(const struct out *out, const struct facts *facts)
{
	const struct view *view = facts->view;
	struct memory_size size;

	write_flavors(out, view);
	write_delays(out, "gover_tick_lateness_seconds",
		     "Delay of ticks: from the scheduled to the actual start of a tick.",
		     &view->host->lateness);
	write_delays(out, "gover_tick_duration_seconds",
		     "Time from the scheduled start of a tick to its last cap write.",
		     &view->host->tick_duration);
	write_alerts(out, view->alerts);
	write_active(out, view->alerts);
	write_offers(out, view->offers);
	write_decisions(out, facts->source->decision_counts);
	write_hooks(out, view);
	write_webhook(out, facts);
	write_over_limit(out, &facts->fps);
	write_fleet(out, view->fleet);
	write_http(out, facts->source);
	write_single(out, "process_resident_memory_bytes", "gauge",
		     "Resident memory of the daemon.",
		     memory_read(&size) == 0 ? (double)size.resident : NAN);
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
	struct out out = {.file = file, .format = source->format};

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
	write_lists(&out, &facts);
	if (out.format == METRICS_OPEN)
		fputs("# EOF\n", file);
	if (ferror(file) || fclose(file) != 0)
		xalloc_fail(size);
	return text;
}
