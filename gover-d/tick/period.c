/* SPDX-License-Identifier: MIT */
/*
 * Runs one period: sample, check, decide, apply, account. A tick never waits for a disk or a
 * client, and allocates memory only for records.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gover-d/cap/adopt.h"
#include "gover-d/cap/caps.h"
#include "gover-d/cap/frames.h"
#include "gover-d/cap/gpus.h"
#include "gover-d/record/notify.h"
#include "gover-d/sale/selling.h"
#include "gover-d/tick/learned.h"
#include "gover-d/tick/ledger.h"
#include "gover-d/tick/period.h"
#include "gover-d/tick/promises.h"
#include "gover-d/tick/round.h"
#include "gover-d/tick/tick-alerts.h"
#include "gover-d/util/log.h"
#include "monitor/fps/fps.h"
#include "monitor/igt.h"

#define SWEEP_WAIT_NS	(250 * NS_PER_MS)
#define CEILING_PERIODS 60 /* time between two writes of an unchanged ceiling */

_Static_assert(GPU_IO_VGPUS_MAX >= POLICY_VGPUS_MAX, "a sweep reads all vGPUs of a GPU");

/* --- sampling --- */

/*
 * Longest time for which a tick waits for a sweep. The results of a slower sweep are used by a
 * later tick.
 */
static uint64_t sweep_wait_ns(const struct tick *tick)
{
	uint64_t half_ns = settings_period_ns(tick->settings) / 2;

	return half_ns < SWEEP_WAIT_NS ? half_ns : SWEEP_WAIT_NS;
}

/* Returns false if the GPU is not open, or if its last sweep has not ended. */
static bool start_sweep(struct tick *tick, struct host_gpu *gpu, struct instant now)
{
	struct gpu_io_sweep *sweep = gpu_io_next_sweep(gpu->io);
	int n = 0;

	if (!sweep)
		return false;
	for (struct vgpu *v = gpu->vgpus; v && n < GPU_IO_VGPUS_MAX; v = v->next) {
		if (!v->device)
			continue;
		sweep->samples[n++] = (struct gpu_io_sample){
			.device = v->device,
			.lease_ms = actuate_plan_lease(&tick->caps->actuator, gpu, v),
		};
		v->sweep_place = n;
	}
	sweep->n_samples = n;
	sweep->slow_ns = settings_period_ns(tick->settings) / 2;
	sweep->lists = adopt_list_due(tick->caps, gpu);
	gpu->sweep_started_ns = now.mono_ns;
	gpu_io_start_sweep(gpu->io, now.mono_ns);
	return true;
}

static const struct gpu_io_sample *sample_of(const struct gpu_io_sweep *sweep,
					     const struct vgpu *vgpu)
{
	int index = vgpu->sweep_place - 1;
	bool swept = index >= 0 && index < sweep->n_samples &&
		     sweep->samples[index].device == vgpu->device;

	return swept ? &sweep->samples[index] : NULL;
}

/* Uses the reading of the sweep. A vGPU that was adopted after the sweep is read now. */
static void sample_vgpu(struct tick *tick, struct host_gpu *gpu, struct vgpu *vgpu,
			const struct gpu_io_sweep *sweep, struct instant now)
{
	const struct gpu_io_sample *sample = sweep ? sample_of(sweep, vgpu) : NULL;
	struct gpu_reading reading;
	int error = -ETIMEDOUT;

	if (sample) {
		error = sample->read_error;
		reading = sample->reading;
		vgpu->cap_read_ns = sample->read_ns;
	} else if (sweep) {
		error = gpu_io_read(gpu->io, vgpu->device, now.mono_ns, &reading);
		vgpu->cap_read_ns = now.mono_ns;
	}
	monitor_sample(&vgpu->monitor, error, &reading, frames_of(&tick->caps->frames, gpu, vgpu),
		       round_period_s(tick, gpu), gpu_speed(&gpu->config), &vgpu->row);
	if (vgpu->row.gone)
		frames_forget(&tick->caps->frames, vgpu->contract.id);
}

static void read_igt(struct host_gpu *gpu, struct igt *igt, struct instant now)
{
	struct igt_sample sample;
	double age_s;

	gpus_dispatch_igt(gpu, now);
	if (igt_latest(igt, now.mono_ns, &sample, &age_s) < 0)
		return;
	gpu->util_pct = sample.util_pct;
	if (sample.actual_mhz > 0)
		gpu->clock = sample.actual_mhz / igt_highest_mhz(igt);
}

static void sample_physical(struct host_gpu *gpu, const struct gpu_io_sweep *sweep,
			    struct instant now)
{
	struct igt *igt = gpu->igt;

	gpu->util_pct = NAN;
	gpu->clock = 0;
	if (igt) {
		read_igt(gpu, igt, now);
	} else if (sweep && sweep->physical_valid) {
		uint64_t at_ns = sweep->physical_at_ns, busy_ns = sweep->physical_busy_ns;

		if (gpu->phys_at_ns && at_ns > gpu->phys_at_ns && busy_ns >= gpu->phys_busy_ns)
			gpu->util_pct = 100.0 * (double)(busy_ns - gpu->phys_busy_ns) /
					(double)(at_ns - gpu->phys_at_ns);
		gpu->phys_at_ns = at_ns;
		gpu->phys_busy_ns = busy_ns;
	} else if (sweep) {
		gpu->phys_at_ns = 0; /* the use until the next reading is unknown */
	}
	if (!isnan(gpu->util_pct)) {
		gpu->util_sum_s += gpu->util_pct;
		gpu->util_s += 1;
	}
}

/*
 * A single late or missing sweep is only a gap. A GPU that is always too slow for its period has
 * nothing but gaps, so its telemetry is invalid.
 */
static bool is_in_time(struct host_gpu *gpu, const struct gpu_io_sweep *sweep, bool late,
		       struct instant now)
{
	uint64_t took_ns = sweep ? sweep->took_ns : now.mono_ns - gpu->sweep_started_ns;

	gpu->sweep_s = (double)took_ns / NS_PER_S;
	if (gpu->missed_sweeps > 0)
		host_gpu_check_caps(gpu);
	gpu->missed_sweeps = sweep && !late ? 0 : gpu->missed_sweeps + 1;
	return gpu->state == GPU_OPEN && gpu->missed_sweeps <= 1;
}

/*
 * @sweep NULL: the GPU did not answer in time. @late: the sweep was started by an earlier tick.
 * Returns true if a vGPU without a contract has vanished.
 */
static bool sample_gpu(struct tick *tick, struct host_gpu *gpu, const struct gpu_io_sweep *sweep,
		       bool late, struct instant now)
{
	bool attached = false, lost = false;

	gpu->telemetry_valid = is_in_time(gpu, sweep, late, now);
	if (sweep) {
		gpu->round = sweep->round;
		gpu->problem = sweep->problem;
		gpu->source = sweep->source;
	}
	/* Without a vGPU, no reading would show that the use is unknown. */
	if (gpu->problem.msg[0])
		gpu->telemetry_valid = false;
	for (struct vgpu *v = gpu->vgpus, *next; v; v = next) {
		next = v->next;
		if (!v->device)
			continue;
		sample_vgpu(tick, gpu, v, sweep, now);
		if (v->row.gone) {
			lost |= v->found;
			round_forget(v);
			promises_forget(v);
			adopt_lose(tick->caps, gpu, v, now);
			continue;
		}
		attached = true;
		/* The first reading is not stale, because busy time needs two readings. */
		if (sweep && !v->row.sample.busy_valid &&
		    (v->row.read_errno || v->row.sample.dt_s > 0))
			gpu->telemetry_valid = false;
	}
	if (gpu->list_errno && !attached) /* for example, its driver was removed */
		gpu->telemetry_valid = false;
	for (struct vgpu *v = gpu->vgpus; v; v = v->next)
		if (v->device && v->row.sample.busy_valid)
			v->read_ns = v->cap_read_ns;
	if (sweep && gpu->telemetry_valid)
		gpu->telemetry_at_ns = now.mono_ns;
	sample_physical(gpu, sweep, now);
	return lost;
}

/* --- counting --- */

static void count_period(const struct host_gpu *gpu, const struct vgpu *v,
			 struct offer_period *period)
{
	if (!v->row.sample.busy_valid)
		return;
	period->watched_s += v->row.sample.dt_s;
	if (offer_counts_broken(&gpu->view, &v->view))
		period->broken_s += v->row.sample.dt_s;
}

static bool has_unsold_since(const struct host_gpu *gpu, int64_t since_ms)
{
	const struct vgpu *v = gpu->vgpus;

	while (v && (!v->found || v->contract.created_ms < since_ms))
		v = v->next;
	return v;
}

static struct offer_limits offer_limits(const struct tick *tick)
{
	return (struct offer_limits){
		.min_newcomer_pct = tick->settings->params.min_newcomer_pct,
		.broken_pct = tick->settings->config.offer.probation_broken_pct,
	};
}

/* Updates an open offer with the caps that can be funded now. */
static void restate_offer(struct tick *tick, struct host_gpu *gpu, struct offer *offer,
			  struct instant now)
{
	struct offer_limits limits = offer_limits(tick);
	int funded_pct[OFFERED_MAX];

	/*
	 * A vGPU that was created externally for this offer already has a cap, so no second cap is
	 * funded.
	 */
	if (has_unsold_since(gpu, offer->created_ms))
		return;
	round_view(tick, gpu);
	for (int i = 0; i < offer->n_flavors; i++)
		funded_pct[i] =
			tick->settings->policy->fund(&tick->settings->params, &gpu->view,
						     &offer->flavors[i].terms, &tick->round->out);
	offers_restate(tick->sales->offers, offer, funded_pct, &limits, now);
}

/*
 * Counts one period of the live offer of @gpu, and returns this offer, which may have ended; NULL:
 * none.
 */
static const struct offer *count_offer(struct tick *tick, struct host_gpu *gpu, struct instant now)
{
	struct offer_period period = {.severe = offer_is_severe(&gpu->view)};
	struct offer_limits limits = offer_limits(tick);
	struct offer *offer = offers_live(tick->sales->offers, gpu->config.name);
	const struct vgpu *newcomer;

	if (!offer)
		return NULL;
	for (const struct vgpu *v = gpu->vgpus; v; v = v->next)
		if (v->device)
			count_period(gpu, v, &period);
	newcomer = host_gpu_find_vgpu(gpu, offer->vgpu);
	/* Such a period shows nothing about a sale on probation. */
	if (!gpu->telemetry_valid || service_is_missing(&gpu->promise.service) ||
	    (newcomer && !newcomer->device))
		period.unserved_ns = settings_period_ns(tick->settings);
	offers_tick(tick->sales->offers, offer, &period, &limits, now);
	return offer;
}

static void note_sharing(struct host_gpu *gpu, const struct gpu_io_sweep *sweep)
{
	const char *name = gpu->config.name;
	int r = sweep->sharing_result;

	if (r > 0 && r != gpu->sharing_result)
		log_warning("GPU %s: its sharing was changed externally to %s and is set again",
			    name, sweep->sharing_was);
	else if (r < 0 && r != gpu->sharing_result)
		log_error("GPU %s: its sharing cannot be checked or set again: %s", name,
			  strerror(-r));
	gpu->sharing_result = r;
}

/* @sweep and @late: see sample_gpu() */
static void act_on_gpu(struct tick *tick, struct host_gpu *gpu, const struct gpu_io_sweep *sweep,
		       bool late, bool gap, struct instant now)
{
	unsigned place = 0; /* spreads the rewrites over the periods */
	bool lost;

	if (sweep && sweep->lists) {
		note_sharing(gpu, sweep);
		adopt_listed(tick->caps, gpu, sweep, now);
	}
	lost = sample_gpu(tick, gpu, sweep, late, now);
	for (struct vgpu *v = gpu->vgpus; v; v = v->next) {
		const struct gpu_io_sample *sample =
			sweep && v->device ? sample_of(sweep, v) : NULL;

		caps_check_sample(tick->caps, gpu, v, gap || late, now);
		if (sample)
			caps_note_lease(v, sample);
		v->sampled_cap_pct = v->cap.pct;
		if (!sweep || !v->device || gpu->mode == GPU_MODE_OBSERVE)
			continue;
		if (gpu->traits.limits_memory && !v->found)
			(void)actuate_memory(&tick->caps->actuator, gpu, v, v->contract.memory_mib);
		if (gpu->traits.guarantees)
			actuate_ceiling(&tick->caps->actuator, gpu, v,
					(tick->host->ticks + place++) % CEILING_PERIODS == 0);
	}
	if (sweep && host_gpu_take_caps_check(gpu))
		round_adopt_caps(tick, gpu, now);
	promises_read_service(tick, gpu, gap || late || !sweep, now);
	round_step(tick, gpu, gap || late || !sweep, sweep, lost, now);
	promises_judge(tick, gpu, now);
	if (sweep && gpu->mode != GPU_MODE_FROZEN)
		(void)round_apply(tick, gpu, gpu->mode == GPU_MODE_ACT, now);
	round_migrate(tick, gpu);
}

/* A GPU that was opened after the start has contracts whose vGPUs are not adopted yet. */
static void adopt_opened(struct tick *tick, struct host_gpu *gpu, struct instant now)
{
	adopt_gpu(tick->caps, gpu, now);
	gpus_open_igt(gpu, &tick->settings->config);
}

static void open_closed(struct tick *tick, struct instant now)
{
	struct host_gpu *found;

	for (int i = 0; i < tick->host->n_gpus; i++) {
		struct host_gpu *gpu = &tick->host->gpus[i];

		if (gpu->state != GPU_OPEN && gpus_retry_open(gpu, now))
			adopt_opened(tick, gpu, now);
	}
	while (tick->host->n_absent > 0 && (found = gpus_find_absent(tick->host, now)))
		adopt_opened(tick, found, now);
}

/*
 * Starts the sweeps of all GPUs, then waits for each of them, but for no GPU longer than
 * sweep_wait_ns() after the start of the tick.
 */
static void act_on_gpus(struct tick *tick, bool gap, struct instant now)
{
	const struct gpu_io_sweep *late[GPUS_MAX];
	bool started[GPUS_MAX];
	bool paper_mode = tick->settings->config.params.paper_mode;
	uint64_t wait_ns = sweep_wait_ns(tick), until_ns = clock_now().mono_ns + wait_ns;

	open_closed(tick, now);
	for (int i = 0; i < tick->host->n_gpus; i++) {
		struct host_gpu *gpu = &tick->host->gpus[i];

		if (gpu->paper_mode != paper_mode)
			gpus_follow_paper_mode(gpu, paper_mode);
		/* the results of an earlier sweep that was too slow for its tick */
		late[i] = gpu_io_take_sweep(gpu->io, 0);
		if (late[i] && late[i]->took_ns <= wait_ns)
			late[i] = NULL;
		started[i] = !late[i] && start_sweep(tick, gpu, now);
	}
	for (int i = 0; i < tick->host->n_gpus; i++) {
		struct host_gpu *gpu = &tick->host->gpus[i];
		const struct gpu_io_sweep *sweep = late[i];

		if (started[i])
			sweep = gpu_io_take_sweep(gpu->io, until_ns);
		act_on_gpu(tick, gpu, sweep, late[i], gap, now);
		if (late[i])
			(void)start_sweep(tick, gpu, now);
	}
}

static void account_gpu(struct tick *tick, struct host_gpu *gpu, struct instant now)
{
	const struct offer *offer = count_offer(tick, gpu, now);

	tick_alerts_gpu(tick, gpu, offer, now);
	actuate_end_tick(gpu);
	if (learned_has_changed(gpu))
		learned_save(tick, gpu);
}

static void time_tick(struct host *host, uint64_t due_ns)
{
	uint64_t us = (clock_now().mono_ns - due_ns) / 1000;

	host->tick_us[host->n_tick_us++ % TICKS_TIMED] =
		us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
	host_count_delay(&host->tick_duration, (double)us / 1e6);
}

/*
 * Sends the FPS limit of each vGPU to its programs. An error is ignored, because each tick sends
 * the limits again.
 */
static void send_fps_limits(struct tick *tick)
{
	for (int i = 0; i < tick->host->n_gpus; i++)
		for (const struct vgpu *v = tick->host->gpus[i].vgpus; v; v = v->next) {
			double fps = v->contract.fps_limit;
			double period_ns = fps > 1 ? NS_PER_S / fps : NS_PER_S;

			fps_hub_limit(tick->caps->frames.hub, v->contract.id,
				      fps > 0 ? (uint64_t)(period_ns + 0.5) : 0);
		}
}

static void expire_silences(struct tick *tick, struct instant now)
{
	struct db_silence silence;
	bool expired = false;

	while (silences_expire(&tick->recorder->silences, now.wall_ms, &silence)) {
		silence.ended_ms = now.wall_ms;
		record_silence(tick->recorder, &silence, now);
		expired = true;
	}
	/* Otherwise it would be in force again after a restart if the clock is set back. */
	if (expired)
		save_soon(tick->store);
}

void period_run(struct tick *tick, struct instant now, bool gap)
{
	if (host_follow_clock(tick->host, now))
		save_soon(tick->store);
	if (tick->caps->frames.hub) {
		send_fps_limits(tick);
		fps_hub_collect(tick->caps->frames.hub);
	}
	act_on_gpus(tick, gap, now);
	time_tick(tick->host, tick->next_ns);
	for (int i = 0; i < tick->host->n_gpus; i++)
		account_gpu(tick, &tick->host->gpus[i], now);
	ledger_count_samples(tick, now);
	ledger_tick(tick, now);
	if (tick->caps->frames.bpf)
		frames_scan(&tick->caps->frames, now);
	tick_alerts_host(tick, now);
	if (tick->notifier->webhook)
		notify_tick(tick->notifier, now);
	observers_pass(&tick->recorder->observers, conditions, tick->recorder->alerts, now);
	if (tick->recorder->silences.n > 0)
		expire_silences(tick, now);
	alerts_end_tick(tick->recorder->alerts, now.wall_ms, gap);
	for (int i = 0; i < tick->host->n_gpus; i++) {
		struct offer *offer = selling_tick(tick->sales, &tick->host->gpus[i], now);

		if (offer)
			restate_offer(tick, &tick->host->gpus[i], offer, now);
	}
	tick->host->ticked = now;
	tick->host->ticks++;
	tick->host->gaps += gap;
	tick->host->ready = true;
	observers_pass(&tick->recorder->observers, tick, tick->host, gap, now);
}
