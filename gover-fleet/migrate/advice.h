/* SPDX-License-Identifier: MIT */
/*
 * Decides which vGPU should leave this host, if any. Pure: the state of the host and the time are
 * parameters, and the order of vGPUs and alerts has no effect.
 *
 * A vGPU should leave if an alert is raised and nothing on this host can mend its cause. An alert
 * outlasts its cause, so the present service must be bad too.
 */
#ifndef GOVER_FLEET_MIGRATE_ADVICE_H
#define GOVER_FLEET_MIGRATE_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "gover-fleet/model/host-state.h"

#define ADVICE_REASON_MAX 320

/* The alerts of gover-d that can be a reason for a migration, the strongest reason first. */
enum advice_alarm {
	ADVICE_SEVERE_OVERLOAD,
	ADVICE_SALE_FAILED,
	ADVICE_PROMISE_BROKEN,
	ADVICE_ALARMS, /* any other alert */
};

/* The result of an attempt of this process to migrate a vGPU. */
enum advice_end {
	ADVICE_MOVED,
	ADVICE_FAILED,	/* the migration began and failed: the vGPU is still here */
	ADVICE_REFUSED, /* the migration did not begin */
};

struct advice_past {
	char vgpu[ID_MAX];
	uint64_t ended_ns; /* monotonic time */
	enum advice_end end;
};

struct advice_limits {
	int holdoff_s; /* after a migration, before the next one: the load must settle first */
	int stay_s;    /* a vGPU that was migrated here stays for this time */
	int retry_s;   /* after a failed migration of a vGPU, before the next attempt */
	int ask_s;     /* after a refused migration of a vGPU, before the next attempt */
};
#define ADVICE_HOLDOFF_S 30
#define ADVICE_STAY_S	 900
#define ADVICE_RETRY_S	 300
#define ADVICE_ASK_S	 30

struct advice_input {
	/* Only vGPUs that gover-fleet has sold are considered. NULL: nothing is known. */
	const struct host_state *state;
	/* The cloud knows the overload of each GPU: it sends no further virtual machine here. */
	bool published;
	const struct advice_past *past;
	size_t n_past;
	bool may_migrate; /* false: the configuration or the cloud does not permit a migration */
	struct advice_limits limits;
};

enum advice_kind {
	ADVICE_NOTHING, /* @reason has the cause, or is "" if no vGPU should leave */
	ADVICE_ADVISE,	/* an operator must migrate the vGPU */
	ADVICE_MIGRATE, /* migrate the vGPU now */
};

struct advice {
	enum advice_kind kind;
	enum advice_alarm alarm; /* ADVICE_ALARMS: no vGPU should leave */
	char vgpu[ID_MAX], gpu[ID_MAX];
	char vm[HOST_STATE_NAME_MAX]; /* UUID of the domain, or its name; "": none */
	char reason[ADVICE_REASON_MAX];
	uint64_t again_ns; /* monotonic time at which the result can change by itself; 0: never */
	bool refused;	   /* ADVICE_ADVISE because the last attempt was refused */
	bool waits;	   /* ADVICE_NOTHING only until the cloud knows the overload */
};

/*
 * Returns the UUID of the domain of a vGPU, or the name of its machine if its contract has no label
 * with the UUID; "": none.
 */
const char *advice_machine(const struct state_vgpu *vgpu);

void advice_decide(const struct advice_input *input, struct instant now, struct advice *ret_advice);

#endif
