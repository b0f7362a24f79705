/* SPDX-License-Identifier: MIT */
/*
 * Results of core's interface: 0, a negative errno where the system failed, or one of these where a
 * request cannot be fulfilled. Each comes with a message in reterr. Callers of core's interface
 * handle the positive codes; api/problem.c maps each to an HTTP status.
 */
#ifndef GOVER_D_CORE_ERROR_H
#define GOVER_D_CORE_ERROR_H

enum control_error {
	CONTROL_E_INVALID = 1,	/* a value is not allowed, or names an object that does not exist */
	CONTROL_E_NOT_FOUND,	/* the addressed object does not exist */
	CONTROL_E_EXISTS,	/* the id, or the offer, is taken */
	CONTROL_E_DOES_NOT_FIT, /* the GPU has no room for the cap or the vGPU */
	CONTROL_E_TOO_MANY,	/* a limit on the number of objects is reached */
	CONTROL_E_IN_USE,	/* programs still run in the vGPU */
	CONTROL_E_OFFER_OVER,	/* the offer has expired or was closed */
	CONTROL_E_FOREIGN_CAP, /* an external writer changed a cap just now; its vGPU is held now */
	CONTROL_E_UNSUPPORTED, /* the backend does not create vGPUs */
	CONTROL_E_DRY_RUN,     /* a dry run does not change this */
	CONTROL_E_NOT_STORED,  /* the state directory cannot be written; nothing was changed */
	CONTROL_N_ERRORS
};

#endif
