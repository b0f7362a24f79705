/* SPDX-License-Identifier: MIT */
/*
 * Errors of requests that change something. A function returns 0, a negative errno if the system
 * failed, or one of these positive codes if the request cannot be fulfilled. Each error has a
 * message in @reterr. api/handler.c maps each positive code to an HTTP status.
 */
#ifndef GOVER_D_MODEL_ERROR_H
#define GOVER_D_MODEL_ERROR_H

enum control_error {
	CONTROL_E_INVALID = 1,	/* a value is not allowed, or names an object that does not exist */
	CONTROL_E_NOT_FOUND,	/* the addressed object does not exist */
	CONTROL_E_EXISTS,	/* the id is in use, or the offer is already claimed */
	CONTROL_E_DOES_NOT_FIT, /* the GPU has no room for the cap or the vGPU */
	CONTROL_E_TOO_MANY,	/* a limit on the number of objects is reached */
	CONTROL_E_IN_USE,	/* programs still run in the vGPU */
	CONTROL_E_OFFER_OVER,	/* the offer has expired or was closed */
	CONTROL_E_OFFER_HELD,	/* another claimant holds the offer */
	CONTROL_E_NOT_LISTED,	/* the offer does not list the flavour */
	/* an external writer just changed a cap; that vGPU is on hold now */
	CONTROL_E_FOREIGN_CAP,
	CONTROL_E_UNSUPPORTED, /* the backend does not create vGPUs, or cannot set caps */
	CONTROL_E_DRY_RUN,     /* not possible in a dry run */
	CONTROL_E_NOT_STORED,  /* the state directory cannot be written; nothing was changed */
	CONTROL_E_TOO_LARGE,   /* the answer would have too many rows */
	CONTROL_E_TIMED_OUT,   /* the time limit is exceeded */
	CONTROL_E_STOPPING,    /* the daemon is stopping */
	CONTROL_E_NO_ANSWER,   /* the GPU or the database does not answer in time */
	CONTROL_E_KEY_USED,    /* the idempotency key was used for a different request */
	CONTROL_E_GONE,	       /* the vGPU of this idempotency key was removed */
	/* not an error: the request was made before with this idempotency key; nothing is changed
	 */
	CONTROL_E_REPEATED,
	CONTROL_N_ERRORS
};

#endif
