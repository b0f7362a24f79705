/* SPDX-License-Identifier: MIT */
/*
 * Gives a vGPU a new contract: checks the contract, plans the cap that it requires, and applies
 * both. Used by the requests that sell and change vGPUs. Results are as in model/error.h.
 */
#ifndef GOVER_D_CHANGE_CONTRACT_CHANGE_H
#define GOVER_D_CHANGE_CONTRACT_CHANGE_H

#include "gover-d/change/change.h"
#include "gover-d/tick/round.h"

/* Fields whose change may require another cap. */
#define CONTRACT_CHANGE_CAP_FIELDS                                                  \
	(CONTRACT_INITIAL_CAP | CONTRACT_MIN_CAP | CONTRACT_BURST | CONTRACT_HELD | \
	 CONTRACT_HELD_CAP)

/* Check the flavour of @contract, and its caps on @gpu. */
int contract_change_check_flavor(const struct changes *changes, const struct contract *contract,
				 struct err *reterr);
/* CONTROL_E_NO_ANSWER: @gpu is not open, or does not answer. */
int contract_change_check_answers(const struct host_gpu *gpu, struct err *reterr);
int contract_change_check_terms(const struct host_gpu *gpu, const struct contract *contract,
				struct err *reterr);

/*
 * Checks that the promises and the limit of the frame rate of @contract in @fields are in the unit
 * of @gpu. 0, no promise and no limit, is allowed in both units.
 */
int contract_change_check_units(const struct host_gpu *gpu, unsigned int fields,
				const struct contract *contract, struct err *reterr);

/* Checks that @gpu can limit memory and answers, if @contract has a limit in @fields. */
int contract_change_check_memory(const struct host_gpu *gpu, unsigned int fields,
				 const struct contract *contract, struct err *reterr);
/* Sets the limit of device memory of @contract. */
int contract_change_apply_memory(struct changes *changes, struct host_gpu *gpu, struct vgpu *vgpu,
				 const struct contract *contract, struct err *reterr);

/*
 * If @fields contains cap fields, checks @contract and plans the cap of @vgpu for it in
 * tick->round. Changes nothing, except that a vGPU with an external change goes on hold.
 */
int contract_change_plan(struct changes *changes, struct host_gpu *gpu, struct vgpu *vgpu,
			 unsigned int fields, const struct contract *contract, struct instant now,
			 struct err *reterr);
/* Passes the labels to the backend. Stops at the first label that the backend rejects. */
int contract_change_apply_labels(struct host_gpu *gpu, struct vgpu *vgpu, json_t *labels,
				 struct err *reterr);
/*
 * Replaces the contract of @vgpu with references to the members of @contract, applies the plan of
 * contract_change_plan(), and distributes free capacity.
 */
void contract_change_commit(struct changes *changes, struct host_gpu *gpu, struct vgpu *vgpu,
			    const struct contract *contract, struct instant now);

/* Distributes free capacity to the vGPUs that have less than their contract. */
void contract_change_give_back(struct changes *changes, struct host_gpu *gpu, struct instant now);

#endif
