/* SPDX-License-Identifier: MIT */
/*
 * Sums over the GPUs, vGPUs, offers and alerts of a host. The slots that Placement should have come
 * from the mapping of gover-fleet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/field.h"
#include "gover-ctl/fleet/row.h"
#include "gover-fleet/model/mapping.h"

/* --- sums over the lists of GET /v1/host --- */

/* Returns the mean of a member over the GPUs that have it; null if none has. */
static json_t *mean_of_gpus(const json_t *host, const char *key)
{
	const json_t *gpus = json_object_get(host, "gpus"), *gpu;
	double sum = 0;
	size_t i, n = 0;

	json_array_foreach (gpus, i, gpu) {
		double value = field_number(gpu, key);

		if (isnan(value))
			continue;
		sum += value;
		n++;
	}
	return n ? json_real(sum / (double)n) : json_null();
}

/* Returns the number of elements of @list whose member @key has the text @value. */
static json_int_t count_in(const json_t *list, const char *key, const char *value)
{
	const json_t *element;
	json_int_t n = 0;
	size_t i;

	json_array_foreach (list, i, element) {
		n += strcmp(field_text(element, key), value) == 0;
	}
	return n;
}

static json_t *count_alerts(const json_t *host)
{
	const json_t *alerts = json_object_get(host, "alerts");

	return json_pack("{s:I, s:I, s:I}", "critical", count_in(alerts, "severity", "critical"),
			 "warning", count_in(alerts, "severity", "warning"), "info",
			 count_in(alerts, "severity", "info"));
}

static json_t *or_null(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return value ? json_incref(value) : json_null();
}

/* --- slots --- */

/* Finds the slot of a class in the list, or adds it with the counts 0. NULL: out of memory. */
static json_t *slot_of(json_t *slots, const char *class)
{
	json_t *slot;
	size_t i;

	json_array_foreach (slots, i, slot) {
		if (strcmp(field_text(slot, "class"), class) == 0)
			return slot;
	}
	slot = json_pack("{s:s, s:i, s:i, s:i, s:i}", "class", class, "contracts", 0, "offers", 0,
			 "total", 0, "used", 0);
	return slot && json_array_append_new(slots, slot) == 0 ? slot : NULL;
}

static int add_to(json_t *slot, const char *key, json_int_t n)
{
	json_int_t now = json_integer_value(json_object_get(slot, key));

	return json_object_set_new(slot, key, json_integer(now + n));
}

/*
 * Adds the slots that gover-fleet wants for all GPUs. It wants none if it cannot read the replies
 * of gover-d.
 */
static int count_slots(const struct row_replies *replies, json_t *slots)
{
	CLEANUP_FREE struct wanted *wanted = malloc(sizeof(*wanted));
	struct host_state *state = NULL;
	int r = wanted ? host_state_parse(replies->host, replies->policy, &state, NULL) : -ENOMEM;

	if (r < 0)
		return r == -EPROTO ? 0 : r;
	(void)mapping_want(state, true, state->time_ms, wanted);
	host_state_unref(state);
	for (size_t i = 0; i < wanted->n_gpus; i++) {
		const struct wanted_gpu *gpu = &wanted->gpus[i];

		for (size_t j = 0; r == 0 && j < gpu->n_classes; j++) {
			json_t *slot;

			/* the common class repeats the classes of the flavours */
			if (wanted_is_common(gpu->classes[j].name))
				continue;
			slot = slot_of(slots, gpu->classes[j].name);

			r = add_to(slot, "contracts", gpu->classes[j].contracts);
			if (r == 0)
				r = add_to(slot, "offers", gpu->classes[j].offers);
		}
	}
	return r;
}

int row_add_provider(json_t *published, const json_t *inventories, const json_t *usages)
{
	json_t *classes = json_object_get(inventories, "inventories"), *inventory;
	const json_t *used = json_object_get(usages, "usages");
	const char *class;
	int r = 0;

	json_object_foreach (classes, class, inventory) {
		/* Placement refuses a total of 0, so that an empty class has total = reserved. */
		json_int_t total = json_integer_value(json_object_get(inventory, "total")) -
				   json_integer_value(json_object_get(inventory, "reserved"));
		json_t *slot = r == 0 && wanted_is_slot(class) ? slot_of(published, class) : NULL;

		if (!slot)
			continue;
		r = add_to(slot, "total", total);
		if (r == 0)
			r = add_to(slot, "used", json_integer_value(json_object_get(used, class)));
	}
	return r;
}

/* Adds the published totals to the slots of the row. */
static int merge_published(json_t *slots, const json_t *published)
{
	const json_t *each;
	size_t i;
	int r = 0;

	json_array_foreach (published, i, each) {
		json_t *slot = r == 0 ? slot_of(slots, field_text(each, "class")) : NULL;

		if (!slot)
			return -1;
		r = json_object_set(slot, "total", json_object_get(each, "total"));
		if (r == 0)
			r = json_object_set(slot, "used", json_object_get(each, "used"));
	}
	return r;
}

/* Without Placement, nothing is known about totals. */
static int hide_published(json_t *slots)
{
	json_t *slot;
	size_t i;
	int r = 0;

	json_array_foreach (slots, i, slot) {
		if (r == 0)
			r = json_object_set_new(slot, "total", json_null());
		if (r == 0)
			r = json_object_set_new(slot, "used", json_null());
	}
	return r;
}

/* --- the row --- */

static json_t *make_slots(const struct row_replies *replies)
{
	json_t *slots = json_array();
	int r = slots ? count_slots(replies, slots) : -1;

	if (r == 0)
		r = replies->published ? merge_published(slots, replies->published)
				       : hide_published(slots);
	if (r == 0)
		return slots;
	json_decref(slots);
	return NULL;
}

json_t *row_make(const struct fleet_host *host, const struct row_replies *replies)
{
	const json_t *state = replies->host;
	const json_t *vgpus = json_object_get(state, "vgpus");
	json_t *row = json_pack("{s:s, s:s, s:b, s:s?, s:o}", "host", host->name, "address",
				host->address, "answered", state != NULL, "problem",
				replies->problem, "version", or_null(state, "version"));
	int r = row ? 0 : -1;

	if (r < 0 || !state)
		return row;
	r = json_object_update_new(
		row, json_pack("{s:I, s:I, s:o, s:o, s:I, s:I, s:o, s:o, s:o}", "gpus",
			       (json_int_t)json_array_size(json_object_get(state, "gpus")), "vgpus",
			       (json_int_t)json_array_size(vgpus), "sold_pct",
			       mean_of_gpus(state, "sum_initial_cap_pct"), "used_pct",
			       mean_of_gpus(state, "load_pct"), "broken",
			       count_in(vgpus, "promise", "broken"), "offers",
			       count_in(json_object_get(state, "offers"), "state", "open"),
			       "alerts", count_alerts(state), "policy",
			       or_null(replies->policy, "name"), "slots", make_slots(replies)));
	if (r == 0)
		r = json_object_update_new(
			row, json_pack("{s:o, s:o, s:o, s:o}", "fleet_state",
				       or_null(replies->fleet, "state"), "fleet_problem",
				       or_null(replies->fleet, "problem"), "migration",
				       or_null(replies->fleet, "migration"), "last_migration",
				       or_null(replies->fleet, "last_migration")));
	if (r == 0)
		return row;
	json_decref(row);
	return NULL;
}

/* --- the table --- */

static void write_alerts(const json_t *row, char text[WRITER_CELL_MAX])
{
	const json_t *alerts = json_object_get(row, "alerts");
	double critical = field_number(alerts, "critical");
	double warning = field_number(alerts, "warning");

	text[0] = '\0';
	if (critical > 0)
		snprintf(text, WRITER_CELL_MAX, "%.0f critical", critical);
	if (warning > 0)
		snprintf(text + strlen(text), WRITER_CELL_MAX - strlen(text), "%s%.0f warning",
			 text[0] ? ", " : "", warning);
}

static enum writer_colour alerts_colour(const json_t *row)
{
	const json_t *alerts = json_object_get(row, "alerts");

	if (field_number(alerts, "critical") > 0)
		return WRITER_RED;
	return field_number(alerts, "warning") > 0 ? WRITER_YELLOW : WRITER_PLAIN;
}

static enum writer_colour broken_colour(const json_t *row)
{
	return field_number(row, "broken") > 0 ? WRITER_RED : WRITER_PLAIN;
}

static enum writer_colour fleet_colour(const json_t *row)
{
	const char *state = field_text(row, "fleet_state");

	return state[0] && strcmp(state, "published") != 0 ? WRITER_YELLOW : WRITER_PLAIN;
}

/* "3/4": slots in use of the published ones; "3/4, wants 5" if the host wants other totals. */
static void write_slots(const json_t *row, char text[WRITER_CELL_MAX])
{
	const json_t *slots = json_object_get(row, "slots"), *slot;
	double total = 0, used = 0, wanted = 0;
	bool known = false, same = true;
	size_t i;

	json_array_foreach (slots, i, slot) {
		double each = field_number(slot, "contracts") + field_number(slot, "offers");
		double published = field_number(slot, "total");

		known = known || !isnan(published);
		same = same && published == each;
		total += published;
		used += field_number(slot, "used");
		wanted += each;
	}
	text[0] = '\0';
	if (known)
		snprintf(text, WRITER_CELL_MAX, "%.0f/%.0f", used, total);
	if (known && !same)
		snprintf(text + strlen(text), WRITER_CELL_MAX - strlen(text), ", wants %.0f",
			 wanted);
}

/* "web1 to host2": the migration in progress */
static void write_migration(const json_t *row, char text[WRITER_CELL_MAX])
{
	const json_t *migration = json_object_get(row, "migration");
	const char *to = field_text(migration, "to");

	snprintf(text, WRITER_CELL_MAX, "%s%s%s", field_text(migration, "vgpu"),
		 to[0] ? " to " : "", to);
}

static void write_note(const json_t *row, char text[WRITER_CELL_MAX])
{
	const char *problem = field_text(row, "problem"), *fleet = field_text(row, "fleet_problem");

	snprintf(text, WRITER_CELL_MAX, "%s%s%s", problem, problem[0] && fleet[0] ? "; " : "",
		 fleet);
}

static enum writer_colour host_colour(const json_t *row)
{
	return field_true(row, "answered") ? WRITER_PLAIN : WRITER_RED;
}

static const struct writer_column columns[] = {
	{.head = "HOST", .key = "host", .format = WRITER_TEXT, .colour = host_colour},
	{.head = "VERSION", .key = "version", .format = WRITER_TEXT, .show = WRITER_IF_WIDE},
	{.head = "GPUS", .key = "gpus", .format = WRITER_WHOLE},
	{.head = "VGPUS", .key = "vgpus", .format = WRITER_WHOLE},
	{.head = "SOLD%", .key = "sold_pct", .format = WRITER_WHOLE},
	{.head = "USED%", .key = "used_pct", .format = WRITER_WHOLE},
	{.head = "BROKEN", .key = "broken", .format = WRITER_WHOLE, .colour = broken_colour},
	{.head = "OFFERS", .key = "offers", .format = WRITER_WHOLE},
	{.head = "POLICY", .key = "policy", .format = WRITER_TEXT},
	{.head = "ALERTS", .cell = write_alerts, .colour = alerts_colour},
	{.head = "FLEET", .key = "fleet_state", .format = WRITER_TEXT, .colour = fleet_colour},
	{.head = "MIGRATION", .cell = write_migration, .show = WRITER_IF_ANY},
	{.head = "SLOTS", .cell = write_slots, .show = WRITER_IF_ANY},
	{.head = "ADDRESS", .key = "address", .format = WRITER_TEXT, .show = WRITER_IF_WIDE},
	{.head = "NOTE", .format = WRITER_LONG, .cell = write_note, .show = WRITER_IF_ANY},
};
const struct table table_fleet = {.member = "hosts",
				  .none = "No hosts.",
				  .columns = columns,
				  .n_columns = ARRAY_SIZE(columns)};
