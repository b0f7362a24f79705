/* SPDX-License-Identifier: MIT */
/*
 * Adopts contracts, vGPUs and holds when the daemon starts. Later, adopts new vGPUs that have no
 * contract, and handles vGPUs that vanished.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "db/db.h"
#include "gover-d/cap/adopt.h"
#include "gover-d/cap/caps.h"
#include "gover-d/cap/frames.h"
#include "gover-d/record/record.h"
#include "gover-d/sale/selling.h"
#include "gover-d/store/save.h"
#include "gover-d/util/log.h"
#include "monitor/fps/fps.h"

/* --- attaching --- */

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

static int attach_existing(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu,
			   struct instant now, struct err *reterr)
{
	int found_pct, initial_pct, r;

	r = actuate_attach(gpu, vgpu, now, reterr);
	if (r < 0)
		return r;
	/*
	 * Renew the lease before the cap is read, so that the lease does not expire before the
	 * first tick.
	 */
	actuate_lease(&caps->actuator, gpu, vgpu, now);
	r = gpu_io_read_cap(gpu->io, vgpu->device, &found_pct);
	if (r < 0) {
		actuate_detach(gpu, vgpu);
		return err_fail(reterr, -r, "vGPU %s: the cap cannot be read: %s",
				vgpu->contract.id, strerror(-r));
	}
	if (vgpu->found && vgpu->contract.terms.initial_cap_pct == 0) {
		r = gpu_io_read_initial_cap(gpu->io, vgpu->device, &initial_pct);
		if (r < 0 || initial_pct == 0)
			initial_pct = found_pct == 0 ? 100 : found_pct;
		vgpu_set_found_cap(vgpu, initial_pct);
	}
	caps_adopt(caps, gpu, vgpu, found_pct, now);
	pass_labels(gpu, vgpu);
	if (vgpu->removing)
		log_notice("vGPU %s: its removal was interrupted; the vGPU exists, so its contract "
			   "stays in force",
			   vgpu->contract.id);
	vgpu->removing = false;
	host_gpu_check_caps(gpu);
	return 0;
}

/* Creates the missing vGPU of a contract again, with its last cap. */
static int recreate_vgpu(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu,
			 struct instant now, struct err *reterr)
{
	int cap_pct = vgpu->contract.terms.initial_cap_pct, last_pct, intent_pct;
	int r;

	if (cap_journal_get(caps->actuator.journal, vgpu->contract.id, &last_pct, &intent_pct) &&
	    last_pct > 0)
		cap_pct = last_pct;
	r = actuate_create(&caps->actuator, gpu, vgpu, cap_pct, now, reterr);
	if (r != 0)
		return r < 0 ? r : -EIO; /* @reterr contains the reason */
	pass_labels(gpu, vgpu);
	host_gpu_check_caps(gpu);
	record_decision(caps->recorder, gpu, vgpu, DECISION_ADOPT, DECISION_WRITTEN, now,
			"vGPU %s did not exist and was created again with its last cap of %d %%",
			vgpu->contract.id, cap_pct);
	return 0;
}

static void drop_vgpu(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu)
{
	if (!caps->settings->dry_run)
		(void)cap_journal_remove(caps->actuator.journal, vgpu->contract.id);
	frames_forget(&caps->frames, vgpu->contract.id);
	host_gpu_remove(gpu, vgpu);
	vgpu_free(gpu, vgpu);
}

/*
 * Removes and frees a vGPU that was never sold and no longer exists. The caller saves the
 * contracts.
 */
static void forget(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu, struct instant now)
{
	record_decision(caps->recorder, gpu, vgpu, DECISION_MISSING, DECISION_NOTED, now,
			"vGPU %s without a contract vanished from GPU %s", vgpu->contract.id,
			gpu->config.name);
	drop_vgpu(caps, gpu, vgpu);
}

/* A crash has interrupted the removal of @vgpu. It was removed, so its contract has ended. */
static void end_removal(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu,
			struct instant now)
{
	record_decision(caps->recorder, gpu, vgpu, DECISION_REMOVE, DECISION_NOTED, now,
			"vGPU %s does not exist, and its removal was requested before the last "
			"crash: its contract of %d %% has ended",
			vgpu->contract.id, vgpu->contract.terms.initial_cap_pct);
	drop_vgpu(caps, gpu, vgpu);
}

/* Reserves the cap that the vGPU of a contract will have when it returns. */
static void reserve_cap(const struct caps *caps, const struct host_gpu *gpu, struct vgpu *vgpu)
{
	int last_pct = 0, intent_pct;

	(void)cap_journal_get(caps->actuator.journal, vgpu->contract.id, &last_pct, &intent_pct);
	cap_assume(&vgpu->cap,
		   host_reserved_cap_pct(&caps->settings->params, gpu, &vgpu->contract, last_pct));
}

/* Attaches the vGPU of a contract. If it does not exist, creates it again or forgets it. */
static void adopt_vgpu(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu,
		       struct instant now)
{
	struct err err = {""};
	int r = attach_existing(caps, gpu, vgpu, now, &err);

	if (r == -ENOENT && vgpu->removing) {
		end_removal(caps, gpu, vgpu, now);
		return;
	}
	if (r == -ENOENT && vgpu->found) {
		forget(caps, gpu, vgpu, now);
		return;
	}
	if (r == -ENOENT && gpu->traits.creates)
		r = recreate_vgpu(caps, gpu, vgpu, now, &err);
	if (r < 0)
		log_warning("vGPU %s: %s; the contract stays in force", vgpu->contract.id, err.msg);
	if (!vgpu->device)
		reserve_cap(caps, gpu, vgpu);
}

/* Ids are unique (store/contracts.c), and adopt_check() has checked the rest. */
static int adopt_contract(struct caps *caps, struct contract_entry *entry, struct instant now)
{
	struct host_gpu *gpu = host_find_gpu(caps->host, entry->contract.gpu);
	struct vgpu *vgpu;

	if (!gpu)
		return -ENOENT;
	vgpu = vgpu_new(&entry->contract, entry->found);
	vgpu->removing = entry->removing;
	host_gpu_insert(gpu, vgpu);
	if (gpu->state == GPU_OPEN)
		adopt_vgpu(caps, gpu, vgpu, now);
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

int adopt_check(const struct caps *caps, const struct contracts *contracts, struct err *reterr)
{
	for (size_t i = 0; i < contracts->n_vgpus; i++) {
		const struct contract *contract = &contracts->vgpus[i].contract;

		if (!is_configured(&caps->settings->config, contract->gpu))
			return err_fail(reterr, ENOENT,
					"%s: vgpus: element %zu: vGPU %s has a contract on GPU %s, "
					"which is not configured",
					caps->store->contracts_path, i, contract->id,
					contract->gpu);
	}
	for (int i = 0; i < caps->settings->config.n_gpus; i++) {
		const char *gpu = caps->settings->config.gpus[i].gpu.name;
		int n = count_contracts(contracts, gpu);

		if (n > POLICY_VGPUS_MAX)
			return err_fail(reterr, EINVAL, "%s: GPU %s has %d contracts (limit %d)",
					caps->store->contracts_path, gpu, n, POLICY_VGPUS_MAX);
	}
	return 0;
}

/*
 * Marks each vGPU that is still on hold after an external change, so that its alert foreign_write
 * remains.
 */
static void settle_alerts(struct caps *caps)
{
	for (size_t i = 0; i < alerts_count(caps->recorder->alerts); i++) {
		const struct alert *alert = alerts_at(caps->recorder->alerts, i);
		struct vgpu *vgpu = host_find_vgpu(caps->host, alert->vgpu, NULL);

		if (alert->kind == ALERT_FOREIGN_WRITE && vgpu && vgpu->contract.held)
			cap_set_foreign(&vgpu->cap, true);
	}
}

/*
 * Saves the contracts if vGPUs were put on hold or removed, or if @changed. Then continues or ends
 * the offers and alerts of the last run. @n_vgpus: number of vGPUs in the contracts file.
 */
static void settle(struct caps *caps, size_t n_vgpus, bool changed, struct instant now)
{
	size_t adopted = 0;

	for (int i = 0; i < caps->host->n_gpus; i++) {
		for (const struct vgpu *v = caps->host->gpus[i].vgpus; v; v = v->next, adopted++)
			changed = changed || v->cap.foreign;
	}
	if (changed || adopted != n_vgpus)
		save_soon(caps->store);
	selling_resume(caps->sales, now);
	settle_alerts(caps);
}

/* Returns true if a begin was unknown and is now the start: an earlier release wrote the file. */
static bool resume_begins(struct contracts *contracts, struct instant now)
{
	bool begun = false;

	for (int i = 0; i < contracts->n_gpus; i++)
		begun |= since_resume(&contracts->gpus[i].frozen_since,
				      contracts->gpus[i].mode == GPU_MODE_FROZEN, now);
	for (size_t i = 0; i < contracts->n_vgpus; i++) {
		struct contract *contract = &contracts->vgpus[i].contract;

		begun |= since_resume(&contract->held_since, contract->held, now);
	}
	return begun;
}

int adopt_host(struct caps *caps, struct contracts *contracts, struct instant now,
	       struct err *reterr)
{
	bool begun = resume_begins(contracts, now);

	for (int i = 0; i < contracts->n_gpus; i++) {
		struct host_gpu *gpu = host_find_gpu(caps->host, contracts->gpus[i].name);

		if (!gpu)
			continue;
		host_gpu_set_mode(gpu, contracts->gpus[i].mode, contracts->gpus[i].selling,
				  contracts->gpus[i].frozen_since);
	}
	for (size_t i = 0; i < contracts->n_vgpus; i++) {
		int r = adopt_contract(caps, &contracts->vgpus[i], now);

		if (r < 0)
			return err_fail(reterr, -r, "vGPU %s cannot be adopted: %s",
					contracts->vgpus[i].contract.id, strerror(-r));
	}
	settle(caps, contracts->n_vgpus, begun, now);
	return 0;
}

void adopt_gpu(struct caps *caps, struct host_gpu *gpu, struct instant now)
{
	for (struct vgpu *v = gpu->vgpus, *next; v; v = next) {
		next = v->next;
		if (!v->device)
			adopt_vgpu(caps, gpu, v, now);
	}
	selling_set_units(caps->sales);
	save_soon(caps->store);
}

static struct vgpu *new_found(const struct host_gpu *gpu, const char *id, int initial_cap_pct,
			      struct instant now)
{
	struct contract contract = {
		.terms = {.initial_cap_pct = initial_cap_pct, .weight = 1},
		.created_ms = now.wall_ms,
		.labels = json_object(),
	};

	(void)id_copy(contract.id, id);
	(void)id_copy(contract.gpu, gpu->config.name);
	return vgpu_new(&contract, /* found= */ true);
}

/*
 * The contract of this vGPU is lost. Puts the vGPU on hold, because any change of its cap could
 * break the contract.
 */
static void hold_unknown(struct caps *caps, const struct host_gpu *gpu, struct vgpu *vgpu,
			 struct instant now)
{
	vgpu_hold(vgpu, now);
	record_decision(caps->recorder, gpu, vgpu, DECISION_FOUND, DECISION_NOTED, now,
			"the contract of vGPU %s on GPU %s is lost: the vGPU is on hold at its cap "
			"of %d %% until it is released",
			vgpu->contract.id, gpu->config.name, vgpu->cap.pct);
}

int adopt_found(struct caps *caps, struct host_gpu *gpu, const char *id, int initial_cap_pct,
		struct instant now, struct err *reterr)
{
	struct vgpu *vgpu = host_gpu_find_vgpu(gpu, id);
	int last_pct, intent_pct, r;
	bool lost = caps->contracts_lost && !gpu->traits.observes &&
		    cap_journal_get(caps->actuator.journal, id, &last_pct, &intent_pct);

	if (vgpu)
		return attach_existing(caps, gpu, vgpu, now, reterr);
	if (!id_valid(id) || host_find_vgpu(caps->host, id, NULL))
		return -EINVAL;
	if (gpu->n_vgpus == POLICY_VGPUS_MAX)
		return err_fail(reterr, ENOSPC, "the GPU has %d vGPUs already (the limit)",
				POLICY_VGPUS_MAX);
	vgpu = new_found(gpu, id, initial_cap_pct, now);
	r = attach_existing(caps, gpu, vgpu, now, reterr);
	if (r < 0) {
		vgpu_free(gpu, vgpu);
		return r;
	}
	host_gpu_insert(gpu, vgpu);
	if (lost)
		hold_unknown(caps, gpu, vgpu, now);
	else if (gpu->traits.observes)
		record_decision(caps->recorder, gpu, vgpu, DECISION_FOUND, DECISION_NOTED, now,
				"vGPU %s on GPU %s has no contract and is only observed", id,
				gpu->config.name);
	else
		record_decision(
			caps->recorder, gpu, vgpu, DECISION_FOUND, DECISION_NOTED, now,
			"vGPU %s on GPU %s has no contract: its cap of %d %% counts as sold", id,
			gpu->config.name, vgpu->contract.terms.initial_cap_pct);
	save_soon(caps->store);
	return 0;
}

/* --- vGPUs that appear and vanish --- */

struct found_context {
	struct caps *caps;
	struct host_gpu *gpu;
	struct instant now;
	int unnamed; /* number of vGPUs that cannot be adopted and whose names are not logged */
};

static void log_refused(struct found_context *c, const char *id, const struct err *err)
{
	struct host_gpu *gpu = c->gpu;
	struct refused *refused = gpu->refused.vgpus, *end = refused + gpu->refused.n;

	while (refused < end && strncmp(refused->id, id, ID_MAX - 1) != 0)
		refused++;
	if (refused == &gpu->refused.vgpus[REFUSED_MAX]) {
		c->unnamed++;
		return;
	}
	refused->listed = true;
	if (refused < end)
		return;
	gpu->refused.n++;
	snprintf(refused->id, sizeof(refused->id), "%.*s", ID_MAX - 1, id);
	log_warning("vGPU %s on GPU %s cannot be adopted%s%s", id, gpu->config.name,
		    err->msg[0] ? ": " : "", err->msg);
}

/*
 * The list refused contains vGPUs that could not be adopted. Drops those that have vanished or were
 * adopted meanwhile. If such a vGPU cannot be adopted again later, that is logged again.
 */
static void drop_unlisted(struct found_context *c)
{
	struct host_gpu *gpu = c->gpu;
	int n = 0;

	for (int i = 0; i < gpu->refused.n; i++) {
		if (!gpu->refused.vgpus[i].listed)
			continue;
		gpu->refused.vgpus[n] = gpu->refused.vgpus[i];
		gpu->refused.vgpus[n++].listed = false;
	}
	gpu->refused.n = n;
	if (c->unnamed && !gpu->refused.more)
		log_warning("%d more vGPUs on GPU %s cannot be adopted", c->unnamed,
			    gpu->config.name);
	gpu->refused.more = c->unnamed > 0;
}

static void found_vgpu(struct found_context *c, const struct gpu_io_listed *listed)
{
	const char *id = listed->id;
	struct vgpu *v = host_gpu_find_vgpu(c->gpu, id);
	struct err err = {""};
	int r;

	if (v)
		v->listed = true;
	if (v && v->device)
		return;
	r = adopt_found(c->caps, c->gpu, id, listed->initial_cap_pct, c->now, &err);
	if (r < 0 && r != -ENOENT) /* -ENOENT: the vGPU vanished meanwhile */
		log_refused(c, id, &err);
}

/*
 * Forgets vGPUs without a contract that an earlier daemon adopted and that have vanished. This
 * daemon has never sampled them, so only the listing shows that they are gone.
 */
static void forget_unlisted(struct caps *caps, struct host_gpu *gpu, struct instant now)
{
	for (struct vgpu *v = gpu->vgpus, *next; v; v = next) {
		next = v->next;
		if (!v->found || v->device || v->listed)
			continue;
		forget(caps, gpu, v, now);
		save_soon(caps->store);
	}
}

void adopt_listed(struct caps *caps, struct host_gpu *gpu, const struct gpu_io_sweep *sweep,
		  struct instant now)
{
	struct found_context context = {.caps = caps, .gpu = gpu, .now = now};
	int r = sweep->list_error;

	for (struct vgpu *v = gpu->vgpus; v; v = v->next)
		v->listed = false;
	for (int i = 0; i < sweep->n_listed; i++)
		found_vgpu(&context, &sweep->listed[i]);
	if (r == 0) {
		drop_unlisted(&context);
		forget_unlisted(caps, gpu, now);
	}
	if (r < 0 && r != gpu->list_errno)
		log_warning("GPU %s: the vGPUs cannot be listed: %s", gpu->config.name,
			    strerror(-r));
	gpu->list_errno = r;
}

void adopt_lose(struct caps *caps, struct host_gpu *gpu, struct vgpu *vgpu, struct instant now)
{
	if (vgpu->found) {
		alerts_vgpu_removed(caps->recorder->alerts, vgpu->contract.id);
		offers_vgpu_removed(caps->sales->offers, vgpu->contract.id, now);
		forget(caps, gpu, vgpu, now);
		save_soon(caps->store);
		return;
	}
	alerts_vgpu_changed(caps->recorder->alerts, vgpu->contract.id);
	actuate_detach(gpu, vgpu);
	cap_end(&vgpu->cap);
	record_decision(caps->recorder, gpu, vgpu, DECISION_MISSING, DECISION_NOTED, now,
			"vGPU %s vanished from GPU %s; the contract stays in force",
			vgpu->contract.id, gpu->config.name);
	selling_close(caps->sales, gpu, now, "vGPU %s vanished from GPU %s", vgpu->contract.id,
		      gpu->config.name);
}
