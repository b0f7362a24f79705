/* SPDX-License-Identifier: MIT */
/*
 * Prometheus text from tables: a row is a metric with its type, its meaning and where its value
 * comes from. A value that is not valid now has no line. Reads memory only.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "db/db.h"
#include "gover-d/metrics.h"

/* What the host's metrics are made of. */
struct facts {
	const struct host *host;
	const struct config *config;
	bool dry_run, history_enabled;
	struct db_stats history;
	struct fps_hub_stats fps;
	struct metrics_tick tick;
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

static double revenue(const struct facts *f)
{
	return f->host->revenue;
}

static double penalty(const struct facts *f)
{
	return f->host->penalty;
}

static const struct host_metric {
	const char *name, *type, *help;
	double (*value)(const struct facts *facts);
} host_metrics[] = {
	{"gover_start_time_seconds", "gauge", "When the daemon began, unix time.", started},
	{"gover_last_tick_timestamp_seconds", "gauge", "The last tick, unix time.", ticked},
	{"gover_period_seconds", "gauge", "Control period.", period},
	{"gover_ready", "gauge", "1: the first tick is done.", ready},
	{"gover_dry_run", "gauge", "1: caps are decided and not written.", dry_run},
	{"gover_ticks_total", "counter", "Ticks done.", ticks},
	{"gover_late_ticks_total", "counter", "Ticks late by half a period or more.", late_ticks},
	{"gover_tick_p50_seconds", "gauge", "Due to last cap written, median.", tick_p50},
	{"gover_tick_p99_seconds", "gauge", "The same, 99th percentile.", tick_p99},
	{"gover_gaps_total", "counter", "Times that counted runs were broken.", gaps},
	{"gover_revenue_total", "counter", "Earned by what is sold.", revenue},
	{"gover_penalty_total", "counter", "Owed for broken promises.", penalty},
	{"gover_history_enabled", "gauge", "1: there is a history.", history_enabled},
	{"gover_history_queued", "gauge", "Records that wait to be written.", history_queued},
	{"gover_history_written_total", "counter", "Records written.", history_written},
	{"gover_history_dropped_total", "counter", "Records lost.", history_dropped},
	{"gover_history_errors_total", "counter", "Failed transactions.", history_errors},
	{"gover_fps_sources", "gauge", "Programs that report frames.", fps_sources},
	{"gover_fps_unmatched_sources", "gauge", "Of these, in no vGPU.", fps_unmatched},
	{"gover_fps_refused_total", "counter", "Reports that were refused.", fps_refused},
	{"gover_fps_dropped_total", "counter", "Messages that did not count.", fps_dropped},
};

static double gpu_vgpus(const struct host_gpu *g)
{
	return g->n_vgpus;
}

static double gpu_cap(const struct host_gpu *g)
{
	return host_gpu_sum_cap_pct(g);
}

static double gpu_initial_cap(const struct host_gpu *g)
{
	return host_gpu_sum_initial_cap_pct(g);
}

static double gpu_util(const struct host_gpu *g)
{
	return g->util_pct;
}

static double gpu_load(const struct host_gpu *g)
{
	return g->telemetry_valid ? 100 * g->view.total_load : NAN;
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

static double gpu_selling(const struct host_gpu *g)
{
	return g->selling;
}

static const struct gpu_metric {
	const char *name, *type, *help;
	double (*value)(const struct host_gpu *gpu);
} gpu_metrics[] = {
	{"gover_gpu_vgpus", "gauge", "vGPUs on this GPU.", gpu_vgpus},
	{"gover_gpu_cap_percent", "gauge", "Sum of the caps in force.", gpu_cap},
	{"gover_gpu_initial_cap_percent", "gauge", "Sum of the caps sold.", gpu_initial_cap},
	{"gover_gpu_utilization_percent", "gauge", "Physical utilisation.", gpu_util},
	{"gover_gpu_load_percent", "gauge", "Sum of the vGPUs' use of it.", gpu_load},
	{"gover_gpu_calm_periods", "gauge", "Periods without a receiver or an offer.", gpu_calm},
	{"gover_gpu_telemetry_valid", "gauge", "1: busy time was read.", gpu_telemetry},
	{"gover_gpu_acting", "gauge", "0: an operator stopped the policy here.", gpu_acting},
	{"gover_gpu_selling", "gauge", "0: an operator stopped sales here.", gpu_selling},
};

static double vgpu_cap(const struct vgpu *v)
{
	return v->device ? v->cap_pct : NAN;
}

static double vgpu_initial_cap(const struct vgpu *v)
{
	return v->contract.terms.initial_cap_pct;
}

static double vgpu_load(const struct vgpu *v)
{
	return v->row.busy_valid ? 100 * v->row.load : NAN;
}

static double vgpu_util(const struct vgpu *v)
{
	return v->row.busy_valid ? 100 * v->row.util : NAN;
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

static const struct vgpu_metric {
	const char *name, *type, *help;
	double (*value)(const struct vgpu *vgpu);
} vgpu_metrics[] = {
	{"gover_vgpu_cap_percent", "gauge", "Cap in force.", vgpu_cap},
	{"gover_vgpu_initial_cap_percent", "gauge", "Cap sold.", vgpu_initial_cap},
	{"gover_vgpu_load_percent", "gauge", "Use of the whole GPU.", vgpu_load},
	{"gover_vgpu_utilization_percent", "gauge", "Use of what was allotted.", vgpu_util},
	{"gover_vgpu_busy_seconds_total", "counter", "GPU time used.", vgpu_busy},
	{"gover_vgpu_frames_total", "counter", "Frames presented.", vgpu_frames},
	{"gover_vgpu_fps", "gauge", "Frames a second.", vgpu_fps},
	{"gover_vgpu_target_fps", "gauge", "Frames a second promised; 0: none.", vgpu_target},
	{"gover_vgpu_frame_p50_seconds", "gauge", "Median frame time.", vgpu_p50},
	{"gover_vgpu_frame_p99_seconds", "gauge", "99th percentile of frame time.", vgpu_p99},
	{"gover_vgpu_frame_max_seconds", "gauge", "Longest frame time.", vgpu_longest},
	{"gover_vgpu_frame_gpu_seconds", "gauge", "Mean GPU time of a frame.", vgpu_frame_gpu},
	{"gover_vgpu_missing", "gauge", "1: has a contract and does not exist.", vgpu_missing},
	{"gover_vgpu_held", "gauge", "1: an operator fixed its cap.", vgpu_held},
	{"gover_vgpu_overloaded", "gauge", "1: its overload signal is up.", vgpu_overloaded},
	{"gover_vgpu_short_of_target", "gauge", "1: fewer frames than promised.", vgpu_short},
	{"gover_vgpu_seen_seconds_total", "counter", "Time with a valid sample.", vgpu_seen},
	{"gover_vgpu_broken_seconds_total", "counter", "Time a promise was broken.", vgpu_broken},
	{"gover_vgpu_steals_in_total", "counter", "Times it was given by another.", vgpu_steals_in},
	{"gover_vgpu_steals_out_total", "counter", "Times it gave to another.", vgpu_steals_out},
	{"gover_vgpu_cap_writes_total", "counter", "Times its cap was written.", vgpu_cap_writes},
};

static void write_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_label(FILE *out, const char *before, const char *name, const char *value)
{
	fprintf(out, "%s%s=\"", before, name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", out);
		else if (*value == '\\' || *value == '"')
			fprintf(out, "\\%c", *value);
		else
			fputc(*value, out);
	}
	fputc('"', out);
}

static void write_host(FILE *out, const struct facts *facts)
{
	write_head(out, "gover_build_info", "gauge", "Always 1; the version is a label.");
	fputs("gover_build_info", out);
	write_label(out, "{", "version", GOVER_VERSION);
	fputs("} 1\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(host_metrics); i++) {
		const struct host_metric *m = &host_metrics[i];
		double value = m->value(facts);

		write_head(out, m->name, m->type, m->help);
		if (isfinite(value))
			fprintf(out, "%s %.15g\n", m->name, value);
	}
}

static void write_gpus(FILE *out, const struct host *host)
{
	for (size_t i = 0; i < ARRAY_SIZE(gpu_metrics); i++) {
		const struct gpu_metric *m = &gpu_metrics[i];

		write_head(out, m->name, m->type, m->help);
		for (int g = 0; g < host->n_gpus; g++) {
			double value = m->value(&host->gpus[g]);

			if (!isfinite(value))
				continue;
			fputs(m->name, out);
			write_label(out, "{", "gpu", host->gpus[g].config.name);
			fprintf(out, "} %.15g\n", value);
		}
	}
}

static void write_vgpu(FILE *out, const struct vgpu_metric *m, const struct vgpu *v)
{
	double value = m->value(v);

	if (!isfinite(value))
		return;
	fputs(m->name, out);
	write_label(out, "{", "gpu", v->contract.gpu);
	write_label(out, ",", "vgpu", v->contract.id);
	write_label(out, ",", "vm", v->contract.vm);
	fprintf(out, "} %.15g\n", value);
}

static void write_vgpus(FILE *out, const struct host *host)
{
	for (size_t i = 0; i < ARRAY_SIZE(vgpu_metrics); i++) {
		const struct vgpu_metric *m = &vgpu_metrics[i];

		write_head(out, m->name, m->type, m->help);
		for (int g = 0; g < host->n_gpus; g++)
			for (const struct vgpu *v = host->gpus[g].vgpus; v; v = v->next)
				write_vgpu(out, m, v);
	}
}

static void write_alerts(FILE *out, const struct alerts *alerts)
{
	enum alert_severity severity;
	const char *name, *meaning;

	write_head(out, "gover_alerts", "gauge", "Alerts that hold now, by name.");
	for (size_t i = 0; (name = alerts_name_at(i, &severity, &meaning)); i++) {
		int n = 0;

		for (size_t k = 0; k < alerts_count(alerts); k++)
			n += alerts_at(alerts, k)->cleared_ms == 0 &&
			     strcmp(alerts_at(alerts, k)->name, name) == 0;
		fputs("gover_alerts", out);
		write_label(out, "{", "name", name);
		write_label(out, ",", "severity", alert_severity_name(severity));
		fprintf(out, "} %d\n", n);
	}
}

static void write_offers(FILE *out, const struct offers *offers)
{
	write_head(out, "gover_offers", "gauge", "Offers remembered, by state.");
	for (int state = 0; state < OFFER_STATES; state++) {
		int n = 0;

		for (size_t k = 0; k < offers_count(offers); k++)
			n += (int)offers_at(offers, k)->state == state;
		fputs("gover_offers", out);
		write_label(out, "{", "state", offer_state_name((enum offer_state)state));
		fprintf(out, "} %d\n", n);
	}
}

static void count_kind(struct metrics_tally *tally, const char *kind, uint64_t by)
{
	for (size_t i = 0; i < tally->n; i++) {
		if (strcmp(tally->kinds[i].kind, kind) == 0) {
			tally->kinds[i].count += by;
			return;
		}
	}
	if (tally->n == METRICS_KINDS_MAX)
		return;
	snprintf(tally->kinds[tally->n].kind, sizeof(tally->kinds[0].kind), "%s", kind);
	tally->kinds[tally->n++].count = by;
}

void metrics_tally_begin(struct metrics_tally *tally, const struct decisions *decisions)
{
	*tally = (struct metrics_tally){.last_id = decisions_last_id(decisions)};
	for (int kind = 0; kind < POLICY_KINDS; kind++)
		count_kind(tally, policy_kind_name((enum policy_kind)kind), 0);
}

void metrics_tally_decisions(struct metrics_tally *tally, const struct decisions *decisions)
{
	const struct decision *d = decisions_after(decisions, tally->last_id);

	for (; d; d = decisions_after(decisions, tally->last_id)) {
		count_kind(tally, d->kind, 1);
		tally->last_id = d->id;
	}
}

static void write_decisions(FILE *out, const struct metrics_tally *tally)
{
	write_head(out, "gover_decisions_total", "counter", "Decisions, by kind.");
	for (size_t i = 0; i < tally->n; i++) {
		fputs("gover_decisions_total", out);
		write_label(out, "{", "kind", tally->kinds[i].kind);
		fprintf(out, "} %llu\n", (unsigned long long)tally->kinds[i].count);
	}
}

char *metrics_write(struct manager *manager, const struct metrics_tally *tally)
{
	struct facts facts = {
		.host = control_host(manager),
		.config = control_config(manager),
		.dry_run = control_dry_run(manager),
		.history_enabled = control_db(manager),
		.tick = metrics_tick(control_host(manager)),
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool failed;

	if (!out)
		return NULL;
	if (control_db(manager))
		db_stats(control_db(manager), &facts.history);
	if (control_fps(manager))
		fps_hub_stats(control_fps(manager), &facts.fps);
	write_host(out, &facts);
	write_gpus(out, facts.host);
	write_vgpus(out, facts.host);
	write_alerts(out, control_alerts(manager));
	write_offers(out, control_offers(manager));
	write_decisions(out, tally);
	failed = ferror(out);
	failed |= fclose(out) != 0;
	if (!failed)
		return text;
	free(text);
	return NULL;
}
