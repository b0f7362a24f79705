/* SPDX-License-Identifier: MIT */
/* Reports to alerts.c which conditions hold in this tick, each with its numbers. */
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "gover-d/cap/gpus.h"
#include "gover-d/diagnosis/diagnosis.h"
#include "gover-d/record/memory-mark.h"
#include "gover-d/tick/tick-alerts.h"
#include "monitor/fps/fps.h"
#include "monitor/igt.h"

#define STALLED_NAMED 4 /* vGPUs that a text names */

/* A freeze or a hold of this age may be forgotten. The rules for Prometheus have the same time. */
#define LONG_MS (24 * 3600 * INT64_C(1000))

/* A program whose connection was refused connects again within this time. */
#define FPS_RETRY_NS (10 * NS_PER_S)

/* The alerts of a vGPU that depend on its busy time. */
#define BUSY_TIME_ALERTS \
	(1u << ALERT_CONTRACT_LIMIT | 1u << ALERT_HELD_OVERLOADED | 1u << ALERT_QOS_NOT_GPU_BOUND)

/* A vGPU that gets nothing because its program wants nothing, or for an unknown reason. */
static void hold_silent(struct tick *tick, const char *gpu, const struct vgpu *v, int64_t ms)
{
	const struct service_vgpu *service = &v->promise.service;
	const char *why;

	if (!service->confirmed || service->state == SERVICE_STALLED)
		return; /* a stall has an alert of its own */
	if (service->state == SERVICE_PAUSED && !service->track.worked)
		why = "it has drawn nothing yet";
	else if (service->state == SERVICE_PAUSED && service->track.others)
		why = "its program waits for its user, because the GPU served other vGPUs since";
	else if (service->state == SERVICE_PAUSED)
		why = "its program waits for its user, because it asks for nothing";
	else if (service->ask == SERVICE_ASK_WAITS)
		why = "its program waits for the GPU or for its display";
	else
		why = "it is unknown whether its program waits for its user, because the GPU "
		      "served no other vGPU since";
	alerts_hold(tick->recorder->alerts, ALERT_QOS_NOT_GPU_BOUND, gpu, v, ms,
		    "vGPU %s gets nothing and has used no GPU time for %.0f s, and its program "
		    "lives: %s",
		    v->contract.id, service->track.silent_s, why);
}

/*
 * With guarantees, a vGPU may use more than its cap, so that its use is stated in parts of the GPU.
 */
static void hold_contract_limit(struct tick *tick, const struct host_gpu *gpu, const struct vgpu *v,
				int64_t ms)
{
	const char *name = gpu->config.name, *id = v->contract.id;
	int sold_pct = v->view.terms.initial_cap_pct;

	if (gpu->traits.observes || gpu->traits.guarantees)
		alerts_hold(tick->recorder->alerts, ALERT_CONTRACT_LIMIT, name, v, ms,
			    "vGPU %s uses %.1f %% of the GPU, and its contract is %d %%%s", id,
			    v->row.sample.load * 100, sold_pct,
			    v->view.terms.burst ? " with burst" : "");
	else if (v->view.cap_pct == sold_pct)
		alerts_hold(tick->recorder->alerts, ALERT_CONTRACT_LIMIT, name, v, ms,
			    "vGPU %s uses %.1f %% of its cap of %d %%, which is its full contract "
			    "(%d %%)",
			    id, v->row.sample.util * 100, v->view.cap_pct, sold_pct);
	else /* it has burst, or its contract is not a whole step */
		alerts_hold(tick->recorder->alerts, ALERT_CONTRACT_LIMIT, name, v, ms,
			    "vGPU %s uses %.1f %% of its cap of %d %%, and its contract is %d %%%s",
			    id, v->row.sample.util * 100, v->view.cap_pct, sold_pct,
			    v->view.terms.burst ? " with burst" : "");
}

static void hold_held_overloaded(struct tick *tick, const struct host_gpu *gpu,
				 const struct vgpu *v, int64_t ms)
{
	const char *name = gpu->config.name, *id = v->contract.id;

	if (gpu->traits.guarantees)
		alerts_hold(tick->recorder->alerts, ALERT_HELD_OVERLOADED, name, v, ms,
			    "vGPU %s uses %.1f %% of the GPU, and its cap is held at %d %%", id,
			    v->row.sample.load * 100, v->view.cap_pct);
	else
		alerts_hold(tick->recorder->alerts, ALERT_HELD_OVERLOADED, name, v, ms,
			    "vGPU %s uses %.1f %% of its cap, which is held at %d %%", id,
			    v->row.sample.util * 100, v->view.cap_pct);
}

static void hold_not_gpu_bound(struct tick *tick, const struct host_gpu *gpu, const struct vgpu *v,
			       int64_t ms)
{
	const struct policy_terms terms = host_terms(gpu, &v->contract);
	const char *unit = terms.counts_work ? "units/s" : "frames per second";
	int digits = terms.counts_work && terms.target_fps < 10 ? 2 : 1;
	bool spare = v->row.sample.util > 1;
	char use[64];

	if (spare) /* it uses more than its cap, and the GPU has unused time */
		snprintf(use, sizeof(use), "only %.1f %% of the GPU, which has unused time",
			 v->row.sample.load * 100);
	else
		snprintf(use, sizeof(use), "only %.1f %% of its cap of %d %%",
			 v->row.sample.util * 100, v->view.cap_pct);
	alerts_hold(tick->recorder->alerts, ALERT_QOS_NOT_GPU_BOUND, gpu->config.name, v, ms,
		    "vGPU %s reaches %.*f of %.*f %s and uses %s", v->contract.id, digits,
		    v->view.rate, digits, terms.target_fps, unit, use);
}

static void hold_policy_conditions(struct tick *tick, const struct host_gpu *host_gpu,
				   const struct vgpu *v, int64_t ms)
{
	const char *gpu = host_gpu->config.name, *id = v->contract.id;
	const struct policy_terms terms = host_terms(host_gpu, &v->contract);
	const char *unit = terms.counts_work ? "units/s" : "frames per second";
	int digits = terms.counts_work && terms.target_fps < 10 ? 2 : 1;
	unsigned int c = v->view.conditions;

	if (v->view.in_doubt)
		alerts_mark_unknown(tick->recorder->alerts, BUSY_TIME_ALERTS, gpu, id);
	if (host_is_unsold(host_gpu, v))
		c &= ~(unsigned int)POLICY_CONTRACT_LIMIT;
	if (!v->contract.held) /* write_failed states that the driver does not keep the cap */
		c &= ~(unsigned int)POLICY_HELD_OVERLOADED;
	if (c & POLICY_CONTRACT_LIMIT)
		hold_contract_limit(tick, host_gpu, v, ms);
	if (c & POLICY_HELD_OVERLOADED)
		hold_held_overloaded(tick, host_gpu, v, ms);
	if (v->promise.service.state != SERVICE_GIVEN)
		hold_silent(tick, gpu, v, ms);
	else if (c & POLICY_QOS_NOT_GPU_BOUND)
		hold_not_gpu_bound(tick, host_gpu, v, ms);
	if (c & POLICY_FPS_MISSING)
		alerts_hold(tick->recorder->alerts, ALERT_FPS_MISSING, gpu, v, ms,
			    "vGPU %s has a target of %.*f %s and reports none", id, digits,
			    terms.target_fps, unit);
}

static void hold_promise_broken(struct tick *tick, const struct host_gpu *gpu, const struct vgpu *v,
				int64_t ms)
{
	static const enum alert_severity severities[] = {
		[PROMISE_INFO] = ALERT_INFO,
		[PROMISE_WARNING] = ALERT_WARNING,
		[PROMISE_CRITICAL] = ALERT_CRITICAL,
	};
	enum promise_cause cause = v->promise.alarm_cause;
	const struct diagnosis *diagnosis = &v->diagnosis;

	if (!v->promise.alarm)
		return;
	alerts_hold_condition(tick->recorder->alerts,
			      &(struct alert_condition){
				      .kind = ALERT_PROMISE_BROKEN,
				      .gpu = gpu->config.name,
				      .vgpu = v,
				      .severity = severities[promise_cause_urgency(cause)],
				      .cause = promise_cause_name(cause),
				      .next = diagnosis->command[0] ? diagnosis->command : NULL,
			      },
			      ms, "%s", diagnosis->text);
}

static void hold_vgpu_conditions(struct tick *tick, const struct host_gpu *host_gpu,
				 const struct vgpu *v, int64_t ms)
{
	const char *gpu = host_gpu->config.name, *id = v->contract.id;

	if (!v->device && host_gpu->state == GPU_OPEN)
		alerts_hold(tick->recorder->alerts, ALERT_VGPU_MISSING, gpu, v, ms,
			    "vGPU %s with a contract of %d %% does not exist on GPU %s", id,
			    v->contract.terms.initial_cap_pct, gpu);
	else if (v->device)
		hold_policy_conditions(tick, host_gpu, v, ms);
	if (v->device)
		hold_promise_broken(tick, host_gpu, v, ms);
	if (v->cap.foreign && v->contract.held)
		caps_hold_foreign_alert(tick->recorder->alerts, gpu, v, ms);
	if (v->device && v->row.reading.cap_errno)
		alerts_hold(tick->recorder->alerts, ALERT_CAP_UNREADABLE, gpu, v, ms,
			    "the cap of vGPU %s cannot be read: %s; it was %d %%", id,
			    strerror(v->row.reading.cap_errno), v->cap.pct);
	if (v->device && v->cap.waits)
		alerts_hold(tick->recorder->alerts, ALERT_WRITE_FAILED, gpu, v, ms,
			    "the driver does not keep the cap of vGPU %s: %d %% was written and "
			    "acknowledged, and the cap is %d %%; lost writes in a row: %d, the "
			    "pause between two writes is at most %d s",
			    id, v->cap.write.written_pct, v->cap.pct, v->cap.write.n_lost,
			    CAP_PAUSE_MAX_S);
	else if (v->write_errno)
		alerts_hold(tick->recorder->alerts, ALERT_WRITE_FAILED, gpu, v, ms,
			    "the cap of vGPU %s could not be written: %s; the cap is %d %%", id,
			    strerror(v->write_errno), v->cap.pct);
	else if (v->device && v->memory_errno)
		alerts_hold(tick->recorder->alerts, ALERT_WRITE_FAILED, gpu, v, ms,
			    "the memory limit of vGPU %s could not be set: %s", id,
			    strerror(v->memory_errno));
	else if (v->device && v->lease_errno < 0)
		alerts_hold(tick->recorder->alerts, ALERT_WRITE_FAILED, gpu, v, ms,
			    "the lease of the cap of vGPU %s cannot be renewed: %s; the cap "
			    "expires after %d ms",
			    id, strerror(-v->lease_errno), host_gpu->config.lease_ms);
	else if (v->device && v->contract.held && v->cap.pct != v->contract.held_cap_pct)
		alerts_hold(tick->recorder->alerts, ALERT_WRITE_FAILED, gpu, v, ms,
			    "vGPU %s is held at %d %%, but its cap is %d %%", id,
			    v->contract.held_cap_pct, v->cap.pct);
}

static void hold_held_long(struct tick *tick, const char *gpu, const struct vgpu *v,
			   struct instant now)
{
	char since[CLOCK_TEXT_MAX];

	if (since_age_ms(&v->contract.held_since, now) < LONG_MS)
		return;
	clock_format(v->contract.held_since.at_ms, since);
	alerts_hold(tick->recorder->alerts, ALERT_HELD_LONG, gpu, v, now.wall_ms,
		    "vGPU %s has been on hold at %d %% since %s", v->contract.id,
		    v->contract.held_cap_pct, since);
}

static void hold_frozen_long(struct tick *tick, const struct host_gpu *gpu, struct instant now)
{
	char since[CLOCK_TEXT_MAX], next[ALERT_NEXT_MAX];

	if (since_age_ms(&gpu->frozen_since, now) < LONG_MS)
		return;
	clock_format(gpu->frozen_since.at_ms, since);
	snprintf(next, sizeof(next), "gover-ctl thaw %s", gpu->config.name);
	alerts_hold_condition(tick->recorder->alerts,
			      &(struct alert_condition){
				      .kind = ALERT_FROZEN_LONG,
				      .gpu = gpu->config.name,
				      .severity = ALERT_INFO,
				      .next = next,
			      },
			      now.wall_ms, "GPU %s has been frozen since %s", gpu->config.name,
			      since);
}

static bool is_refusing(const struct fps_refusals *refusals, struct instant now)
{
	return refusals && refusals->n > 0 && now.mono_ns < refusals->newest_ns + FPS_RETRY_NS;
}

static void hold_fps_over_limit(struct tick *tick, const char *gpu, const struct vgpu *v,
				struct instant now)
{
	const char *id = v->contract.id;
	const struct fps_refusals *refusals =
		tick->caps->frames.hub ? fps_hub_refusals(tick->caps->frames.hub, id) : NULL;

	if (is_refusing(refusals, now))
		alerts_hold(tick->recorder->alerts, ALERT_FPS_OVER_LIMIT, gpu, v, now.wall_ms,
			    "%llu connections of programs of vGPU %s were refused, because it has "
			    "%d connections",
			    (unsigned long long)refusals->n, id, refusals->held);
}

static void hold_severe_overload(struct tick *tick, const struct host_gpu *gpu, int64_t ms)
{
	const char *name = gpu->config.name;
	const struct vgpu *v = host_gpu_find_vgpu(gpu, gpu->severe_vgpu);
	double wanted_pct = gpu->promise.wanted_pct;
	char text[ALERT_TEXT_MAX] = "";

	text_append(
		text, sizeof(text),
		"two or more vGPUs on GPU %s are overloaded, and all vGPUs want %.0f %% of it (",
		name, wanted_pct);
	diagnosis_append_wants(gpu, text, sizeof(text));
	if (v)
		text_append(text, sizeof(text), "): migrating vGPU %s leaves %.0f %%",
			    v->contract.id, wanted_pct - v->promise.track.want_pct);
	else
		text_append(text, sizeof(text), "): migrate one");
	alerts_hold(tick->recorder->alerts, ALERT_SEVERE_OVERLOAD, name, v, ms, "%s", text);
}

/* Names the vGPUs of the alert: "a, b and 3 others". */
static void append_stalled(const struct host_gpu *gpu, char *text, size_t size)
{
	int n = 0;

	for (const struct vgpu *v = gpu->vgpus; v; v = v->next) {
		if (v->promise.service.state != SERVICE_STALLED)
			continue;
		if (n++ < STALLED_NAMED)
			text_append(text, size, "%s%s", n > 1 ? ", " : "", v->contract.id);
	}
	if (n > STALLED_NAMED)
		text_append(text, size, " and %d others", n - STALLED_NAMED);
}

static void hold_stalled(struct tick *tick, const struct host_gpu *gpu, int64_t ms)
{
	const struct service_gpu *service = &gpu->promise.service;
	char text[ALERT_TEXT_MAX] = "";

	if (service->stalled == 0)
		return;
	text_append(text, sizeof(text), "vGPUs ");
	append_stalled(gpu, text, sizeof(text));
	text_append(text, sizeof(text),
		    " stopped within %.1f s of each other, and their programs live: 0 frames or "
		    "units and no GPU time for %.0f s",
		    service->apart_s, service->silent_s);
	alerts_hold(tick->recorder->alerts, ALERT_GPU_STALLED, gpu->config.name, NULL, ms, "%s",
		    text);
}

/* Returns the part of the GPU that a vGPU without a contract takes, in percent. */
static double taken_pct(const struct host_gpu *gpu, const struct vgpu *v)
{
	if (!v->found || !v->device)
		return 0;
	return gpu->traits.observes ? v->promise.track.load_pct : v->cap.pct;
}

/* A vGPU without a contract is the administrator's decision while the contracts have room. */
static void hold_unsold(struct tick *tick, const struct host_gpu *gpu, int64_t ms)
{
	double sold_pct = 0, taken = 0;

	for (const struct vgpu *v = gpu->vgpus; v; v = v->next) {
		sold_pct += v->found ? 0 : v->contract.terms.initial_cap_pct;
		taken += taken_pct(gpu, v);
	}
	for (const struct vgpu *v = gpu->vgpus; v && sold_pct > 0 && sold_pct + taken > 100;
	     v = v->next)
		if (taken_pct(gpu, v) >= 1)
			alerts_hold(tick->recorder->alerts, ALERT_VGPU_UNSOLD, gpu->config.name, v,
				    ms,
				    "vGPU %s has no contract and %s %.0f %% of GPU %s, on which "
				    "contracts of %.0f %% are sold",
				    v->contract.id, gpu->traits.observes ? "uses" : "has a cap of",
				    taken_pct(gpu, v), gpu->config.name, sold_pct);
}

static void hold_stale(struct tick *tick, const struct host_gpu *gpu, struct instant now)
{
	char text[ERR_MSG_MAX];

	gpus_describe_problem(gpu, tick->settings->config.period_ms, now, text);
	alerts_hold(tick->recorder->alerts, ALERT_TELEMETRY_STALE, gpu->config.name, NULL,
		    now.wall_ms, "%s", text);
}

/* Another program created these vGPUs. */
static void hold_not_adopted(struct tick *tick, const struct host_gpu *gpu, int64_t ms)
{
	const char *name = gpu->config.name, *first = gpu->refused.vgpus[0].id;

	if (gpu->refused.n == 1)
		alerts_hold(tick->recorder->alerts, ALERT_VGPU_NOT_ADOPTED, name, NULL, ms,
			    "vGPU %s on GPU %s is not adopted, so its cap counts nowhere; the "
			    "log contains the reason",
			    first, name);
	else if (gpu->refused.n > 1)
		alerts_hold(tick->recorder->alerts, ALERT_VGPU_NOT_ADOPTED, name, NULL, ms,
			    "%d%s vGPUs on GPU %s are not adopted, so their caps count nowhere; "
			    "one of them is %s; the log contains the reasons",
			    gpu->refused.n, gpu->refused.more ? " or more" : "", name, first);
}

void tick_alerts_gpu(struct tick *tick, const struct host_gpu *gpu, const struct offer *offer,
		     struct instant now)
{
	const char *name = gpu->config.name;
	int64_t ms = now.wall_ms;
	char problem[ERR_MSG_MAX];

	if (gpu->state != GPU_OPEN)
		alerts_mark_unknown(tick->recorder->alerts, 1u << ALERT_PROMISE_BROKEN, name, NULL);
	for (const struct vgpu *v = gpu->vgpus; v; v = v->next) {
		hold_vgpu_conditions(tick, gpu, v, ms);
		hold_fps_over_limit(tick, name, v, now);
		hold_held_long(tick, name, v, now);
	}
	hold_frozen_long(tick, gpu, now);
	/*
	 * The policy signals a severe overload if two or more vGPUs are overloaded. A move to
	 * another host helps only if the vGPUs want more than the whole GPU.
	 */
	if ((gpu->view.conditions & POLICY_SEVERE_OVERLOAD) &&
	    promise_is_overcommitted(&gpu->promise))
		hold_severe_overload(tick, gpu, ms);
	else if (gpu->view.severe_in_doubt)
		alerts_mark_unknown(tick->recorder->alerts, 1u << ALERT_SEVERE_OVERLOAD, name,
				    NULL);
	if (host_gpu_sum_cap_pct(gpu) > 100)
		alerts_hold(tick->recorder->alerts, ALERT_SUM_OVER_100, name, NULL, ms,
			    "the caps on GPU %s add up to %d %%", name, host_gpu_sum_cap_pct(gpu));
	if (!gpu->telemetry_valid)
		hold_stale(tick, gpu, now);
	hold_stalled(tick, gpu, ms);
	hold_not_adopted(tick, gpu, ms);
	hold_unsold(tick, gpu, ms);
	if (gpu->igt && igt_describe_problem(gpu->igt, now.mono_ns, problem))
		alerts_hold(tick->recorder->alerts, ALERT_UTILIZATION_UNKNOWN, name, NULL, ms,
			    "physical utilisation of GPU %s is unknown: %s", name, problem);
	if (offer && offer->life.state == OFFER_FAILED)
		alerts_hold(tick->recorder->alerts, ALERT_SALE_FAILED, name, NULL, ms,
			    "offer %lld on GPU %s failed: %s", (long long)offer->id, name,
			    offer->reason);
}

/* The socket, and programs that belong to no vGPU. */
static void hold_fps_conditions(struct tick *tick, struct instant now)
{
	const struct fps_hub *hub = tick->caps->frames.hub;
	const struct fps_refusals *refusals;
	const char *problem;
	uid_t uid = 0;

	if (!hub)
		return;
	refusals = fps_hub_user_refusals(hub, &uid);
	problem = fps_hub_problem(hub);
	if (problem[0])
		alerts_hold(tick->recorder->alerts, ALERT_SOCKET_UNUSABLE, NULL, NULL, now.wall_ms,
			    "programs cannot report frames: %s", problem);
	if (is_refusing(refusals, now))
		alerts_hold(tick->recorder->alerts, ALERT_FPS_OVER_LIMIT, NULL, NULL, now.wall_ms,
			    "%llu connections of programs that belong to no vGPU were refused, "
			    "because user %u has %d connections",
			    (unsigned long long)refusals->n, (unsigned int)uid, refusals->held);
}

/* A GPU has one alert: its first leak is named. */
static bool is_further_leak(const struct fleet_report *report, size_t index)
{
	size_t i = 0;

	while (i < index && strcmp(report->leaks[i].gpu, report->leaks[index].gpu) != 0)
		i++;
	return i < index;
}

static void hold_leaks(struct tick *tick, const struct fleet_report *report, int64_t ms)
{
	for (size_t i = 0; i < report->n_leaks; i++) {
		const struct fleet_leak *leak = &report->leaks[i];

		if (is_further_leak(report, i))
			continue;
		alerts_hold(tick->recorder->alerts, ALERT_FLEET_LEAK, leak->gpu, NULL, ms,
			    "the cloud has %d allocations of flavour %s on GPU %s, and this host "
			    "has %d contracts and offers",
			    leak->used, leak->flavor, leak->gpu, leak->sold);
	}
}

/* After the time of a report, the state of the cloud is unknown: only FLEET_GONE is raised. */
static void hold_fleet_conditions(struct tick *tick, struct instant now)
{
	const struct fleet_report *report = &tick->fleet->report;
	enum fleet_state state = fleet_state_at(tick->fleet, now);
	double age_s = (double)(now.mono_ns - tick->fleet->reported.mono_ns) / NS_PER_S;
	int64_t ms = now.wall_ms;

	if (state == FLEET_GONE)
		alerts_hold(tick->recorder->alerts, ALERT_FLEET_GONE, NULL, NULL, ms,
			    "gover-fleet has not reported for %.0f s (limit %d s)", age_s,
			    report->ttl_s);
	if (state == FLEET_UNKNOWN || state == FLEET_GONE)
		return;
	if (state == FLEET_UNREACHABLE)
		alerts_hold(tick->recorder->alerts, ALERT_FLEET_UNREACHABLE, NULL, NULL, ms,
			    "gover-fleet cannot reach the cloud %s: %s", report->cloud,
			    report->problem[0] ? report->problem : "no reason was reported");
	if (report->unverified > 0)
		alerts_hold(tick->recorder->alerts, ALERT_FLEET_UNVERIFIED, NULL, NULL, ms,
			    "the cloud has not confirmed the contracts of %d virtual machines",
			    report->unverified);
	hold_leaks(tick, report, ms);
}

void tick_alerts_host(struct tick *tick, struct instant now)
{
	int64_t marked_ms;

	hold_fleet_conditions(tick, now);
	hold_fps_conditions(tick, now);
	if (xalloc_marked(&marked_ms))
		memory_mark_hold(tick->recorder->alerts, marked_ms, now.wall_ms);
	if (tick->store->result < 0)
		alerts_hold(tick->recorder->alerts, ALERT_CONTRACTS_UNSAVED, NULL, NULL,
			    now.wall_ms, "%s cannot be written: %s", tick->store->contracts_path,
			    file_error(tick->store->result));
}
