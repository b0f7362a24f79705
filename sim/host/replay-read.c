/* SPDX-License-Identifier: MIT */
/* Reads a recording: GPUs, contracts, prices, the policy in force and the recorded periods. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "base/xalloc.h"
#include "sim/host/replay.h"

enum column {
	TIME_MS,
	VGPU,
	DT_S,
	CAP_PCT,
	INITIAL_CAP_PCT,
	LOAD_PCT,
	UTIL_PCT,
	FPS,
	TARGET_FPS,
	BROKEN,
	/* An older daemon does not have the columns from here on. */
	RATE,
	TARGET_RATE,
	COLUMNS
};

static const char *const column_names[COLUMNS] = {
	[TIME_MS] = "time_ms",
	[VGPU] = "vgpu",
	[DT_S] = "dt_s",
	[CAP_PCT] = "cap_pct",
	[INITIAL_CAP_PCT] = "initial_cap_pct",
	[LOAD_PCT] = "load_pct",
	[UTIL_PCT] = "util_pct",
	[FPS] = "fps",
	[TARGET_FPS] = "target_fps",
	[BROKEN] = "broken",
	[RATE] = "rate",
	[TARGET_RATE] = "target_rate",
};

static int unexpected_answer(const char *what, struct err *reterr)
{
	return err_fail(reterr, EPROTO, "invalid reply from the daemon about %s", what);
}

/* --- GPUs and contracts --- */

static int add_gpu(struct replay *replay, const json_t *object, struct err *reterr)
{
	struct replay_gpu *gpu = &replay->gpus[replay->n_gpus];
	double step_pct = field_number(object, "step_pct"),
	       floor_pct = field_number(object, "floor_pct");

	if (replay->n_gpus == REPLAY_GPUS_MAX)
		return err_fail(reterr, E2BIG, "too many GPUs (limit %d): select one with --gpu",
				REPLAY_GPUS_MAX);
	if (id_copy(gpu->name, field_text(object, "name")) < 0 ||
	    !(step_pct >= 1 && step_pct <= 50) || !(floor_pct >= 1 && floor_pct <= 100))
		return unexpected_answer("GPUs", reterr);
	gpu->step_pct = (int)step_pct;
	gpu->floor_pct = (int)floor_pct;
	gpu->weights = strcmp(field_text(object, "share"), "relative_slice") == 0;
	if (strcmp(field_text(object, "sharing"), "guarantee") == 0)
		gpu->sharing = POLICY_SHARING_GUARANTEE;
	gpu->migrates = field_true(object, "migrates");
	gpu->recording = recording_new();
	replay->n_gpus++;
	return 0;
}

static struct replay_gpu *find_gpu(struct replay *replay, const char *name)
{
	for (int i = 0; i < replay->n_gpus; i++)
		if (strcmp(replay->gpus[i].name, name) == 0)
			return &replay->gpus[i];
	return NULL;
}

/* Returns a price; -1: it is not set, so that the prices of the scenario apply. */
static double price_of(const json_t *prices, const char *key)
{
	double price = field_number(prices, key);

	return isnan(price) ? -1 : price;
}

/*
 * Finds the prices of the flavor @name. The list is sorted by time: the last prices are in force.
 */
static void find_prices(const json_t *economics, const char *name, struct recording_terms *terms)
{
	const json_t *price;
	size_t i;

	json_array_foreach (json_object_get(economics, "prices"), i, price) {
		if (strcmp(field_text(price, "flavor"), name) != 0)
			continue;
		terms->price_per_cap_hour = price_of(price, "price_per_cap_hour");
		terms->penalty_per_broken_s = price_of(price, "penalty_per_broken_s");
	}
}

/*
 * Sets the prices in @terms. The flavor on sale gets -1: each run then uses the prices of its
 * scenario, which --set may change. Any other flavor gets its recorded prices.
 */
static void set_prices(const struct replay *replay, const char *flavor,
		       struct recording_terms *terms)
{
	const json_t *params = json_object_get(replay->in_force, "params");

	terms->price_per_cap_hour = terms->penalty_per_broken_s = -1;
	if (strcmp(flavor, field_text(params, "flavor")) != 0)
		find_prices(json_object_get(replay->head, "economics"), flavor, terms);
}

static int set_terms(struct replay *replay, const char *id, const char *gpu_name,
		     const struct recording_terms *terms, struct err *reterr)
{
	struct replay_gpu *gpu = find_gpu(replay, gpu_name);
	int number;

	if (!gpu || !id_valid(id))
		return 0;
	number = recording_vgpu(gpu->recording, id);
	if (number < 0)
		return err_fail(reterr, E2BIG, "vGPU %s: %s", id, strerror(-number));
	recording_set_terms(gpu->recording, number, terms);
	return 0;
}

static int add_contract(struct replay *replay, const json_t *contract, struct err *reterr)
{
	double min_cap_pct = field_number(contract, "min_cap_pct");
	double weight = field_number(contract, "weight");
	struct recording_terms terms = {
		.min_cap_pct = min_cap_pct > 0 && min_cap_pct <= 100 ? (int)min_cap_pct : 0,
		.weight = weight > 0 ? weight : 1,
		.burst = field_true(contract, "burst"),
	};

	set_prices(replay, field_text(contract, "flavor"), &terms);
	return set_terms(replay, field_text(contract, "id"), field_text(contract, "gpu"), &terms,
			 reterr);
}

/*
 * Sets the terms of all vGPUs. First each vGPU in the ledger, which contains removed vGPUs too,
 * gets the prices of its flavor. Then the contracts of existing vGPUs replace these terms.
 */
static int add_contracts(struct replay *replay, struct err *reterr)
{
	const json_t *ledger = json_object_get(json_object_get(replay->head, "economics"), "vgpus");
	const json_t *vgpus = json_object_get(json_object_get(replay->head, "vgpus"), "vgpus");
	const json_t *object;
	int r = 0;
	size_t i;

	json_array_foreach (ledger, i, object) {
		struct recording_terms terms = {.weight = 1};

		set_prices(replay, field_text(object, "flavor"), &terms);
		if (r == 0)
			r = set_terms(replay, field_text(object, "vgpu"), field_text(object, "gpu"),
				      &terms, reterr);
	}
	json_array_foreach (vgpus, i, object)
		if (r == 0)
			r = add_contract(replay, object, reterr);
	return r;
}

/* --- rows --- */

/* Data for decoding one reply with history rows. */
struct page {
	struct recording *recording;
	size_t at[COLUMNS]; /* position of each column in a row */
	int *numbers;	    /* for each vGPU of the reply: its number in @recording */
	size_t n_numbers;
};

static bool find_columns(const json_t *answer, struct page *page)
{
	const json_t *names = json_object_get(answer, "columns");

	for (int column = 0; column < COLUMNS; column++) {
		size_t i = 0;

		while (i < json_array_size(names) &&
		       strcmp(json_string_value(json_array_get(names, i))
				      ? json_string_value(json_array_get(names, i))
				      : "",
			      column_names[column]) != 0)
			i++;
		if (i == json_array_size(names) && column < RATE)
			return false;
		page->at[column] = i;
	}
	return true;
}

static bool find_vgpus(const json_t *answer, struct page *page)
{
	const json_t *names = json_object_get(answer, "vgpus"), *name;
	size_t i;

	page->n_numbers = json_array_size(names);
	page->numbers = xcalloc(page->n_numbers + 1, sizeof(*page->numbers));
	json_array_foreach (names, i, name) {
		const char *id = json_string_value(name);

		page->numbers[i] = id ? recording_vgpu(page->recording, id) : -EINVAL;
		if (page->numbers[i] < 0)
			return false;
	}
	return true;
}

static double number_at(const json_t *row, size_t at)
{
	const json_t *value = json_array_get(row, at);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Returns the number in frames or, on a GPU that counts units of work, in these. */
static double rate_at(const json_t *row, const struct page *page, enum column fps, enum column rate)
{
	double value = number_at(row, page->at[fps]);

	return isnan(value) ? number_at(row, page->at[rate]) : value;
}

/* Returns -EPROTO if the row is invalid. */
static int add_row(const struct page *page, const json_t *object, struct err *reterr)
{
	const double vgpu = number_at(object, page->at[VGPU]);
	const double time_ms = number_at(object, page->at[TIME_MS]);
	const double cap_pct = number_at(object, page->at[CAP_PCT]);
	const double contract_pct = number_at(object, page->at[INITIAL_CAP_PCT]);
	struct recording_row row = {
		.dt_s = number_at(object, page->at[DT_S]),
		.load_pct = number_at(object, page->at[LOAD_PCT]),
		.util_pct = number_at(object, page->at[UTIL_PCT]),
		.fps = rate_at(object, page, FPS, RATE),
		.target_fps = rate_at(object, page, TARGET_FPS, TARGET_RATE),
		.broken = number_at(object, page->at[BROKEN]) > 0,
	};

	if (!(vgpu >= 0 && vgpu < (double)page->n_numbers && time_ms >= 0 && time_ms < 1e16 &&
	      cap_pct >= 0 && cap_pct <= 100 && contract_pct >= 1 && contract_pct <= 100))
		return -EPROTO;
	row.at_ms = (int64_t)time_ms;
	row.cap_pct = (int)cap_pct;
	row.contract_pct = (int)contract_pct;
	return recording_add(page->recording, page->numbers[(size_t)vgpu], &row, reterr);
}

static int add_page(struct replay_gpu *gpu, const json_t *answer, struct err *reterr)
{
	struct page page = {.recording = gpu->recording};
	struct err err = {.msg = ""};
	int r = find_columns(answer, &page) && find_vgpus(answer, &page) ? 0 : -EPROTO;
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(answer, "rows"), i, row)
		if (r == 0)
			r = add_row(&page, row, &err);
	free(page.numbers);
	if (r == -EPROTO)
		return unexpected_answer("the history", reterr);
	return r < 0 ? err_fail(reterr, E2BIG, "GPU %s: %s", gpu->name, err.msg) : 0;
}

static json_t *read_one(struct err *reterr)
{
	json_error_t error;
	json_t *json = json_loadf(stdin, JSON_DISABLE_EOF_CHECK, &error);

	if (!json)
		(void)err_fail(reterr, EPROTO, "standard input: no recording: %s", error.text);
	return json;
}

/* Reads the replies about one GPU. The last one has no next_from. */
static int read_pages(struct replay *replay, struct replay_gpu *gpu, struct err *reterr)
{
	bool more = true;
	int r = 0;

	while (r == 0 && more) {
		json_t *page = read_one(reterr);

		if (!page)
			return -EPROTO;
		r = add_page(gpu, page, reterr);
		more = field_text(page, "next_from")[0];
		snprintf(replay->kept_from, sizeof(replay->kept_from), "%s",
			 field_text(page, "kept_from"));
		json_decref(page);
	}
	return r;
}

int replay_read_head(struct replay *replay, struct err *reterr)
{
	replay->head = read_one(reterr);
	replay->in_force = json_object_get(replay->head, "in_force");
	return replay->head ? 0 : -EPROTO;
}

int replay_read(struct replay *replay, struct err *reterr)
{
	const json_t *object;
	int r = 0;
	size_t i;

	json_array_foreach (json_object_get(replay->head, "gpus"), i, object)
		if (r == 0)
			r = add_gpu(replay, object, reterr);
	if (r == 0)
		r = add_contracts(replay, reterr);
	for (int n = 0; r == 0 && n < replay->n_gpus; n++)
		r = read_pages(replay, &replay->gpus[n], reterr);
	return r;
}
