/* SPDX-License-Identifier: MIT */
/*
 * Adopts contracts, vGPUs, caps and holds when the daemon starts. Later, adopts new vGPUs that have
 * no contract.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "db/db.h"
#include "gover-d/core/adopt.h"
#include "gover-d/core/foreign-cap.h"
#include "gover-d/core/frames.h"
#include "gover-d/core/record.h"
#include "gover-d/core/save.h"
#include "gover-d/core/state.h"
#include "gover-d/util/log.h"
#include "monitor/fps/fps.h"

/* --- vGPUs --- */

/*
 * Writes the last cap again, because the end of a lease or gover-d --restore has replaced it with
 * the initial cap, or because the device is a new one. This is done on a frozen GPU too, because
 * its caps were frozen at their last values. Returns 0 or the error of the write.
 */
static int restore_last_cap(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
			    int last_pct, struct instant now)
{
	enum decision_result result = DECISION_OBSERVED;
	const char *why = vgpu->anew ? "it was removed and created again"
				     : "a lease expired, gover-d --restore ran or it was created "
				       "again";
	int found_pct = vgpu->cap_pct, r = 0;

	if (m->actuator.dry_run) {
		result = DECISION_DRY_RUN;
	} else if (gpu->mode != GPU_MODE_OBSERVE) {
		r = actuate_cap(&m->actuator, gpu, vgpu, last_pct == 0 ? 100 : last_pct, "adopt",
				now);
		result = r == 0 ? DECISION_WRITTEN : DECISION_FAILED;
	}
	record_decision(m, gpu, vgpu, DECISION_ADOPT, result, now,
			"vGPU %s had its initial cap of %d %%, because %s; its last cap was %d %%, "
			"its cap is now %d %%",
			vgpu->contract.id, found_pct, why, last_pct, vgpu->cap_pct);
	return r;
}

static void adopt_cap(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu, int found_pct,
		      struct instant now)
{
	const char *id = vgpu->contract.id;
	int last_pct = found_pct, intent_pct;

	if (!m->contracts_lost || !vgpu->found)
		(void)cap_journal_get(m->actuator.journal, id, &last_pct, &intent_pct);
	vgpu->expected_cap_pct = last_pct;
	vgpu->cap_pct = found_pct == 0 ? 100 : found_pct;
	switch (foreign_cap_judge(&m->actuator, gpu, vgpu, found_pct, /* lease_over= */ true)) {
	case CAP_OWN:
		vgpu->expected_cap_pct = found_pct;
		if (gpu->traits.observes)
			break; /* the cap is no state of the GPU */
		record_decision(m, gpu, vgpu, DECISION_ADOPT, DECISION_NOTED, now,
				"vGPU %s was adopted with its cap of %d %% (contract %d %%%s)", id,
				vgpu->cap_pct, vgpu->contract.terms.initial_cap_pct,
				vgpu->contract.held ? ", held" : "");
		break;
	case CAP_NEW_INITIAL:
		foreign_cap_accept_initial(m, gpu, vgpu, found_pct, now);
		break;
	case CAP_INITIAL:
		vgpu->expected_cap_pct = found_pct;
		if (restore_last_cap(m, gpu, vgpu, last_pct, now) == -ENODEV)
			return; /* the journal keeps the last cap for the next device */
		break;
	case CAP_NOT_KEPT: /* only caps that were written to this device */
	case CAP_FOREIGN:
		foreign_cap_hold(m, gpu, vgpu, found_pct, now);
		break;
	case CAP_UNKNOWN:
		vgpu->cap_unknown = true; /* the next tick tries again */
		return;
	}
	vgpu->anew = false;
	if (!m->actuator.dry_run)
		cap_journal_settle(m->actuator.journal, id, vgpu->expected_cap_pct);
}

/* Forgets what the daemon knows about the earlier device of the vGPU. */
static void begin_device(const struct host_gpu *gpu, struct vgpu *vgpu)
{
	uint64_t identity = gpu_io_identity(gpu->io, vgpu->device);

	vgpu->anew = vgpu->identity && identity != vgpu->identity;
	vgpu->identity = identity;
	vgpu->renewed_ns = 0;
	vgpu->lease_off = vgpu->lease_unknown = vgpu->cap_unknown = false;
	vgpu->kept = (struct kept_cap){.open = false};
	vgpu->cap_waits = false;
	vgpu->memory_known = false;
	vgpu->ceiling_pct = 0;
}

/* Passes the labels to the backend. The vGPU must be attached. */
static void pass_labels(struct host_gpu *gpu, struct vgpu *vgpu)
{
	struct err err = {""};
	const char *key;
	json_t *value;

	json_object_foreach (vgpu->contract.labels, key, value)
		if (gpu_io_label(gpu->io, vgpu->device, key, json_string_value(value), &err) < 0)
			log_warning("vGPU %s: label %s: %s, ignoring", vgpu->contract.id, key,
				    err.msg);
}

static int attach_existing(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
			   struct instant now, struct err *reterr)
{
	int found_pct, initial_pct, r;

	r = gpu_io_attach(gpu->io, vgpu->contract.id, now.mono_ns, &vgpu->device, reterr);
	if (r < 0)
		return r;
	begin_device(gpu, vgpu);
	/*
	 * Renew the lease before the cap is read, so that the lease does not expire before the
	 * first tick.
	 */
	actuate_lease(&m->actuator, gpu, vgpu, now);
	r = gpu_io_read_cap(gpu->io, vgpu->device, &found_pct);
	if (r < 0) {
		gpu_io_detach(gpu->io, vgpu->device);
		vgpu->device = NULL;
		return err_fail(reterr, -r, "vGPU %s: the cap cannot be read: %s",
				vgpu->contract.id, strerror(-r));
	}
	if (vgpu->found && vgpu->contract.terms.initial_cap_pct == 0) {
		r = gpu_io_read_initial_cap(gpu->io, vgpu->device, &initial_pct);
		if (r < 0 || initial_pct == 0)
			initial_pct = found_pct == 0 ? 100 : found_pct;
		vgpu->contract.terms.initial_cap_pct = initial_pct;
	}
	adopt_cap(m, gpu, vgpu, found_pct, now);
	pass_labels(gpu, vgpu);
	if (vgpu->removing)
		log_notice("vGPU %s: its removal was interrupted; the vGPU exists, so its contract "
			   "stays in force",
			   vgpu->contract.id);
	vgpu->removing = false;
	gpu->caps_due = true;
	return 0;
}

/* Creates the missing vGPU of a contract again, with its last cap. */
static int recreate_vgpu(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
			 struct instant now, struct err *reterr)
{
	int cap_pct = vgpu->contract.terms.initial_cap_pct, last_pct, intent_pct;
	int r;

	if (cap_journal_get(m->actuator.journal, vgpu->contract.id, &last_pct, &intent_pct) &&
	    last_pct > 0)
		cap_pct = last_pct;
	r = actuate_create(&m->actuator, gpu, vgpu, cap_pct, now, reterr);
	if (r != 0)
		return r < 0 ? r : -EIO; /* @reterr contains the reason */
	pass_labels(gpu, vgpu);
	gpu->caps_due = true;
	record_decision(m, gpu, vgpu, DECISION_ADOPT, DECISION_WRITTEN, now,
			"vGPU %s did not exist and was created again with its last cap of %d %%",
			vgpu->contract.id, cap_pct);
	return 0;
}

static void drop_vgpu(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu)
{
	if (!m->actuator.dry_run)
		(void)cap_journal_remove(m->actuator.journal, vgpu->contract.id);
	frames_forget(&m->frames, vgpu->contract.id);
	host_gpu_remove(gpu, vgpu);
	vgpu_free(gpu, vgpu);
}

void adopt_forget(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu, struct instant now)
{
	record_decision(m, gpu, vgpu, DECISION_MISSING, DECISION_NOTED, now,
			"vGPU %s without a contract vanished from GPU %s", vgpu->contract.id,
			gpu->config.name);
	drop_vgpu(m, gpu, vgpu);
}

/* A crash has interrupted the removal of @vgpu. It was removed, so its contract has ended. */
static void end_removal(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
			struct instant now)
{
	record_decision(m, gpu, vgpu, DECISION_REMOVE, DECISION_NOTED, now,
			"vGPU %s does not exist, and its removal was requested before the last "
			"crash: its contract of %d %% has ended",
			vgpu->contract.id, vgpu->contract.terms.initial_cap_pct);
	drop_vgpu(m, gpu, vgpu);
}

/* Reserves the cap that the vGPU of a contract will have when it returns. */
static void reserve_cap(const struct manager *m, const struct host_gpu *gpu, struct vgpu *vgpu)
{
	int last_pct = 0, intent_pct;

	(void)cap_journal_get(m->actuator.journal, vgpu->contract.id, &last_pct, &intent_pct);
	vgpu->cap_pct = host_reserved_cap_pct(&m->params, gpu, &vgpu->contract, last_pct);
}

/* Attaches the vGPU of a contract. If it does not exist, creates it again or forgets it. */
static void adopt_vgpu(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
		       struct instant now)
{
	struct err err = {""};
	int r = attach_existing(m, gpu, vgpu, now, &err);

	if (r == -ENOENT && vgpu->removing) {
		end_removal(m, gpu, vgpu, now);
		return;
	}
	if (r == -ENOENT && vgpu->found) {
		adopt_forget(m, gpu, vgpu, now);
		return;
	}
	if (r == -ENOENT && gpu->traits.creates)
		r = recreate_vgpu(m, gpu, vgpu, now, &err);
	if (r < 0)
		log_warning("vGPU %s: %s; the contract stays in force", vgpu->contract.id, err.msg);
	if (!vgpu->device)
		reserve_cap(m, gpu, vgpu);
}

/* Ids are unique (store/contracts.c), and adopt_check() has checked the rest. */
static int adopt_contract(struct manager *m, struct contract_entry *entry, struct instant now)
{
	struct host_gpu *gpu = host_find_gpu(&m->host, entry->contract.gpu);
	struct vgpu *vgpu;

	if (!gpu)
		return -ENOENT;
	vgpu = xcalloc(1, sizeof(*vgpu));
	vgpu->contract = entry->contract;
	entry->contract.labels = NULL;
	vgpu->found = entry->found;
	vgpu->removing = entry->removing;
	host_gpu_insert(gpu, vgpu);
	if (gpu->open)
		adopt_vgpu(m, gpu, vgpu, now);
	return 0;
}

static bool is_configured(const struct config *config, const char *gpu)
{
	int i = 0;

	while (i < config->n_gpus && strcmp(config->gpus[i].gpu.name, gpu) != 0)
		i++;
	return i < config->n_gpus;
}

static int count_contracts(const struct contracts *contracts, const char *gpu)
{
	int n = 0;

	for (size_t i = 0; i < contracts->n_vgpus; i++)
		n += strcmp(contracts->vgpus[i].contract.gpu, gpu) == 0;
	return n;
}

int adopt_check(const struct manager *m, const struct contracts *contracts, struct err *reterr)
{
	for (size_t i = 0; i < contracts->n_vgpus; i++) {
		const struct contract *contract = &contracts->vgpus[i].contract;

		if (!is_configured(&m->config, contract->gpu))
			return err_fail(reterr, ENOENT,
					"%s: vgpus: element %zu: vGPU %s has a contract on GPU %s, "
					"which is not configured",
					m->contracts_path, i, contract->id, contract->gpu);
	}
	for (int i = 0; i < m->config.n_gpus; i++) {
		const char *gpu = m->config.gpus[i].gpu.name;
		int n = count_contracts(contracts, gpu);

		if (n > POLICY_VGPUS_MAX)
			return err_fail(reterr, EINVAL, "%s: GPU %s has %d contracts (limit %d)",
					m->contracts_path, gpu, n, POLICY_VGPUS_MAX);
	}
	return 0;
}

#define RESULT_MISSING "the result of the probation is missing in the history"

/* An offer opens only after the older offers of its GPU have ended. */
static bool has_newer(const struct offers *offers, int64_t id, const char *gpu)
{
	for (size_t i = offers_count(offers); i-- > 0 && offers_at(offers, i)->id > id;)
		if (strcmp(offers_at(offers, i)->gpu, gpu) == 0)
			return true;
	return false;
}

/*
 * Restores an offer that is missing in the history. Contract @c was sold through this offer. If its
 * probation may still run, the restored offer is open, and the caller must claim it. Otherwise the
 * state of the restored offer is "kept".
 */
static struct offer *restore_offer(struct manager *m, const struct host_gpu *gpu,
				   const struct contract *c, struct instant now)
{
	int64_t probation_ms = (int64_t)m->config.offer.probation_s * 1000;
	struct offer sold = {
		.id = c->offer,
		.created_ms = c->created_ms,
		.changed_ms = c->created_ms,
		.flavors = {{.terms = host_terms(gpu, c)}},
		.n_flavors = 1,
	};

	memcpy(sold.gpu, gpu->config.name, sizeof(sold.gpu));
	memcpy(sold.flavors[0].name, c->flavor, sizeof(sold.flavors[0].name));
	if (now.wall_ms < c->created_ms + probation_ms &&
	    !has_newer(m->offers, c->offer, gpu->config.name)) {
		sold.life.state = OFFER_OPEN;
	} else {
		sold.life.state = OFFER_KEPT;
		memcpy(sold.vgpu, c->id, sizeof(sold.vgpu));
		memcpy(sold.claim_key, c->claim_key, sizeof(sold.claim_key));
		snprintf(sold.reason, sizeof(sold.reason), RESULT_MISSING);
	}
	return offers_adopt(m->offers, &sold);
}

/*
 * Claims the offer through which contract @c was sold, if the claim is missing. After a crash, the
 * offer may be open in the history or missing there.
 */
static void adopt_sale(struct manager *m, const struct host_gpu *gpu, const struct contract *c,
		       struct instant now)
{
	struct offer *offer = offers_find(m->offers, c->offer);

	if (c->offer == 0 || (offer && offer->vgpu[0]))
		return;
	if (!offer)
		offer = restore_offer(m, gpu, c, now);
	if (!offer || offer->life.state != OFFER_OPEN)
		return;
	/* The history contains only the flavour that led the open offer. */
	if (!offers_flavor(offer, c->flavor)) {
		offer->flavors[0].terms = host_terms(gpu, c);
		memcpy(offer->flavors[0].name, c->flavor, sizeof(c->flavor));
	}
	offers_claim(m->offers, offer, c->flavor, c->id, c->claim_key, m->config.offer.probation_s,
		     now);
}

/* True if the vGPU that claimed the offer was removed, even if a newer vGPU has the same name. */
static bool newcomer_gone(struct manager *m, const struct offer *offer)
{
	const struct vgpu *vgpu = host_find_vgpu(&m->host, offer->vgpu, NULL);

	return !vgpu ||
	       (offer->life.state == OFFER_FAILED && vgpu->contract.created_ms > offer->changed_ms);
}

/* A newer offer shows that a sale has ended, even if its end is missing in the history. */
static void end_older_sales(struct manager *m, struct instant now)
{
	for (size_t i = 0; i < offers_count(m->offers); i++) {
		struct offer *offer = offers_find(m->offers, offers_at(m->offers, i)->id);

		if (!has_newer(m->offers, offer->id, offer->gpu))
			continue;
		if (offer->life.state == OFFER_OPEN)
			offers_end(m->offers, offer, OFFER_CLOSED, now, "a newer offer exists");
		else if (offer->life.state == OFFER_PROBATION)
			offers_end(m->offers, offer, OFFER_KEPT, now, RESULT_MISSING);
		else if (offer->life.state == OFFER_FAILED)
			offer->life.newcomer_gone = true;
	}
}

/* An offer that is held for a claim stays open, so that a restart does not fail a sale. */
static bool stays_open(struct manager *m, const struct offer *offer, struct instant now)
{
	const struct host_gpu *gpu = host_view_gpu(&m->host, offer->gpu);

	return offers_is_held(offer, now) && gpu && gpu->selling && gpu->mode == GPU_MODE_ACT;
}

static void settle_offers(struct manager *m, struct instant now)
{
	for (int i = 0; i < m->host.n_gpus; i++)
		for (const struct vgpu *v = m->host.gpus[i].vgpus; v; v = v->next)
			adopt_sale(m, &m->host.gpus[i], &v->contract, now);
	end_older_sales(m, now);
	for (size_t i = 0; i < offers_count(m->offers); i++) {
		struct offer *offer = offers_find(m->offers, offers_at(m->offers, i)->id);

		if (offer->life.state == OFFER_OPEN && !stays_open(m, offer, now))
			offers_end(m->offers, offer, OFFER_CLOSED, now,
				   "the daemon was restarted; a new offer opens after some calm "
				   "periods");
		if (offer->vgpu[0] == '\0' || !newcomer_gone(m, offer))
			continue;
		if (offer->life.state == OFFER_FAILED)
			offer->life.newcomer_gone = true;
		else
			offers_vgpu_removed(m->offers, offer->vgpu, now);
	}
}

/*
 * Marks each vGPU that is still on hold after an external change, so that its alert foreign_write
 * remains.
 */
static void settle_alerts(struct manager *m)
{
	for (size_t i = 0; i < alerts_count(m->alerts); i++) {
		const struct alert *alert = alerts_at(m->alerts, i);
		struct vgpu *vgpu = host_find_vgpu(&m->host, alert->vgpu, NULL);

		if (alert->kind == ALERT_FOREIGN_WRITE && vgpu && vgpu->contract.held)
			vgpu->foreign = true;
	}
}

/* The history does not contain the unit of an offer's target. It is the unit of the GPU. */
static void settle_units(struct manager *m)
{
	for (size_t i = 0; i < offers_count(m->offers); i++) {
		struct offer *offer = offers_find(m->offers, offers_at(m->offers, i)->id);
		const struct host_gpu *gpu = host_view_gpu(&m->host, offer->gpu);

		for (int k = 0; k < offer->n_flavors; k++)
			offer->flavors[k].terms.counts_work =
				gpu && host_gpu_unit(gpu, NULL) == GPU_WORK;
	}
}

/*
 * Saves the contracts if vGPUs were put on hold or removed. Then continues or ends the offers and
 * alerts of the last run. @n_vgpus: number of vGPUs in the contracts file.
 */
static void settle(struct manager *m, size_t n_vgpus, struct instant now)
{
	bool foreign = false;
	size_t adopted = 0;

	for (int i = 0; i < m->host.n_gpus; i++) {
		for (const struct vgpu *v = m->host.gpus[i].vgpus; v; v = v->next, adopted++)
			foreign = foreign || v->foreign;
	}
	if (foreign || adopted != n_vgpus)
		save_soon(m);
	settle_units(m);
	settle_offers(m, now);
	settle_alerts(m);
}

int adopt_host(struct manager *m, struct contracts *contracts, struct instant now,
	       struct err *reterr)
{
	for (int i = 0; i < contracts->n_gpus; i++) {
		struct host_gpu *gpu = host_find_gpu(&m->host, contracts->gpus[i].name);

		if (!gpu)
			continue;
		gpu->mode = gpu->traits.observes ? GPU_MODE_OBSERVE : contracts->gpus[i].mode;
		gpu->selling = contracts->gpus[i].selling;
		moving_load(&gpu->view.moving, &contracts->gpus[i].migrations);
		gpu->migrations_saved = moving_save(&gpu->view.moving);
	}
	for (size_t i = 0; i < contracts->n_vgpus; i++) {
		int r = adopt_contract(m, &contracts->vgpus[i], now);

		if (r < 0)
			return err_fail(reterr, -r, "vGPU %s cannot be adopted: %s",
					contracts->vgpus[i].contract.id, strerror(-r));
	}
	settle(m, contracts->n_vgpus, now);
	return 0;
}

void adopt_gpu(struct manager *m, struct host_gpu *gpu, struct instant now)
{
	for (struct vgpu *v = gpu->vgpus, *next; v; v = next) {
		next = v->next;
		if (!v->device)
			adopt_vgpu(m, gpu, v, now);
	}
	settle_units(m);
	save_soon(m);
}

static struct vgpu *new_found(const struct host_gpu *gpu, const char *id, int initial_cap_pct,
			      struct instant now)
{
	struct vgpu *vgpu = xcalloc(1, sizeof(*vgpu));

	(void)id_copy(vgpu->contract.id, id);
	(void)id_copy(vgpu->contract.gpu, gpu->config.name);
	vgpu->contract.terms.initial_cap_pct = initial_cap_pct;
	vgpu->contract.terms.weight = 1;
	vgpu->contract.created_ms = now.wall_ms;
	vgpu->contract.labels = json_object();
	vgpu->found = true;
	return vgpu;
}

/*
 * The contract of this vGPU is lost. Puts the vGPU on hold, because any change of its cap could
 * break the contract.
 */
static void hold_unknown(struct manager *m, const struct host_gpu *gpu, struct vgpu *vgpu,
			 struct instant now)
{
	vgpu->contract.held = true;
	vgpu->contract.held_cap_pct = vgpu->cap_pct;
	record_decision(m, gpu, vgpu, DECISION_FOUND, DECISION_NOTED, now,
			"the contract of vGPU %s on GPU %s is lost: the vGPU is on hold at its cap "
			"of %d %% until it is released",
			vgpu->contract.id, gpu->config.name, vgpu->cap_pct);
}

int adopt_found(struct manager *m, struct host_gpu *gpu, const char *id, int initial_cap_pct,
		struct instant now, struct err *reterr)
{
	struct vgpu *vgpu = host_gpu_find_vgpu(gpu, id);
	int last_pct, intent_pct, r;
	bool lost = m->contracts_lost && !gpu->traits.observes &&
		    cap_journal_get(m->actuator.journal, id, &last_pct, &intent_pct);

	if (vgpu)
		return attach_existing(m, gpu, vgpu, now, reterr);
	if (!id_valid(id) || host_find_vgpu(&m->host, id, NULL))
		return -EINVAL;
	if (gpu->n_vgpus == POLICY_VGPUS_MAX)
		return err_fail(reterr, ENOSPC, "the GPU has %d vGPUs already (the limit)",
				POLICY_VGPUS_MAX);
	vgpu = new_found(gpu, id, initial_cap_pct, now);
	r = attach_existing(m, gpu, vgpu, now, reterr);
	if (r < 0) {
		vgpu_free(gpu, vgpu);
		return r;
	}
	host_gpu_insert(gpu, vgpu);
	if (lost)
		hold_unknown(m, gpu, vgpu, now);
	else if (gpu->traits.observes)
		record_decision(m, gpu, vgpu, DECISION_FOUND, DECISION_NOTED, now,
				"vGPU %s on GPU %s has no contract and is only observed", id,
				gpu->config.name);
	else
		record_decision(
			m, gpu, vgpu, DECISION_FOUND, DECISION_NOTED, now,
			"vGPU %s on GPU %s has no contract: its cap of %d %% counts as sold", id,
			gpu->config.name, vgpu->contract.terms.initial_cap_pct);
	save_soon(m);
	return 0;
}
