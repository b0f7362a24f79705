/* SPDX-License-Identifier: MIT */
/*
 * The functions of a GPU: which virtual functions are enabled, their quanta, and the caps that the
 * quanta are worth. Owns the files of the quanta, and the memory of caps on disk.
 *
 * A cap is remembered with the quantum that was written for it. While the driver has this quantum,
 * the cap is in force. Another quantum was set by another program; its cap is its part of the
 * round.
 */
#ifndef GPU_XE_FUNCTIONS_H
#define GPU_XE_FUNCTIONS_H

#include <sys/types.h>

#include "gpu/xe/layout.h"
#include "gpu/xe/quanta.h"

struct xe_function {
	char id[ID_MAX];
	ino_t link; /* identifies this life of the function; 0: not enabled */
	struct xe_files quantum;
	uint32_t quantum_ms; /* last value read or written */
	int cap_pct;	     /* cap of this quantum; 0: no limit */
	/* cap that it had when it was enabled while the daemon ran; 0: no limit, or unknown */
	int first_cap_pct;
	bool mixed;   /* the GTs of the device have different quanta */
	bool guarded; /* it has a preemption timeout */
};

struct xe_functions {
	struct xe_place place;
	struct xe_quanta_limits limits;
	uint32_t preempt_timeout_us;
	char memory[PATH_MAX]; /* file of caps and quanta; "": none */
	/* [0] is the physical function, the others are the virtual functions by their numbers */
	struct xe_function all[XE_VFS_MAX + 1];
	int n;	     /* virtual functions 1 to n are enabled */
	bool opened; /* functions that are found now were enabled while the daemon ran */
	/* Set by the first cap: the quantum of the physical function is ours. */
	bool steered;
	/* the enabled functions or a quantum have changed since the last plan was written */
	bool unbalanced;
	uint32_t own_ms;   /* own quantum of the physical function */
	uint32_t found_ms; /* its quantum before the first cap; 0: no limit */
};

/* Opens the physical function and finds the enabled virtual functions. */
int xe_functions_open(struct xe_functions *functions, struct err *reterr);
void xe_functions_close(struct xe_functions *functions);

/* Returns false if the driver was unbound, or bound again, since the functions were opened. */
bool xe_functions_exist(const struct xe_functions *functions);
/*
 * Opens the files of a driver that was bound again, at @place. xe_functions_find() then finds all
 * virtual functions anew.
 */
int xe_functions_reopen(struct xe_functions *functions, const struct xe_place *place);
/*
 * Finds the enabled functions. Returns 1 if the set has changed, 0 if it has not, or a negative
 * errno.
 */
int xe_functions_find(struct xe_functions *functions);
/*
 * Adapts the round if the enabled functions have changed or another program has written a quantum,
 * and if caps were set before: each function then has the share of its cap again, and the physical
 * function the rest. Without an enabled function, restores the quantum that the physical function
 * had before the first cap. After an error, the next call tries again.
 */
int xe_functions_balance(struct xe_functions *functions);

/* Returns the number of the virtual function with that id, or 0. */
int xe_functions_index(const struct xe_functions *functions, const char *id);

/*
 * Reads the cap in force of virtual function @vf; 0: no limit. Returns -ENODEV if the function is
 * not enabled, or was disabled since it had @link.
 */
int xe_functions_read_cap(struct xe_functions *functions, int vf, ino_t link, int *ret_cap_pct);
/* Sets the cap, 1..100, of virtual function @vf. Errors as above, and those of the driver. */
int xe_functions_write_cap(struct xe_functions *functions, int vf, ino_t link, int cap_pct);

/* Describes the present round. */
void xe_functions_round(const struct xe_functions *functions, struct xe_round *ret_round);

#endif
