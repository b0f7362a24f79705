/* SPDX-License-Identifier: MIT */
/*
 * Live migration of a server by Nova. The caller requests the migration once, then polls until it
 * has ended. Each call makes some requests with the time limit of the Keystone object, and repeats
 * none.
 *
 * Nova accepts a migration also if Placement is down, and then sets the server to ERROR. Therefore
 * Placement is queried first, and only its answer that another host has room starts a migration.
 */
#ifndef GOVER_FLEET_MIGRATE_NOVA_H
#define GOVER_FLEET_MIGRATE_NOVA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "gover-fleet/cloud/keystone.h"

/* --- answers of Nova and Placement; pure --- */

#define NOVA_HOST_MAX	   256 /* size of the name of a compute host */
#define NOVA_UUID_MAX	   37
#define NOVA_TEXT_MAX	   200
#define NOVA_RESOURCES_MAX 384 /* size of "resources=MEMORY_MB:96,VCPU:1&resources1=..." */

/* Returns true if @text is a UUID in lower case, as Nova writes it. */
bool nova_is_uuid(const char *text);

/* A migration of a server, from the list of GET /os-migrations. */
enum nova_phase {
	NOVA_WAITING, /* asked for, and not running yet */
	NOVA_RUNNING,
	NOVA_COMPLETED,
	NOVA_FAILED, /* or aborted */
};

struct nova_migration {
	int64_t id;
	char server[NOVA_UUID_MAX];
	char from[NOVA_HOST_MAX], to[NOVA_HOST_MAX]; /* "": unknown */
	char status[32];			     /* as Nova names it */
	bool live;
	/* wall times by the clock of Nova, whole seconds; 0: unknown */
	int64_t created_ms;
	int64_t changed_ms; /* of the last change */
	enum nova_phase phase;
};

/* Returns the migration at @index of the list. False: the list has no such migration, or its entry
 * has no valid id, server or status. */
bool nova_read_migration(const json_t *answer, size_t index, struct nova_migration *ret_migration);

/* A server, from GET /servers/{id}. */
struct nova_server {
	char status[32]; /* "ACTIVE", "ERROR", ...; "": unknown */
	char fault[NOVA_TEXT_MAX];
};
void nova_read_server(const json_t *answer, struct nova_server *ret_server);

/*
 * The resources that a server has, from GET /allocations/{id}, as parameters of a request for
 * candidates: the sums over all providers, sorted by name. Those of gover are in the group 1,
 * because one GPU must have them all. Returns false if there are none, if none has the class of a
 * flavour of gover, or if the text is too long.
 */
bool nova_read_resources(const json_t *answer, char ret_resources[NOVA_RESOURCES_MAX]);

/*
 * Returns true if a candidate of GET /allocation_candidates is on another host than the server with
 * these @allocations. Both hosts can use the same disks.
 */
bool nova_has_candidate_elsewhere(const json_t *answer, const json_t *allocations);

/* Copies the message of an error answer of Nova or Placement, in one line, or "". */
void nova_read_problem(json_t *answer, char ret_text[NOVA_TEXT_MAX]);

/* --- migrations --- */

#define NOVA_CHECK_NS (2 * NS_PER_S)

struct nova;

/*
 * @host: name of this compute host, and of its root provider. @stay_s: a server that was migrated
 * here stays for this time; at least 60. @host and @keystone must stay valid until nova_free().
 * Returns 0, or -EINVAL if @host is not the name of a host.
 */
int nova_new(const char *host, int stay_s, struct keystone *keystone, struct nova **ret_nova,
	     struct err *reterr);
struct nova *nova_free(struct nova *nova); /* accepts NULL; returns NULL */

enum nova_refusal {
	NOVA_FORBIDDEN = 1, /* a role of the user is missing */
	NOVA_UNHEALTHY,	    /* Nova or Placement does not answer as it should */
	NOVA_NO_ROOM,	    /* no other host can take the server */
	NOVA_BUSY,	    /* a migration of this host or another task of the server goes on */
	NOVA_RECENT,	    /* a migration brought the server here lately */
	NOVA_UNSUITABLE,    /* no such server, or it cannot be migrated */
};

/* A migration that was asked for. */
struct nova_asked {
	char server[NOVA_UUID_MAX];
	int64_t last_id; /* migrations of the server with larger ids are later */
	/* Nova's answer did not arrive: the migration may have begun. */
	bool unconfirmed;
};

/* Gets a token in advance, so that nova_ask() need not wait for it. Does nothing with a valid one.
 */
void nova_prepare(struct nova *nova, struct instant now);

/*
 * Makes the checks of nova_ask() in advance: a call of it for the same server within
 * NOVA_CHECK_NS does not repeat them if they found no obstacle. Returns as nova_ask() does.
 */
int nova_check(struct nova *nova, const char *uuid, struct instant now, struct err *reterr);

/*
 * Asks for a live migration of the server @uuid to any other host. Returns 0 if Nova has accepted
 * it or may have accepted it; a positive enum nova_refusal if nothing was asked or Nova refused.
 */
int nova_ask(struct nova *nova, const char *uuid, struct instant now, struct nova_asked *ret_asked,
	     struct err *reterr);

/*
 * Finds the migration of the server @uuid that an earlier process asked for at the wall time
 * @since_ms. Returns as nova_look() does.
 */
int nova_find_asked(struct nova *nova, const char *uuid, int64_t since_ms,
		    struct nova_asked *ret_asked, struct err *reterr);

struct nova_progress {
	enum nova_phase phase;
	int64_t id; /* 0: Nova has not made the migration yet */
	/* wall time of the last change, by Nova's clock, whole seconds; 0: unknown */
	int64_t changed_ms;
	char to[NOVA_HOST_MAX];	     /* destination; "": unknown */
	char why[2 * NOVA_TEXT_MAX]; /* of NOVA_FAILED */
};

/* Looks once. Returns 0, or a positive enum nova_refusal; the progress is unknown then. */
int nova_look(struct nova *nova, const struct nova_asked *asked, struct nova_progress *ret_progress,
	      struct err *reterr);

/* Asks Nova to abort the migration @id. Returns as nova_look() does. */
int nova_abort(struct nova *nova, const struct nova_asked *asked, int64_t id, struct err *reterr);

#endif
