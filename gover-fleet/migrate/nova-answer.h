/* SPDX-License-Identifier: MIT */
/*
 * Answers of Nova and Placement that concern the migration of a server. Pure: JSON in, facts out.
 * Other programs wrote these answers, so a missing or wrong member is never an error of its own:
 * the fact is unknown then.
 */
#ifndef GOVER_FLEET_MIGRATE_NOVA_ANSWER_H
#define GOVER_FLEET_MIGRATE_NOVA_ANSWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
size_t nova_count_migrations(const json_t *answer);

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

#endif
