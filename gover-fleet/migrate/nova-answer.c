/* SPDX-License-Identifier: MIT */
/* Finds the facts in answers of Nova and Placement. No answer is trusted to have a member. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "gover-fleet/migrate/nova-answer.h"
#include "gover-fleet/model/wanted.h"

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

size_t nova_count_migrations(const json_t *answer)
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
