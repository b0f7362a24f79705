/* SPDX-License-Identifier: MIT */
/*
 * Runs one period: sample, check, decide, apply, account. A tick never waits for a disk or a
 * client, and allocates memory only for records.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/core/control-silence.h"
#include "gover-d/core/external-change.h"
#include "gover-d/core/frames.h"
#include "gover-d/core/ledger.h"
#include "gover-d/core/notify.h"
#include "gover-d/core/round.h"
#include "gover-d/core/state.h"
#include "gover-d/core/tick-alerts.h"
#include "gover-d/core/tick.h"
#include "gover-d/util/log.h"
#include "monitor/fps/fps.h"
#include "monitor/igt.h"

/* --- sampling --- */

static void sample_vgpu(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
			struct instant now)
{
	monitor_sample(&vgpu->monitor, gpu->ops, vgpu->device, frames_of(&m->frames, gpu, vgpu),
		       now.mono_ns, round_period_s(m, gpu), &vgpu->row);
	if (vgpu->row.gone)
		frames_forget(&m->frames, vgpu->contract.id);
}

static void read_igt(struct host_gpu *gpu, const struct igt *igt, struct instant now)
{
	struct igt_sample sample;
	double age_s;

	if (igt_latest(igt, now.mono_ns, &sample, &age_s) < 0)
		return;
	gpu->util_pct = sample.util_pct;
	if (sample.actual_mhz > 0)
		gpu->view.clock = sample.actual_mhz / igt_highest_mhz(igt);
}

static void sample_physical(struct host_gpu *gpu, struct instant now)
{
	struct igt *igt = gpu->igt;
	uint64_t at_ns, busy_ns;

	gpu->util_pct = NAN;
	gpu->view.clock = 0;
	if (igt) {
		read_igt(gpu, igt, now);
	} else if (gpu->ops->physical &&
		   gpu->ops->physical(gpu->gpu, now.mono_ns, &at_ns, &busy_ns) == 0) {
		if (gpu->phys_at_ns && at_ns > gpu->phys_at_ns && busy_ns >= gpu->phys_busy_ns)
			gpu->util_pct = 100.0 * (double)(busy_ns - gpu->phys_busy_ns) /
					(double)(at_ns - gpu->phys_at_ns);
		gpu->phys_at_ns = at_ns;
		gpu->phys_busy_ns = busy_ns;
	}
	if (!isnan(gpu->util_pct)) {
		gpu->util_sum_s += gpu->util_pct;
		gpu->util_s += 1;
	}
}

/*
 * True if the busy time could not be read. The first reading of a vGPU is not stale, because busy
 * time needs two readings.
 */
static bool is_stale(const struct vgpu *vgpu)
{
	return !vgpu->row.busy_valid && (vgpu->row.read_errno || vgpu->row.dt_s > 0);
}

static void sample_gpu(struct manager *m, struct host_gpu *gpu, struct instant now)
{
	gpu->telemetry_valid = true;
	for (struct vgpu *v = gpu->vgpus, *next; v; v = next) {
		next = v->next;
		if (!v->device)
			continue;
		sample_vgpu(m, gpu, v, now);
		if (v->row.gone)
			external_change_lose_vgpu(m, gpu, v, now);
		else if (is_stale(v))
			gpu->telemetry_valid = false;
	}
	for (struct vgpu *v = gpu->vgpus; v; v = v->next)
		if (v->device && v->row.busy_valid)
			v->read_ns = now.mono_ns;
	if (gpu->telemetry_valid)
		gpu->telemetry_at_ns = now.mono_ns;
	sample_physical(gpu, now);
}

/* --- deciding --- */

/* Stores the vGPU that the text of the alert severe_overload names. Done on a frozen GPU too. */
static void store_severe_vgpu(struct host_gpu *gpu, const struct plan_round *round)
{
	for (int i = 0; i < round->out.n_decisions; i++) {
		const struct policy_decision *pd = &round->out.decisions[i];

		if (pd->kind == POLICY_SEVERE)
			snprintf(gpu->severe_vgpu, sizeof(gpu->severe_vgpu), "%s",
				 pd->vgpu >= 0 ? round->views[pd->vgpu].id : "");
	}
}

static void decide(struct manager *m, struct host_gpu *gpu, struct plan_round *round, bool gap,
		   struct instant now)
{
	bool act = gpu->mode == GPU_MODE_ACT;

	gpu->view.gap = gap;
	round_view(m, gpu, round);
	if (host_gpu_sum_cap_pct(gpu) > 100 && gpu->mode != GPU_MODE_FROZEN) {
		/* If the caps cannot be reduced to 100 %, the alert sum_over_100 is raised. */
		(void)policy_fit(&m->params, &gpu->view, &round->out);
		(void)round_apply(m, gpu, round, act, now);
		round_view(m, gpu, round);
	} else if (gpu->lost_vgpu && act) {
		m->policy->give_back(&m->params, &gpu->view, &round->out);
		(void)round_apply(m, gpu, round, act, now);
		round_view(m, gpu, round);
	}
	m->policy->step(&m->params, &gpu->view, &round->out);
	for (int i = 0; i < gpu->view.n_vgpus; i++)
		round->viewed[i]->view = round->views[i];
	store_severe_vgpu(gpu, round);
	if (gpu->mode != GPU_MODE_FROZEN)
		(void)round_apply(m, gpu, round, act, now);
}

/* --- counting --- */

static void count_vgpu(struct manager *m, struct vgpu *v, struct offer_period *period)
{
	struct vgpu_tally *t = &v->tally;
	double dt_s = v->row.dt_s;

	if (v->row.busy_valid) {
		t->seen_s += dt_s;
		period->watched_s += dt_s;
		if (v->view.broken) {
			t->broken_s += dt_s;
			period->broken_s += dt_s;
		}
		if (v->row.util * 100 > m->params.overload_pct) {
			t->cap_error_s += dt_s;
			t->cap_error_pct_s += dt_s * fabs(v->row.load * 100 - v->sampled_cap_pct);
		}
	}
	if (v->row.fps_valid) {
		t->fps_s += dt_s;
		t->fps_sum_s += dt_s * v->row.fps;
	}
}

static bool has_unsold_since(const struct host_gpu *gpu, int64_t since_ms)
{
	const struct vgpu *v = gpu->vgpus;

	while (v && (!v->found || v->contract.created_ms < since_ms))
		v = v->next;
	return v;
}

/* Updates an open offer with the cap that can be funded now. */
static void restate_offer(struct manager *m, struct host_gpu *gpu, struct plan_round *round,
			  struct offer *offer, const struct offer_limits *limits,
			  struct instant now)
{
	int cap_pct;

	if (!gpu->telemetry_valid) {
		offers_end(m->offers, offer, OFFER_CLOSED, now,
			   "busy time of GPU %s cannot be read", gpu->config.name);
		return;
	}
	/*
	 * A vGPU that was created externally for this offer already has a cap, so no second cap is
	 * funded.
	 */
	if (has_unsold_since(gpu, offer->created_ms))
		return;
	round_view(m, gpu, round);
	cap_pct = m->policy->fund(&m->params, &gpu->view, &offer->flavor, &round->out);
	offers_restate(m->offers, offer, cap_pct, limits, now);
}

static void count_gpu(struct manager *m, struct host_gpu *gpu, struct plan_round *round,
		      struct instant now)
{
	struct offer *offer = offers_live(m->offers, gpu->config.name);
	struct offer_limits limits = {
		.min_newcomer_pct = m->params.min_newcomer_pct,
		.broken_pct = m->config.offer.probation_broken_pct,
	};
	struct offer_period period = {.severe = offer_is_severe(&gpu->view)};

	for (struct vgpu *v = gpu->vgpus; v; v = v->next) {
		if (v->device)
			count_vgpu(m, v, &period);
		v->newcomer = offer && offer->life.state == OFFER_PROBATION &&
			      strcmp(offer->vgpu, v->contract.id) == 0;
	}
	if (offer && offer->life.state == OFFER_OPEN)
		restate_offer(m, gpu, round, offer, &limits, now);
	offers_tick(m->offers, gpu->config.name, &period, &limits, now);
}

static void renew_lease(struct manager *m, struct host_gpu *gpu, struct vgpu *v, struct instant now)
{
	int r;

	if (!v->device)
		return;
	r = actuate_lease(&m->actuator, gpu, v, now);
	if (r == -ENODEV) /* the vGPU vanished, which the next reading detects */
		return;
	if (r < 0 && r != v->lease_errno)
		log_warning("vGPU %s: the lease of its cap cannot be renewed: %s", v->contract.id,
			    strerror(-r));
	v->lease_errno = r;
}

static void act_on_gpu(struct manager *m, struct host_gpu *gpu, struct plan_round *round, bool gap,
		       struct instant now)
{
	gpu->lost_vgpu = false;
	external_change_find_vgpus(m, gpu, now);
	sample_gpu(m, gpu, now);
	for (struct vgpu *v = gpu->vgpus; v; v = v->next) {
		external_change_check_cap(m, gpu, v, gap, now);
		renew_lease(m, gpu, v, now);
		v->sampled_cap_pct = v->cap_pct;
	}
	decide(m, gpu, round, gap, now);
}

static void account_gpu(struct manager *m, struct host_gpu *gpu, struct plan_round *round,
			struct instant now)
{
	count_gpu(m, gpu, round, now);
	tick_alerts_gpu(m, gpu, now);
	for (struct vgpu *v = gpu->vgpus; v; v = v->next)
		v->write_errno = 0; /* the alert has already reported the error */
}

static void time_tick(struct host *host, uint64_t due_ns)
{
	uint64_t us = (clock_now().mono_ns - due_ns) / 1000;

	host->tick_us[host->n_tick_us++ % TICKS_TIMED] =
		us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

/*
 * Sends the FPS limit of each vGPU to its programs. An error is ignored, because each tick sends
 * the limits again.
 */
static void send_fps_limits(struct manager *m)
{
	for (int i = 0; i < m->host.n_gpus; i++)
		for (const struct vgpu *v = m->host.gpus[i].vgpus; v; v = v->next) {
			double fps = v->contract.fps_limit;
			double period_ns = fps > 1 ? NS_PER_S / fps : NS_PER_S;

			(void)fps_hub_limit(m->frames.hub, v->contract.id,
					    fps > 0 ? (uint64_t)(period_ns + 0.5) : 0);
		}
}

void tick_run(struct manager *m, struct instant now, bool gap)
{
	struct plan_round *round = m->round;

	if (m->frames.hub) {
		send_fps_limits(m);
		fps_hub_collect(m->frames.hub);
	}
	for (int i = 0; i < m->host.n_gpus; i++)
		act_on_gpu(m, &m->host.gpus[i], round, gap, now);
	time_tick(&m->host, m->next_tick_ns);
	for (int i = 0; i < m->host.n_gpus; i++)
		account_gpu(m, &m->host.gpus[i], round, now);
	ledger_tick(m, now);
	frames_scan(&m->frames, now);
	tick_alerts_host(m, now);
	notify_tick(m, now);
	control_silence_expire(m, now);
	alerts_end_tick(m->alerts, now.wall_ms, gap);
	m->host.ticked = now;
	m->host.ticks++;
	m->host.gaps += gap;
	m->host.ready = true;
	observers_tick(&m->observers, &m->host, gap, now);
}
