/* SPDX-License-Identifier: MIT */
/* Fetches GPUs, contracts, prices, the policy and the recorded history from the daemon. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/field.h"
#include "gover-ctl/simulate/simulate.h"

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

static enum ctl_exit unexpected_answer(const char *what)
{
	return ctl_fail(CTL_FAILED, "invalid reply from the daemon about %s", what);
}

/* --- GPUs and contracts --- */

static enum ctl_exit add_gpu(struct simulate *simulate, const json_t *object)
{
	struct simulate_gpu *gpu = &simulate->gpus[simulate->n_gpus];
	double step_pct = field_number(object, "step_pct"),
	       floor_pct = field_number(object, "floor_pct");

	if (simulate->n_gpus == SIMULATE_GPUS_MAX)
		return ctl_fail(CTL_FAILED, "too many GPUs (limit %d): select one with --gpu",
				SIMULATE_GPUS_MAX);
	if (id_copy(gpu->name, field_text(object, "name")) < 0 ||
	    !(step_pct >= 1 && step_pct <= 50) || !(floor_pct >= 1 && floor_pct <= 100))
		return unexpected_answer("GPUs");
	gpu->step_pct = (int)step_pct;
	gpu->floor_pct = (int)floor_pct;
	gpu->weights = strcmp(field_text(object, "share"), "relative_slice") == 0;
	if (strcmp(field_text(object, "sharing"), "guarantee") == 0)
		gpu->sharing = POLICY_SHARING_GUARANTEE;
	gpu->migrates = field_true(object, "migrates");
	if (recording_new(&gpu->recording) < 0)
		return ctl_fail(CTL_FAILED, "out of memory");
	simulate->n_gpus++;
	return CTL_DONE;
}

static enum ctl_exit fetch_gpus(struct ctl *ctl, const char *only, struct simulate *simulate)
{
	CLEANUP_REPLY struct reply reply = {0};
	enum ctl_exit r = ctl_request(ctl, "GET", NULL, &reply, "/v1/gpus");
	const json_t *object;
	size_t i;

	if (r != CTL_DONE)
		return r;
	json_array_foreach (json_object_get(reply.json, "gpus"), i, object)
		if (r == CTL_DONE && (!only || strcmp(only, field_text(object, "name")) == 0))
			r = add_gpu(simulate, object);
	if (r == CTL_DONE && simulate->n_gpus == 0 && only)
		return ctl_fail(CTL_FAILED, "GPU %s: not found", only);
	if (r == CTL_DONE && simulate->n_gpus == 0)
		return ctl_fail(CTL_FAILED, "the daemon controls no GPU");
	return r;
}

static struct simulate_gpu *find_gpu(struct simulate *simulate, const char *name)
{
	for (int i = 0; i < simulate->n_gpus; i++)
		if (strcmp(simulate->gpus[i].name, name) == 0)
			return &simulate->gpus[i];
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
static void set_prices(const struct simulate *simulate, const json_t *economics, const char *flavor,
		       struct recording_terms *terms)
{
	const json_t *params = json_object_get(simulate->in_force, "params");

	terms->price_per_cap_hour = terms->penalty_per_broken_s = -1;
	if (strcmp(flavor, field_text(params, "flavor")) != 0)
		find_prices(economics, flavor, terms);
}

static enum ctl_exit set_terms(struct simulate *simulate, const char *id, const char *gpu_name,
			       const struct recording_terms *terms)
{
	struct simulate_gpu *gpu = find_gpu(simulate, gpu_name);
	int number;

	if (!gpu || !id_valid(id))
		return CTL_DONE;
	number = recording_vgpu(gpu->recording, id);
	if (number < 0)
		return ctl_fail(CTL_FAILED, "vGPU %s: %s", id, strerror(-number));
	recording_set_terms(gpu->recording, number, terms);
	return CTL_DONE;
}

static enum ctl_exit add_contract(struct simulate *simulate, const json_t *economics,
				  const json_t *contract)
{
	double min_cap_pct = field_number(contract, "min_cap_pct");
	double weight = field_number(contract, "weight");
	struct recording_terms terms = {
		.min_cap_pct = min_cap_pct > 0 && min_cap_pct <= 100 ? (int)min_cap_pct : 0,
		.weight = weight > 0 ? weight : 1,
		.burst = field_true(contract, "burst"),
	};

	set_prices(simulate, economics, field_text(contract, "flavor"), &terms);
	return set_terms(simulate, field_text(contract, "id"), field_text(contract, "gpu"), &terms);
}

/*
 * Sets the terms of all vGPUs. First each vGPU in the ledger, which contains removed vGPUs too,
 * gets the prices of its flavor. Then the contracts of existing vGPUs replace these terms.
 */
static enum ctl_exit add_contracts(struct simulate *simulate, const json_t *economics,
				   const json_t *vgpus)
{
	enum ctl_exit r = CTL_DONE;
	const json_t *object;
	size_t i;

	json_array_foreach (json_object_get(economics, "vgpus"), i, object) {
		struct recording_terms terms = {.weight = 1};

		set_prices(simulate, economics, field_text(object, "flavor"), &terms);
		if (r == CTL_DONE)
			r = set_terms(simulate, field_text(object, "vgpu"),
				      field_text(object, "gpu"), &terms);
	}
	json_array_foreach (json_object_get(vgpus, "vgpus"), i, object)
		if (r == CTL_DONE)
			r = add_contract(simulate, economics, object);
	return r;
}

static enum ctl_exit fetch_contracts(struct ctl *ctl, struct simulate *simulate)
{
	CLEANUP_REPLY struct reply vgpus = {0}, economics = {0}, policy = {0};
	enum ctl_exit r = ctl_request(ctl, "GET", NULL, &policy, "/v1/policy");

	if (r == CTL_DONE)
		r = ctl_request(ctl, "GET", NULL, &vgpus, "/v1/vgpus");
	if (r == CTL_DONE)
		r = ctl_request(ctl, "GET", NULL, &economics, "/v1/economics?from=%s&to=%s",
				simulate->range.from, simulate->range.to);
	if (r != CTL_DONE)
		return r;
	simulate->in_force = json_incref(policy.json);
	return add_contracts(simulate, economics.json, vgpus.json);
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
	page->numbers = calloc(page->n_numbers + 1, sizeof(*page->numbers));
	json_array_foreach (names, i, name) {
		const char *id = json_string_value(name);

		if (!page->numbers || !id)
			return false;
		page->numbers[i] = recording_vgpu(page->recording, id);
		if (page->numbers[i] < 0)
			return false;
	}
	return page->numbers;
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

static enum ctl_exit add_page(struct simulate_gpu *gpu, const json_t *answer)
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
		return unexpected_answer("the history");
	return r < 0 ? ctl_fail(CTL_FAILED, "GPU %s: %s", gpu->name, err.msg) : CTL_DONE;
}

static enum ctl_exit fetch_rows(struct ctl *ctl, struct simulate *simulate,
				struct simulate_gpu *gpu)
{
	char from[CLOCK_TEXT_MAX];
	enum ctl_exit r = CTL_DONE;

	snprintf(from, sizeof(from), "%s", simulate->range.from);
	while (r == CTL_DONE && from[0] != '\0') {
		CLEANUP_REPLY struct reply reply = {0};

		r = ctl_request(ctl, "GET", NULL, &reply, "/v1/gpus/%s/history?from=%s&to=%s",
				gpu->name, from, simulate->range.to);
		if (r == CTL_DONE)
			r = add_page(gpu, reply.json);
		if (r != CTL_DONE)
			return r;
		if (strcmp(field_text(reply.json, "next_from"), from) == 0)
			return unexpected_answer("the history");
		snprintf(from, sizeof(from), "%s", field_text(reply.json, "next_from"));
		snprintf(simulate->kept_from, sizeof(simulate->kept_from), "%s",
			 field_text(reply.json, "kept_from"));
	}
	return r;
}

enum ctl_exit simulate_fetch(struct ctl *ctl, const char *gpu, struct simulate *simulate)
{
	enum ctl_exit r = fetch_gpus(ctl, gpu, simulate);

	if (r == CTL_DONE)
		r = fetch_contracts(ctl, simulate);
	for (int i = 0; r == CTL_DONE && i < simulate->n_gpus; i++)
		r = fetch_rows(ctl, simulate, &simulate->gpus[i]);
	return r;
}
