/* SPDX-License-Identifier: MIT */
/*
 * Metrics of flavours, alerts, offers, decisions, hooks, requests and memory. The number of lines
 * is bounded, because no label value is taken from a request.
 */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/alert/alerts.h"
#include "gover-d/alert/webhook.h"
#include "gover-d/api/metrics.h"
#include "gover-d/config/flavor.h"
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

/* A contract or an offer without a flavour has the terms of [offer], and counts as that flavour. */
static const char *or_standard(const struct view *view, const char *flavor)
{
	return flavor[0] ? flavor : view->config->offer.flavor;
}

static void write_vgpu(const struct metrics_out *out, const struct view *view, const struct vgpu *v)
{
	/* Prometheus uses the label "instance" for the host. */
	metrics_format_line(out, "gover_vgpu_info", 1, "gpu", v->contract.gpu, "vgpu",
			    v->contract.id, "vm", v->contract.vm, "flavor",
			    or_standard(view, v->contract.flavor), "project",
			    contract_label(&v->contract, CONTRACT_PROJECT), "server",
			    contract_label(&v->contract, CONTRACT_INSTANCE), METRICS_END);
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

static void write_open_offers(const struct metrics_out *out, const struct view *view,
			      const char *gpu)
{
	struct flavor flavor;

	for (int i = 0; flavor_at(view->config, i, &flavor); i++)
		metrics_format_line(out, "gover_open_offers", count_open(view, gpu, flavor.name),
				    "gpu", gpu, "flavor", flavor.name, METRICS_END);
}

/*
 * Metrics that name flavours. gover_vgpu_info has the flavour and the owner of each vGPU, so that
 * its other metrics need no labels for them: Prometheus joins both.
 */
static void write_flavors(const struct metrics_out *out, const struct view *view)
{
	const struct host *host = view->host;

	metrics_format_head(out, "gover_vgpu_info", "info",
			    "Flavour and owner of the vGPU, as labels.");
	for (int g = 0; g < host->n_gpus; g++)
		for (const struct vgpu *v = host->gpus[g].vgpus; v; v = v->next)
			write_vgpu(out, view, v);
	metrics_format_head(out, "gover_open_offers", "gauge",
			    "Number of open offers that list the flavour, by GPU and flavour.");
	for (int g = 0; g < host->n_gpus; g++)
		write_open_offers(out, view, host->gpus[g].config.name);
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
		metrics_format_line(out, "gover_alerts", n, "name", name, "severity",
				    alert_severity_name(severity), METRICS_END);
	}
}

static void write_offers(const struct metrics_out *out, const struct offers *offers)
{
	metrics_format_head(out, "gover_offers", "gauge", "Number of stored offers, by state.");
	for (int state = 0; state < OFFER_STATES; state++) {
		int n = 0;

		for (size_t k = 0; k < offers_count(offers); k++)
			n += (int)offers_at(offers, k)->life.state == state;
		metrics_format_line(out, "gover_offers", n, "state",
				    offer_state_name((enum offer_state)state), METRICS_END);
	}
}

static void write_decisions(const struct metrics_out *out, const struct metrics_tally *tally)
{
	metrics_format_head(out, "gover_decisions_total", "counter",
			    "Number of decisions, by kind.");
	for (int kind = 0; kind < DECISION_KINDS; kind++) {
		if (kind >= POLICY_KINDS && tally->counts[kind] == 0)
			continue;
		metrics_format_line(out, "gover_decisions_total", (double)tally->counts[kind],
				    "kind", decision_kind_name((enum decision_kind)kind),
				    METRICS_END);
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
		metrics_format_line(out, "gover_alert_active", 1, "name", a->name, "severity",
				    alert_severity_name(a->severity), "gpu", a->gpu, "vgpu",
				    a->vgpu, "vm", a->vm, "silenced",
				    a->silenced ? "true" : "false", METRICS_END);
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
			metrics_format_line(out, metrics[i].name, (double)value, "hook",
					    hook_name((enum hook)hook), METRICS_END);
		}
	}
}

static void write_webhook(const struct metrics_out *out, const struct view *view)
{
	const char *const name = "gover_webhook_messages_total";
	struct webhook_stats s;

	metrics_format_head(out, name, "counter", "Messages for the webhook, by result.");
	if (!view->webhook)
		return;
	webhook_stats(view->webhook, &s);
	metrics_format_line(out, name, (double)s.sent, "result", "sent", METRICS_END);
	metrics_format_line(out, name, (double)s.refused, "result", "refused", METRICS_END);
	metrics_format_line(out, name, (double)s.dropped, "result", "dropped", METRICS_END);
}

static void write_over_limit(const struct metrics_out *out, const struct frames *frames)
{
	struct fps_hub_stats s = {0};

	metrics_format_head(out, "gover_fps_over_limit_total", "counter",
			    "Rejected connections of programs that report frames, because their "
			    "vGPU, or their user if they belong to no vGPU, had too many.");
	if (frames->hub)
		fps_hub_stats(frames->hub, &s);
	metrics_format_line(out, "gover_fps_over_limit_total", (double)(s.over_limit - s.users.n),
			    "holder", "vgpu", METRICS_END);
	metrics_format_line(out, "gover_fps_over_limit_total", (double)s.users.n, "holder", "user",
			    METRICS_END);
}

static void write_leaks(const struct metrics_out *out, const struct fleet_report *report)
{
	metrics_format_head(out, "gover_fleet_leaked", "gauge",
			    "Allocations in the cloud without a contract or an offer, by GPU and "
			    "flavour.");
	for (size_t i = 0; i < report->n_leaks; i++) {
		const struct fleet_leak *leak = &report->leaks[i];

		metrics_format_line(out, "gover_fleet_leaked", leak->used - leak->sold, "gpu",
				    leak->gpu, "flavor", leak->flavor, METRICS_END);
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
		metrics_format_line(out, "gover_fleet_state", i == (int)state, "state",
				    fleet_state_name((enum fleet_state)i), METRICS_END);
	metrics_format_head(out, "gover_fleet_unverified", "gauge",
			    "Contracts that the cloud has not confirmed.");
	if (known)
		metrics_format_line(out, "gover_fleet_unverified", report->unverified, METRICS_END);
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
	metrics_format_line(out, "gover_migrations_in_progress", fleet->course.vgpu[0] != '\0',
			    METRICS_END);
	metrics_format_head(out, "gover_migration_seconds_total", "counter",
			    "Sum of the durations of completed migrations.");
	metrics_format_line(out, "gover_migration_seconds_total", fleet->migration_s, METRICS_END);
}

static void write_process(const struct metrics_out *out)
{
	struct memory_size size;

	metrics_format_head(out, "process_resident_memory_bytes", "gauge",
			    "Resident memory of the daemon.");
	if (memory_read(&size) == 0)
		metrics_format_line(out, "process_resident_memory_bytes", (double)size.resident,
				    METRICS_END);
}

/* Writes the number of replies by route. Requests that match no route are counted together. */
static void write_http(const struct metrics_out *out, const struct metrics_source *source)
{
	metrics_format_head(out, "gover_http_requests_total", "counter",
			    "Answered requests, by route and status.");
	for (size_t i = 0; i < source->n_routes; i++) {
		const struct api_counter *counter = source->routes[i].counter;

		for (int k = 0; k < API_STATUSES_MAX && counter->statuses[k].n; k++) {
			char status[16];

			snprintf(status, sizeof(status), "%u", counter->statuses[k].status);
			metrics_format_line(out, "gover_http_requests_total",
					    (double)counter->statuses[k].n, "method",
					    source->routes[i].method, "route",
					    source->routes[i].route, "status", status, METRICS_END);
		}
	}
}

void metrics_lists_write(const struct metrics_out *out, const struct view *view,
			 const struct metrics_source *source)
{
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
	write_decisions(out, source->tally);
	write_hooks(out, view);
	write_webhook(out, view);
	write_over_limit(out, view->frames);
	write_fleet(out, view->fleet);
	write_http(out, source);
	write_process(out);
}
