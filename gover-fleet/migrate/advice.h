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
#include "base/id.h"

#define ADVICE_CAUSE_MAX  32  /* size of the name of a cause, see gover-d(8) */
#define ADVICE_VM_MAX	  128 /* size of the libvirt name or UUID of a virtual machine */
#define ADVICE_REASON_MAX 320

/* The alerts of gover-d that can be a reason for a migration, the strongest reason first. */
enum advice_alarm {
	ADVICE_SEVERE_OVERLOAD,
	ADVICE_SALE_FAILED,
	ADVICE_PROMISE_BROKEN,
	ADVICE_ALARMS, /* any other alert */
};

struct advice_alert {
	enum advice_alarm alarm;
	char gpu[ID_MAX];
	char vgpu[ID_MAX];	      /* "": the alert names no vGPU */
	char cause[ADVICE_CAUSE_MAX]; /* of ADVICE_PROMISE_BROKEN; "": unknown */
	bool silenced;		      /* an operator has muted it: no reason for a migration */
};

struct advice_vgpu {
	char id[ID_MAX], gpu[ID_MAX];
	char vm[ADVICE_VM_MAX]; /* "": not bound to a virtual machine, so it cannot be migrated */
	int initial_cap_pct;
	int min_cap_pct;	 /* floor of the contract; 0: none */
	bool held;		 /* an operator or another program has fixed its cap */
	bool overloaded, broken; /* in the last period */
	int64_t arrived_ms;	 /* wall time at which a migration brought it here; 0: none did */
};

/* An offer that was sold and failed its probation. */
struct advice_failed_offer {
	char gpu[ID_MAX], vgpu[ID_MAX];
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

/* What gover-d and the cloud know about this host. The caller owns all arrays. */
struct advice_host {
	const struct advice_vgpu *vgpus;
	const struct advice_alert *alerts;
	const struct advice_failed_offer *failed_offers;
	size_t n_vgpus, n_alerts, n_failed_offers;
	/* The cloud knows the overload of each GPU: it sends no further virtual machine here. */
	bool published;
};

struct advice_input {
	const struct advice_host *host;
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
	char vgpu[ID_MAX], gpu[ID_MAX], vm[ADVICE_VM_MAX];
	char reason[ADVICE_REASON_MAX];
	uint64_t again_ns; /* monotonic time at which the result can change by itself; 0: never */
	bool refused;	   /* ADVICE_ADVISE because the last attempt was refused */
};

/* Returns the alarm of an alert with this name; ADVICE_ALARMS for any other alert. */
enum advice_alarm advice_find_alarm(const char *name);

void advice_decide(const struct advice_input *input, struct instant now, struct advice *ret_advice);

#endif
