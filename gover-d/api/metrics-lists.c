/* SPDX-License-Identifier: MIT */
/*
 * Metrics of alerts, offers, decisions, hooks, requests and memory. The number of lines is bounded,
 * because no label value is taken from a request.
 */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/alert/alerts.h"
#include "gover-d/alert/webhook.h"
#include "gover-d/api/metrics-lists.h"
#include "gover-d/core/frames.h"
#include "gover-d/core/offers.h"
#include "gover-d/core/view.h"
#include "gover-d/model/decisions.h"
#include "gover-d/model/fleet.h"
#include "gover-d/model/host.h"
#include "gover-d/util/hook.h"
#include "gover-d/util/memory.h"
#include "monitor/fps/fps.h"

void metrics_tally_begin(struct metrics_tally *tally, const struct decisions *decisions)
{
	*tally = (struct metrics_tally){.last_id = decisions_last_id(decisions)};
}

void metrics_tally_decisions(struct metrics_tally *tally, const struct decisions *decisions)
{
	const struct decision *d = decisions_after(decisions, tally->last_id);

	for (; d; d = decisions_after(decisions, tally->last_id)) {
		tally->counts[d->kind]++;
		tally->last_id = d->id;
	}
}

static void write_alerts(const struct metrics_out *out, const struct alerts *alerts)
{
	enum alert_severity severity;
	const char *name, *meaning;

	metrics_format_head(out, "gover_alerts", "gauge", "Number of active alerts, by name.");
	for (size_t i = 0; (name = alerts_name_at(i, &severity, &meaning)); i++) {
		int n = 0;

		for (size_t k = 0; k < alerts_count(alerts); k++)
			n += alerts_at(alerts, k)->cleared_ms == 0 &&
			     strcmp(alerts_at(alerts, k)->name, name) == 0;
		fputs("gover_alerts", out->file);
		metrics_format_label(out, "{", "name", name);
		metrics_format_label(out, ",", "severity", alert_severity_name(severity));
		fprintf(out->file, "} %d\n", n);
	}
}

static void write_offers(const struct metrics_out *out, const struct offers *offers)
{
	metrics_format_head(out, "gover_offers", "gauge", "Number of stored offers, by state.");
	for (int state = 0; state < OFFER_STATES; state++) {
		int n = 0;

		for (size_t k = 0; k < offers_count(offers); k++)
			n += (int)offers_at(offers, k)->life.state == state;
		fputs("gover_offers", out->file);
		metrics_format_label(out, "{", "state", offer_state_name((enum offer_state)state));
		fprintf(out->file, "} %d\n", n);
	}
}

static void write_decisions(const struct metrics_out *out, const struct metrics_tally *tally)
{
	metrics_format_head(out, "gover_decisions_total", "counter",
			    "Number of decisions, by kind.");
	for (int kind = 0; kind < DECISION_KINDS; kind++) {
		if (kind >= POLICY_KINDS && tally->counts[kind] == 0)
			continue;
		fputs("gover_decisions_total", out->file);
		metrics_format_label(out, "{", "kind",
				     decision_kind_name((enum decision_kind)kind));
		fprintf(out->file, "} %llu\n", (unsigned long long)tally->counts[kind]);
	}
}

/* Writes one line for each active alert. Its labels can be used in alerting rules. */
static void write_active(const struct metrics_out *out, const struct alerts *alerts)
{
	metrics_format_head(out, "gover_alert_active", "gauge",
			    "Always 1; each active alert has one line.");
	for (size_t i = 0; i < alerts_count(alerts); i++) {
		const struct alert *a = alerts_at(alerts, i);

		if (a->cleared_ms)
			continue;
		fputs("gover_alert_active", out->file);
		metrics_format_label(out, "{", "name", a->name);
		metrics_format_label(out, ",", "severity", alert_severity_name(a->severity));
		metrics_format_label(out, ",", "gpu", a->gpu);
		metrics_format_label(out, ",", "vgpu", a->vgpu);
		metrics_format_label(out, ",", "vm", a->vm);
		metrics_format_label(out, ",", "silenced", a->silenced ? "true" : "false");
		fputs("} 1\n", out->file);
	}
}

static void write_delays(const struct metrics_out *out, const char *name, const char *help,
			 const struct host_delays *delays)
{
	uint64_t n = 0;

	metrics_format_head(out, name, "histogram", help);
	for (int i = 0; i < HOST_DELAY_BUCKETS; i++) {
		n += delays->counts[i];
		fprintf(out->file, "%s_bucket{le=\"%s\"} %llu\n", name, host_delay_bounds[i].text,
			(unsigned long long)n);
	}
	fprintf(out->file, "%s_sum %.15g\n%s_count %llu\n", name, delays->sum_s, name,
		(unsigned long long)n);
}

static void write_hooks(const struct metrics_out *out, const struct view *view)
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
		metrics_format_head(out, metrics[i].name, "counter", metrics[i].help);
		for (int hook = 0; hook < HOOKS; hook++) {
			uint64_t value;

			memcpy(&value, (const char *)&view->hook_stats[hook] + metrics[i].offset,
			       sizeof(value));
			fputs(metrics[i].name, out->file);
			metrics_format_label(out, "{", "hook", hook_name((enum hook)hook));
			fprintf(out->file, "} %llu\n", (unsigned long long)value);
		}
	}
}

static void write_webhook(const struct metrics_out *out, const struct view *view)
{
	static const char *const results[] = {"sent", "refused", "dropped"};
	struct webhook_stats s;

	metrics_format_head(out, "gover_webhook_messages_total", "counter",
			    "Messages for the webhook, by result.");
	if (!view->webhook)
		return;
	webhook_stats(view->webhook, &s);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		uint64_t n = i == 0 ? s.sent : i == 1 ? s.refused : s.dropped;

		fputs("gover_webhook_messages_total", out->file);
		metrics_format_label(out, "{", "result", results[i]);
		fprintf(out->file, "} %llu\n", (unsigned long long)n);
	}
}

static void write_over_limit(const struct metrics_out *out, const struct frames *frames)
{
	struct fps_hub_stats s = {0};

	metrics_format_head(out, "gover_fps_over_limit_total", "counter",
			    "Rejected connections of programs that report frames, because their "
			    "vGPU, or their user if they belong to no vGPU, had too many.");
	if (frames->hub)
		fps_hub_stats(frames->hub, &s);
	fprintf(out->file,
		"gover_fps_over_limit_total{holder=\"vgpu\"} %llu\n"
		"gover_fps_over_limit_total{holder=\"user\"} %llu\n",
		(unsigned long long)(s.over_limit - s.users.n), (unsigned long long)s.users.n);
}

static void write_leaks(const struct metrics_out *out, const struct fleet_report *report)
{
	metrics_format_head(out, "gover_fleet_leaked", "gauge",
			    "Allocations in the cloud without a contract or an offer, by GPU and "
			    "flavour.");
	for (size_t i = 0; i < report->n_leaks; i++) {
		const struct fleet_leak *leak = &report->leaks[i];

		fputs("gover_fleet_leaked", out->file);
		metrics_format_label(out, "{", "gpu", leak->gpu);
		metrics_format_label(out, ",", "flavor", leak->flavor);
		fprintf(out->file, "} %d\n", leak->used - leak->sold);
	}
}

/* Writes the last report of gover-fleet. Without a report, only the facts have lines. */
static void write_fleet(const struct metrics_out *out, const struct fleet *fleet)
{
	const struct fleet_report *report = &fleet->report;
	enum fleet_state state = fleet_state_at(fleet, clock_now());
	bool known = state != FLEET_UNKNOWN;

	metrics_format_head(out, "gover_fleet_state", "gauge",
			    "1 for the state of gover-fleet, 0 for the others.");
	for (int i = FLEET_PUBLISHED; known && i < FLEET_STATES; i++)
		fprintf(out->file, "gover_fleet_state{state=\"%s\"} %d\n",
			fleet_state_name((enum fleet_state)i), i == (int)state);
	metrics_format_head(out, "gover_fleet_unverified", "gauge",
			    "Contracts that the cloud has not confirmed.");
	if (known)
		fprintf(out->file, "gover_fleet_unverified %d\n", report->unverified);
	write_leaks(out, report);
	metrics_format_head(out, "gover_fleet_migrations_total", "counter",
			    "Migrations since the start of gover-fleet, by result.");
	for (int i = 0; known && i < FLEET_MIGRATION_STATES; i++)
		fprintf(out->file, "gover_fleet_migrations_total{result=\"%s\"} %lld\n",
			fleet_migration_name((enum fleet_migration_state)i),
			(long long)report->migrations[i]);
	metrics_format_head(out, "gover_migrations_total", "counter",
			    "Reported migrations of vGPUs to other hosts, by state.");
	for (int i = 0; i < FLEET_MIGRATION_STATES; i++)
		fprintf(out->file, "gover_migrations_total{state=\"%s\"} %llu\n",
			fleet_migration_name((enum fleet_migration_state)i),
			(unsigned long long)fleet->migrations[i]);
	metrics_format_head(out, "gover_migrations_in_progress", "gauge",
			    "Requested migrations whose end was not reported: 0 or 1.");
	fprintf(out->file, "gover_migrations_in_progress %d\n", fleet->course.vgpu[0] != '\0');
	metrics_format_head(out, "gover_migration_seconds_total", "counter",
			    "Sum of the durations of completed migrations.");
	fprintf(out->file, "gover_migration_seconds_total %.15g\n", fleet->migration_s);
}

static void write_process(const struct metrics_out *out)
{
	struct memory_size size;

	metrics_format_head(out, "process_resident_memory_bytes", "gauge",
			    "Resident memory of the daemon.");
	if (memory_read(&size) == 0)
		fprintf(out->file, "process_resident_memory_bytes %llu\n",
			(unsigned long long)size.resident);
}

/* Writes the number of replies by route. Requests that match no route are counted together. */
static void write_http(const struct metrics_out *out, const struct metrics_source *source)
{
	metrics_format_head(out, "gover_http_requests_total", "counter",
			    "Answered requests, by route and status.");
	for (size_t i = 0; i < source->n_routes; i++) {
		const struct api_counter *counter = source->routes[i].counter;

		for (int k = 0; k < API_STATUSES_MAX && counter->statuses[k].n; k++) {
			fputs("gover_http_requests_total", out->file);
			metrics_format_label(out, "{", "method", source->routes[i].method);
			metrics_format_label(out, ",", "route", source->routes[i].route);
			fprintf(out->file, ",status=\"%u\"} %llu\n", counter->statuses[k].status,
				(unsigned long long)counter->statuses[k].n);
		}
	}
}

void metrics_lists_write(const struct metrics_out *out, const struct view *view,
			 const struct metrics_source *source)
{
	write_delays(out, "gover_tick_lateness_seconds",
		     "Delay of ticks: from the scheduled to the actual start of a tick.",
		     &view->host->lateness);
	write_delays(out, "gover_tick_duration_seconds",
		     "Time from the scheduled start of a tick to its last cap write.",
		     &view->host->tick_duration);
	write_alerts(out, view->alerts);
	write_active(out, view->alerts);
	write_offers(out, view->offers);
	write_decisions(out, source->tally);
	write_hooks(out, view);
	write_webhook(out, view);
	write_over_limit(out, view->frames);
	write_fleet(out, view->fleet);
	write_http(out, source);
	write_process(out);
}
