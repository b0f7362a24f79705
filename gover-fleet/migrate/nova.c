/* SPDX-License-Identifier: MIT */
/*
 * A migration is requested only if Nova has no other migration of this host, and Placement finds
 * room for the server on another host. Nova itself checks the state of the server. All of this can
 * change until Nova acts; Nova decides then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/http/client.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "gover-fleet/cloud/keystone.h"
#include "gover-fleet/migrate/nova.h"
#include "gover-fleet/model/mapping.h"

#define CLASSES_MAX 16 /* a server has three or four classes */
#define CLASS_MAX   256

/* Copies the text of a member; "" if it has none or is too long. */
static void copy_text(const json_t *object, const char *key, char *ret_text, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (!text || strlen(text) >= size)
		text = "";
	strcpy(ret_text, text);
}

/* Copies a message of another program as one line of ASCII, cut to the size. */
static void copy_line(const char *message, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "%s", message ? message : "");
	for (char *c = ret_text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == '\x7f')
			*c = ' ';
		else if ((unsigned char)*c > '\x7f')
			*c = '?';
}

bool nova_is_uuid(const char *text)
{
	if (strlen(text) != NOVA_UUID_MAX - 1)
		return false;
	for (int i = 0; text[i]; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !strchr("0123456789abcdef", text[i]))
			return false;
	}
	return true;
}

static enum nova_phase find_phase(const char *status)
{
	static const struct {
		const char *status;
		enum nova_phase phase;
	} rows[] = {
		{"running", NOVA_RUNNING},     {"post-migrating", NOVA_RUNNING},
		{"completed", NOVA_COMPLETED}, {"failed", NOVA_FAILED},
		{"error", NOVA_FAILED},	       {"cancelled", NOVA_FAILED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].status, status) == 0)
			return rows[i].phase;
	return NOVA_WAITING;
}

/* Parses a time of Nova such as "2026-11-27T05:32:40.000000", which is UTC. 0: none. */
static int64_t read_time(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	struct tm tm = {0};

	if (!text || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
			    &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 6)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	return (int64_t)timegm(&tm) * 1000;
}

static size_t count_migrations(const json_t *answer)
{
	return json_array_size(json_object_get(answer, "migrations"));
}

bool nova_read_migration(const json_t *answer, size_t index, struct nova_migration *ret_migration)
{
	const json_t *entry = json_array_get(json_object_get(answer, "migrations"), index);
	const char *type = json_string_value(json_object_get(entry, "migration_type"));
	struct nova_migration m = {
		.id = json_integer_value(json_object_get(entry, "id")),
		.live = type && strcmp(type, "live-migration") == 0,
		.created_ms = read_time(entry, "created_at"),
		.changed_ms = read_time(entry, "updated_at"),
	};

	if (!m.changed_ms) /* it has not changed yet */
		m.changed_ms = m.created_ms;
	copy_text(entry, "instance_uuid", m.server, sizeof(m.server));
	copy_text(entry, "source_compute", m.from, sizeof(m.from));
	copy_text(entry, "dest_compute", m.to, sizeof(m.to));
	copy_text(entry, "status", m.status, sizeof(m.status));
	if (m.id <= 0 || !m.server[0] || !m.status[0])
		return false;
	m.phase = find_phase(m.status);
	*ret_migration = m;
	return true;
}

void nova_read_server(const json_t *answer, struct nova_server *ret_server)
{
	const json_t *server = json_object_get(answer, "server");

	copy_text(server, "status", ret_server->status, sizeof(ret_server->status));
	copy_line(json_string_value(json_object_get(json_object_get(server, "fault"), "message")),
		  ret_server->fault, sizeof(ret_server->fault));
}

struct amount {
	const char *class;
	json_int_t n;
};

static int compare_amounts(const void *a, const void *b)
{
	return strcmp(((const struct amount *)a)->class, ((const struct amount *)b)->class);
}

/* A class consists of A-Z, 0-9 and _, so it needs no escape in a URL. */
static bool is_class(const char *text)
{
	return text[0] && strlen(text) < CLASS_MAX &&
	       text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

static bool add_amount(struct amount amounts[CLASSES_MAX], size_t *n, const char *class,
		       json_int_t units)
{
	size_t i = 0;

	while (i < *n && strcmp(amounts[i].class, class) != 0)
		i++;
	if (i == CLASSES_MAX || !is_class(class) || units <= 0 || units > INT32_MAX)
		return false;
	if (i == *n)
		amounts[(*n)++] = (struct amount){class, 0};
	amounts[i].n += units;
	return true;
}

static bool is_of_gover(const char *class)
{
	return wanted_is_slot(class) || wanted_is_common(class);
}

/* Appends "KEY=CLASS:AMOUNT,..." with the classes of gover, or with the others. */
static void append_group(char *text, size_t size, const char *key, const struct amount *amounts,
			 size_t n, bool of_gover)
{
	const char *before = text[0] ? "&" : "";

	for (size_t i = 0; i < n; i++) {
		if (is_of_gover(amounts[i].class) != of_gover)
			continue;
		text_append(text, size, "%s%s%s:%lld", before, key, amounts[i].class,
			    (long long)amounts[i].n);
		before = "";
		key = ",";
	}
}

bool nova_read_resources(const json_t *answer, char ret_resources[NOVA_RESOURCES_MAX])
{
	struct amount amounts[CLASSES_MAX] = {0};
	char text[NOVA_RESOURCES_MAX + 4] = "";
	const char *provider, *class;
	json_t *allocation, *units;
	bool has_slot = false;
	size_t n = 0;

	json_object_foreach (json_object_get(answer, "allocations"), provider, allocation) {
		json_object_foreach (json_object_get(allocation, "resources"), class, units) {
			if (!add_amount(amounts, &n, class, json_integer_value(units)))
				return false;
			has_slot = has_slot || wanted_is_slot(class);
		}
	}
	qsort(amounts, n, sizeof(amounts[0]), compare_amounts);
	append_group(text, sizeof(text), "resources=", amounts, n, false);
	append_group(text, sizeof(text), "resources1=", amounts, n, true);
	if (!has_slot || strlen(text) >= NOVA_RESOURCES_MAX)
		return false;
	strcpy(ret_resources, text);
	return true;
}

/* Disks can be shared by hosts, so they do not show on which host a candidate is. */
static bool shows_host(const json_t *allocation)
{
	json_t *resources = json_object_get(allocation, "resources"), *units;
	const char *class;

	json_object_foreach (resources, class, units) {
		if (strcmp(class, "DISK_GB") != 0)
			return true;
	}
	return false;
}

/* Returns true if no provider of @candidate is one that the server uses now. */
static bool is_elsewhere(json_t *candidate, const json_t *used)
{
	bool has_slot = false;
	json_t *allocation, *units;
	const char *uuid, *class;

	json_object_foreach (candidate, uuid, allocation) {
		if (shows_host(allocation) && shows_host(json_object_get(used, uuid)))
			return false;
		json_object_foreach (json_object_get(allocation, "resources"), class, units) {
			has_slot = has_slot || wanted_is_slot(class);
		}
	}
	return has_slot;
}

bool nova_has_candidate_elsewhere(const json_t *answer, const json_t *allocations)
{
	const json_t *requests = json_object_get(answer, "allocation_requests");
	const json_t *used = json_object_get(allocations, "allocations");

	for (size_t i = 0; i < json_array_size(requests); i++)
		if (is_elsewhere(json_object_get(json_array_get(requests, i), "allocations"), used))
			return true;
	return false;
}

void nova_read_problem(json_t *answer, char ret_text[NOVA_TEXT_MAX])
{
	json_t *error = json_array_get(json_object_get(answer, "errors"), 0), *member;
	const char *key, *text = json_string_value(json_object_get(error, "detail"));

	/* Placement: {"errors": [{"detail": ...}]}; Nova: {"badRequest": {"message": ...}} */
	json_object_foreach (answer, key, member) {
		if (!text)
			text = json_string_value(json_object_get(member, "message"));
	}
	copy_line(text, ret_text, NOVA_TEXT_MAX);
}

#define MS_PER_S 1000
/* The newest migrations of this host; a host has only a few at a time. */
#define MIGRATIONS 100
/* More candidates of this host than it can have GPUs, so that another host appears among them. */
#define CANDIDATES 64
/* The list of migrations of one server is sorted from this version on (Queens). */
#define COMPUTE_VERSION	  "compute 2.59"
#define PLACEMENT_VERSION "placement 1.29"
/* Clocks of hosts differ by less; a server is migrated again only after a longer time. */
#define CLOCKS_MS	(120 * MS_PER_S)
#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

struct nova {
	const char *host;
	int stay_s;
	struct keystone *keystone;
	struct service *compute, *placement;
	/* the last checks; without a server: they found an obstacle, or were used */
	struct nova_asked checked;
	uint64_t checked_ns; /* monotonic time of their begin */
};

int nova_new(const char *host, int stay_s, struct keystone *keystone, struct nova **ret_nova,
	     struct err *reterr)
{
	static const struct service_config compute = {"compute", "Nova", COMPUTE_VERSION};
	static const struct service_config placement = {"placement", "Placement",
							PLACEMENT_VERSION};
	struct nova *nova;

	/* The name becomes part of URLs. */
	if (!host[0] || host[strspn(host, HOST_CHARACTERS)] != '\0')
		return err_fail(reterr, EINVAL, "host '%s': not the name of a compute host", host);
	nova = xcalloc(1, sizeof(*nova));
	nova->host = host;
	nova->stay_s = stay_s;
	nova->keystone = keystone;
	nova->compute = service_new(&compute, keystone);
	nova->placement = service_new(&placement, keystone);
	*ret_nova = nova;
	return 0;
}

struct nova *nova_free(struct nova *nova)
{
	if (nova) {
		service_free(nova->compute);
		service_free(nova->placement);
	}
	free(nova);
	return NULL;
}

/* --- requests --- */

/* Writes the reason of the service for refusing a request. */
static void explain_refusal(const char *name, const char *method, const struct reply *reply,
			    struct err *reterr)
{
	char problem[NOVA_TEXT_MAX];

	nova_read_problem(reply->json, problem);
	(void)err_fail(reterr, 0, "%s answered %s with HTTP status %ld%s%s", name, method,
		       reply->status, problem[0] ? ": " : "", problem);
}

/* Returns the refusal of a request that was not sent, not answered or not permitted. */
static int judge_failure(int r)
{
	return r == -EACCES ? NOVA_FORBIDDEN : NOVA_UNHEALTHY;
}

/* Reads a document. The caller frees *ret_reply in each case. */
static int fetch(struct nova *nova, struct service *service, const char *path,
		 struct reply *ret_reply, struct err *reterr)
{
	const char *name = service == nova->compute ? "Nova" : "Placement";
	int r = service_request(service, "GET", path, NULL, ret_reply, reterr);

	if (r < 0)
		return judge_failure(r);
	if (ret_reply->status != 200)
		explain_refusal(name, "GET", ret_reply, reterr);
	if (ret_reply->status == 404)
		return NOVA_UNSUITABLE;
	if (ret_reply->status != 200)
		return NOVA_UNHEALTHY;
	if (!json_is_object(ret_reply->json))
		return err_condition(reterr, NOVA_UNHEALTHY, "%s answered without a JSON object",
				     name);
	return 0;
}

/* --- before a migration --- */

/* Nova updates a migration in progress every few seconds, so an old one does not go on. */
static bool is_recent(const struct nova *nova, const struct nova_migration *m, struct instant now)
{
	int64_t stay_ms = (int64_t)nova->stay_s * MS_PER_S;

	return m->changed_ms == 0 || now.wall_ms - m->changed_ms < stay_ms;
}

/* A live migration to or from this host forbids another one for now. */
static int judge_migration(const struct nova *nova, const char *uuid,
			   const struct nova_migration *m, struct err *reterr)
{
	if (m->phase == NOVA_WAITING || m->phase == NOVA_RUNNING)
		return err_condition(reterr, NOVA_BUSY,
				     "Nova migrates server %s from %s now (status %s)", m->server,
				     m->from, m->status);
	if (m->phase == NOVA_COMPLETED && strcmp(m->server, uuid) == 0 &&
	    strcmp(m->to, nova->host) == 0)
		return err_condition(reterr, NOVA_RECENT,
				     "a migration brought server %s here from %s lately", uuid,
				     m->from);
	return 0;
}

/*
 * Checks the newest migrations of this host, of any type. The last migration of the server brought
 * it here, so that the largest id is at least that of the server's last migration.
 */
static int check_migrations(struct nova *nova, const char *uuid, struct instant now,
			    int64_t *ret_last_id, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[CLIENT_PATH_MAX];
	struct nova_migration m;
	int r;

	snprintf(path, sizeof(path), "/os-migrations?limit=%d&host=%s", MIGRATIONS, nova->host);
	r = fetch(nova, nova->compute, path, &reply, reterr);
	for (size_t i = 0; r == 0 && i < count_migrations(reply.json); i++) {
		if (!nova_read_migration(reply.json, i, &m))
			continue;
		if (m.id > *ret_last_id)
			*ret_last_id = m.id;
		if (m.live && is_recent(nova, &m, now))
			r = judge_migration(nova, uuid, &m, reterr);
	}
	return r;
}

static int check_room(struct nova *nova, const char *uuid, struct err *reterr)
{
	CLEANUP_REPLY struct reply allocations = {0};
	CLEANUP_REPLY struct reply candidates = {0};
	char resources[NOVA_RESOURCES_MAX], path[CLIENT_PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "/allocations/%s", uuid);
	r = fetch(nova, nova->placement, path, &allocations, reterr);
	if (r == 0 && !nova_read_resources(allocations.json, resources))
		return err_condition(reterr, NOVA_UNSUITABLE,
				     "server %s has no allocation of a class %s* in Placement",
				     uuid, WANTED_CLASS_PREFIX);
	if (r != 0)
		return r;
	snprintf(path, sizeof(path),
		 "/allocation_candidates?limit=%d&required1=!" WANTED_TRAIT_OVERLOADED "&%s",
		 CANDIDATES, resources);
	r = fetch(nova, nova->placement, path, &candidates, reterr);
	if (r == 0 && !nova_has_candidate_elsewhere(candidates.json, allocations.json))
		return err_condition(reterr, NOVA_NO_ROOM,
				     "Placement finds no other host with %s for server %s",
				     resources, uuid);
	return r;
}

/* --- the migration --- */

static int judge_request(const struct reply *reply, struct err *reterr)
{
	if (reply->status == 202)
		return 0;
	explain_refusal("Nova", "os-migrateLive", reply, reterr);
	return reply->status == 409 ? NOVA_BUSY : NOVA_UNSUITABLE;
}

static int request_migration(struct nova *nova, const char *uuid, bool *ret_unconfirmed,
			     struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[CLIENT_PATH_MAX];
	json_t *body =
		json_pack("{s:{s:n, s:s}}", "os-migrateLive", "host", "block_migration", "auto");
	int r;

	snprintf(path, sizeof(path), "/servers/%s/action", uuid);
	r = service_request(nova->compute, "POST", path, body, &reply, reterr);
	json_decref(body);
	/* Without an answer, or after an error of the server, Nova may go on with it. */
	*ret_unconfirmed = r == -ECONNRESET || r == -EAGAIN || r == -EPROTO;
	if (*ret_unconfirmed)
		return 0;
	return r < 0 ? judge_failure(r) : judge_request(&reply, reterr);
}

/* Prepares the search for a migration of server @uuid. */
static int set_server(const char *uuid, struct nova_asked *ret_asked, struct err *reterr)
{
	if (!nova_is_uuid(uuid))
		return err_condition(reterr, NOVA_UNSUITABLE,
				     "'%s' is not the UUID of a server of Nova", uuid);
	strcpy(ret_asked->server, uuid);
	return 0;
}

void nova_prepare(struct nova *nova, struct instant now)
{
	const char *token;

	(void)keystone_token(nova->keystone, now, &token, NULL);
}

int nova_check(struct nova *nova, const char *uuid, struct instant now, struct err *reterr)
{
	struct nova_asked asked = {0};
	int r = set_server(uuid, &asked, reterr);

	nova->checked.server[0] = '\0';
	if (r == 0)
		r = check_migrations(nova, uuid, now, &asked.last_id, reterr);
	if (r == 0)
		r = check_room(nova, uuid, reterr);
	if (r == 0) {
		nova->checked = asked;
		nova->checked_ns = now.mono_ns;
	}
	return r;
}

int nova_ask(struct nova *nova, const char *uuid, struct instant now, struct nova_asked *ret_asked,
	     struct err *reterr)
{
	struct nova_asked asked;
	int r = 0;

	if (strcmp(nova->checked.server, uuid) != 0 || !uuid[0] ||
	    now.mono_ns - nova->checked_ns > NOVA_CHECK_NS)
		r = nova_check(nova, uuid, now, reterr);
	asked = nova->checked;
	nova->checked.server[0] = '\0';
	if (r == 0)
		r = request_migration(nova, uuid, &asked.unconfirmed, reterr);
	if (r == 0)
		*ret_asked = asked;
	return r;
}

static int fetch_migrations(struct nova *nova, const char *uuid, struct reply *ret_reply,
			    struct err *reterr)
{
	char path[CLIENT_PATH_MAX];

	snprintf(path, sizeof(path),
		 "/os-migrations?instance_uuid=%s&migration_type=live-migration", uuid);
	return fetch(nova, nova->compute, path, ret_reply, reterr);
}

int nova_find_asked(struct nova *nova, const char *uuid, int64_t since_ms,
		    struct nova_asked *ret_asked, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct nova_asked asked = {.unconfirmed = true};
	struct nova_migration m;
	int r = set_server(uuid, &asked, reterr);

	if (r == 0)
		r = fetch_migrations(nova, uuid, &reply, reterr);
	for (size_t i = 0; r == 0 && i < count_migrations(reply.json); i++)
		if (nova_read_migration(reply.json, i, &m) && m.created_ms > 0 &&
		    m.created_ms < since_ms - CLOCKS_MS && m.id > asked.last_id)
			asked.last_id = m.id;
	if (r == 0)
		*ret_asked = asked;
	return r;
}

/* Finds the newest migration since the request. */
static int look_at_migration(struct nova *nova, const struct nova_asked *asked,
			     struct nova_progress *p, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct nova_migration m;
	int r = fetch_migrations(nova, asked->server, &reply, reterr);

	for (size_t i = 0; r == 0 && i < count_migrations(reply.json); i++) {
		if (!nova_read_migration(reply.json, i, &m) || m.id <= asked->last_id ||
		    m.id <= p->id || strcmp(m.server, asked->server) != 0)
			continue;
		p->id = m.id;
		p->phase = m.phase;
		p->changed_ms = m.changed_ms;
		strcpy(p->to, m.to);
		if (m.phase == NOVA_FAILED)
			snprintf(p->why, sizeof(p->why), "Nova ended the migration with status %s",
				 m.status);
	}
	return r;
}

/* Explains a failure by the state of the server, which can also be the first sign of it. */
static int look_at_server(struct nova *nova, const struct nova_asked *asked,
			  struct nova_progress *p, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[CLIENT_PATH_MAX];
	struct nova_server server;
	int r;

	snprintf(path, sizeof(path), "/servers/%s", asked->server);
	r = fetch(nova, nova->compute, path, &reply, reterr);
	if (r == NOVA_UNSUITABLE) {
		p->phase = NOVA_FAILED;
		snprintf(p->why, sizeof(p->why), "the server was removed");
		return 0;
	}
	if (r != 0)
		return r;
	nova_read_server(reply.json, &server);
	if (strcmp(server.status, "ERROR") != 0)
		return 0;
	p->phase = NOVA_FAILED;
	snprintf(p->why, sizeof(p->why), "Nova set the server to ERROR%s%s",
		 server.fault[0] ? ": " : "", server.fault);
	return 0;
}

int nova_look(struct nova *nova, const struct nova_asked *asked, struct nova_progress *ret_progress,
	      struct err *reterr)
{
	struct nova_progress p = {.phase = NOVA_WAITING};
	int r = look_at_migration(nova, asked, &p, reterr);

	if (r == 0 && (p.phase == NOVA_WAITING || p.phase == NOVA_FAILED))
		r = look_at_server(nova, asked, &p, reterr);
	if (r == 0)
		*ret_progress = p;
	return r;
}

int nova_abort(struct nova *nova, const struct nova_asked *asked, int64_t id, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[CLIENT_PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "/servers/%s/migrations/%lld", asked->server, (long long)id);
	r = service_request(nova->compute, "DELETE", path, NULL, &reply, reterr);
	if (r < 0)
		return judge_failure(r);
	if (reply.status == 202)
		return 0;
	explain_refusal("Nova", "DELETE", &reply, reterr);
	return NOVA_UNSUITABLE;
}
