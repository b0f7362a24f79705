/* SPDX-License-Identifier: MIT */
/* Encodes the state of the daemon as JSON. Reads only memory, neither files nor the GPU. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/unix-listener.h"
#include "db/db.h"
#include "gover-d/alert/alerts.h"
#include "gover-d/api/metrics.h"
#include "gover-d/api/resource.h"
#include "gover-d/cap/frames.h"
#include "gover-d/cap/gpus.h"
#include "gover-d/config/config.h"
#include "gover-d/config/flavor.h"
#include "gover-d/diagnosis/diagnosis.h"
#include "gover-d/manager/view.h"
#include "gover-d/model/host.h"
#include "gover-d/record/encode.h"
#include "gover-d/record/history.h"
#include "gover-d/sale/offers.h"
#include "gover-d/sale/selling.h"
#include "gover-d/util/json.h"
#include "monitor/fps/fps.h"

#define MIB	  1048576.0
#define VALUE_MAX 256 /* size of the text of a configuration value */

static json_t *percent_if(bool valid, double fraction)
{
	return json_encode_number(valid ? 100 * fraction : NAN);
}

static json_t *mean(double sum, double count)
{
	return json_encode_number(count > 0 ? sum / count : NAN);
}

/* Returns a number of the round, or NAN if the GPU has none. */
static double in_round(const struct host_gpu *gpu, double value)
{
	return gpu->round.round_ms > 0 ? value : NAN;
}

static json_t *encode_counts(const struct truth_counts *counts)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "clients", (json_int_t)counts->clients,
			 "outside", (json_int_t)counts->outside, "refused",
			 (json_int_t)counts->refused, "denied", (json_int_t)counts->denied,
			 "no_times", (json_int_t)counts->no_times, "ignored",
			 (json_int_t)counts->ignored);
}

/* What the source of the busy times found; null: they come from the scheduler. */
static json_t *encode_source(const struct gpu_source *source)
{
	return source->name ? json_pack("{s:o, s:o}", "last", encode_counts(&source->last), "most",
					encode_counts(&source->most))
			    : json_null();
}

/* The source can change while the GPU is open (truth = auto). */
static const char *truth_of(const struct host_gpu *gpu)
{
	const char *name = gpu->source.name ? gpu->source.name : gpu->traits.truth;

	return name ? name : "";
}

static json_t *encode_no_sale_reason(const struct view *view, const struct host_gpu *gpu)
{
	struct err why;

	return selling_is_stopped(view->sales, gpu, &why) ? json_encode_text(why.msg) : json_null();
}

json_t *resource_encode_gpu(const struct view *view, const struct host_gpu *gpu, struct instant now)
{
	static const char *const shares[] = {
		[GPU_HARD_CAP] = "hard_cap",
		[GPU_RELATIVE_SLICE] = "relative_slice",
	};
	static const char *const units[] = {[GPU_FRAMES] = "frames", [GPU_WORK] = "work"};
	const char *sharing = gpu_sharing_name(gpu->traits.guarantees);
	int sum_pct = host_gpu_sum_cap_pct(gpu);
	int initial_pct = host_gpu_sum_initial_cap_pct(gpu);
	double cores = gpu->traits.capacity_cores;
	double age_ms = ((double)now.mono_ns - (double)gpu->telemetry_at_ns) / NS_PER_MS;
	char problem[ERR_MSG_MAX];
	json_t *o = json_object();

	gpus_describe_problem(gpu, view->config->period_ms, now, problem);
	json_encode_add(o, "name", json_string(gpu->config.name));
	json_encode_add(o, "backend", json_string(gpu->config.backend));
	json_encode_add(o, "mode", json_string(gpu_mode_name(gpu->mode)));
	json_encode_add(o, "frozen_since", json_encode_time(gpu->frozen_since.at_ms));
	json_encode_add(o, "selling", json_string(gpu->selling ? "on" : "off"));
	json_encode_add(o, "no_sale_reason", encode_no_sale_reason(view, gpu));
	json_encode_add(o, "step_pct", json_integer(gpu->traits.step_pct));
	json_encode_add(o, "floor_pct", json_integer(gpu->traits.floor_pct));
	json_encode_add(o, "unit", json_string(units[host_gpu_unit(gpu, NULL)]));
	json_encode_add(o, "limits_memory", json_boolean(gpu->traits.limits_memory));
	json_encode_add(o, "share", json_string(shares[gpu->traits.share]));
	json_encode_add(o, "steers", json_boolean(!gpu->traits.observes));
	json_encode_add(o, "truth", json_encode_name(truth_of(gpu)));
	json_encode_add(o, "sharing", json_string(sharing));
	json_encode_add(o, "capacity_cores", json_encode_number(cores > 0 ? cores : NAN));
	json_encode_add(o, "round_ms", json_encode_number(in_round(gpu, gpu->round.round_ms)));
	json_encode_add(o, "longest_wait_ms",
			json_encode_number(in_round(gpu, gpu->round.longest_wait_ms)));
	json_encode_add(o, "host_share_pct",
			json_encode_number(in_round(gpu, gpu->round.host_share_pct)));
	json_encode_add(o, "vgpus", json_integer(gpu->n_vgpus));
	json_encode_add(o, "max_vgpus", json_integer(view->config->offer.max_vgpus));
	json_encode_add(o, "migrates", json_boolean(gpu->view.migrates));
	json_encode_add(o, "sum_cap_pct", json_integer(sum_pct));
	json_encode_add(o, "free_pct", json_integer(sum_pct < 100 ? 100 - sum_pct : 0));
	json_encode_add(o, "sum_initial_cap_pct", json_integer(initial_pct));
	json_encode_add(o, "overbooking_ratio", json_encode_number(initial_pct / 100.0));
	json_encode_add(o, "util_pct", json_encode_number(gpu->util_pct));
	json_encode_add(o, "mean_util_pct", mean(gpu->util_sum_s, gpu->util_s));
	json_encode_add(o, "load_pct", percent_if(gpu->telemetry_valid, gpu->view.total_load));
	json_encode_add(o, "calm_periods", json_integer(gpu->view.calm_run));
	json_encode_add(o, "telemetry_valid", json_boolean(gpu->telemetry_valid));
	json_encode_add(o, "telemetry_age_ms",
			json_encode_number(gpu->telemetry_at_ns ? age_ms : NAN));
	json_encode_add(o, "problem", json_encode_name(problem));
	json_encode_add(o, "source", encode_source(&gpu->source));
	return o;
}

static void add_place(void *userdata, const char *path)
{
	json_array_append_new(userdata, json_encode_text(path));
}

/* Encodes the path by which programs find a socket; NULL: there is no socket. */
static json_t *encode_socket(const char *path)
{
	char name[PATH_MAX] = "";

	if (path)
		unix_listener_name(path, name);
	return json_encode_name(name);
}

/*
 * Encodes the files to which a process writes its id to join the vGPU, and the paths of the sockets
 * for frame reports and of the arbiter.
 */
static json_t *encode_attach(const struct view *view, const struct host_gpu *gpu,
			     const struct vgpu *vgpu)
{
	const char *socket = view->frames->hub ? view->config->fps_socket : NULL;
	const char *arbiter = vgpu->device ? gpu->traits.compute_socket : NULL;
	json_t *o = json_object();
	json_t *paths = json_array();

	if (vgpu->device && gpu_io_places(gpu->io, vgpu->contract.id, add_place, paths) < 0)
		json_array_clear(paths);
	json_encode_add(o, "cgroup_procs", paths);
	json_encode_add(o, "fps_socket", encode_socket(socket));
	json_encode_add(o, "compute_socket", encode_socket(arbiter));
	return o;
}

static const char *state_of(const struct view *view, const struct vgpu *vgpu)
{
	if (!vgpu->device)
		return "missing";
	if (strcmp(offers_newcomer(view->offers, vgpu->contract.gpu), vgpu->contract.id) == 0)
		return "probation";
	return "active";
}

static void add_contract(json_t *o, const struct view *view, const struct host_gpu *gpu,
			 const struct contract *contract)
{
	struct policy_terms terms = host_terms(gpu, contract);
	struct flavor flavor = flavor_of(view->config, contract->flavor);
	const struct contract_field *field;

	for (size_t i = 0; (field = contract_field_at(i)); i++) {
		json_t *value;

		if (!(field->uses & CONTRACT_IN_ANSWER))
			continue;
		value = contract_encode_field(contract, field);
		if (json_is_real(value)) {
			double number = json_real_value(value);

			json_decref(value);
			value = json_encode_number(number);
		}
		json_encode_add(o, field->name, value);
	}
	encode_add_rate(o, "target_fps", "target_rate", terms.counts_work, terms.target_fps);
	if (contract->cid == 0)
		json_encode_add(o, "cid", json_null());
	json_encode_add(o, "flavor", json_string(flavor.name));
	json_encode_add(o, "created_at", json_encode_time(contract->created_ms));
}

json_t *resource_encode_contract(const struct view *view, const struct host_gpu *gpu,
				 const struct contract *contract)
{
	json_t *o = json_object();

	add_contract(o, view, gpu, contract);
	json_encode_add(o, "held_cap_pct",
			contract->held ? json_integer(contract->held_cap_pct) : json_null());
	return o;
}

/*
 * Encodes the floor in force. It is the floor of the contract, or cap_floor_pct if the contract has
 * none. It is at least the floor of the backend.
 */
static json_t *encode_floor(const struct view *view, const struct host_gpu *gpu,
			    const struct vgpu *vgpu)
{
	const struct policy_gpu limits = {
		.step_pct = gpu->traits.step_pct,
		.floor_pct = gpu->traits.floor_pct,
	};

	return json_integer(
		policy_floor_pct(&view->config->params, &limits, &vgpu->contract.terms));
}

static json_t *positive(double value)
{
	return json_encode_number(value > 0 ? value : NAN);
}

/* Adds what the vGPU delivers: frames, or units of work. The members of the other kind are null. */
static void add_deliveries(json_t *o, const struct monitor_row *row, bool work)
{
	const struct sample *sample = &row->sample;
	bool frames = !work;
	json_t *count = json_integer((json_int_t)row->frames);

	encode_add_rate(o, "fps", "rate", work, sample->fps_valid ? sample->fps : NAN);
	json_encode_add(o, "fps_age_s",
			json_encode_number(frames && row->fps_seen ? row->fps_age_s : NAN));
	json_encode_add(
		o, "frame_p99_ms",
		json_encode_number(frames && sample->p99_valid ? sample->frame_p99_ms : NAN));
	json_encode_add(o, "frame_p50_ms", positive(frames ? row->frame_p50_ms : 0));
	json_encode_add(o, "frame_max_ms", positive(frames ? row->frame_max_ms : 0));
	json_encode_add(o, "frame_gpu_ms", positive(frames ? row->frame_gpu_ms : 0));
	json_encode_add(o, "frames", work ? json_null() : count);
	json_encode_add(o, "units", work ? count : json_null());
}

static void add_sample(json_t *o, const struct vgpu *vgpu, bool work)
{
	const struct sample *sample = &vgpu->row.sample;
	const struct gpu_reading *reading = &vgpu->row.reading;

	json_encode_add(o, "cap_pct", json_integer(vgpu->cap.pct));
	json_encode_add(o, "expected_cap_pct", json_integer(vgpu->cap.expected_pct));
	json_encode_add(o, "load_pct", percent_if(sample->busy_valid, sample->load));
	json_encode_add(o, "util_pct", percent_if(sample->busy_valid, sample->util));
	add_deliveries(o, &vgpu->row, work);
	json_encode_add(o, "memory_used_mib",
			json_encode_number(
				reading->memory_valid ? (double)reading->memory_bytes / MIB : NAN));
	json_encode_add(o, "memory_max_mib",
			json_encode_number(reading->memory_max_valid
						   ? (double)reading->memory_max_bytes / MIB
						   : NAN));
	json_encode_add(o, "short", json_boolean(vgpu->view.short_of_target));
	json_encode_add(o, "overloaded", json_boolean(vgpu->view.overloaded));
	json_encode_add(o, "broken", json_boolean(vgpu->view.broken));
	json_encode_add(o, "e", json_encode_number(vgpu->view.e));
}

static void add_tally(json_t *o, const struct vgpu *vgpu, bool work)
{
	const struct vgpu_tally *tally = &vgpu->tally;

	json_encode_add(o, "counted_since", json_encode_time(tally->since_ms));
	json_encode_add(o, "seen_s", json_encode_number(tally->seen_s));
	json_encode_add(o, "broken_s", json_encode_number(tally->broken_s));
	json_encode_add(o, "broken_time_pct", mean(100 * tally->broken_s, tally->seen_s));
	encode_add_rate(o, "mean_fps", "mean_rate", work,
			tally->fps_s > 0 ? tally->fps_sum_s / tally->fps_s : NAN);
	json_encode_add(o, "cap_error_pct", mean(tally->cap_error_pct_s, tally->cap_error_s));
	json_encode_add(o, "steals_in", json_integer((json_int_t)tally->steals_in));
	json_encode_add(o, "steals_out", json_integer((json_int_t)tally->steals_out));
	json_encode_add(o, "cap_writes", json_integer((json_int_t)vgpu_cap_writes(vgpu)));
}

json_t *resource_encode_vgpu(const struct view *view, const struct host_gpu *gpu,
			     const struct vgpu *vgpu)
{
	const char *cause = vgpu->device ? promise_cause_name(vgpu->promise.cause) : NULL;
	int64_t decision = vgpu->last_decision_id;
	bool work = host_gpu_unit(gpu, &vgpu->contract) == GPU_WORK;
	json_t *o = json_object();

	add_contract(o, view, gpu, &vgpu->contract);
	json_encode_add(o, "held_since", json_encode_time(vgpu->contract.held_since.at_ms));
	json_encode_add(o, "floor_pct", encode_floor(view, gpu, vgpu));
	json_encode_add(o, "state", json_string(state_of(view, vgpu)));
	json_encode_add(o, "found", json_boolean(vgpu->found));
	add_sample(o, vgpu, work);
	json_encode_add(o, "promise", json_string(diagnosis_state_name(vgpu)));
	json_encode_add(o, "cause", cause ? json_string(cause) : json_null());
	add_tally(o, vgpu, work);
	json_encode_add(o, "last_decision_id", decision ? json_integer(decision) : json_null());
	json_encode_add(o, "attach", encode_attach(view, gpu, vgpu));
	return o;
}

static json_t *encode_gpus(const struct view *view, struct instant now)
{
	const struct host *host = view->host;
	json_t *list = json_array();

	for (int i = 0; i < host->n_gpus; i++)
		json_array_append_new(list, resource_encode_gpu(view, &host->gpus[i], now));
	return list;
}

json_t *resource_encode_vgpus(const struct view *view, const struct host_gpu *gpu)
{
	const struct host *host = view->host;
	json_t *list = json_array();

	for (int i = 0; i < host->n_gpus; i++) {
		const struct host_gpu *g = &host->gpus[i];

		if (gpu && gpu != g)
			continue;
		for (const struct vgpu *v = g->vgpus; v; v = v->next)
			json_array_append_new(list, resource_encode_vgpu(view, g, v));
	}
	return list;
}

json_t *resource_encode_alerts(const struct view *view, bool all)
{
	const struct alerts *alerts = view->alerts;
	json_t *list = json_array();

	for (size_t i = 0; i < alerts_count(alerts); i++) {
		const struct alert *alert = alerts_at(alerts, i);

		if (all || alert->cleared_ms == 0)
			json_array_append_new(list, encode_alert(alert, view->config->runbook_url));
	}
	return list;
}

json_t *resource_encode_offers(const struct view *view, bool all, struct instant now)
{
	const struct offers *offers = view->offers;
	json_t *list = json_array();

	for (size_t i = 0; i < offers_count(offers); i++) {
		const struct offer *offer = offers_at(offers, i);

		if (all || offer_is_live(&offer->life))
			json_array_append_new(list, encode_offer(offer, now));
	}
	return list;
}

static json_t *encode_history(const struct view *view)
{
	struct db *db = view->history->db;
	struct db_stats stats = {0};
	const char *error = view->history->error;
	json_t *damaged = json_array();
	json_t *o = json_object();

	if (db) {
		db_stats(db, &stats);
		error = stats.last_error ? stats.last_message : "";
	}
	for (int i = 0; i < stats.damaged.n; i++)
		json_array_append_new(damaged, json_encode_text(stats.damaged.names[i]));
	json_encode_add(o, "enabled", json_boolean(db));
	json_encode_add(o, "queued", json_integer(stats.queued));
	json_encode_add(o, "written", json_integer((json_int_t)stats.written));
	json_encode_add(o, "dropped", json_integer((json_int_t)stats.dropped));
	json_encode_add(o, "clock_ahead_s",
			json_encode_number((double)stats.clock_ahead_ms / 1000));
	json_encode_add(o, "damaged", damaged);
	json_encode_add(o, "error", json_encode_name(error));
	return o;
}

static json_t *encode_fps(const struct view *view)
{
	const struct frames *frames = view->frames;
	struct fps_bpf_stats counted = {0};
	struct fps_hub_stats stats = {0};
	json_t *o = json_object();

	if (frames->bpf)
		fps_bpf_stats(frames->bpf, &counted);
	if (view->frames->hub)
		fps_hub_stats(view->frames->hub, &stats);
	json_encode_add(o, "open", json_integer(stats.open));
	json_encode_add(o, "unmatched", json_integer(stats.unmatched));
	json_encode_add(o, "refused", json_integer((json_int_t)stats.refused));
	json_encode_add(o, "over_limit", json_integer((json_int_t)stats.over_limit));
	json_encode_add(o, "dropped", json_integer((json_int_t)stats.dropped));
	json_encode_add(o, "bpf_files", json_integer(counted.files));
	json_encode_add(o, "bpf_refused", json_integer(counted.refused));
	json_encode_add(o, "bpf_error",
			frames->error[0] ? json_encode_text(frames->error) : json_null());
	return o;
}

/* The files, and not what clients have changed. */
static json_t *encode_config(const struct view *view)
{
	json_t *o = json_object(), *keys = *view->restart_keys;

	json_encode_add(o, "read_at", json_encode_time(view->file_config->read_ms));
	json_encode_add(o, "restart_keys", keys ? json_incref(keys) : json_array());
	return o;
}

json_t *resource_encode_host(const struct view *view, struct instant now)
{
	const struct host *host = view->host;
	double uptime_s = (double)(now.mono_ns - host->started.mono_ns) / NS_PER_S;
	struct metrics_tick tick = metrics_tick(host);
	json_t *o = json_object();

	json_encode_add(o, "version", json_string(GOVER_VERSION));
	json_encode_add(o, "pid", json_integer(getpid()));
	json_encode_add(o, "uptime_s", json_encode_number(uptime_s));
	json_encode_add(o, "time", json_encode_time(now.wall_ms));
	json_encode_add(o, "ticked_at", json_encode_time(host->ticked.wall_ms));
	json_encode_add(o, "ready", json_boolean(host->ready));
	json_encode_add(o, "period_ms", json_integer(view->config->period_ms));
	json_encode_add(o, "dry_run", json_boolean(view->dry_run));
	json_encode_add(o, "config", encode_config(view));
	json_encode_add(o, "ticks", json_integer((json_int_t)host->ticks));
	json_encode_add(o, "late_ticks", json_integer((json_int_t)host->late_ticks));
	json_encode_add(o, "gaps", json_integer((json_int_t)host->gaps));
	json_encode_add(o, "tick_p50_us", json_encode_number(tick.p50_us));
	json_encode_add(o, "tick_p99_us", json_encode_number(tick.p99_us));
	json_encode_add(o, "gpus", encode_gpus(view, now));
	json_encode_add(o, "vgpus", resource_encode_vgpus(view, /* gpu= */ NULL));
	json_encode_add(o, "alerts", resource_encode_alerts(view, /* all= */ false));
	json_encode_add(o, "offers", resource_encode_offers(view, /* all= */ false, now));
	json_encode_add(o, "history", encode_history(view));
	json_encode_add(o, "fps", encode_fps(view));
	return o;
}

/*
 * Returns a configuration value as JSON: a number, a boolean or a string, depending on the type of
 * the key.
 */
static json_t *encode_value(const struct setting *key, const char *text)
{
	double number;
	int64_t whole;
	bool on;

	if (key->type == &setting_text || key->type == &setting_word)
		return json_encode_text(text);
	if (parse_int(text, INT64_MIN, INT64_MAX, &whole) == 0)
		return json_integer(whole);
	if (parse_double(text, -DBL_MAX, DBL_MAX, &number) == 0)
		return json_real(number);
	if (parse_bool(text, &on) == 0)
		return json_boolean(on);
	return json_encode_text(text);
}

/* Returns the first key of [policy] or [offer] at or after *index; NULL: past the last key. */
static const struct setting *next_key(size_t *index)
{
	const struct setting *info;

	while ((info = config_key_at((*index)++)))
		if (strcmp(info->section, "policy") == 0 || strcmp(info->section, "offer") == 0)
			return info;
	return NULL;
}

/*
 * Writes the value of a key. A price that is not set has the value that the policy decides with, so
 * that the type of the member does not change.
 */
static int get_value(const struct config *config, const struct setting *key, char text[VALUE_MAX])
{
	const struct policy_params params = config_policy_params(config);
	int r = config_get_live(config, key->key, text, VALUE_MAX);

	if (r == 0 && strcmp(key->key, "price_per_cap_hour") == 0)
		snprintf(text, VALUE_MAX, "%.17g", params.price_per_cap_hour);
	if (r == 0 && strcmp(key->key, "penalty_per_broken_s") == 0)
		snprintf(text, VALUE_MAX, "%.17g", params.penalty_per_broken_s);
	if (r == 0 && strcmp(key->key, "price_per_move") == 0)
		snprintf(text, VALUE_MAX, "%.17g", params.price_per_move);
	return r;
}

json_t *resource_encode_params(const struct config *config)
{
	json_t *o = json_object();
	char text[VALUE_MAX];
	const struct setting *key;
	size_t index = 0;

	while ((key = next_key(&index)))
		if (get_value(config, key, text) == 0)
			json_encode_add(o, key->key, encode_value(key, text));
	return o;
}

static json_t *encode_differing(const struct config *config, const struct config *file)
{
	char is[VALUE_MAX], was[VALUE_MAX];
	json_t *list = json_array();
	const struct setting *key;
	size_t index = 0;

	while ((key = next_key(&index)))
		if (config_get_live(config, key->key, is, sizeof(is)) == 0 &&
		    config_get_live(file, key->key, was, sizeof(was)) == 0 && strcmp(is, was) != 0)
			json_array_append_new(list, json_string(key->key));
	return list;
}

static json_t *encode_policies(void)
{
	json_t *list = json_array();
	const struct policy *policy;

	for (size_t i = 0; (policy = policy_at(i)); i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", policy->name, "summary",
						      policy->summary));
	return list;
}

json_t *resource_encode_policy(const struct view *view)
{
	const struct config *config = view->config;
	json_t *o = json_object();

	json_encode_add(o, "name", json_string(config->policy));
	json_encode_add(o, "differs", encode_differing(config, view->file_config));
	json_encode_add(o, "params", resource_encode_params(config));
	json_encode_add(o, "file", resource_encode_params(view->file_config));
	json_encode_add(o, "policies", encode_policies());
	return o;
}

json_t *resource_encode_token(const struct token *token, const char *text)
{
	json_t *o = json_object();

	json_encode_add(o, "name", json_string(token->name));
	json_encode_add(o, "scope", json_string(access_scope_name(token->scope)));
	json_encode_add(o, "created_at", json_encode_time(token->created_ms));
	json_encode_add(o, "expires_at", json_encode_time(token->expires_ms));
	json_encode_add(o, "expired", json_boolean(token->expired));
	if (text)
		json_encode_add(o, "token", json_string(text));
	return o;
}
