/* SPDX-License-Identifier: MIT */
/*
 * The vGPU scheduler. Must never call anything: no libc, no kernel, no clock, no allocation, no
 * floating point. A slot costs O(1) for each vGPU, a pick at most one look at each.
 */
#include "sched/sched.h"

static uint64_t share_of(uint64_t ns, unsigned int cap_pct)
{
	return ns * (cap_pct == 0 ? 100 : cap_pct) / 100;
}

void sched_start(struct sched *sched, uint64_t now_ns)
{
	sched->current = NULL;
	sched->quantum_ns = 0;
	sched->slot_end_ns = now_ns + SCHED_SLOT_NS;
	sched->slot = 0;
	sched->n_pending = 0;
	sched->pending_xor = 0;
}

void sched_add(struct sched *sched, struct sched_vgpu *vgpu, unsigned int cap_pct, uint64_t now_ns)
{
	uint64_t rest_ns = now_ns < sched->slot_end_ns ? sched->slot_end_ns - now_ns : 0;
	struct sched_vgpu *current = sched->current;

	vgpu->pending = false;
	vgpu->cap_pct = (uint8_t)cap_pct;
	vgpu->next_cap_pct = (uint8_t)cap_pct;
	vgpu->initial_cap_pct = (uint8_t)cap_pct;
	vgpu->slice_ns = cap_pct == 0 ? 0 : (int64_t)share_of(rest_ns, cap_pct);
	vgpu->busy_ns = 0;
	vgpu->sched_ns = 0;
	vgpu->allotted_at_ns = now_ns;
	if (!current) {
		vgpu->next = vgpu;
		vgpu->prev = vgpu;
		sched->current = vgpu;
		sched->quantum_ns = 0;
		return;
	}
	/* A pick begins after current and asks it last: the place before it is the round's end. */
	vgpu->next = current;
	vgpu->prev = current->prev;
	current->prev->next = vgpu;
	current->prev = vgpu;
}

void sched_remove(struct sched *sched, struct sched_vgpu *vgpu)
{
	sched_set_pending(sched, vgpu, false);
	if (sched->current == vgpu) {
		sched->current = vgpu->next == vgpu ? NULL : vgpu->prev;
		sched->quantum_ns = 0;
	}
	vgpu->prev->next = vgpu->next;
	vgpu->next->prev = vgpu->prev;
	vgpu->next = NULL;
	vgpu->prev = NULL;
}

void sched_set_pending(struct sched *sched, struct sched_vgpu *vgpu, bool pending)
{
	if (vgpu->pending == pending)
		return;
	sched->n_pending += pending ? 1U : -1U;
	sched->pending_xor ^= (uintptr_t)vgpu;
	vgpu->pending = pending;
}

void sched_set_cap(struct sched_vgpu *vgpu, unsigned int cap_pct)
{
	vgpu->next_cap_pct = (uint8_t)cap_pct;
}

/* Algorithm 2 for one vGPU. One without limit keeps no account: a cap set later begins at nought.
 */
static void open_slot_of(struct sched_vgpu *vgpu, bool second_begins, uint64_t now_ns)
{
	vgpu->sched_ns = sched_allotted_ns(vgpu, now_ns);
	vgpu->allotted_at_ns = now_ns;
	vgpu->cap_pct = vgpu->next_cap_pct;
	if (second_begins || vgpu->cap_pct == 0)
		vgpu->slice_ns = 0;
	if (vgpu->cap_pct != 0)
		vgpu->slice_ns += (int64_t)share_of(SCHED_SLOT_NS, vgpu->cap_pct);
}

void sched_open_slot(struct sched *sched, uint64_t now_ns)
{
	struct sched_vgpu *vgpu = sched->current;

	sched->slot = sched->slot + 1 == SCHED_SLOTS ? 0 : sched->slot + 1;
	sched->slot_end_ns = now_ns + SCHED_SLOT_NS;
	if (!vgpu)
		return;
	do {
		open_slot_of(vgpu, sched->slot == 0, now_ns);
		vgpu = vgpu->next;
	} while (vgpu != sched->current);
}

static bool can_run(const struct sched_vgpu *vgpu)
{
	return vgpu->pending && (vgpu->slice_ns > 0 || vgpu->cap_pct == 0);
}

/* Algorithm 3. */
struct sched_vgpu *sched_pick(struct sched *sched, uint64_t *ret_run_ns)
{
	struct sched_vgpu *vgpu = sched->current;

	if (sched->n_pending == 0)
		return NULL;
	if (sched->quantum_ns == 0 || !can_run(vgpu)) {
		/* One that is alone with its work is the round's next: nobody need be asked. */
		if (sched->n_pending == 1) {
			vgpu = (struct sched_vgpu *)sched->pending_xor;
		} else {
			do {
				vgpu = vgpu->next;
			} while (!can_run(vgpu) && vgpu != sched->current);
		}
		if (!can_run(vgpu))
			return NULL;
		sched->current = vgpu;
		sched->quantum_ns = share_of(SCHED_ROUND_NS, vgpu->cap_pct);
	}
	*ret_run_ns = sched->quantum_ns;
	if (vgpu->cap_pct != 0 && (uint64_t)vgpu->slice_ns < sched->quantum_ns)
		*ret_run_ns = (uint64_t)vgpu->slice_ns;
	return vgpu;
}

void sched_account(struct sched *sched, struct sched_vgpu *vgpu, uint64_t ran_ns)
{
	vgpu->busy_ns += ran_ns;
	if (vgpu->cap_pct != 0)
		vgpu->slice_ns -= (int64_t)ran_ns;
	if (vgpu == sched->current)
		sched->quantum_ns -= ran_ns < sched->quantum_ns ? ran_ns : sched->quantum_ns;
}

uint64_t sched_allotted_ns(const struct sched_vgpu *vgpu, uint64_t now_ns)
{
	uint64_t ns = now_ns > vgpu->allotted_at_ns ? now_ns - vgpu->allotted_at_ns : 0;

	return vgpu->sched_ns + share_of(ns, vgpu->cap_pct);
}
