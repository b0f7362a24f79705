/* SPDX-License-Identifier: MIT */
/*
 * Metrics are listed in tables. Each row contains a name, a type, a help text and a function that
 * returns the value. If the value is not finite, the metric has no line.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "db/db.h"
#include "gover-d/alert/webhook.h"
#include "gover-d/api/metrics-flavors.h"
#include "gover-d/api/metrics-format.h"
#include "gover-d/api/metrics-lists.h"
#include "gover-d/api/metrics-vgpus.h"
#include "gover-d/api/metrics.h"
#include "gover-d/config/config.h"
#include "gover-d/config/flavor.h"
#include "gover-d/core/frames.h"
#include "gover-d/core/history.h"
#include "gover-d/core/view.h"
#include "gover-d/model/host.h"
#include "gover-d/util/hook.h"
#include "monitor/fps/fps.h"

/* Values from which the metrics of the host are computed. */
struct facts {
	const struct host *host;
	const struct config *config;
	bool dry_run, history_enabled;
	struct db_stats history;
	struct fps_hub_stats fps;
	struct metrics_tick tick;
	bool webhook_enabled;
	struct webhook_stats webhook;
	int64_t tls_expires_s;
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

static double started(const struct facts *f)
{
	return (double)f->host->started.wall_ms / 1000;
}

static double ticked(const struct facts *f)
{
	return f->host->ready ? (double)f->host->ticked.wall_ms / 1000 : NAN;
}

static double period(const struct facts *f)
{
	return f->config->period_ms / 1000.0;
}

static double ready(const struct facts *f)
{
	return f->host->ready;
}

static double dry_run(const struct facts *f)
{
	return f->dry_run;
}

static double ticks(const struct facts *f)
{
	return (double)f->host->ticks;
}

static double late_ticks(const struct facts *f)
{
	return (double)f->host->late_ticks;
}

static double gaps(const struct facts *f)
{
	return (double)f->host->gaps;
}

static double tick_p50(const struct facts *f)
{
	return f->tick.p50_us / 1e6;
}

static double tick_p99(const struct facts *f)
{
	return f->tick.p99_us / 1e6;
}

static double history_enabled(const struct facts *f)
{
	return f->history_enabled;
}

static double history_queued(const struct facts *f)
{
	return f->history.queued;
}

static double history_written(const struct facts *f)
{
	return (double)f->history.written;
}

static double history_dropped(const struct facts *f)
{
	return (double)f->history.dropped;
}

static double history_errors(const struct facts *f)
{
	return (double)f->history.errors;
}

static double fps_sources(const struct facts *f)
{
	return f->fps.open;
}

static double fps_unmatched(const struct facts *f)
{
	return f->fps.unmatched;
}

static double fps_refused(const struct facts *f)
{
	return (double)f->fps.refused;
}

static double fps_dropped(const struct facts *f)
{
	return (double)f->fps.dropped;
}

/* Amounts exist only if a price is set, or was set since the daemon started. */
static double revenue(const struct facts *f)
{
	struct flavor flavor;

	for (int i = 0; flavor_at(f->config, i, &flavor); i++)
		if (flavor.price_per_cap_hour >= 0)
			return f->host->revenue;
	return f->host->revenue > 0 ? f->host->revenue : NAN;
}

static double penalty(const struct facts *f)
{
	struct flavor flavor;

	for (int i = 0; flavor_at(f->config, i, &flavor); i++)
		if (flavor.penalty_per_broken_s >= 0)
			return f->host->penalty;
	return f->host->penalty > 0 ? f->host->penalty : NAN;
}

static double vgpus(const struct facts *f)
{
	int n = 0;

	for (int i = 0; i < f->host->n_gpus; i++)
		n += f->host->gpus[i].n_vgpus;
	return n;
}

/* Returns the sum of the sold caps as a fraction of all GPUs; NAN: no GPU. */
static double overbooking(const struct facts *f)
{
	int sum = 0;

	for (int i = 0; i < f->host->n_gpus; i++)
		sum += host_gpu_sum_initial_cap_pct(&f->host->gpus[i]);
	return f->host->n_gpus ? sum / 100.0 / f->host->n_gpus : NAN;
}

static double webhook_queued(const struct facts *f)
{
	return f->webhook_enabled ? f->webhook.waiting : NAN;
}

static double webhook_failing(const struct facts *f)
{
	return f->webhook_enabled ? f->webhook.failed_tries > 0 : NAN;
}

static double webhook_retries(const struct facts *f)
{
	return f->webhook_enabled ? (double)f->webhook.retried : NAN;
}

static double tls_expires(const struct facts *f)
{
	return f->tls_expires_s ? (double)f->tls_expires_s : NAN;
}

static const struct host_metric {
	const char *name, *type, *help;
	double (*value)(const struct facts *facts);
} host_metrics[] = {
	{"gover_start_time_seconds", "gauge", "Unix time of the start of the daemon.", started},
	{"gover_last_tick_timestamp_seconds", "gauge", "Unix time of the last tick.", ticked},
	{"gover_period_seconds", "gauge", "Length of a control period.", period},
	{"gover_ready", "gauge", "1 if the first tick is finished, else 0.", ready},
	{"gover_dry_run", "gauge", "1 in a dry run, else 0.", dry_run},
	{"gover_ticks_total", "counter", "Number of ticks.", ticks},
	{"gover_late_ticks_total", "counter", "Ticks late by more than half a period.", late_ticks},
	{"gover_tick_p50_seconds", "gauge",
	 "Median time from the scheduled start of a tick to its last cap write. Deprecated: use "
	 "gover_tick_duration_seconds.",
	 tick_p50},
	{"gover_tick_p99_seconds", "gauge",
	 "99th percentile of the time from the scheduled start of a tick to its last cap write. "
	 "Deprecated: use gover_tick_duration_seconds.",
	 tick_p99},
	{"gover_gaps_total", "counter",
	 "Late ticks that restart the counts of consecutive periods.", gaps},
	{"gover_revenue_total", "counter", "Revenue since the start of the daemon.", revenue},
	{"gover_penalty_total", "counter", "Penalties since the start of the daemon.", penalty},
	{"gover_history_enabled", "gauge", "1 if the history is available, else 0.",
	 history_enabled},
	{"gover_history_queued", "gauge", "History records waiting to be written.", history_queued},
	{"gover_history_written_total", "counter", "History records written.", history_written},
	{"gover_history_dropped_total", "counter", "Lost history records.", history_dropped},
	{"gover_history_errors_total", "counter", "Failed history transactions.", history_errors},
	{"gover_fps_sources", "gauge", "Connected programs that report frames.", fps_sources},
	{"gover_fps_unmatched_sources", "gauge",
	 "Connected programs that report frames but belong to no vGPU.", fps_unmatched},
	{"gover_fps_refused_total", "counter",
	 "Rejected connections of programs that report frames.", fps_refused},
	{"gover_fps_dropped_total", "counter", "Number of ignored frame reports.", fps_dropped},
	{"gover_vgpus", "gauge", "Number of vGPUs on this host.", vgpus},
	{"gover_overbooking_ratio", "gauge", "Sum of the sold caps as a fraction of all GPUs.",
	 overbooking},
	{"gover_webhook_queued", "gauge", "Webhook messages waiting to be sent.", webhook_queued},
	{"gover_webhook_failing", "gauge",
	 "1 if the last attempt to send a webhook message failed, else 0.", webhook_failing},
	{"gover_webhook_retries_total", "counter", "Repeated attempts to send a webhook message.",
	 webhook_retries},
	{"gover_tls_certificate_expiry_timestamp_seconds", "gauge",
	 "Unix time at which the TLS certificate expires.", tls_expires},
};

static double seconds_since(uint64_t mono_ns)
{
	return (double)(clock_now().mono_ns - mono_ns) / NS_PER_S;
}

static double gpu_vgpus(const struct host_gpu *g)
{
	return g->n_vgpus;
}

static double gpu_cap(const struct host_gpu *g)
{
	return host_gpu_sum_cap_pct(g);
}

static double gpu_cap_ratio(const struct host_gpu *g)
{
	return gpu_cap(g) / 100;
}

static double gpu_initial_cap(const struct host_gpu *g)
{
	return host_gpu_sum_initial_cap_pct(g);
}

static double gpu_initial_cap_ratio(const struct host_gpu *g)
{
	return gpu_initial_cap(g) / 100;
}

static double gpu_overbooking(const struct host_gpu *g)
{
	return host_gpu_sum_initial_cap_pct(g) / 100.0;
}

static double gpu_age(const struct host_gpu *g)
{
	return g->telemetry_at_ns ? seconds_since(g->telemetry_at_ns) : NAN;
}

static double gpu_util(const struct host_gpu *g)
{
	return g->util_pct;
}

static double gpu_util_ratio(const struct host_gpu *g)
{
	return gpu_util(g) / 100;
}

static double gpu_load(const struct host_gpu *g)
{
	return g->telemetry_valid ? 100 * g->view.total_load : NAN;
}

static double gpu_load_ratio(const struct host_gpu *g)
{
	return gpu_load(g) / 100;
}

static double gpu_calm(const struct host_gpu *g)
{
	return g->view.calm_run;
}

static double gpu_telemetry(const struct host_gpu *g)
{
	return g->telemetry_valid;
}

static double gpu_acting(const struct host_gpu *g)
{
	return g->mode == GPU_MODE_ACT;
}

static double gpu_guarantees(const struct host_gpu *g)
{
	return g->traits.guarantees;
}

static double gpu_selling(const struct host_gpu *g)
{
	return g->selling;
}

/* The metrics in percent remain for one release after those in fractions (_ratio). */
static const struct gpu_metric {
	const char *name, *type, *help;
	double (*value)(const struct host_gpu *gpu);
} gpu_metrics[] = {
	{"gover_gpu_vgpus", "gauge", "Number of vGPUs on this GPU.", gpu_vgpus},
	{"gover_gpu_cap_ratio", "gauge", "Sum of the caps in force, as a fraction of this GPU.",
	 gpu_cap_ratio},
	{"gover_gpu_cap_percent", "gauge",
	 "Sum of the caps in force. Deprecated: use gover_gpu_cap_ratio.", gpu_cap},
	{"gover_gpu_initial_cap_ratio", "gauge", "Sum of the sold caps, as a fraction of this GPU.",
	 gpu_initial_cap_ratio},
	{"gover_gpu_initial_cap_percent", "gauge",
	 "Sum of the sold caps. Deprecated: use gover_gpu_initial_cap_ratio.", gpu_initial_cap},
	{"gover_gpu_utilization_ratio", "gauge", "Physical utilisation of the GPU, as a fraction.",
	 gpu_util_ratio},
	{"gover_gpu_utilization_percent", "gauge",
	 "Physical utilisation of the GPU. Deprecated: use gover_gpu_utilization_ratio.", gpu_util},
	{"gover_gpu_load_ratio", "gauge", "GPU time used by all vGPUs of this GPU, as a fraction.",
	 gpu_load_ratio},
	{"gover_gpu_load_percent", "gauge",
	 "GPU time used by all vGPUs of this GPU. Deprecated: use gover_gpu_load_ratio.", gpu_load},
	{"gover_gpu_overbooking_ratio", "gauge", "Sum of the sold caps as a fraction of this GPU.",
	 gpu_overbooking},
	{"gover_gpu_reading_age_seconds", "gauge",
	 "Time since the busy times of all vGPUs of this GPU were last valid.", gpu_age},
	{"gover_gpu_calm_periods", "gauge", "Consecutive periods without an overloaded vGPU.",
	 gpu_calm},
	{"gover_gpu_telemetry_valid", "gauge", "1 if all busy times are valid, else 0.",
	 gpu_telemetry},
	{"gover_gpu_acting", "gauge", "1 if the policy acts on this GPU, else 0.", gpu_acting},
	{"gover_gpu_guarantees", "gauge",
	 "1 if caps are shares that are always available, 0 if caps are hard limits.",
	 gpu_guarantees},
	{"gover_gpu_selling", "gauge", "1 if selling is on for this GPU, else 0.", gpu_selling},
};

static void write_host(const struct metrics_out *out, const struct facts *facts)
{
	metrics_format_head(out, "gover_build_info", "info", "Version of the daemon, as a label.");
	fputs("gover_build_info", out->file);
	metrics_format_label(out, "{", "version", GOVER_VERSION);
	fputs("} 1\n", out->file);
	for (size_t i = 0; i < ARRAY_SIZE(host_metrics); i++) {
		const struct host_metric *m = &host_metrics[i];
		double value = m->value(facts);

		metrics_format_head(out, m->name, m->type, m->help);
		if (isfinite(value))
			fprintf(out->file, "%s %.15g\n", m->name, value);
	}
}

static void write_gpus(const struct metrics_out *out, const struct host *host)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_metrics); i++) {
		const struct gpu_metric *m = &gpu_metrics[i];

		metrics_format_head(out, m->name, m->type, m->help);
		for (int g = 0; g < host->n_gpus; g++) {
			double value = m->value(&host->gpus[g]);

			if (!isfinite(value))
				continue;
			fputs(m->name, out->file);
			metrics_format_label(out, "{", "gpu", host->gpus[g].config.name);
			fprintf(out->file, "} %.15g\n", value);
		}
	}
}

char *metrics_write(const struct view *view, const struct metrics_source *source)
{
	struct facts facts = {
		.host = view->host,
		.config = view->config,
		.dry_run = view->dry_run,
		.history_enabled = view->history->db,
		.tick = metrics_tick(view->host),
		.tls_expires_s = source->tls_expires_s,
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
	facts.webhook_enabled = view->webhook;
	if (view->webhook)
		webhook_stats(view->webhook, &facts.webhook);
	write_host(&out, &facts);
	write_gpus(&out, facts.host);
	metrics_vgpus_write(&out, facts.host);
	metrics_flavors_write(&out, view);
	metrics_lists_write(&out, view, source);
	metrics_format_end(&out);
	if (ferror(file) || fclose(file) != 0)
		xalloc_fail(size);
	return text;
}
