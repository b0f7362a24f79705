/* SPDX-License-Identifier: MIT */
/*
 * The verbs `offers`, `claim` and `economics`. Every claim has an idempotency key, so that a
 * repeated request claims only once. `economics` prints revenue, penalties and profit, with and
 * without overselling; while no price is set, only the sold capacity and the broken time.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "gover-ctl/shared/contract-args.h"
#include "gover-ctl/shared/describe.h"
#include "gover-ctl/shared/tables.h"
#include "gover-ctl/shared/time-arg.h"
#include "gover-ctl/verb/selling.h"

#define KEY_MAX	    128 /* size of a key with its NUL; the daemon has the same limit */
#define DAY_S	    (24 * 3600)
#define COLUMNS_MAX 16
#define NO_PRICES                                                                                 \
	"no price is set: revenue and penalties are not counted; set them with gover-ctl policy " \
	"set price_per_cap_hour=PRICE penalty_per_broken_s=PENALTY"

enum ctl_exit verb_offers(struct ctl *ctl, const struct args *args)
{
	return listing_run(ctl, args, &table_offers, "/v1/offers%s",
			   args_has(args, OPTION_ALL) ? "?all=true" : "");
}

/* Uses the key of --key, or makes a random key. */
static enum ctl_exit choose_key(const struct args *args, char key[KEY_MAX])
{
	const char *given = args->values[OPTION_KEY];
	unsigned char bytes[16];

	if (!given) {
		if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
			return ctl_fail(CTL_FAILED,
					"claim: no random key available; set a key with --key");
		for (size_t i = 0; i < sizeof(bytes); i++)
			snprintf(key + 2 * i, 3, "%02x", bytes[i]);
		return CTL_DONE;
	}
	for (const char *c = given; *c; c++)
		if (!isgraph((unsigned char)*c))
			return ctl_fail(CTL_USAGE, "--key: not allowed (allowed: printable "
						   "characters without spaces)");
	if (strlen(given) >= KEY_MAX)
		return ctl_fail(CTL_USAGE, "--key: too long (limit %d characters)", KEY_MAX - 1);
	strcpy(key, given);
	return CTL_DONE;
}

static enum ctl_exit send_claim(struct ctl *ctl, const char *path, const json_t *body,
				const char *key, struct reply *ret_reply)
{
	struct client_call call = {.method = "POST", .path = path, .body = body, .key = key};
	struct err err;
	int r = ctl_try_request(ctl, &call, ret_reply, &err);

	if (r == 0)
		return CTL_DONE;
	if (r != -ECONNRESET)
		return ctl_fail_request(ctl, r, ret_reply, &err);
	return ctl_fail(CTL_UNREACHABLE,
			"%s; the claim may have succeeded: repeat the command with --key %s, which "
			"claims only once",
			err.msg, key);
}

enum ctl_exit verb_offer_claim(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	enum ctl_exit r = ctl_check_id("vGPU", args->values[OPTION_NEWCOMER]);
	char path[CLIENT_PATH_MAX], key[KEY_MAX], text[DESCRIBE_MAX];
	json_t *body;
	long long id;

	if (r == CTL_DONE)
		r = ctl_parse_number("offer", args->words[0], &id);
	if (r == CTL_DONE)
		r = choose_key(args, key);
	if (r != CTL_DONE)
		return r;
	snprintf(path, sizeof(path), "/v1/offers/%lld/claim", id);
	body = contract_args_make_vgpu(args, args->values[OPTION_NEWCOMER]);
	r = send_claim(ctl, path, body, key, &reply);
	json_decref(body);
	if (r != CTL_DONE)
		return r;
	describe_vgpu(json_object_get(reply.json, "vgpu"), text);
	writer_result(&ctl->writer, &reply, "claimed: offer %lld: %s", id, text);
	return CTL_DONE;
}

static bool is_money(const struct writer_column *column)
{
	static const char *const keys[] = {"revenue", "penalty", "profit", "profit_without"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (column->key && strcmp(column->key, keys[i]) == 0)
			return true;
	return false;
}

/* Prints the rows of @answer without the columns of money if no price is set. */
static void print_table(const struct writer *writer, const struct table *table,
			const json_t *answer, bool money)
{
	struct writer_column kept[COLUMNS_MAX];
	struct table some = *table;
	size_t n = 0;

	for (size_t i = 0; i < table->n_columns && n < COLUMNS_MAX; i++)
		if (money || !is_money(&table->columns[i]))
			kept[n++] = table->columns[i];
	some.columns = kept;
	some.n_columns = n;
	tables_print_rows(writer, &some, answer);
}

/* Writes "price 2 per hour of the whole GPU", or "no price" if it is not set. */
static void describe_price(const json_t *price, const char *key, const char *what, const char *unit,
			   char text[WRITER_SPAN_MAX * 4])
{
	double value = field_number(price, key);

	if (isnan(value))
		snprintf(text, WRITER_SPAN_MAX * 4, "no %s", what);
	else
		snprintf(text, WRITER_SPAN_MAX * 4, "%s %.6g per %s", what, value, unit);
}

static void print_prices(const struct writer *writer, const json_t *prices)
{
	const json_t *price;
	size_t i;

	json_array_foreach (prices, i, price) {
		char since[DESCRIBE_MAX], earns[WRITER_SPAN_MAX * 4], costs[WRITER_SPAN_MAX * 4];

		describe_time(field_text(price, "time"), since);
		describe_price(price, "price_per_cap_hour", "price", "hour of the whole GPU",
			       earns);
		describe_price(price, "penalty_per_broken_s", "penalty", "broken second", costs);
		writer_line(writer, "flavour %s since %s: %s, %s", field_text(price, "flavor"),
			    since, earns, costs);
	}
}

/* Prints a table of two rows: the sums as sold, and the sums without overselling. */
static void print_accounts(const struct writer *writer, json_t *answer, json_t *without, bool money)
{
	json_t *rows;

	(void)json_object_set_new(answer, "account", json_string("as sold"));
	(void)json_object_set_new(without, "account", json_string("without overselling"));
	rows = json_pack("{s:[O, O]}", "accounts", answer, without);
	print_table(writer, &table_accounts, rows, money);
	json_decref(rows);
}

/*
 * Prints the rows of @table with an additional column: the profit without overselling, from
 * @without.
 */
static void print_rows(const struct writer *writer, const struct table *table, json_t *answer,
		       const json_t *without, bool money)
{
	const json_t *baseline = json_object_get(without, table->member);
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(answer, table->member), i, row) {
		json_t *profit = json_object_get(json_array_get(baseline, i), "profit");

		if (profit)
			(void)json_object_set(row, "profit_without", profit);
	}
	writer_line(writer, "%s", "");
	print_table(writer, table, answer, money);
}

static void print(const struct writer *writer, json_t *answer)
{
	json_t *without = json_object_get(answer, "without_overselling");
	bool money = !json_is_false(json_object_get(answer, "prices_set"));
	char from[DESCRIBE_MAX], to[DESCRIBE_MAX];

	describe_time(field_text(answer, "from"), from);
	describe_time(field_text(answer, "to"), to);
	writer_line(writer, "%s to %s, %.2f GPU hours observed", from, to,
		    field_number(answer, "watched_hours"));
	if (money)
		print_prices(writer, json_object_get(answer, "prices"));
	else
		writer_line(writer, "%s", NO_PRICES);
	writer_line(writer, "%s", "");
	print_accounts(writer, answer, without, money);
	if (json_array_size(json_object_get(answer, "vgpus")) == 0)
		return;
	print_rows(writer, &table_flavors, answer, without, money);
	print_rows(writer, &table_earners, answer, without, money);
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
	if (ctl->writer.json)
		writer_reply(&ctl->writer, &reply);
	else
		print(&ctl->writer, reply.json);
	return CTL_DONE;
}
