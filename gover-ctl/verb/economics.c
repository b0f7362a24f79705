/* SPDX-License-Identifier: MIT */
/* `economics`: revenue, penalties and profit, with and without overselling. */
#include "gover-ctl/field.h"
#include "gover-ctl/verb/time-arg.h"
#include "gover-ctl/verb/tables.h"
#include "gover-ctl/verb/describe.h"
#include "gover-ctl/verb/verbs.h"

#define DAY_S (24 * 3600)

static void print_prices(const struct writer *writer, const json_t *prices)
{
	const json_t *price;
	size_t i;

	json_array_foreach (prices, i, price) {
		char since[DESCRIBE_MAX];

		describe_time(field_text(price, "time"), since);
		writer_line(writer,
			    "flavour %s since %s: price %.6g per hour of the whole GPU, penalty "
			    "%.6g per broken "
			    "second",
			    field_text(price, "flavor"), since,
			    field_number(price, "price_per_cap_hour"),
			    field_number(price, "penalty_per_broken_s"));
	}
}

/* Prints a table of two rows: the sums as sold, and the sums without overselling. */
static enum ctl_exit print_accounts(const struct writer *writer, json_t *answer, json_t *without)
{
	json_t *rows = NULL;
	enum ctl_exit r;

	if (json_object_set_new(answer, "account", json_string("as sold")) == 0 &&
	    json_object_set_new(without, "account", json_string("without overselling")) == 0)
		rows = json_pack("{s:[O, O]}", "accounts", answer, without);
	if (!rows)
		return ctl_fail_memory();
	r = tables_print_rows(writer, &table_accounts, rows);
	json_decref(rows);
	return r;
}

/*
 * Prints the rows of @table with an additional column: the profit without overselling, from
 * @without.
 */
static enum ctl_exit print_rows(const struct writer *writer, const struct table *table,
				json_t *answer, const json_t *without)
{
	const json_t *baseline = json_object_get(without, table->member);
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(answer, table->member), i, row) {
		json_t *profit = json_object_get(json_array_get(baseline, i), "profit");

		if (profit && json_object_set(row, "profit_without", profit) < 0)
			return ctl_fail_memory();
	}
	writer_line(writer, "%s", "");
	return tables_print_rows(writer, table, answer);
}

static enum ctl_exit print(const struct writer *writer, json_t *answer)
{
	json_t *without = json_object_get(answer, "without_overselling");
	char from[DESCRIBE_MAX], to[DESCRIBE_MAX];
	enum ctl_exit r;

	describe_time(field_text(answer, "from"), from);
	describe_time(field_text(answer, "to"), to);
	writer_line(writer, "%s to %s, %.2f GPU hours observed", from, to,
		    field_number(answer, "watched_hours"));
	print_prices(writer, json_object_get(answer, "prices"));
	writer_line(writer, "%s", "");
	r = print_accounts(writer, answer, without);
	if (json_array_size(json_object_get(answer, "vgpus")) == 0)
		return r;
	if (r == CTL_DONE)
		r = print_rows(writer, &table_flavors, answer, without);
	return r == CTL_DONE ? print_rows(writer, &table_earners, answer, without) : r;
}

enum ctl_exit verb_economics(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct time_range range;
	enum ctl_exit r = time_arg_get_range(args, "economics", DAY_S, &range);

	if (r == CTL_DONE)
		r = ctl_request(ctl, "GET", NULL, &reply, "/v1/economics?from=%s&to=%s", range.from,
				range.to);
	if (r != CTL_DONE)
		return r;
	if (!ctl->writer.json)
		return print(&ctl->writer, reply.json);
	writer_reply(&ctl->writer, &reply);
	return CTL_DONE;
}
