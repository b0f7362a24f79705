/* SPDX-License-Identifier: MIT */
/* Determines the origin of a cap, and adopts caps that other programs set. */
#include <errno.h>

#include "gover-d/core/foreign-cap.h"
#include "gover-d/core/record.h"
#include "gover-d/core/state.h"

/* @initial: the cap is the initial cap. */
static enum cap_origin judge_change(const struct vgpu *vgpu, int cap_pct, bool initial)
{
	return kept_cap_is_lost(&vgpu->kept, cap_pct, initial) ? CAP_NOT_KEPT : CAP_FOREIGN;
}

static int percent(int cap_pct)
{
	return cap_pct == 0 ? 100 : cap_pct;
}

enum cap_origin foreign_cap_judge(const struct actuator *actuator, const struct host_gpu *gpu,
				  const struct vgpu *vgpu, int cap_pct, bool lease_over)
{
	int sold_pct = vgpu->contract.terms.initial_cap_pct, initial_pct, r;

	/* The cap of a GPU that is only observed is a measure, which changes with its vGPUs. */
	if (gpu->traits.observes || actuate_is_ours(actuator, vgpu, cap_pct))
		return CAP_OWN;
	r = gpu_io_read_initial_cap(gpu->io, vgpu->device, &initial_pct);
	if (r == -ENODEV) /* the cap was that of a device which no longer exists */
		return CAP_UNKNOWN;
	if (r < 0 && r != -EOPNOTSUPP && r != -ENOENT && (lease_over || vgpu->found))
		return CAP_UNKNOWN;
	if (r == 0 && initial_pct == cap_pct) {
		if (vgpu->found && percent(initial_pct) != sold_pct)
			return CAP_NEW_INITIAL;
		return lease_over ? CAP_INITIAL : judge_change(vgpu, cap_pct, true);
	}
	/* Without an initial cap, the first cap of a new device is its initial cap. */
	if (lease_over && (cap_pct == sold_pct || (r < 0 && vgpu->anew)))
		return CAP_INITIAL;
	return judge_change(vgpu, cap_pct, false);
}

static void take_over(struct manager *m, struct vgpu *vgpu, int found_pct)
{
	vgpu->expected_cap_pct = found_pct;
	vgpu->cap_pct = percent(found_pct);
	if (!m->actuator.dry_run)
		cap_journal_settle(m->actuator.journal, vgpu->contract.id, found_pct);
}

void foreign_cap_hold(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu, int found_pct,
		      struct instant now)
{
	int last_pct = vgpu->expected_cap_pct;

	take_over(m, vgpu, found_pct);
	vgpu->kept = (struct kept_cap){.open = false};
	vgpu->contract.held = true;
	vgpu->contract.held_cap_pct = vgpu->cap_pct;
	vgpu->foreign = true;
	record_decision(
		m, gpu, vgpu, DECISION_FOREIGN_WRITE, DECISION_NOTED, now,
		"the cap of vGPU %s was changed externally from %d to %d %%; the vGPU is on "
		"hold until it is released",
		vgpu->contract.id, last_pct, found_pct);
}

void foreign_cap_note_loss(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
			   int found_pct, struct instant now)
{
	int written_pct = vgpu->kept.written_pct;

	take_over(m, vgpu, found_pct);
	kept_cap_note_loss(&vgpu->kept, written_pct, now.mono_ns);
	vgpu->cap_waits = kept_cap_waits(&vgpu->kept, now.mono_ns);
	gpu->caps_due = true;
	record_decision(m, gpu, vgpu, DECISION_ADOPT, DECISION_FAILED, now,
			"the driver did not keep the cap of vGPU %s: %d %% was written and read "
			"back, and then the cap was %d %% again (lost writes in a row: %d)",
			vgpu->contract.id, written_pct, vgpu->cap_pct, vgpu->kept.n_lost);
}

void foreign_cap_accept_initial(struct manager *m, struct host_gpu *gpu, struct vgpu *vgpu,
				int found_pct, struct instant now)
{
	take_over(m, vgpu, found_pct);
	vgpu->contract.terms.initial_cap_pct = vgpu->cap_pct;
	record_decision(m, gpu, vgpu, DECISION_FOUND, DECISION_NOTED, now,
			"the initial cap of vGPU %s, which has no contract, was set to %d %%; this "
			"cap counts as sold",
			vgpu->contract.id, vgpu->cap_pct);
}
