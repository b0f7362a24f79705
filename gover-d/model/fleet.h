/* SPDX-License-Identifier: MIT */
/*
 * The last report of gover-fleet about the cloud that this host sells through, and the migrations
 * of vGPUs to other hosts. In memory only: after a restart of the daemon, the state is unknown
 * until the next report.
 */
#ifndef GOVER_D_MODEL_FLEET_H
#define GOVER_D_MODEL_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/id.h"

#define FLEET_TEXT_MAX	256 /* size of a text of a report with its NUL */
#define FLEET_LEAKS_MAX 64
#define FLEET_TTL_MIN_S 10
#define FLEET_TTL_MAX_S 3600
#define FLEET_ASKED_MAX 64 /* number of requested migrations that are remembered */

enum fleet_state {
	FLEET_UNKNOWN,	   /* there was no report since the start of the daemon */
	FLEET_PUBLISHED,   /* the cloud contains what this host sells */
	FLEET_UNREACHABLE, /* the cloud does not answer */
	FLEET_WITHDRAWN,   /* nothing is offered to the cloud, on purpose */
	FLEET_WAITING,	   /* the cloud has no provider of this host yet */
	FLEET_GONE,	   /* the time of the last report is over */
	FLEET_STATES
};

/* Name of a state in REST and metrics; NULL for FLEET_UNKNOWN. */
const char *fleet_state_name(enum fleet_state state);
/* Parses a state that can be reported, so not "gone". -EINVAL: another text. */
int fleet_state_parse(const char *name, enum fleet_state *ret_state);

enum fleet_migration_state {
	FLEET_REQUESTED,
	FLEET_COMPLETED,
	FLEET_FAILED,
	FLEET_MIGRATION_STATES
};

/* Name of a state in REST and metrics. */
const char *fleet_migration_name(enum fleet_migration_state state);
int fleet_migration_parse(const char *name, enum fleet_migration_state *ret_state); /* -EINVAL */

/* More allocations in the cloud than contracts and offers of this flavour on the GPU. */
struct fleet_leak {
	char gpu[ID_MAX], flavor[ID_MAX];
	int used, sold;
};

struct fleet_report {
	enum fleet_state state;
	char cloud[FLEET_TEXT_MAX];   /* address of the cloud */
	char problem[FLEET_TEXT_MAX]; /* "": none */
	int unverified;		      /* contracts that the cloud has not confirmed */
	struct fleet_leak leaks[FLEET_LEAKS_MAX];
	size_t n_leaks;
	int64_t migrations[FLEET_MIGRATION_STATES]; /* since the start of gover-fleet */
	int ttl_s; /* without another report in this time, gover-fleet is gone */
};

/* A fact about the migration of a vGPU to another host. */
struct fleet_migration {
	enum fleet_migration_state state;
	int64_t duration_ms;	     /* time since the request; -1: unknown */
	char to[FLEET_TEXT_MAX];     /* destination; "": unknown */
	char reason[FLEET_TEXT_MAX]; /* "": none */
};

/* The migration of a vGPU that was requested and has not ended. */
struct fleet_course {
	char vgpu[ID_MAX], gpu[ID_MAX]; /* vgpu "": none */
	char to[FLEET_TEXT_MAX];	/* "": unknown */
	int64_t since_ms;		/* wall time of the request */
};

/* The last migration of a vGPU that has ended. */
struct fleet_outcome {
	char vgpu[ID_MAX], gpu[ID_MAX]; /* vgpu "": none since the start of the daemon */
	struct fleet_migration end;	/* state FLEET_COMPLETED or FLEET_FAILED */
	int64_t ended_ms;		/* wall time of the report */
};

struct fleet {
	struct fleet_report report; /* state FLEET_UNKNOWN: none */
	struct instant reported;
	uint64_t migrations[FLEET_MIGRATION_STATES]; /* facts since the start of the daemon */
	double migration_s; /* sum of the known durations of completed ones */
	/*
	 * The newest requested migrations. A migrated vGPU may be removed before its migration is
	 * reported as completed.
	 */
	struct fleet_asked {
		char vgpu[ID_MAX], gpu[ID_MAX];
	} asked[FLEET_ASKED_MAX];
	size_t n_asked;		    /* the next entry to use is n_asked % FLEET_ASKED_MAX */
	struct fleet_course course; /* a host has one migration at a time: the newest */
	struct fleet_outcome last;
};

/* Returns the state at @now: that of the last report, or FLEET_GONE if its time is over. */
static inline enum fleet_state fleet_state_at(const struct fleet *fleet, struct instant now)
{
	uint64_t ttl_ns = (uint64_t)fleet->report.ttl_s * NS_PER_S;

	if (fleet->report.state == FLEET_UNKNOWN)
		return FLEET_UNKNOWN;
	return now.mono_ns >= fleet->reported.mono_ns + ttl_ns ? FLEET_GONE : fleet->report.state;
}

/* Returns true if gover-fleet runs at @now and has asked the cloud for a migration. */
static inline bool fleet_migrates(const struct fleet *fleet, struct instant now)
{
	enum fleet_state state = fleet_state_at(fleet, now);

	return state != FLEET_UNKNOWN && state != FLEET_GONE &&
	       (fleet->report.migrations[FLEET_REQUESTED] > 0 ||
		fleet->migrations[FLEET_REQUESTED] > 0);
}

/* Remembers that the migration of @vgpu on @gpu was requested. */
void fleet_remember(struct fleet *fleet, const char *vgpu, const char *gpu);
/* Returns the GPU of a vGPU whose migration was requested; NULL: none was. */
const char *fleet_asked_gpu(const struct fleet *fleet, const char *vgpu);
/*
 * Adds the destination to the migration of @vgpu in progress. Returns false if there is none, or
 * its destination is known: the request is then a new one.
 */
bool fleet_add_destination(struct fleet *fleet, const char *vgpu, const char *to);
/* Stores a fact about the migration of @vgpu on @gpu as the present or the last migration. */
void fleet_note_migration(struct fleet *fleet, const char *vgpu, const char *gpu,
			  const struct fleet_migration *migration, int64_t now_ms);

#endif
