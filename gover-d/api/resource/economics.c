/* SPDX-License-Identifier: MIT */
/* GET /v1/economics: revenue and penalties from the ledger. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "db/db.h"
#include "gover-d/api/fetch.h"
#include "gover-d/api/resource/routes.h"
#include "gover-d/change/change.h"
#include "gover-d/config/config.h"
#include "gover-d/tick/ledger.h"
#include "gover-d/util/json.h"

#define RANGE_DEFAULT_MS (24 * 3600 * 1000)
#define S_PER_HOUR	 3600
/* Limit of the vGPUs, and of the prices, in an answer. */
#define ROWS_MAX 10000

/* Which prices were set for a flavour at some time of the range. */
struct priced {
	char flavor[ID_MAX];
	bool price, penalty;
};

struct economics_fetch {
	struct api_fetch fetch;	      /* must be the first member */
	struct db_ledger_range range; /* time range of the answer */
	struct db_ledger *rows;
	size_t n_rows, size_rows;
	json_t *prices;
	struct priced *priced;
	size_t n_priced, size_priced;
};

/* Returns the sums of a row without overselling (@kept) or with overselling. */
static const struct db_money *money_of(const struct db_ledger *row, bool kept)
{
	return kept ? &row->kept : &row->sold;
}

/* --- reading --- */

/* Returns the entry of a flavour, which is added if it is missing. */
static struct priced *priced_of(struct economics_fetch *e, const char *flavor)
{
	for (size_t i = 0; i < e->n_priced; i++)
		if (strcmp(e->priced[i].flavor, flavor) == 0)
			return &e->priced[i];
	if (e->n_priced == e->size_priced) {
		e->size_priced = e->size_priced ? 2 * e->size_priced : 8;
		e->priced = xreallocarray(e->priced, e->size_priced, sizeof(*e->priced));
	}
	e->priced[e->n_priced] = (struct priced){.price = false};
	snprintf(e->priced[e->n_priced].flavor, ID_MAX, "%s", flavor);
	return &e->priced[e->n_priced++];
}

/* @price and @penalty are negative if they are not set. */
static void note_priced(struct economics_fetch *e, const char *flavor, double price, double penalty)
{
	struct priced *priced = priced_of(e, flavor);

	priced->price |= price >= 0;
	priced->penalty |= penalty >= 0;
}

static int take_row(void *userdata, const void *data)
{
	const struct db_ledger *row = data;
	struct economics_fetch *e = userdata;

	if (e->n_rows == ROWS_MAX)
		return -E2BIG;
	if (e->n_rows == e->size_rows) {
		e->size_rows = e->size_rows ? 2 * e->size_rows : 64;
		e->rows = xreallocarray(e->rows, e->size_rows, sizeof(*e->rows));
	}
	e->rows[e->n_rows++] = *row;
	/* An amount proves that its flavour had a price, also if the history has no such price. */
	note_priced(e, row->flavor, row->sold.revenue > 0 ? 0 : PRICE_UNSET,
		    row->sold.penalty > 0 ? 0 : PRICE_UNSET);
	return 0;
}

/* Rounds to six decimals, because the price of one second is a small sum. */
static json_t *encode_sum(double value)
{
	return isfinite(value) ? json_real(round(value * 1e6) / 1e6) : json_null();
}

static json_t *encode_price(double price)
{
	return price >= 0 ? json_real(price) : json_null();
}

static int take_price(void *userdata, const void *row)
{
	const struct db_price *price = row;
	struct economics_fetch *e = userdata;

	if (json_array_size(e->prices) == ROWS_MAX)
		return -E2BIG;
	json_array_append_new(
		e->prices,
		json_pack("{s:o, s:o, s:o, s:o}", "time", json_encode_time(price->ts_ms), "flavor",
			  json_encode_text(price->flavor), "price_per_cap_hour",
			  encode_price(price->price_per_cap_hour), "penalty_per_broken_s",
			  encode_price(price->penalty_per_broken_s)));
	note_priced(e, price->flavor, price->price_per_cap_hour, price->penalty_per_broken_s);
	return 0;
}

/* --- encoding --- */

/* Returns which prices flavour @flavor had; NULL: which prices any flavour had. */
static struct priced find_priced(const struct economics_fetch *e, const char *flavor)
{
	struct priced found = {.price = false};

	for (size_t i = 0; i < e->n_priced; i++) {
		if (flavor && strcmp(e->priced[i].flavor, flavor) != 0)
			continue;
		found.price |= e->priced[i].price;
		found.penalty |= e->priced[i].penalty;
	}
	return found;
}

/* An amount whose price was never set is null. A penalty that is not set costs nothing. */
static void add_money(json_t *o, const struct economics_fetch *e, const char *flavor,
		      const struct db_money *money)
{
	struct priced priced = find_priced(e, flavor);
	double profit = money->revenue - money->penalty;

	json_encode_add(o, "revenue", encode_sum(priced.price ? money->revenue : NAN));
	json_encode_add(o, "penalty", encode_sum(priced.penalty ? money->penalty : NAN));
	json_encode_add(o, "profit", encode_sum(priced.price ? profit : NAN));
	json_encode_add(o, "sold_cap_hours", encode_sum(money->cap_s / S_PER_HOUR));
	json_encode_add(o, "broken_s", json_encode_number(money->broken_s));
}

/* Adds up the rows of flavour @flavor; NULL: all rows. */
static struct db_money add_up(const struct economics_fetch *e, bool kept, const char *flavor)
{
	struct db_money sum = {0};

	for (size_t i = 0; i < e->n_rows; i++) {
		const struct db_money *money = money_of(&e->rows[i], kept);

		if (flavor && strcmp(e->rows[i].flavor, flavor) != 0)
			continue;
		sum.cap_s += money->cap_s;
		sum.broken_s += money->broken_s;
		sum.revenue += money->revenue;
		sum.penalty += money->penalty;
	}
	return sum;
}

static bool is_first_of_flavor(const struct economics_fetch *e, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(e->rows[i].flavor, e->rows[index].flavor) == 0)
			return false;
	return true;
}

static json_t *encode_flavors(const struct economics_fetch *e, bool kept)
{
	json_t *list = json_array();

	for (size_t i = 0; i < e->n_rows; i++) {
		const char *flavor = e->rows[i].flavor;
		struct db_money sum;
		json_t *o;

		if (!is_first_of_flavor(e, i))
			continue;
		sum = add_up(e, kept, flavor);
		o = json_object();
		json_encode_add(o, "flavor", json_encode_text(flavor));
		add_money(o, e, flavor, &sum);
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *encode_vgpus(const struct economics_fetch *e, bool kept)
{
	json_t *list = json_array();

	for (size_t i = 0; i < e->n_rows; i++) {
		const struct db_ledger *row = &e->rows[i];
		json_t *o = json_object();

		json_encode_add(o, "vgpu", json_encode_name(row->vgpu));
		json_encode_add(o, "gpu", json_encode_name(row->gpu));
		json_encode_add(o, "flavor", json_encode_text(row->flavor));
		add_money(o, e, row->flavor, money_of(row, kept));
		json_array_append_new(list, o);
	}
	return list;
}

static void add_account(json_t *o, const struct economics_fetch *e, bool kept)
{
	struct db_money sum = add_up(e, kept, /* flavor= */ NULL);
	double watched_s = e->range.watched_s;

	add_money(o, e, /* flavor= */ NULL, &sum);
	json_encode_add(o, "overbooking_ratio",
			json_encode_number(watched_s > 0 ? sum.cap_s / watched_s : NAN));
	json_encode_add(o, "flavors", encode_flavors(e, kept));
	json_encode_add(o, "vgpus", encode_vgpus(e, kept));
}

static void add_accounts(json_t *o, const struct economics_fetch *e)
{
	json_t *without = json_object();
	struct priced any = find_priced(e, /* flavor= */ NULL);

	json_encode_add(o, "from", json_encode_moment(e->range.from_ms));
	json_encode_add(o, "to", json_encode_moment(e->range.to_ms));
	json_encode_add(o, "watched_hours", encode_sum(e->range.watched_s / S_PER_HOUR));
	json_encode_add(o, "prices_set", json_boolean(any.price || any.penalty));
	add_account(o, e, /* kept= */ false);
	add_account(without, e, /* kept= */ true);
	json_encode_add(o, "without_overselling", without);
	json_encode_add(o, "prices", json_incref(e->prices));
}

static int read_economics(struct api_fetch *fetch, struct db_reader *reader)
{
	struct economics_fetch *e = (struct economics_fetch *)fetch;
	int r;

	e->prices = json_array();
	r = db_query_ledger(reader, fetch->from_ms, fetch->to_ms, take_row, take_price, e,
			    &e->range);
	if (r == -E2BIG)
		r = err_condition(&fetch->err, CONTROL_E_TOO_LARGE,
				  "ledger: more than %d vGPUs and prices in this range; ask for a "
				  "shorter range",
				  ROWS_MAX);
	if (r == 0)
		add_accounts(fetch->document, e);
	json_decref(e->prices);
	free(e->priced);
	free(e->rows);
	return r;
}

static void get_economics(struct api *api, struct api_request *request)
{
	struct economics_fetch *e;
	int64_t from_ms, to_ms;

	if (api_fetch_range(request, RANGE_DEFAULT_MS, &from_ms, &to_ms) < 0)
		return;
	e = api_fetch_new(api, request, "ledger", sizeof(*e), read_economics);
	e->fetch.from_ms = from_ms;
	e->fetch.to_ms = to_ms;
	ledger_flush(api->changes->tick);
	api_fetch_submit(api, request, &e->fetch);
}

const struct api_route economics_routes[] = {
	{"GET", "/v1/economics", get_economics, ACCESS_READ, 0, {"from", "to"}},
	{.method = NULL},
};
