/* SPDX-License-Identifier: MIT */
/* Passes the facts of the host to policy/promise/. */
#include "gover-d/core/promises.h"
#include "gover-d/core/state.h"

void promises_judge(struct manager *m, struct host_gpu *gpu, const struct plan_round *round,
		    struct instant now)
{
	struct promise_vgpu *vgpus[POLICY_VGPUS_MAX];

	gpu->promise.telemetry_valid = gpu->telemetry_valid;
	gpu->promise.acts = gpu->mode == GPU_MODE_ACT && !m->actuator.dry_run;
	gpu->promise.observes = gpu->traits.observes;
	gpu->promise.hard_caps = gpu->traits.share == GPU_HARD_CAP;
	for (int i = 0; i < gpu->view.n_vgpus; i++) {
		struct vgpu *v = round->viewed[i];

		vgpus[i] = &v->promise;
		v->promise.dt_s = v->row.dt_s;
		v->promise.foreign = v->foreign;
		v->promise.write_failed = v->write_errno || round_failed_lately(v, now);
	}
	promise_step(&m->params, &m->config.promise, &gpu->view, &gpu->promise, vgpus);
	for (int i = 0; i < gpu->view.n_vgpus; i++) {
		struct vgpu *v = round->viewed[i];

		if (v->promise.state == PROMISE_KEPT)
			v->broken_since_ms = 0;
		else if (v->promise.state == PROMISE_BROKEN && v->broken_since_ms == 0)
			v->broken_since_ms = now.wall_ms;
	}
}

void promises_resume(struct manager *m)
{
	for (size_t i = 0; i < alerts_count(m->alerts); i++) {
		const struct alert *alert = alerts_at(m->alerts, i);
		struct vgpu *v = host_find_vgpu(&m->host, alert->vgpu, NULL);

		if (alert->kind != ALERT_PROMISE_BROKEN || alert->cleared_ms || !v)
			continue;
		promise_resume(&v->promise, &m->config.promise, promise_cause_find(alert->cause));
		v->broken_since_ms = alert->raised_ms;
	}
}
