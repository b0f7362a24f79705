/* SPDX-License-Identifier: MIT */
/* Routes of gover-fleet: the state of the cloud, and facts about migrations. */
#include <errno.h>
#include <stddef.h>

#include "gover-d/api/change.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/change/control.h"
#include "gover-d/model/error.h"
#include "gover-d/model/fleet.h"
#include "gover-d/util/json.h"

#define COUNT_MAX	9007199254740992.0 /* 2^53 */
#define USED_MAX	1000000
#define DURATION_MAX_MS 1e12

/* --- encoding --- */

static json_t *encode_leaks(const struct fleet_report *report)
{
	json_t *list = json_array();

	for (size_t i = 0; i < report->n_leaks; i++) {
		const struct fleet_leak *leak = &report->leaks[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i}", "gpu", leak->gpu,
						      "flavor", leak->flavor, "used", leak->used,
						      "sold", leak->sold));
	}
	return list;
}

static json_t *encode_migrations(const struct fleet_report *report)
{
	json_t *o = json_object();

	for (int i = 0; i < FLEET_MIGRATION_STATES; i++)
		json_encode_add(o, fleet_migration_name((enum fleet_migration_state)i),
				json_integer(report->migrations[i]));
	return o;
}

static json_t *encode_course(const struct fleet_course *course)
{
	if (!course->vgpu[0])
		return json_null();
	return json_pack("{s:s, s:s, s:o, s:o}", "vgpu", course->vgpu, "gpu", course->gpu, "to",
			 json_encode_name(course->to), "since", json_encode_time(course->since_ms));
}

static json_t *encode_outcome(const struct fleet_outcome *last)
{
	int64_t duration_ms = last->end.duration_ms;

	if (!last->vgpu[0])
		return json_null();
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "vgpu", last->vgpu, "gpu",
			 last->gpu, "state", fleet_migration_name(last->end.state), "to",
			 json_encode_name(last->end.to), "duration_ms",
			 duration_ms >= 0 ? json_integer(duration_ms) : json_null(), "reason",
			 json_encode_name(last->end.reason), "time",
			 json_encode_time(last->ended_ms));
}

static json_t *encode_fleet(const struct fleet *fleet, struct instant now)
{
	const struct fleet_report *report = &fleet->report;
	const char *state = fleet_state_name(fleet_state_at(fleet, now));
	json_t *o = json_object();

	json_encode_add(o, "state", json_encode_name(state ? state : ""));
	json_encode_add(o, "cloud", json_encode_name(report->cloud));
	json_encode_add(o, "problem", json_encode_name(report->problem));
	json_encode_add(o, "unverified", json_integer(report->unverified));
	json_encode_add(o, "leaks", encode_leaks(report));
	json_encode_add(o, "migrations", encode_migrations(report));
	json_encode_add(o, "migration", encode_course(&fleet->course));
	json_encode_add(o, "last_migration", encode_outcome(&fleet->last));
	json_encode_add(o, "ttl_s", state ? json_integer(report->ttl_s) : json_null());
	json_encode_add(o, "reported_at", json_encode_time(state ? fleet->reported.wall_ms : 0));
	return o;
}

static void get_fleet(struct api *api, struct api_request *request)
{
	api_request_reply_json(request, 200, encode_fleet(api->view->fleet, clock_now()));
}

/* --- decoding --- */

struct wanted_report {
	struct fleet_report report;
	char state[16];
};

#define REPORT_AT(member) offsetof(struct wanted_report, member)

enum { REPORT_PROBLEM = 1 << 2, REPORT_ALL = (1 << 5) - 1 };

static const struct json_decode_field report_fields[] = {
	{"state", JSON_DECODE_TEXT, 0, 15, REPORT_AT(state), 1 << 0},
	{"cloud", JSON_DECODE_TEXT, 0, FLEET_TEXT_MAX - 1, REPORT_AT(report.cloud), 1 << 1},
	{"problem", JSON_DECODE_TEXT, 0, FLEET_TEXT_MAX - 1, REPORT_AT(report.problem),
	 REPORT_PROBLEM},
	{"unverified", JSON_DECODE_WHOLE, 0, USED_MAX, REPORT_AT(report.unverified), 1 << 3},
	{"ttl_s", JSON_DECODE_WHOLE, FLEET_TTL_MIN_S, FLEET_TTL_MAX_S, REPORT_AT(report.ttl_s),
	 1 << 4},
	{.name = NULL},
};

static const struct json_decode_field leak_fields[] = {
	{"gpu", JSON_DECODE_ID, 0, 0, offsetof(struct fleet_leak, gpu), 1 << 0},
	{"flavor", JSON_DECODE_ID, 0, 0, offsetof(struct fleet_leak, flavor), 1 << 1},
	{"used", JSON_DECODE_WHOLE, 0, USED_MAX, offsetof(struct fleet_leak, used), 1 << 2},
	{"sold", JSON_DECODE_WHOLE, 0, USED_MAX, offsetof(struct fleet_leak, sold), 1 << 3},
	{.name = NULL},
};

#define COUNT_AT(state) offsetof(struct fleet_report, migrations[state])

static const struct json_decode_field count_fields[] = {
	{"requested", JSON_DECODE_INT64, 0, COUNT_MAX, COUNT_AT(FLEET_REQUESTED), 1 << 0},
	{"completed", JSON_DECODE_INT64, 0, COUNT_MAX, COUNT_AT(FLEET_COMPLETED), 1 << 1},
	{"failed", JSON_DECODE_INT64, 0, COUNT_MAX, COUNT_AT(FLEET_FAILED), 1 << 2},
	{.name = NULL},
};

static int take_leak(void *userdata, json_t *object, struct err *reterr)
{
	struct fleet_report *report = userdata;

	return json_decode_all(object, leak_fields, &report->leaks[report->n_leaks++], reterr);
}

/* Removes the member @name of @object if it is null. */
static void drop_null(json_t *object, const char *name)
{
	if (json_is_null(json_object_get(object, name)))
		(void)json_object_del(object, name);
}

static int decode_report(json_t *object, struct fleet_report *ret_report, struct err *reterr)
{
	struct wanted_report wanted = {.state = ""};
	json_t *rest = json_copy(object);
	unsigned int given;
	int r;

	(void)json_object_del(rest, "leaks");
	(void)json_object_del(rest, "migrations");
	drop_null(rest, "problem");
	r = json_decode_object(rest, report_fields, REPORT_ALL, REPORT_ALL & ~REPORT_PROBLEM,
			       &wanted, &given, reterr);
	json_decref(rest);
	if (r >= 0 && fleet_state_parse(wanted.state, &wanted.report.state) < 0)
		r = err_fail(reterr, EINVAL,
			     "state: \"%s\" is not allowed (allowed: published, unreachable, "
			     "withdrawn or waiting)",
			     wanted.state);
	if (r >= 0)
		r = json_decode_list(object, "leaks", FLEET_LEAKS_MAX, take_leak, &wanted.report,
				     reterr);
	if (r >= 0)
		r = json_decode_member(object, "migrations", count_fields, &wanted.report, reterr);
	if (r >= 0)
		*ret_report = wanted.report;
	return r;
}

static void put_fleet(struct api *api, struct api_request *request)
{
	struct fleet_report report;
	struct err err = {.msg = ""};
	int r = decode_report(request->object, &report, &err);

	if (r < 0) {
		problem_reply_error(request, r == -EINVAL ? CONTROL_E_INVALID : r, &err);
		return;
	}
	control_fleet_report(api->changes, &report, clock_now());
	get_fleet(api, request);
}

/* --- migrations --- */

struct wanted_migration {
	struct fleet_migration migration;
	char state[16];
};

#define MIGRATION_AT(member) offsetof(struct wanted_migration, member)

enum { MIGRATION_STATE = 1 << 0, MIGRATION_ALL = (1 << 4) - 1 };

static const struct json_decode_field migration_fields[] = {
	{"state", JSON_DECODE_TEXT, 0, 15, MIGRATION_AT(state), MIGRATION_STATE},
	{"duration_ms", JSON_DECODE_INT64, 0, DURATION_MAX_MS, MIGRATION_AT(migration.duration_ms),
	 1 << 1},
	{"to", JSON_DECODE_TEXT, 0, FLEET_TEXT_MAX - 1, MIGRATION_AT(migration.to), 1 << 2},
	{"reason", JSON_DECODE_TEXT, 0, FLEET_TEXT_MAX - 1, MIGRATION_AT(migration.reason), 1 << 3},
	{.name = NULL},
};

static int decode_migration(json_t *object, struct fleet_migration *ret_migration,
			    struct err *reterr)
{
	struct wanted_migration wanted = {.migration.duration_ms = -1};
	json_t *given = json_copy(object);
	unsigned int bits;
	int r;

	drop_null(given, "duration_ms");
	drop_null(given, "to");
	drop_null(given, "reason");
	r = json_decode_object(given, migration_fields, MIGRATION_ALL, MIGRATION_STATE, &wanted,
			       &bits, reterr);
	json_decref(given);
	if (r < 0)
		return r;
	if (fleet_migration_parse(wanted.state, &wanted.migration.state) < 0)
		return err_fail(reterr, EINVAL,
				"state: \"%s\" is not allowed (allowed: requested, completed or "
				"failed)",
				wanted.state);
	*ret_migration = wanted.migration;
	return 0;
}

static void post_migration(struct api *api, struct api_request *request)
{
	struct fleet_migration migration;
	struct api_change *change;
	struct err err = {.msg = ""};

	if (decode_migration(request->object, &migration, &err) < 0) {
		problem_reply_error(request, CONTROL_E_INVALID, &err);
		return;
	}
	change = api_change_new(api, request, api_change_reply_none);
	api_change_begun(change, control_fleet_migration(api->changes, request->param, &migration,
							 clock_now(), api_change_done(change),
							 &change->err));
}

const struct api_route fleet_routes[] = {
	{"GET", "/v1/fleet", get_fleet, ACCESS_READ, 0, {NULL}},
	{"PUT", "/v1/fleet", put_fleet, ACCESS_OPERATE, API_OBJECT | API_UNAUDITED, {NULL}},
	{"POST", "/v1/vgpus/{id}/migration", post_migration, ACCESS_OPERATE, API_OBJECT, {NULL}},
	{.method = NULL},
};
