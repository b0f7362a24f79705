/* SPDX-License-Identifier: MIT */
/* Writes caps, creates and removes vGPUs, and records each cap write. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "db/db.h"
#include "gover-d/cap/actuate.h"
#include "gover-d/record/history.h"
#include "gover-d/util/log.h"

/* False: nothing may change the caps of this GPU. */
static bool writes(const struct actuator *actuator, const struct host_gpu *gpu)
{
	return !actuator->settings->dry_run && !gpu->traits.observes;
}

bool actuate_intended(const struct actuator *actuator, const struct vgpu *vgpu, int cap_pct)
{
	int last_pct, intent_pct;

	return cap_journal_get(actuator->journal, vgpu->contract.id, &last_pct, &intent_pct) &&
	       cap_pct == intent_pct;
}

bool actuate_is_foreign(const struct actuator *actuator, const struct host_gpu *gpu,
			struct vgpu *vgpu, int *ret_cap_pct)
{
	if (gpu_io_read_cap(gpu->io, vgpu->device, ret_cap_pct) < 0)
		return false;
	if (!gpu->traits.observes && !actuate_is_ours(actuator, vgpu, *ret_cap_pct))
		return true;
	cap_expect(&vgpu->cap, *ret_cap_pct);
	return false;
}

static void record_cap_write(struct actuator *actuator, const struct host_gpu *gpu,
			     const struct actuate_move *move, const char *cause, struct instant now)
{
	struct db_cap_write row = {
		.ts_ms = now.wall_ms,
		.from_pct = move->from_pct,
		.to_pct = move->to_pct,
		.read_back_pct = move->read_back_pct,
		.error = move->error,
	};

	if (!actuator->history || !actuator->history->db)
		return;
	snprintf(row.vgpu, sizeof(row.vgpu), "%s", move->vgpu->contract.id);
	snprintf(row.gpu, sizeof(row.gpu), "%s", gpu->config.name);
	snprintf(row.cause, sizeof(row.cause), "%s", cause);
	/* db/ counts the row as dropped if its queue is full */
	(void)db_append_cap_write(actuator->history->db, &row);
}

/* Restores the record of a cap that could not be set. @known: there was one. */
static void restore_record(struct cap_journal *journal, const char *id, bool known, int last_pct,
			   int intent_pct)
{
	if (known)
		(void)cap_journal_set(journal, id, last_pct, intent_pct);
	else
		(void)cap_journal_remove(journal, id);
}

/*
 * Writes the cap and reads back the cap in force. If the device was removed, the journal keeps the
 * last cap for the next device of this vGPU.
 */
static void write_move(struct actuator *actuator, struct host_gpu *gpu, struct actuate_move *move,
		       const char *cause, struct instant now)
{
	struct vgpu *vgpu = move->vgpu;
	const char *id = vgpu->contract.id;
	int in_force = vgpu->cap.expected_pct, last_pct = 0, intent_pct = 0;
	bool known = cap_journal_get(actuator->journal, id, &last_pct, &intent_pct);
	int r, r_read;

	r = cap_journal_set(actuator->journal, id, vgpu->cap.expected_pct, move->to_pct);
	if (r == 0)
		r = gpu_io_write_cap(gpu->io, vgpu->device, now.mono_ns, move->to_pct);
	/* A failed write may still have changed the cap, so the cap is always read back. */
	r_read = gpu_io_read_cap(gpu->io, vgpu->device, &in_force);
	if (r == 0)
		r = r_read;
	if (r == 0)
		cap_note_write(&vgpu->cap, move->to_pct, in_force, now.mono_ns);
	if (r == 0 && in_force != move->to_pct)
		r = -EIO;
	move->error = -r;
	vgpu->write_errno = -r;
	if (r < 0)
		host_gpu_check_caps(gpu);
	vgpu->cap_writes++;
	if (r_read == 0) {
		move->read_back_pct = in_force;
		cap_take(&vgpu->cap, in_force);
		cap_journal_settle(actuator->journal, id, in_force);
	} else {
		/*
		 * The cap in force is unknown: assume the larger of the old and the new cap. The
		 * journal contains both, so neither will count as an external change.
		 */
		cap_assume(&vgpu->cap, max_int(move->to_pct, move->from_pct));
	}
	if (r_read == -ENODEV)
		restore_record(actuator->journal, id, known, last_pct, intent_pct);
	record_cap_write(actuator, gpu, move, cause, now);
}

/*
 * Returns the limit for the sum of the increases: the free capacity, or @freed_pct if that is
 * larger. It is larger if the caps added up to more than 100 %.
 */
static int budget_pct(const struct host_gpu *gpu, int freed_pct)
{
	int pool = 100 - host_gpu_sum_cap_pct(gpu) - host_gpu_reserved_cap_pct(gpu);

	return pool > freed_pct ? pool : freed_pct;
}

static int write_decreases(struct actuator *actuator, struct host_gpu *gpu,
			   struct actuate_move *moves, size_t n_moves, const char *cause,
			   struct instant now)
{
	int freed = 0;

	for (size_t i = 0; i < n_moves; i++) {
		struct actuate_move *move = &moves[i];

		if (move->to_pct >= move->from_pct)
			continue;
		write_move(actuator, gpu, move, cause, now);
		if (move->read_back_pct > 0 && move->read_back_pct < move->from_pct)
			freed += move->from_pct - move->read_back_pct;
	}
	return freed;
}

static void write_increases(struct actuator *actuator, struct host_gpu *gpu,
			    struct actuate_move *moves, size_t n_moves, int budget,
			    const char *cause, struct instant now)
{
	for (size_t i = 0; i < n_moves; i++) {
		struct actuate_move *move = &moves[i];
		int asked_pct = move->to_pct, grow;

		if (move->to_pct <= move->from_pct)
			continue;
		grow = asked_pct - move->from_pct;
		if (grow > budget)
			grow = budget - budget % gpu->traits.step_pct;
		if (grow <= 0) {
			move->error = ENOSPC;
			continue;
		}
		move->to_pct = move->from_pct + grow;
		write_move(actuator, gpu, move, cause, now);
		budget -= move->vgpu->cap.pct - move->from_pct;
		if (move->error == 0 && move->to_pct != asked_pct)
			move->error = ENOSPC;
	}
}

/* Returns -ESTALE if a cap of the plan was changed externally. The plan is then no longer valid. */
static int find_foreign(const struct actuator *actuator, const struct host_gpu *gpu,
			struct actuate_move *moves, size_t n_moves)
{
	int cap_pct, r = 0;

	for (size_t i = 0; i < n_moves; i++) {
		struct actuate_move *move = &moves[i];

		if (move->to_pct == move->from_pct ||
		    !actuate_is_foreign(actuator, gpu, move->vgpu, &cap_pct))
			continue;
		move->foreign_pct = cap_pct;
		move->error = ESTALE;
		r = -ESTALE;
	}
	return r;
}

int actuate_moves(struct actuator *actuator, struct host_gpu *gpu, struct actuate_move *moves,
		  size_t n_moves, const char *cause, struct instant now)
{
	int freed, r = 0;

	for (size_t i = 0; i < n_moves; i++) {
		moves[i].read_back_pct = moves[i].foreign_pct = -1;
		moves[i].error = 0;
	}
	if (!writes(actuator, gpu))
		return 0;
	r = find_foreign(actuator, gpu, moves, n_moves);
	if (r < 0)
		return r;
	freed = write_decreases(actuator, gpu, moves, n_moves, cause, now);
	write_increases(actuator, gpu, moves, n_moves, budget_pct(gpu, freed), cause, now);
	for (size_t i = 0; i < n_moves; i++)
		if (moves[i].error)
			r = -EIO;
	return r;
}

int actuate_cap(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu, int cap_pct,
		const char *cause, struct instant now)
{
	struct actuate_move move = {
		.vgpu = vgpu,
		.from_pct = vgpu->cap.pct,
		.to_pct = cap_pct,
		.read_back_pct = -1,
	};
	int foreign_pct;

	if (!writes(actuator, gpu))
		return 0;
	if (actuate_is_foreign(actuator, gpu, vgpu, &foreign_pct))
		return -ESTALE;
	write_move(actuator, gpu, &move, cause, now);
	return -move.error;
}

int actuate_restore(struct host_gpu *gpu, struct vgpu *vgpu, struct instant now)
{
	int initial_pct = vgpu->contract.terms.initial_cap_pct, in_force;
	int r;

	if (gpu->traits.observes)
		return 0;
	/* end the lease first, because a lease that expires changes the cap */
	(void)gpu_io_renew(gpu->io, vgpu->device, 0);
	r = gpu_io_write_cap(gpu->io, vgpu->device, now.mono_ns, initial_pct);
	if (r == 0)
		r = gpu_io_read_cap(gpu->io, vgpu->device, &in_force);
	if (r == 0 && in_force != initial_pct)
		r = -EIO;
	return r;
}

void actuate_lease(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		   struct instant now)
{
	int lease_ms = actuate_plan_lease(actuator, gpu, vgpu);

	if (lease_ms >= 0)
		(void)cap_note_lease(&vgpu->cap, lease_ms,
				     gpu_io_renew(gpu->io, vgpu->device, lease_ms), now.mono_ns);
}

void actuate_initial_cap(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
			 int initial_cap_pct)
{
	int is_pct, r;

	if (actuator->settings->dry_run || gpu->mode == GPU_MODE_OBSERVE ||
	    gpu_io_read_initial_cap(gpu->io, vgpu->device, &is_pct) < 0 ||
	    is_pct == initial_cap_pct)
		return;
	/*
	 * The backend rejects a new initial cap after the first cap write. The old initial cap then
	 * remains.
	 */
	r = gpu_io_write_initial_cap(gpu->io, vgpu->device, initial_cap_pct, vgpu->cap.pct);
	if (r == 0)
		cap_expect(&vgpu->cap, vgpu->cap.pct);
	else if (gpu_io_read_initial_cap(gpu->io, vgpu->device, &is_pct) < 0 ||
		 is_pct == initial_cap_pct)
		cap_set_unknown(&vgpu->cap, true); /* perhaps only the cap was not written */
}

int actuate_memory(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		   int memory_mib)
{
	int r;

	if (actuator->settings->dry_run || !gpu->traits.limits_memory ||
	    (vgpu->memory_known && vgpu->memory_mib == memory_mib))
		return 0;
	r = gpu_io_write_memory(gpu->io, vgpu->device, (uint64_t)memory_mib << 20);
	vgpu->memory_known = r == 0;
	vgpu->memory_mib = memory_mib;
	vgpu->memory_errno = -r;
	return r;
}

void actuate_ceiling(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		     bool rewrite)
{
	int ceiling_pct = policy_terms_ceiling_pct(&vgpu->contract.terms), r;

	if (!writes(actuator, gpu) || !gpu->traits.guarantees ||
	    (vgpu->ceiling_pct == ceiling_pct && !rewrite))
		return;
	r = gpu_io_write_ceiling(gpu->io, vgpu->device, ceiling_pct);
	if (r == -EOPNOTSUPP && gpu->traits.no_ceiling)
		; /* gover.conf(5) says that the backend has none */
	else if (r == -EOPNOTSUPP && r != vgpu->ceiling_errno)
		log_notice("vGPU %s: the kernel has no cap_ceiling: its ceiling stays at the "
			   "initial cap of the kernel",
			   vgpu->contract.id);
	else if (r < 0 && r != vgpu->ceiling_errno)
		log_warning("vGPU %s: its ceiling cannot be written: %s", vgpu->contract.id,
			    strerror(-r));
	vgpu->ceiling_errno = r;
	vgpu->ceiling_pct = r == 0 || r == -EOPNOTSUPP ? ceiling_pct : 0;
}

void actuate_forget_ceilings(struct host_gpu *gpu)
{
	for (struct vgpu *v = gpu->vgpus; v; v = v->next)
		v->ceiling_pct = 0;
}

int actuate_attach(struct host_gpu *gpu, struct vgpu *vgpu, struct instant now, struct err *reterr)
{
	int r = gpu_io_attach(gpu->io, vgpu->contract.id, now.mono_ns, &vgpu->device, reterr);

	if (r < 0)
		return r;
	cap_begin(&vgpu->cap, gpu_io_identity(gpu->io, vgpu->device));
	vgpu->memory_known = false;
	vgpu->ceiling_pct = 0;
	return 0;
}

void actuate_detach(struct host_gpu *gpu, struct vgpu *vgpu)
{
	gpu_io_detach(gpu->io, vgpu->device);
	vgpu->device = NULL;
}

/* Maps the errors that struct gpu_ops documents for create and destroy to enum control_error. */
static int condition_of(int r)
{
	switch (r) {
	case -EBUSY:
		return CONTROL_E_IN_USE;
	case -EEXIST:
		return CONTROL_E_EXISTS;
	case -EINVAL:
		return CONTROL_E_INVALID;
	case -ENOSPC:
		return CONTROL_E_DOES_NOT_FIT;
	case -EOPNOTSUPP:
		return CONTROL_E_UNSUPPORTED;
	case -ETIMEDOUT:
		return CONTROL_E_NO_ANSWER;
	default:
		return r;
	}
}

int actuate_create(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu, int cap_pct,
		   struct instant now, struct err *reterr)
{
	const char *id = vgpu->contract.id;
	int last_pct = 0, intent_pct = 0, r;
	bool known = cap_journal_get(actuator->journal, id, &last_pct, &intent_pct);

	if (actuator->settings->dry_run)
		return err_condition(reterr, CONTROL_E_DRY_RUN, "vGPU %s: not created in a dry run",
				     id);
	r = cap_journal_set(actuator->journal, id, cap_pct, cap_pct);
	if (r < 0)
		return err_condition(
			reterr, CONTROL_E_NOT_STORED,
			"vGPU %s: the cap journal in the state directory cannot be written: %s", id,
			strerror(-r));
	r = gpu_io_create(gpu->io, id, cap_pct, reterr);
	if (r < 0) {
		restore_record(actuator->journal, id, known, last_pct, intent_pct);
		return condition_of(r);
	}
	r = actuate_attach(gpu, vgpu, now, reterr);
	if (r < 0) {
		(void)gpu_io_destroy(gpu->io, id, NULL);
		restore_record(actuator->journal, id, known, last_pct, intent_pct);
		return r;
	}
	cap_take(&vgpu->cap, cap_pct);
	actuate_ceiling(actuator, gpu, vgpu, /* rewrite= */ false);
	return 0;
}

int actuate_destroy(struct actuator *actuator, struct host_gpu *gpu, struct vgpu *vgpu,
		    struct err *reterr)
{
	const char *id = vgpu->contract.id;
	int r;

	if (actuator->settings->dry_run)
		return err_condition(reterr, CONTROL_E_DRY_RUN, "vGPU %s: not removed in a dry run",
				     id);
	/*
	 * Detach the vGPU only after its removal, so that sampling continues if the removal fails.
	 */
	r = gpu_io_destroy(gpu->io, id, reterr);
	if (r < 0 && r != -ENOENT)
		return condition_of(r);
	actuate_detach(gpu, vgpu);
	/* A later vGPU of the same name must not get the record of this vGPU. */
	(void)cap_journal_remove(actuator->journal, id);
	return 0;
}
