/* SPDX-License-Identifier: MIT */
/*
 * Prepares a GPU for a call of the policy and carries out what the policy planned: writes the caps,
 * records each decision, opens offers and requests migrations.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "gover-d/cap/caps.h"
#include "gover-d/diagnosis/diagnosis.h"
#include "gover-d/record/record.h"
#include "gover-d/sale/selling.h"
#include "gover-d/tick/ledger.h"
#include "gover-d/tick/round.h"

/* --- before the policy --- */

/* Begins a period: sets the members of the view that do not change in it. */
static void begin(const struct tick *tick, struct host_gpu *gpu, bool gap, struct instant now)
{
	bool work = host_gpu_unit(gpu, NULL) == GPU_WORK;

	gpu->view.gap = gap;
	gpu->view.migrates =
		tick->settings->config.on_migrate[0] || fleet_migrates(tick->fleet, now);
	gpu->view.selling = selling_allowed(tick->sales, gpu, NULL);
	gpu->view.n_flavors = tick->settings->n_offered;
	for (int i = 0; i < gpu->view.n_flavors; i++) {
		const struct flavor *flavor = &tick->settings->offered[i];

		gpu->view.flavors[i] = (struct policy_terms){
			.initial_cap_pct = flavor->cap_pct,
			.target_fps = work ? flavor->target_rate : flavor->target_fps,
			.counts_work = work,
			.weight = 1,
		};
	}
}

void round_view(struct tick *tick, struct host_gpu *gpu)
{
	struct plan_round *round = tick->round;
	const struct offer *offer = offers_live(tick->sales->offers, gpu->config.name);
	const char *newcomer = offer && offer->life.state == OFFER_PROBATION ? offer->vgpu : "";
	struct policy_terms terms;
	int n = 0;

	gpu->view.absent = (struct policy_absent){.n = 0};
	for (struct vgpu *v = gpu->vgpus; v && n < POLICY_VGPUS_MAX; v = v->next) {
		terms = host_terms(gpu, &v->contract);
		if (!v->device) {
			policy_add_absent(&gpu->view, &terms, &v->policy, v->cap.pct);
			continue;
		}
		round->viewed[n] = v;
		/* Its part is all that it can expect. */
		if (host_is_unsold(gpu, v))
			terms.initial_cap_pct = v->cap.pct;
		round->views[n++] = (struct policy_vgpu){
			.id = v->contract.id,
			.terms = terms,
			.track = &v->policy,
			.held = v->contract.held || v->cap.waits,
			.newcomer = strcmp(v->contract.id, newcomer) == 0,
			.cap_pct = v->cap.pct,
			.sample = v->row.sample,
			.service = service_for_policy(&v->promise.service),
			.want_cap_pct = v->cap.pct,
		};
	}
	gpu->view.name = gpu->config.name;
	gpu->view.step_pct = gpu->traits.step_pct;
	gpu->view.floor_pct = gpu->traits.floor_pct;
	gpu->view.sharing = gpu->traits.guarantees ? POLICY_SHARING_GUARANTEE : POLICY_SHARING_HARD;
	gpu->view.clock = gpu->clock;
	gpu->view.period_s = round_period_s(tick, gpu);
	gpu->view.offered = offer;
	gpu->view.vgpus = round->views;
	gpu->view.n_vgpus = n;
}

/* --- after the policy --- */

static json_t *encode_numbers(const struct policy_decision *pd)
{
	json_t *numbers = json_object();

	for (int i = 0; i < pd->n_numbers; i++)
		(void)json_object_set_new(numbers, pd->numbers[i].name,
					  json_real(pd->numbers[i].value));
	return numbers;
}

static json_t *encode_moves(const struct actuate_move *moves, int n)
{
	json_t *array = json_array();

	for (int i = 0; i < n; i++) {
		json_t *back = moves[i].read_back_pct < 0 ? json_null()
							  : json_integer(moves[i].read_back_pct);

		(void)json_array_append_new(
			array, json_pack("{s:s, s:i, s:i, s:o}", "vgpu", moves[i].vgpu->contract.id,
					 "from_pct", moves[i].from_pct, "to_pct", moves[i].to_pct,
					 "read_back_pct", back));
	}
	return array;
}

static void fill_moves(struct plan_round *round, const struct policy_decision *pd)
{
	for (int i = 0; i < pd->n_moves; i++) {
		const struct policy_move *planned = &round->out.moves[pd->first_move + i];
		struct vgpu *v = round->viewed[planned->vgpu];

		round->moves[i] = (struct actuate_move){
			.vgpu = v,
			.from_pct = v->cap.pct,
			.to_pct = v->cap.pct + planned->to_pct - planned->from_pct,
			.read_back_pct = -1,
			.foreign_pct = -1,
		};
	}
}

/* @stale: an external change was found earlier in this plan, so the rest of the plan is dropped. */
static enum decision_result apply_moves(struct tick *tick, struct host_gpu *gpu,
					struct plan_round *round, const struct policy_decision *pd,
					bool act, bool stale, struct instant now)
{
	const char *kind = policy_kind_name(pd->kind);
	int r;

	fill_moves(round, pd);
	if (tick->settings->dry_run)
		return DECISION_DRY_RUN;
	if (!act || gpu->traits.observes)
		return DECISION_OBSERVED;
	if (pd->n_moves == 0)
		return DECISION_NOTED;
	if (stale)
		return DECISION_DROPPED;
	r = actuate_moves(&tick->caps->actuator, gpu, round->moves, (size_t)pd->n_moves, kind, now);
	for (int i = 0; r == -ESTALE && i < pd->n_moves; i++)
		if (round->moves[i].foreign_pct >= 0)
			caps_check_found(tick->caps, gpu, round->moves[i].vgpu,
					 round->moves[i].foreign_pct, now);
	if (r == -ESTALE)
		return DECISION_DROPPED;
	if (pd->kind == POLICY_STEAL || pd->kind == POLICY_WAKE)
		ledger_count_steals(round->moves, pd->n_moves);
	return r == 0 ? DECISION_WRITTEN : DECISION_FAILED;
}

/* Opens an offer of the admitted flavours. */
static void open_offer(struct tick *tick, struct host_gpu *gpu, const struct policy_decision *pd,
		       struct instant now)
{
	struct offer_flavor listed[OFFERED_MAX];
	const struct flavor *flavors = tick->settings->offered;
	int n = 0;

	for (int i = 0; i < tick->settings->n_offered; i++) {
		if (pd->fundable_pct[i] == 0)
			continue;
		memcpy(listed[n].name, flavors[i].name, sizeof(listed[n].name));
		listed[n].terms = gpu->view.flavors[i];
		listed[n++].fundable_pct = pd->fundable_pct[i];
	}
	(void)offers_open(tick->sales->offers, gpu->config.name, listed, n,
			  tick->settings->config.offer.ttl_s, now);
}

void round_migrate(struct tick *tick, struct host_gpu *gpu)
{
	bool severe = gpu->view.conditions & POLICY_SEVERE_OVERLOAD;
	const struct vgpu *v;
	char why[POLICY_WHY_MAX];

	if (!severe && !gpu->view.severe_in_doubt)
		gpu->migration_due = false;
	if (!severe || !gpu->migration_due || gpu->mode != GPU_MODE_ACT ||
	    !promise_is_overcommitted(&gpu->promise))
		return;
	v = host_gpu_find_vgpu(gpu, gpu->severe_vgpu);
	if (!v || !v->device)
		v = diagnosis_best_move(gpu);
	if (!v)
		return;
	gpu->migration_due = false;
	snprintf(why, sizeof(why),
		 "two or more vGPUs on GPU %s are overloaded, and all vGPUs want %.0f %% of it; "
		 "migrating %s leaves %.0f %%",
		 gpu->config.name, gpu->promise.wanted_pct, v->contract.id,
		 gpu->promise.wanted_pct - v->promise.track.want_pct);
	observers_pass(&tick->recorder->observers, migrate,
		       &(struct migration){.event = "severe_overload",
					   .gpu = gpu->config.name,
					   .vgpu = v->contract.id,
					   .vm = v->contract.vm,
					   .why = why});
}

/*
 * True if the decision need not be recorded now. A decision that is not applied recurs in every
 * period, so it is recorded only once a minute.
 */
static bool is_repeated(struct host_gpu *gpu, const struct policy_decision *pd, const char *id,
			struct instant now)
{
	uint64_t last_ns = gpu->reported[pd->kind].at_ns;
	char *last_vgpu = gpu->reported[pd->kind].vgpu;

	if (last_ns && now.mono_ns - last_ns < ROUND_REPEAT_NS && strcmp(last_vgpu, id) == 0)
		return true;
	gpu->reported[pd->kind].at_ns = now.mono_ns;
	snprintf(last_vgpu, ID_MAX, "%s", id);
	return false;
}

/*
 * True if the failed decision need not be recorded now. A cap write that fails may be planned again
 * in each period, so the same failure is recorded only once a minute.
 */
static bool is_failed_again(struct vgpu *vgpu, const char *why, struct instant now)
{
	uint64_t hash = hash_text(why);

	if (round_failed_lately(vgpu, now) && vgpu->failed.why == hash)
		return true;
	vgpu->failed.at_ns = now.mono_ns;
	vgpu->failed.why = hash;
	return false;
}

/* True if the decision with @result need not be recorded, because the same one was lately. */
static bool is_known(struct host_gpu *gpu, struct plan_round *round,
		     const struct policy_decision *pd, enum decision_result result,
		     struct instant now)
{
	struct vgpu *vgpu = pd->vgpu >= 0 ? round->viewed[pd->vgpu] : NULL;

	if (result == DECISION_OBSERVED || result == DECISION_DRY_RUN)
		return is_repeated(gpu, pd, vgpu ? vgpu->contract.id : "", now);
	if (vgpu && result == DECISION_FAILED)
		return is_failed_again(vgpu, pd->why, now);
	if (vgpu && result == DECISION_WRITTEN)
		vgpu->failed.at_ns = 0;
	return false;
}

/* Records decision @pd with its @result. The moves of the decision are in round->moves. */
static void record(struct tick *tick, const struct host_gpu *gpu, const struct policy_decision *pd,
		   enum decision_result result, struct instant now)
{
	struct plan_round *round = tick->round;
	struct decision d = {
		.ts_ms = now.wall_ms,
		.kind = (enum decision_kind)pd->kind,
		.result = result,
		.why = pd->why,
		.numbers = encode_numbers(pd),
		.moves = encode_moves(round->moves, pd->n_moves),
	};
	struct vgpu *about[POLICY_MOVES_MAX + 1];
	int n = 0;

	snprintf(d.gpu, sizeof(d.gpu), "%s", gpu->config.name);
	snprintf(d.vgpu, sizeof(d.vgpu), "%s", pd->vgpu >= 0 ? round->views[pd->vgpu].id : "");
	snprintf(d.donor, sizeof(d.donor), "%s", pd->donor >= 0 ? round->views[pd->donor].id : "");
	for (int i = 0; i < pd->n_moves; i++)
		about[n++] = round->moves[i].vgpu;
	if (pd->vgpu >= 0)
		about[n++] = round->viewed[pd->vgpu];
	record_add(tick->recorder, &d, about, n);
}

int round_apply(struct tick *tick, struct host_gpu *gpu, bool act, struct instant now)
{
	struct plan_round *round = tick->round;
	int r = 0;

	for (int i = 0; i < round->out.n_decisions; i++) {
		const struct policy_decision *pd = &round->out.decisions[i];
		enum decision_result result;

		if (gpu->traits.observes && pd->n_moves > 0)
			continue; /* no operator can follow this advice */
		result = apply_moves(tick, gpu, round, pd, act, r == -ESTALE, now);
		if (result == DECISION_DROPPED)
			r = -ESTALE;
		else if (result == DECISION_FAILED && r == 0)
			r = -EIO;
		if (is_known(gpu, round, pd, result, now))
			continue;
		record(tick, gpu, pd, result, now);
		if (!act || tick->settings->dry_run)
			continue;
		if (pd->kind == POLICY_OFFER)
			open_offer(tick, gpu, pd, now);
		else if (pd->kind == POLICY_SEVERE && pd->vgpu >= 0)
			gpu->migration_due = true;
	}
	return r;
}

int round_check(struct tick *tick, struct host_gpu *gpu, struct vgpu *vgpu, struct instant now,
		struct err *reterr)
{
	const struct plan_round *round = tick->round;
	int foreign = 0;

	/* Check @vgpu last: if several caps were changed, the error then names @vgpu. */
	for (int i = 0; i < round->out.n_moves; i++) {
		const struct policy_move *move = &round->out.moves[i];

		if (move->to_pct != move->from_pct && round->viewed[move->vgpu] != vgpu)
			foreign += caps_check_now(tick->caps, gpu, round->viewed[move->vgpu], now,
						  reterr);
	}
	if (vgpu && vgpu->device)
		foreign += caps_check_now(tick->caps, gpu, vgpu, now, reterr);
	return foreign > 0 ? CONTROL_E_FOREIGN_CAP : 0;
}

/* --- a period --- */

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

void round_step(struct tick *tick, struct host_gpu *gpu, bool gap, bool answers, bool lost,
		struct instant now)
{
	int sum_cap_pct = host_gpu_sum_cap_pct(gpu) + host_gpu_reserved_cap_pct(gpu);
	struct plan_round *round = tick->round;
	bool act = gpu->mode == GPU_MODE_ACT;

	begin(tick, gpu, gap, now);
	round_view(tick, gpu);
	if (answers && sum_cap_pct > 100 && gpu->mode != GPU_MODE_FROZEN) {
		/* If the caps cannot be reduced to 100 %, the alert sum_over_100 is raised. */
		(void)policy_fit(&tick->settings->params, &gpu->view, &round->out);
		(void)round_apply(tick, gpu, act, now);
		round_view(tick, gpu);
	} else if (answers && lost && act) {
		tick->settings->policy->give_back(&tick->settings->params, &gpu->view, &round->out);
		(void)round_apply(tick, gpu, act, now);
		round_view(tick, gpu);
	}
	tick->settings->policy->step(&tick->settings->params, &gpu->view, &round->out);
	for (int i = 0; i < gpu->view.n_vgpus; i++)
		round->viewed[i]->view = round->views[i];
	store_severe_vgpu(gpu, round);
}

void round_forget(struct vgpu *vgpu)
{
	memset(&vgpu->view, 0, sizeof(vgpu->view));
}

/* --- caps of an earlier run, and caps whose write has failed --- */

/* Plans the cap of viewed vGPU @index in round->out. Returns false if its cap stays. */
static bool plan_cap(struct tick *tick, struct host_gpu *gpu, int index)
{
	struct plan_round *round = tick->round;
	const struct contract *c = &round->viewed[index]->contract;
	int cap_pct = round->viewed[index]->cap.pct, largest_pct, r;

	if (round->viewed[index]->cap.unknown)
		return false; /* a later tick judges the cap first */
	if (round->viewed[index]->cap.waits) {
		host_gpu_check_caps(gpu); /* until the end of the pause */
		return false;
	}
	if (!c->held && round->viewed[index]->found)
		return false; /* no client has set a contract */
	if (!c->held)
		r = policy_set(&tick->settings->params, &gpu->view, index, &c->terms, &round->out,
			       &largest_pct);
	else if (c->held_cap_pct == cap_pct ||
		 c->held_cap_pct > policy_ceiling_pct(&gpu->view, &c->terms))
		return false; /* the second condition: an external writer set the held cap */
	else
		r = policy_hold(&tick->settings->params, &gpu->view, index, c->held_cap_pct,
				&round->out, &largest_pct);
	return r == 0 && round->out.n_moves > 0;
}

static void correct(struct tick *tick, struct host_gpu *gpu, struct vgpu *vgpu, struct instant now)
{
	const struct contract *c = &vgpu->contract;
	bool act = gpu->mode != GPU_MODE_OBSERVE, again = round_failed_lately(vgpu, now);

	if (c->held && !again)
		record_decision(tick->recorder, gpu, vgpu, DECISION_ADOPT, DECISION_NOTED, now,
				"vGPU %s has a cap of %d %%, but its stored hold is %d %%", c->id,
				vgpu->cap.pct, c->held_cap_pct);
	else if (!again)
		record_decision(tick->recorder, gpu, vgpu, DECISION_ADOPT, DECISION_NOTED, now,
				"vGPU %s has a cap of %d %%, but its stored contract allows %d to "
				"%d %%",
				c->id, vgpu->cap.pct,
				policy_floor_pct(&tick->settings->params, &gpu->view, &c->terms),
				policy_ceiling_pct(&gpu->view, &c->terms));
	/* A failed write is recorded with the decision; the next period tries again. */
	(void)round_apply(tick, gpu, act, now);
}

void round_adopt_caps(struct tick *tick, struct host_gpu *gpu, struct instant now)
{
	struct plan_round *round = tick->round;
	int n;

	/* A write that fails and a cap whose origin is unknown request the next check. */
	if (gpu->traits.observes)
		return;
	round_view(tick, gpu);
	n = gpu->view.n_vgpus;
	for (int i = 0; i < n; i++) {
		round_view(tick, gpu); /* the caps that earlier corrections have left */
		if (plan_cap(tick, gpu, i))
			correct(tick, gpu, round->viewed[i], now);
	}
}
