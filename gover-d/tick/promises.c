/* SPDX-License-Identifier: MIT */
/* Passes the facts of the host to policy/promise/. */
#include <string.h>

#include "gover-d/diagnosis/diagnosis.h"
#include "gover-d/sale/selling.h"
#include "gover-d/tick/promises.h"
#include "gover-d/tick/round.h"

#define EXPLAIN_PERIODS 8 /* between two texts of a vGPU whose state is unknown */

/* What a backend sees is certain; what a program reports is a hint. */
static enum service_ask what_it_asks(const struct monitor_row *row)
{
	if (row->reading.ask == GPU_ASK_NOTHING)
		return SERVICE_ASK_NOTHING;
	if (row->reading.ask == GPU_ASK_WORK || row->present == FPS_PRESENT_WAITS)
		return SERVICE_ASK_WAITS;
	return row->present == FPS_PRESENT_OUTSIDE ? SERVICE_ASK_OUTSIDE : SERVICE_ASK_UNKNOWN;
}

static void read_service(const struct host_gpu *gpu, struct vgpu *v)
{
	struct service_vgpu *service = &v->promise.service;

	service->sample = v->row.sample;
	service->target = v->found ? 0 : host_terms(gpu, &v->contract).target_fps;
	service->delivered = v->row.fps_seen;
	service->ask = what_it_asks(&v->row);
}

/* The state of its programs is unknown now, and the open offer depended on their reports. */
static void note_reporter(struct tick *tick, const struct host_gpu *gpu, struct vgpu *v,
			  struct instant now)
{
	if (v->reported && !v->row.sample.fps_valid && v->promise.service.target > 0)
		selling_close(tick->sales, gpu, now,
			      "the frame reports of the programs of vGPU %s have ended",
			      v->contract.id);
	v->reported = v->row.sample.fps_valid;
}

void promises_read_service(struct tick *tick, struct host_gpu *gpu, bool late, struct instant now)
{
	struct service_vgpu *vgpus[POLICY_VGPUS_MAX];
	int n = 0;

	for (struct vgpu *v = gpu->vgpus; v && n < POLICY_VGPUS_MAX; v = v->next) {
		if (!v->device)
			continue;
		read_service(gpu, v);
		if (!late)
			note_reporter(tick, gpu, v, now);
		vgpus[n++] = &v->promise.service;
	}
	service_step(vgpus, n, round_period_s(tick, gpu), &gpu->promise.service);
}

void promises_forget(struct vgpu *vgpu)
{
	memset(&vgpu->promise, 0, sizeof(vgpu->promise));
	vgpu->broken_since_ms = 0;
	memset(&vgpu->diagnosis, 0, sizeof(vgpu->diagnosis));
	vgpu->reported = false;
}

/*
 * A vGPU with neither a cause nor an alarm is explained when a client asks: its words name no fix.
 * A state that is unknown has no numbers that change quickly, so its words are renewed now and
 * then only. @place: spreads the vGPUs over the periods.
 */
static void explain(const struct tick *tick, const struct host_gpu *gpu, struct vgpu *v, int place)
{
	const struct promise_vgpu *promise = &v->promise;
	bool is_due = promise->state != PROMISE_UNKNOWN || promise->alarm ||
		      promise->cause != v->diagnosis.cause ||
		      (tick->host->ticks + (uint64_t)place) % EXPLAIN_PERIODS == 0;

	if (promise->cause == PROMISE_NO_CAUSE && !promise->alarm) {
		if (v->diagnosis.text[0])
			memset(&v->diagnosis, 0, sizeof(v->diagnosis));
	} else if (is_due) {
		diagnose(&tick->settings->config, gpu, v, &v->diagnosis);
	}
}

void promises_judge(struct tick *tick, struct host_gpu *gpu, struct instant now)
{
	const struct plan_round *round = tick->round;
	struct promise_vgpu *vgpus[POLICY_VGPUS_MAX];

	gpu->promise.telemetry_valid = gpu->telemetry_valid;
	gpu->promise.acts = gpu->mode == GPU_MODE_ACT && !tick->settings->dry_run;
	gpu->promise.observes = gpu->traits.observes;
	gpu->promise.hard_caps = gpu->traits.share == GPU_HARD_CAP;
	for (int i = 0; i < gpu->view.n_vgpus; i++) {
		struct vgpu *v = round->viewed[i];

		vgpus[i] = &v->promise;
		v->promise.foreign = v->cap.foreign;
		v->promise.write_failed = v->write_errno || round_failed_lately(v, now);
	}
	promise_step(&tick->settings->params, &tick->settings->config.promise, &gpu->view,
		     &gpu->promise, vgpus);
	for (int i = 0; i < gpu->view.n_vgpus; i++) {
		struct vgpu *v = round->viewed[i];

		if (v->promise.state == PROMISE_KEPT)
			v->broken_since_ms = 0;
		else if (v->promise.state == PROMISE_BROKEN && v->broken_since_ms == 0)
			v->broken_since_ms = now.wall_ms;
		explain(tick, gpu, v, i);
	}
}

void promises_resume(struct tick *tick)
{
	for (size_t i = 0; i < alerts_count(tick->recorder->alerts); i++) {
		const struct alert *alert = alerts_at(tick->recorder->alerts, i);
		struct vgpu *v = host_find_vgpu(tick->host, alert->vgpu, NULL);

		if (alert->kind != ALERT_PROMISE_BROKEN || alert->cleared_ms || !v)
			continue;
		promise_resume(&v->promise, &tick->settings->config.promise,
			       promise_cause_find(alert->cause));
		v->broken_since_ms = alert->raised_ms;
	}
}
