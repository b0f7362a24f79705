/* SPDX-License-Identifier: MIT */
/*
 * The vGPU scheduler. It calls no external function and uses no floating point. Opening a slot
 * takes O(1) time for each vGPU. A pick visits each vGPU at most once, and none if no vGPU is
 * runnable.
 */
#include "kernel/sched/sched.h"

/* Long division in 32-bit steps, because a 32-bit kernel has no 64-bit division. */
static uint64_t divide_by_100(uint64_t ns)
{
	uint32_t high = (uint32_t)(ns >> 32), low = (uint32_t)ns;
	uint32_t middle = high % 100 << 16 | low >> 16;
	uint32_t last = middle % 100 << 16 | (low & 0xffff);

	return (uint64_t)(high / 100) << 32 | (uint64_t)(middle / 100) << 16 | last / 100;
}

static uint64_t share_of(uint64_t ns, unsigned int cap_pct)
{
	return cap_pct == 0 ? ns : divide_by_100(ns * cap_pct);
}

/* Call after each change of pending, limit_ns or claim_ns. */
static void count(struct sched *sched, struct sched_vgpu *vgpu)
{
	bool runnable = vgpu->pending && vgpu->limit_ns > 0;
	bool entitled = vgpu->pending && vgpu->claim_ns > 0;

	sched->n_runnable += (unsigned int)runnable - (unsigned int)vgpu->runnable;
	sched->n_entitled += (unsigned int)entitled - (unsigned int)vgpu->entitled;
	vgpu->runnable = runnable;
	vgpu->entitled = entitled;
}

/*
 * Call after each change of the slice or the ceiling. A vGPU without a cap has no limit and does
 * not use its slice. The slice stays 0, which is correct if a cap is set later. The same applies to
 * the ceiling.
 */
static void update(struct sched *sched, struct sched_vgpu *vgpu)
{
	if (vgpu->cap_pct == 0)
		vgpu->slice_ns = 0;
	if (vgpu->ceiling_pct == 0)
		vgpu->ceiling_ns = 0;
	sched->discipline->allow(vgpu);
	count(sched, vgpu);
}

void sched_start(struct sched *sched, const struct sched_discipline *discipline, uint64_t now_ns)
{
	sched->discipline = discipline ? discipline : &sched_disciplines[0];
	sched->turn = NULL;
	sched->quantum_ns = 0;
	sched->slot_end_ns = now_ns + SCHED_SLOT_NS;
	sched->tag = 0;
	sched->slot = 0;
	sched->n_runnable = 0;
	sched->n_entitled = 0;
}

/*
 * The turn ends, because it may be a turn of spare time. After "weight", slices contain large
 * debts. Tags of different disciplines cannot be compared.
 */
void sched_set_discipline(struct sched *sched, const struct sched_discipline *discipline)
{
	struct sched_vgpu *vgpu = sched->turn;

	if (discipline == sched->discipline)
		return;
	sched->discipline = discipline;
	sched->quantum_ns = 0;
	if (!vgpu)
		return;
	do {
		vgpu->borrows = false;
		vgpu->tag = sched->tag;
		if (vgpu->slice_ns < 0)
			vgpu->slice_ns = 0;
		if (vgpu->ceiling_ns < 0)
			vgpu->ceiling_ns = 0;
		update(sched, vgpu);
		vgpu = vgpu->next;
	} while (vgpu != sched->turn);
}

void sched_add(struct sched *sched, struct sched_vgpu *vgpu, unsigned int cap_pct, uint64_t now_ns)
{
	uint64_t rest_ns = now_ns < sched->slot_end_ns ? sched->slot_end_ns - now_ns : 0;
	struct sched_vgpu *turn = sched->turn;

	vgpu->pending = false;
	vgpu->runnable = false;
	vgpu->entitled = false;
	vgpu->borrows = false;
	vgpu->cap_written = false;
	vgpu->ceiling_written = false;
	vgpu->cap_pct = (uint8_t)cap_pct;
	vgpu->next_cap_pct = (uint8_t)cap_pct;
	vgpu->initial_cap_pct = (uint8_t)cap_pct;
	vgpu->ceiling_pct = (uint8_t)cap_pct;
	vgpu->next_ceiling_pct = (uint8_t)cap_pct;
	vgpu->slice_ns = (int64_t)share_of(rest_ns, cap_pct);
	vgpu->ceiling_ns = vgpu->slice_ns;
	vgpu->tag = sched->tag;
	vgpu->busy_ns = 0;
	vgpu->sched_ns = 0;
	vgpu->allotted_at_ns = now_ns;
	vgpu->lease_ns = 0;
	vgpu->lease_end_ns = 0;
	update(sched, vgpu);
	if (!turn) {
		vgpu->next = vgpu;
		vgpu->prev = vgpu;
		sched->turn = vgpu;
		sched->quantum_ns = 0;
		return;
	}
	/* sched_pick() visits the vGPU of the current turn last: insert before it. */
	vgpu->next = turn;
	vgpu->prev = turn->prev;
	turn->prev->next = vgpu;
	turn->prev = vgpu;
}

void sched_remove(struct sched *sched, struct sched_vgpu *vgpu)
{
	sched_set_pending(sched, vgpu, false);
	if (sched->turn == vgpu) {
		sched->turn = vgpu->next == vgpu ? NULL : vgpu->prev;
		sched->quantum_ns = 0;
	}
	vgpu->prev->next = vgpu->next;
	vgpu->next->prev = vgpu->prev;
	vgpu->next = NULL;
	vgpu->prev = NULL;
}

static void renew_lease(struct sched_vgpu *vgpu, uint64_t now_ns)
{
	vgpu->lease_end_ns = vgpu->lease_ns == 0 ? 0 : now_ns + vgpu->lease_ns;
}

void sched_set_cap(struct sched_vgpu *vgpu, unsigned int cap_pct, uint64_t now_ns)
{
	vgpu->cap_written = true;
	vgpu->next_cap_pct = (uint8_t)cap_pct;
	renew_lease(vgpu, now_ns);
}

int sched_set_initial_cap(struct sched_vgpu *vgpu, unsigned int cap_pct)
{
	if (vgpu->cap_written)
		return -1;
	vgpu->initial_cap_pct = (uint8_t)cap_pct;
	vgpu->next_cap_pct = (uint8_t)cap_pct;
	if (!vgpu->ceiling_written)
		vgpu->next_ceiling_pct = (uint8_t)cap_pct;
	return 0;
}

void sched_set_ceiling(struct sched_vgpu *vgpu, unsigned int ceiling_pct)
{
	vgpu->ceiling_written = true;
	vgpu->next_ceiling_pct = (uint8_t)ceiling_pct;
}

void sched_set_lease(struct sched_vgpu *vgpu, uint64_t lease_ns, uint64_t now_ns)
{
	vgpu->lease_ns = lease_ns;
	renew_lease(vgpu, now_ns);
}

void sched_set_pending(struct sched *sched, struct sched_vgpu *vgpu, bool pending)
{
	if (pending == vgpu->pending)
		return;
	vgpu->pending = pending;
	if (pending && sched->discipline->wake)
		sched->discipline->wake(sched, vgpu);
	count(sched, vgpu);
}

/* Adds the share of a slot, or sets the share in the first slot of a second. */
static void refill(int64_t *rest_ns, unsigned int pct, bool second_begins)
{
	int64_t share_ns = (int64_t)(SCHED_SLOT_NS / 100) * pct;

	*rest_ns = second_begins ? share_ns : *rest_ns + share_ns;
}

static void open_slot_of(struct sched *sched, struct sched_vgpu *vgpu, uint64_t now_ns)
{
	vgpu->sched_ns = sched_allotted_ns(vgpu, now_ns);
	vgpu->allotted_at_ns = now_ns;
	if (vgpu->lease_end_ns != 0 && now_ns >= vgpu->lease_end_ns) {
		vgpu->lease_end_ns = 0;
		vgpu->next_cap_pct = vgpu->initial_cap_pct;
	}
	vgpu->cap_pct = vgpu->next_cap_pct;
	vgpu->ceiling_pct = vgpu->next_ceiling_pct;
	refill(&vgpu->slice_ns, vgpu->cap_pct, sched->slot == 0);
	refill(&vgpu->ceiling_ns, vgpu->ceiling_pct, sched->slot == 0);
	if (sched->discipline->refill)
		sched->discipline->refill(sched, vgpu);
	update(sched, vgpu);
}

void sched_open_slot(struct sched *sched, uint64_t now_ns)
{
	struct sched_vgpu *vgpu = sched->turn;

	sched->slot = sched->slot + 1 == SCHED_SLOTS ? 0 : sched->slot + 1;
	sched->slot_end_ns = now_ns + SCHED_SLOT_NS;
	if (!vgpu)
		return;
	do {
		open_slot_of(sched, vgpu, now_ns);
		vgpu = vgpu->next;
	} while (vgpu != sched->turn);
}

uint64_t sched_alone_ns(const struct sched_vgpu *vgpu)
{
	return vgpu->borrows ? vgpu->limit_ns : vgpu->claim_ns;
}

/* Returns true if @vgpu must not continue its turn. */
static bool turn_ends(const struct sched *sched, const struct sched_vgpu *vgpu)
{
	if (sched->quantum_ns == 0)
		return true;
	return vgpu->borrows ? sched->n_entitled > 0 || !vgpu->runnable : !vgpu->entitled;
}

struct sched_vgpu *sched_pick(struct sched *sched, uint64_t *ret_run_ns)
{
	struct sched_vgpu *vgpu = sched->turn;
	uint64_t alone_ns;

	if (sched->n_runnable == 0)
		return NULL;
	if (turn_ends(sched, vgpu)) {
		vgpu = sched->discipline->pick(sched);
		sched->turn = vgpu;
		sched->quantum_ns =
			SCHED_ROUND_NS / 100 * (vgpu->cap_pct == 0 ? 100 : vgpu->cap_pct);
	}
	alone_ns = sched_alone_ns(vgpu);
	*ret_run_ns = alone_ns < sched->quantum_ns ? alone_ns : sched->quantum_ns;
	return vgpu;
}

void sched_account(struct sched *sched, struct sched_vgpu *vgpu, uint64_t ran_ns)
{
	vgpu->busy_ns += ran_ns;
	vgpu->ceiling_ns -= (int64_t)ran_ns;
	if (!vgpu->borrows)
		vgpu->slice_ns -= (int64_t)ran_ns;
	if (sched->discipline->charge)
		sched->discipline->charge(vgpu, ran_ns);
	update(sched, vgpu);
	if (vgpu == sched->turn)
		sched->quantum_ns -= ran_ns < sched->quantum_ns ? ran_ns : sched->quantum_ns;
}

uint64_t sched_allotted_ns(const struct sched_vgpu *vgpu, uint64_t now_ns)
{
	uint64_t ns = now_ns > vgpu->allotted_at_ns ? now_ns - vgpu->allotted_at_ns : 0;

	return vgpu->sched_ns + share_of(ns, vgpu->cap_pct);
}
