/* SPDX-License-Identifier: MIT */
/*
 * Requests that sell a vGPU: with a contract, or through an offer. The contract is stored before
 * the vGPU is created: after a crash between both, the next start creates the vGPU of the contract.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/xalloc.h"
#include "gover-d/cap/adopt.h"
#include "gover-d/change/change.h"
#include "gover-d/change/contract-change.h"
#include "gover-d/change/control.h"
#include "gover-d/config/flavor.h"
#include "gover-d/record/record.h"
#include "gover-d/sale/selling.h"
#include "monitor/fps/fps.h"

struct sale {
	struct change change;	  /* must be the first member */
	struct contract contract; /* owns its labels; offer 0: no claim */
	struct sale_key key;	  /* its key is "": the request has none */
	char holder[CLAIM_MAX];	  /* the same key as the client sent it; "": none */
	int cap_pct;		  /* set by plan(): the first cap of a vGPU that is created */
};

/* --- an existing vGPU --- */

/* Returns the contract for a vGPU that exists without one: a hold of the vGPU stays. */
static struct contract contract_for(const struct sale *sale, const struct contract *present)
{
	struct contract contract = sale->contract;

	contract.held = present->held;
	contract.held_cap_pct = present->held_cap_pct;
	contract.held_since = present->held_since;
	return contract;
}

static int plan_attach(struct changes *changes, const struct sale *sale, struct host_gpu *gpu,
		       struct vgpu *vgpu, struct err *reterr)
{
	struct contract contract = contract_for(sale, &vgpu->contract);

	return contract_change_plan(changes, gpu, vgpu, CONTRACT_CHANGE_CAP_FIELDS, &contract,
				    clock_now(), reterr);
}

static int attach(struct changes *changes, const struct sale *sale, struct host_gpu *gpu,
		  struct vgpu *vgpu, struct err *reterr)
{
	struct contract contract = contract_for(sale, &vgpu->contract);
	struct instant now = clock_now();
	int r = contract_change_apply_memory(changes, gpu, vgpu, &contract, reterr);

	if (r == 0)
		r = contract_change_apply_labels(gpu, vgpu, contract.labels, reterr);
	if (r != 0)
		return r;
	record_decision(changes->recorder, gpu, vgpu, DECISION_ADD, DECISION_NOTED, now,
			"vGPU %s existed without a contract and with a cap of %d %%; its contract "
			"is %d %% now",
			contract.id, vgpu->cap.pct, contract.terms.initial_cap_pct);
	contract_change_commit(changes, gpu, vgpu, &contract, now);
	vgpu_mark_sold(vgpu);
	return 0;
}

/* --- a new vGPU --- */

/* Plans the first cap of a new vGPU and the caps that other vGPUs give to it. */
static int plan_newcomer(struct changes *changes, struct sale *sale, struct host_gpu *gpu,
			 struct err *reterr)
{
	const struct contract *c = &sale->contract;
	const struct policy_terms terms = host_terms(gpu, c);
	struct policy_params params = changes->settings->params;
	struct plan_round *round = changes->tick->round;
	int floor_pct;

	if (changes->settings->dry_run)
		return err_condition(reterr, CONTROL_E_DRY_RUN, "vGPU %s: not created in a dry run",
				     c->id);
	/* A contract may be smaller than the configured minimum for a newcomer. */
	if (params.min_newcomer_pct > c->terms.initial_cap_pct)
		params.min_newcomer_pct = c->terms.initial_cap_pct;
	round_view(changes->tick, gpu);
	floor_pct = policy_floor_pct(&params, &gpu->view, &terms);
	sale->cap_pct = changes->settings->policy->fund(&params, &gpu->view, &terms, &round->out);
	if (sale->cap_pct < 0)
		return err_condition(reterr, CONTROL_E_DOES_NOT_FIT,
				     "vGPU %s does not fit on GPU %s: the caps add up to %d %%, "
				     "and the vGPU needs at least %d %%",
				     c->id, gpu->config.name, host_gpu_sum_cap_pct(gpu),
				     floor_pct > params.min_newcomer_pct ? floor_pct
									 : params.min_newcomer_pct);
	return round_check(changes->tick, gpu, NULL, clock_now(), reterr);
}

/* Frees the planned capacity, and sets sale->cap_pct to the part of it that is really free. */
static int free_capacity(struct changes *changes, struct sale *sale, struct host_gpu *gpu,
			 struct instant now, struct err *reterr)
{
	int floor_pct =
		    policy_floor_pct(&changes->settings->params, &gpu->view, &sale->contract.terms),
	    free_pct;

	/*
	 * If the plan has no moves, there is no decision to record: the free capacity is
	 * sufficient.
	 */
	if (changes->tick->round->out.n_moves > 0)
		(void)round_apply(changes->tick, gpu, /* act= */ true, now);
	free_pct = 100 - host_gpu_sum_cap_pct(gpu);
	if (free_pct < sale->cap_pct)
		sale->cap_pct = free_pct - free_pct % gpu->traits.step_pct;
	if (sale->cap_pct >= floor_pct)
		return 0;
	return err_fail(reterr, EIO, "vGPU %s: the planned capacity could not be freed on GPU %s",
			sale->contract.id, gpu->config.name);
}

static int create_device(struct changes *changes, const struct sale *sale, struct host_gpu *gpu,
			 struct vgpu *vgpu, struct instant now, struct err *reterr)
{
	int r = actuate_create(&changes->caps->actuator, gpu, vgpu, sale->cap_pct, now, reterr);

	if (r != 0)
		return r;
	r = contract_change_apply_memory(changes, gpu, vgpu, &vgpu->contract, reterr);
	if (r == 0)
		r = contract_change_apply_labels(gpu, vgpu, vgpu->contract.labels, reterr);
	/* If the vGPU cannot be removed, the next tick adopts it without a contract. */
	if (r != 0)
		(void)actuate_destroy(&changes->caps->actuator, gpu, vgpu, NULL);
	return r;
}

static int create(struct changes *changes, struct sale *sale, struct host_gpu *gpu,
		  struct err *reterr)
{
	struct contract contract = sale->contract;
	struct instant now = clock_now();
	struct vgpu *vgpu;
	int r;

	json_incref(contract.labels);
	vgpu = vgpu_new(&contract, /* found= */ false);
	r = free_capacity(changes, sale, gpu, now, reterr);
	if (r == 0)
		r = create_device(changes, sale, gpu, vgpu, now, reterr);
	if (r != 0) {
		vgpu_free(gpu, vgpu);
		contract_change_give_back(changes, gpu, now);
		return r;
	}
	host_gpu_insert(gpu, vgpu);
	if (changes->caps->frames.hub)
		fps_hub_rematch(changes->caps->frames.hub);
	record_decision(changes->recorder, gpu, vgpu, DECISION_ADD, DECISION_WRITTEN, now,
			"vGPU %s was sold with %d %% of GPU %s and starts with %d %%",
			vgpu->contract.id, vgpu->contract.terms.initial_cap_pct, gpu->config.name,
			sale->cap_pct);
	return 0;
}

/* --- the sale --- */

static int pick_gpu(struct changes *changes, struct contract *c, struct host_gpu **ret_gpu,
		    struct err *reterr)
{
	const struct host_gpu *gpu;

	if (changes->host->n_gpus == 0)
		return err_condition(reterr, CONTROL_E_INVALID,
				     "gpu: gover-d found no vGPU scheduler on this host");
	gpu = host_gpu_for(changes->host, c);
	if (c->gpu[0] == '\0' && !gpu)
		return err_condition(reterr, CONTROL_E_INVALID,
				     "gpu: required (this host has %d GPUs)",
				     changes->host->n_gpus);
	if (c->gpu[0] == '\0')
		(void)id_copy(c->gpu, gpu->config.name);
	*ret_gpu = host_find_gpu(changes->host, c->gpu);
	return *ret_gpu ? 0
			: err_condition(reterr, CONTROL_E_INVALID, "gpu: no GPU %s on this host",
					c->gpu);
}

/*
 * Checks that the vGPU can be sold on @gpu. Sets *@ret_vgpu to the vGPU that exists without a
 * contract, or to NULL.
 */
static int find_unsold(struct changes *changes, const struct contract *c, struct host_gpu *gpu,
		       struct vgpu **ret_vgpu, struct err *reterr)
{
	struct host_gpu *owner;
	struct vgpu *vgpu = host_find_vgpu(changes->host, c->id, &owner);

	/* the vGPU may have been created after the last tick */
	if (!vgpu && !gpu->traits.creates) {
		(void)adopt_found(changes->caps, gpu, c->id, /* initial_cap_pct= */ 0, clock_now(),
				  NULL);
		vgpu = host_find_vgpu(changes->host, c->id, &owner);
	}
	if (vgpu && !vgpu->found)
		return err_condition(reterr, CONTROL_E_EXISTS, "vGPU %s already has a contract",
				     c->id);
	if (vgpu && owner != gpu)
		return err_condition(reterr, CONTROL_E_EXISTS, "vGPU %s belongs to GPU %s, not %s",
				     c->id, owner->config.name, gpu->config.name);
	if (!vgpu && !gpu->traits.creates)
		return err_condition(reterr, CONTROL_E_UNSUPPORTED,
				     "vGPU %s does not exist on GPU %s, and the backend %s does "
				     "not create vGPUs",
				     c->id, gpu->config.name, gpu_io_backend(gpu->io));
	if (!vgpu && gpu->n_vgpus == POLICY_VGPUS_MAX)
		return err_condition(reterr, CONTROL_E_DOES_NOT_FIT,
				     "GPU %s: too many vGPUs (limit %d)", gpu->config.name,
				     gpu->n_vgpus);
	*ret_vgpu = vgpu;
	return 0;
}

static int check_offer(const struct offer *offer, int64_t id, const char *holder,
		       struct err *reterr)
{
	if (!offer)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no offer %lld", (long long)id);
	if (offer->vgpu[0])
		return err_condition(reterr, CONTROL_E_EXISTS,
				     "offer %lld was already claimed for vGPU %s",
				     (long long)offer->id, offer->vgpu);
	if (offer->life.state != OFFER_OPEN)
		return err_condition(reterr, CONTROL_E_OFFER_OVER, "offer %lld is %s: %s",
				     (long long)offer->id, offer_state_name(offer->life.state),
				     offer->reason);
	return offers_check_holder(offer, holder, clock_now(), reterr);
}

/* The state of the GPU may have changed since the last tick, for example by another change. */
static int check_selling(struct changes *changes, struct host_gpu *gpu, const struct offer *offer,
			 struct err *reterr)
{
	struct instant now = clock_now();

	if (!selling_may_close(changes->sales, offer, now))
		return 0;
	(void)selling_tick(changes->sales, gpu, now);
	return offer->life.state == OFFER_OPEN
		       ? 0
		       : err_condition(reterr, CONTROL_E_OFFER_OVER, "offer %lld is %s: %s",
				       (long long)offer->id, offer_state_name(offer->life.state),
				       offer->reason);
}

/* The offer that the sale claims; NULL: the sale is no claim. */
static struct offer *offer_of(struct changes *changes, const struct sale *sale)
{
	return sale->contract.offer ? offers_find(changes->sales->offers, sale->contract.offer)
				    : NULL;
}

/*
 * Also removes a flavour that can no longer be funded from its offer. A restored offer stays
 * unchanged until the vGPUs are measured.
 */
static int plan_sale(struct changes *changes, struct change *change, struct err *reterr)
{
	struct sale *sale = (struct sale *)change;
	const struct contract *c = &sale->contract;
	struct offer *offer = offer_of(changes, sale);
	struct host_gpu *gpu = host_find_gpu(changes->host, c->gpu);
	struct vgpu *vgpu = NULL;
	int r = c->offer ? check_offer(offer, c->offer, sale->holder, reterr) : 0;

	if (r == 0 && offer)
		r = offers_check_flavor(offer, c->flavor, reterr);
	if (r == 0)
		r = contract_change_check_answers(gpu, reterr);
	if (r == 0 && offer)
		r = check_selling(changes, gpu, offer, reterr);
	if (r == 0)
		r = contract_change_check_terms(gpu, c, reterr);
	if (r == 0)
		r = contract_change_check_units(
			gpu, CONTRACT_TARGET_FPS | CONTRACT_TARGET_RATE | CONTRACT_FPS_LIMIT, c,
			reterr);
	if (r == 0)
		r = contract_change_check_memory(gpu, CONTRACT_MEMORY, c, reterr);
	if (r == 0)
		r = contract_change_check_flavor(changes, c, reterr);
	if (r == 0)
		r = find_unsold(changes, c, gpu, &vgpu, reterr);
	if (r != 0)
		return r;
	r = vgpu ? plan_attach(changes, sale, gpu, vgpu, reterr)
		 : plan_newcomer(changes, sale, gpu, reterr);
	if (r == CONTROL_E_DOES_NOT_FIT && offer &&
	    selling_may_close(changes->sales, offer, clock_now()))
		offers_unlist(changes->sales->offers, offer, c->flavor,
			      "the offer could no longer be funded when it was claimed",
			      clock_now());
	return r;
}

static int amend_sale(const struct change *change, struct contracts *contracts)
{
	const struct sale *sale = (const struct sale *)change;
	struct contract_entry *entry = contracts_find_vgpu(contracts, sale->contract.id);
	json_t *labels;

	operator_state_remove_hold(contracts->operator_state, sale->contract.offer);
	if (sale->key.key[0])
		sale_keys_add(&contracts->keys, &sale->key);
	if (!entry) {
		contracts_add_vgpu(contracts, &sale->contract);
		return 0;
	}
	labels = entry->contract.labels;
	entry->contract = contract_for(sale, &entry->contract);
	json_incref(entry->contract.labels);
	json_decref(labels);
	entry->found = false;
	return 0;
}

static int apply_sale(struct changes *changes, struct change *change, struct err *reterr)
{
	struct sale *sale = (struct sale *)change;
	const char *id = sale->contract.id;
	struct host_gpu *gpu = host_find_gpu(changes->host, sale->contract.gpu);
	struct vgpu *vgpu = host_gpu_find_vgpu(gpu, id);
	struct offer *offer = offer_of(changes, sale);
	int r = vgpu ? attach(changes, sale, gpu, vgpu, reterr)
		     : create(changes, sale, gpu, reterr);

	if (r != 0)
		return r;
	if (sale->key.key[0])
		sale_keys_add(&changes->store->keys, &sale->key);
	if (!offer)
		return 0;
	offers_claim(changes->sales->offers, offer, sale->contract.flavor, id,
		     changes->settings->config.offer.probation_s, clock_now());
	return 0;
}

static void fini_sale(struct change *change)
{
	struct sale *sale = (struct sale *)change;

	contract_fini(&sale->contract);
}

static const struct change_kind sale_kind = {
	.plan = plan_sale, .amend = amend_sale, .apply = apply_sale, .fini = fini_sale};

/* Takes over the labels of @contract. @key: the stored form of @given. */
static int begin_sale(struct changes *changes, struct contract *contract,
		      const struct sale_key *key, const char *given, struct change_done done,
		      struct err *reterr)
{
	struct host_gpu *gpu;
	int r = pick_gpu(changes, contract, &gpu, reterr);
	struct sale *sale;

	if (r != 0) {
		contract_fini(contract);
		return r;
	}
	sale = xcalloc(1, sizeof(*sale));
	sale->change.kind = &sale_kind;
	(void)id_copy(sale->change.subject.vgpu, contract->id);
	(void)id_copy(sale->change.subject.gpu, contract->gpu);
	memcpy(sale->change.subject.key, key->key, sizeof(key->key));
	sale->contract = *contract;
	sale->key = *key;
	snprintf(sale->holder, sizeof(sale->holder), "%s", given ? given : "");
	sale->contract.created_ms = sale->key.created_ms = clock_now().wall_ms;
	contract->labels = NULL;
	return change_begin(changes, &sale->change, done, reterr);
}

/* Sets the terms of @contract that are missing in @fields to those of its flavour. */
static void take_flavor(const struct policy_terms *flavor, unsigned int fields,
			struct contract *contract)
{
	if (!(fields & CONTRACT_INITIAL_CAP))
		contract->terms.initial_cap_pct = flavor->initial_cap_pct;
	if (!(fields & CONTRACT_TARGET_FPS) && !flavor->counts_work)
		contract->terms.target_fps = flavor->target_fps;
	if (!(fields & CONTRACT_TARGET_RATE) && flavor->counts_work)
		contract->target_rate = flavor->target_fps;
}

/* Returns the terms of @flavor on @gpu, which may be NULL. */
static struct policy_terms flavor_terms(const struct flavor *flavor, const struct host_gpu *gpu)
{
	bool work = gpu && host_gpu_unit(gpu, NULL) == GPU_WORK;

	return (struct policy_terms){
		.initial_cap_pct = flavor->cap_pct,
		.target_fps = work ? flavor->target_rate : flavor->target_fps,
		.counts_work = work,
	};
}

int control_vgpu_add(struct changes *changes, const struct control_key *key, unsigned int fields,
		     struct contract *contract, struct change_done done, struct err *reterr)
{
	const struct sale_key sale = keys_make(key, /* offer= */ 0, contract->id);
	int r = keys_check(changes, &sale, key->given, reterr);
	struct flavor flavor;

	if (r != 0) {
		contract_fini(contract);
		return r;
	}

	/* plan_sale() rejects an unknown flavour */
	if ((fields & CONTRACT_FLAVOR) &&
	    flavor_find(&changes->settings->config, contract->flavor, &flavor)) {
		const struct policy_terms terms =
			flavor_terms(&flavor, host_gpu_for(changes->host, contract));

		take_flavor(&terms, fields, contract);
	}
	return begin_sale(changes, contract, &sale, key->given, done, reterr);
}

int control_offer_claim(struct changes *changes, const struct control_claim *claim,
			struct contract *contract, struct change_done done, struct err *reterr)
{
	const struct offer *offer = offers_find(changes->sales->offers, claim->offer);
	const struct offer_flavor *flavor = offer ? offers_flavor(offer, contract->flavor) : NULL;
	const struct sale_key sale = keys_make(&claim->key, claim->offer, contract->id);
	const char *given = claim->key.given;
	int r = keys_check(changes, &sale, given, reterr);

	if (r == 0 && !flavor) {
		r = check_offer(offer, claim->offer, given ? given : "", reterr);
		if (r == 0)
			r = offers_check_flavor(offer, contract->flavor, reterr);
	}
	if (r != 0) {
		contract_fini(contract);
		return r;
	}
	memcpy(contract->gpu, offer->gpu, sizeof(contract->gpu));
	memcpy(contract->flavor, flavor->name, sizeof(contract->flavor));
	contract->terms.weight = 1;
	take_flavor(&flavor->terms, claim->fields & ~CONTRACT_INITIAL_CAP, contract);
	/*
	 * Store the claim in the contract. The history is written later, so a crash may lose the
	 * claim there.
	 */
	contract->offer = claim->offer;
	return begin_sale(changes, contract, &sale, given, done, reterr);
}
