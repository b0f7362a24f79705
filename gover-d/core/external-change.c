/* SPDX-License-Identifier: MIT */
/*
 * Detects and handles changes that other programs make: new vGPUs, vanished vGPUs and changed caps.
 * Also handles expired leases.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gover-d/core/adopt.h"
#include "gover-d/core/external-change.h"
#include "gover-d/core/foreign-cap.h"
#include "gover-d/core/record.h"
#include "gover-d/core/save.h"
#include "gover-d/core/selling.h"
#include "gover-d/core/state.h"
#include "gover-d/core/tick-alerts.h"
#include "gover-d/util/log.h"

/* If the daemon itself creates the vGPUs, it lists them only once in this number of periods. */
#define LIST_PERIODS 5

/* --- vGPUs --- */

struct found_context {
	struct manager *manager;
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
	r = adopt_found(c->manager, c->gpu, id, listed->initial_cap_pct, c->now, &err);
	if (r < 0 && r != -ENOENT) /* -ENOENT: the vGPU vanished meanwhile */
		log_refused(c, id, &err);
}

/*
 * Forgets vGPUs without a contract that an earlier daemon adopted and that have vanished. This
 * daemon has never sampled them, so only the listing shows that they are gone.
 */
static void forget_unlisted(struct manager *m, struct host_gpu *gpu, struct instant now)
{
	for (struct vgpu *v = gpu->vgpus, *next; v; v = next) {
		next = v->next;
		if (!v->found || v->device || v->listed)
			continue;
		adopt_forget(m, gpu, v, now);
		save_soon(m);
	}
}

bool external_change_list_due(const struct manager *m, const struct host_gpu *gpu)
{
	return !gpu->traits.creates || m->host.ticks % LIST_PERIODS == 0;
}

void external_change_find_vgpus(struct manager *m, struct host_gpu *gpu,
				const struct gpu_io_sweep *sweep, struct instant now)
{
	struct found_context context = {.manager = m, .gpu = gpu, .now = now};
	int r = sweep->list_error;

	for (struct vgpu *v = gpu->vgpus; v; v = v->next)
		v->listed = false;
	for (int i = 0; i < sweep->n_listed; i++)
		found_vgpu(&context, &sweep->listed[i]);
	if (r == 0) {
		drop_unlisted(&context);
		forget_unlisted(m, gpu, now);
	}
	if (r < 0 && r != gpu->list_errno)
		log_warning("GPU %s: the vGPUs cannot be listed: %s", gpu->config.name,
			    strerror(-r));
	gpu->list_errno = r;
}

void external_change_lose_vgpu(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
			       struct instant now)
{
	if (vgpu->found) {
		gpu->lost_vgpu = true;
		alerts_vgpu_removed(m->alerts, vgpu->contract.id);
		offers_vgpu_removed(m->offers, vgpu->contract.id, now);
		adopt_forget(m, gpu, vgpu, now);
		save_soon(m);
		return;
	}
	alerts_vgpu_changed(m->alerts, vgpu->contract.id);
	gpu_io_detach(gpu->io, vgpu->device);
	vgpu->device = NULL;
	vgpu->renewed_ns = 0;
	/* a missing vGPU must not count as overloaded */
	memset(&vgpu->view, 0, sizeof(vgpu->view));
	memset(&vgpu->promise, 0, sizeof(vgpu->promise));
	vgpu->broken_since_ms = 0;
	vgpu->reported = false;
	record_decision(m, gpu, vgpu, DECISION_MISSING, DECISION_NOTED, now,
			"vGPU %s vanished from GPU %s; the contract stays in force",
			vgpu->contract.id, gpu->config.name);
	selling_close(m, gpu, now, "vGPU %s vanished from GPU %s", vgpu->contract.id,
		      gpu->config.name);
}

/* --- caps --- */

/* Puts the vGPU on hold at the cap that an external writer set. */
static void take_cap(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu, int found_pct,
		     struct instant now)
{
	foreign_cap_hold(m, gpu, vgpu, found_pct, now);
	tick_alerts_foreign(m, gpu->config.name, vgpu, now.wall_ms);
	save_soon(m);
}

static void accept_initial_cap(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
			       int found_pct, struct instant now)
{
	foreign_cap_accept_initial(m, gpu, vgpu, found_pct, now);
	save_soon(m);
}

/*
 * True if the lease of the cap may have ended before @read_ns, the time after the reading of the
 * cap: it was renewed late, this daemon does not renew it or never could, or an earlier reading was
 * not judged.
 */
static bool lease_may_be_over(const struct manager *m, const struct host_gpu *gpu,
			      const struct vgpu *vgpu, bool gap, uint64_t read_ns)
{
	uint64_t lease_ns = (uint64_t)gpu->config.lease_ms * NS_PER_MS;

	return vgpu->cap_unknown || vgpu->lease_unknown || gap || m->actuator.dry_run ||
	       gpu->mode == GPU_MODE_OBSERVE ||
	       (vgpu->renewed_ns && read_ns > vgpu->renewed_ns + lease_ns);
}

static void rewrite_cap(struct manager *m, struct host_gpu *gpu, struct vgpu *v, struct instant now)
{
	int last_pct = v->expected_cap_pct;

	v->cap_pct = v->expected_cap_pct = v->row.cap_pct;
	if (gpu->mode != GPU_MODE_OBSERVE)
		(void)actuate_cap(&m->actuator, gpu, v, last_pct == 0 ? 100 : last_pct, "lease",
				  now);
}

void external_change_check_cap(struct manager *m, struct host_gpu *gpu, struct vgpu *v, bool gap,
			       struct instant now)
{
	bool lease_over;

	if (!v->device)
		return;
	v->cap_waits = kept_cap_waits(&v->kept, now.mono_ns);
	if (!v->row.cap_valid) {
		uint64_t read_ns = now.mono_ns + GPU_IO_WAIT_MS * NS_PER_MS;

		/* If this tick renews the lease, the next one cannot know that it had ended. */
		v->cap_unknown = lease_may_be_over(m, gpu, v, gap, read_ns);
		gpu->caps_due = gpu->caps_due || v->cap_unknown;
		return;
	}
	lease_over = lease_may_be_over(m, gpu, v, gap, v->cap_read_ns);
	v->cap_unknown = false;
	switch (foreign_cap_judge(&m->actuator, gpu, v, v->row.cap_pct, lease_over)) {
	case CAP_OWN:
		kept_cap_note_reading(&v->kept);
		v->expected_cap_pct = v->row.cap_pct;
		v->cap_pct = v->row.cap_pct == 0 ? 100 : v->row.cap_pct;
		break;
	case CAP_NEW_INITIAL:
		accept_initial_cap(m, gpu, v, v->row.cap_pct, now);
		break;
	case CAP_INITIAL:
		rewrite_cap(m, gpu, v, now);
		break;
	case CAP_NOT_KEPT:
		foreign_cap_note_loss(m, gpu, v, v->row.cap_pct, now);
		break;
	case CAP_FOREIGN:
		take_cap(m, gpu, v, v->row.cap_pct, now);
		break;
	case CAP_UNKNOWN: /* the next period tries again */
		v->cap_pct = v->row.cap_pct == 0 ? 100 : v->row.cap_pct;
		v->cap_unknown = gpu->caps_due = true;
		break;
	}
	v->anew = v->anew && v->cap_unknown;
}

void external_change_judge_cap(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
			       int found_pct, struct instant now)
{
	uint64_t read_ns = now.mono_ns + GPU_IO_WAIT_MS * NS_PER_MS; /* the reading may take long */
	bool lease_over = lease_may_be_over(m, gpu, vgpu, /* gap= */ false, read_ns);
	enum cap_origin origin = foreign_cap_judge(&m->actuator, gpu, vgpu, found_pct, lease_over);

	if (origin == CAP_FOREIGN)
		take_cap(m, gpu, vgpu, found_pct, now);
	else if (origin == CAP_NOT_KEPT)
		foreign_cap_note_loss(m, gpu, vgpu, found_pct, now);
}

int external_change_check_now(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
			      struct instant now, struct err *reterr)
{
	uint64_t read_ns = now.mono_ns + GPU_IO_WAIT_MS * NS_PER_MS; /* the reading may take long */
	int was_pct = vgpu->expected_cap_pct, found_pct;

	if (!actuate_is_foreign(&m->actuator, gpu, vgpu, &found_pct))
		return 0;
	switch (foreign_cap_judge(&m->actuator, gpu, vgpu, found_pct,
				  lease_may_be_over(m, gpu, vgpu, /* gap= */ false, read_ns))) {
	case CAP_NEW_INITIAL:
		accept_initial_cap(m, gpu, vgpu, found_pct, now);
		return 0;
	case CAP_NOT_KEPT:
		foreign_cap_note_loss(m, gpu, vgpu, found_pct, now);
		return 0;
	case CAP_OWN:
	case CAP_INITIAL:
	case CAP_UNKNOWN: /* after the end of a lease, the request may write the cap */
		vgpu->expected_cap_pct = found_pct;
		gpu->caps_due = true; /* if it does not, the next period corrects the cap */
		return 0;
	case CAP_FOREIGN:
		break;
	}
	take_cap(m, gpu, vgpu, found_pct, now);
	(void)err_condition(
		reterr, CONTROL_E_FOREIGN_CAP,
		"the cap of vGPU %s was just changed externally from %d to %d %%: the vGPU is on "
		"hold now and the request was not applied; repeat the request or release the vGPU",
		vgpu->contract.id, was_pct, found_pct);
	return 1;
}
