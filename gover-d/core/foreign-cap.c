/* SPDX-License-Identifier: MIT */
/* Determines the origin of a cap, and adopts caps that other programs set. */
#include <errno.h>

#include "gover-d/core/foreign-cap.h"
#include "gover-d/core/record.h"
#include "gover-d/core/state.h"

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
	if (r < 0 && r != -EOPNOTSUPP && r != -ENOENT && (lease_over || vgpu->found))
		return CAP_UNKNOWN;
	if (r == 0 && initial_pct == cap_pct) {
		if (vgpu->found && percent(initial_pct) != sold_pct)
			return CAP_NEW_INITIAL;
		return lease_over ? CAP_INITIAL : CAP_FOREIGN;
	}
	return lease_over && cap_pct == sold_pct ? CAP_INITIAL : CAP_FOREIGN;
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
	vgpu->contract.held = true;
	vgpu->contract.held_cap_pct = vgpu->cap_pct;
	vgpu->foreign = true;
	record_decision(
		m, gpu, vgpu, DECISION_FOREIGN_WRITE, DECISION_NOTED, now,
		"the cap of vGPU %s was changed externally from %d to %d %%; the vGPU is on "
		"hold until it is released",
		vgpu->contract.id, last_pct, found_pct);
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
