/* SPDX-License-Identifier: MIT */
/*
 * gover-sim replay: plays the recorded demand under other policies. Each run is an experiment in a
 * thread of its own.
 */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/terminal/field.h"
#include "base/terminal/writer.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "sim/experiment/recording.h"
#include "sim/experiment/summary.h"
#include "sim/host/run.h"

#define GPUS_MAX 64

/* The compared runs. Each run is a column of the table. */
enum run_kind {
	RECORDED, /* the recording itself, without a simulation */
	MODEL,	  /* policy in force with the recorded vGPUs only */
	IN_FORCE, /* policy in force; newcomers (new vGPUs) claim the offers */
	/* policy and parameters of --policy and --set; newcomers, if any, claim the offers */
	TRIAL,
	RUNS
};

struct replay_gpu {
	char name[ID_MAX];
	int step_pct, floor_pct;
	bool weights; /* true: caps are relative weights, not limits */
	enum policy_sharing sharing;
	bool migrates;
	struct recording *recording;
	struct recording_facts facts;
	bool played; /* false: the recording is not usable; @why is the reason */
	struct err why;
	struct experiment_summary summaries[RUNS];
};

struct replay {
	json_t *head; /* the first JSON value; owns the strings below */
	const json_t *in_force;
	uint64_t seed;
	bool newcomers;
	const char *newcomer_text;    /* NULL: newcomers have recorded loads */
	struct workload newcomer;     /* the parsed @newcomer_text */
	struct trace *newcomer_trace; /* trace of @newcomer; NULL: the workload has no trace */
	/* time of the first available period; "": the whole range is available */
	char kept_from[CLOCK_TEXT_MAX];
	struct replay_gpu gpus[GPUS_MAX];
	int n_gpus;
	/*
	 * true: the run is made. IN_FORCE is made only if there are newcomers, and
	 * TRIAL only with --policy or --set: otherwise the result would be that of another
	 * run.
	 */
	bool has[RUNS];
	const char *policies[RUNS];
};

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

	if (replay->n_gpus == GPUS_MAX)
		return err_fail(reterr, E2BIG, "too many GPUs (limit %d): select one with --gpu",
				GPUS_MAX);
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

/* Reads all values after the first one. */
static int read_rest(struct replay *replay, struct err *reterr)
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

#define DECIMALS 6 /* decimal places of JSON numbers; more would show only clock jitter */

static const char *const run_names[RUNS] = {
	[RECORDED] = "recorded",
	[MODEL] = "model",
	[IN_FORCE] = "in_force",
	[TRIAL] = "trial",
};

static double rounded(double value)
{
	return round(value * 1e6) / 1e6;
}

/* --- figures that are not shown --- */

#define TENTH_LEAST_S  600 /* the last tenth of a shorter range is only some seconds */
#define MINUTE_LEAST_S 60  /* a shorter range has no number in a minute */

static bool is_one_of(const struct summary_field *field, const char *const names[])
{
	while (*names && strcmp(field->name, *names) != 0)
		names++;
	return *names;
}

static bool is_money(const struct summary_field *field)
{
	static const char *const names[] = {
		"revenue",   "penalty",	   "profit", "shortfall_penalty",
		"move_cost", "net_income", NULL};

	return is_one_of(field, names);
}

/*
 * Returns true if a price is set, in the configuration or, for a trial, with --set. The defaults of
 * the prices are no prices. An older daemon has no member prices_set.
 */
static bool has_prices(const struct replay *replay, enum run_kind run)
{
	const json_t *values = json_object_get(replay->head, "values");
	const json_t *economics = json_object_get(replay->head, "economics");

	return !json_is_false(json_object_get(economics, "prices_set")) ||
	       (run == TRIAL && (json_object_get(values, "price_per_cap_hour") ||
				 json_object_get(values, "penalty_per_broken_s") ||
				 json_object_get(values, "price_per_move")));
}

/* Returns true if @seconds of data are enough for the field. */
static bool is_long_enough(const struct summary_field *field, double seconds)
{
	static const char *const tenths[] = {"util_final_pct", "overbooking_final", NULL};
	static const char *const minutes[] = {"cap_moves_per_min", NULL};

	return !(seconds < TENTH_LEAST_S && is_one_of(field, tenths)) &&
	       !(seconds < MINUTE_LEAST_S && is_one_of(field, minutes));
}

/* Returns true if the run has a value of this field. */
static bool is_measured(const struct replay *replay, const struct summary_field *field,
			enum run_kind run, double seconds)
{
	return is_long_enough(field, seconds) && (!is_money(field) || has_prices(replay, run));
}

/* Returns the length of the shortest recording of a GPU. */
static double shortest_s(const struct replay *replay)
{
	double shortest = INFINITY;

	for (int i = 0; i < replay->n_gpus; i++)
		if (replay->gpus[i].played)
			shortest = fmin(shortest, replay->gpus[i].facts.seconds);
	return shortest;
}

/* Adds up the summaries of all GPUs. */
static void add_up(const struct replay *replay, struct experiment_summary sums[RUNS])
{
	for (int run = 0; run < RUNS; run++) {
		const struct experiment_summary *parts[GPUS_MAX];
		int n = 0;

		for (int i = 0; i < replay->n_gpus; i++)
			if (replay->gpus[i].played)
				parts[n++] = &replay->gpus[i].summaries[run];
		summary_add_up(parts, n, &sums[run]);
	}
}

/* --- JSON --- */

/* Returns the error of the model: the values of the run "model" minus the recorded values. */
static json_t *encode_error(const struct replay *replay, const struct experiment_summary *summaries)
{
	const struct account_summary *was = &summaries[RECORDED].account;
	const struct account_summary *model = &summaries[MODEL].account;

	bool money = has_prices(replay, MODEL);

	return json_pack("{s:f, s:f, s:f, s:o, s:o}", "util_avg_pct",
			 rounded(model->util_avg_pct - was->util_avg_pct), "broken_pct",
			 rounded(model->broken_pct - was->broken_pct), "sold_cap_pct_s",
			 rounded(model->sold_cap_pct_s - was->sold_cap_pct_s), "revenue",
			 money ? json_real(rounded(model->revenue - was->revenue)) : json_null(),
			 "profit",
			 money ? json_real(rounded(model->profit - was->profit)) : json_null());
}

/* Replaces values that were not measured by null. */
static void remove_unmeasured(const struct replay *replay, enum run_kind which, double seconds,
			      json_t *run)
{
	const struct summary_field *field;

	for (size_t i = 0; (field = summary_field_at(i)); i++)
		if (!is_measured(replay, field, which, seconds))
			(void)json_object_set_new(run, field->name, json_null());
}

/* @seconds: the length of the shortest recording in the summaries. */
static json_t *encode_runs(const struct replay *replay, const struct experiment_summary *summaries,
			   double seconds)
{
	json_t *runs = json_array();

	for (int i = 0; i < RUNS; i++) {
		json_t *run;

		if (!replay->has[i])
			continue;
		run = json_pack("{s:s, s:s?}", "run", run_names[i], "policy",
				i == RECORDED ? NULL : replay->policies[i]);
		summary_encode(&summaries[i], i == RECORDED, DECIMALS, run);
		remove_unmeasured(replay, (enum run_kind)i, seconds, run);
		(void)json_array_append_new(runs, run);
	}
	return runs;
}

static double share_pct(double part, double whole)
{
	return whole > 0 ? rounded(100 * part / whole) : 0;
}

static json_t *encode_gpu(const struct replay *replay, const struct replay_gpu *gpu)
{
	const struct recording_facts *facts = &gpu->facts;

	if (!gpu->played)
		return json_pack("{s:s, s:s}", "gpu", gpu->name, "not_played", gpu->why.msg);
	return json_pack(
		"{s:s, s:f, s:f, s:i, s:f, s:i, s:i, s:f, s:f, s:f, s:f, s:o, s:o}", "gpu",
		gpu->name, "seconds", rounded(facts->seconds), "period_s", rounded(facts->period_s),
		"gaps", facts->gaps, "gap_s", rounded(facts->gap_s), "vgpus", facts->vgpus, "spans",
		facts->spans, "censored_pct", share_pct(facts->censored_s, facts->vgpu_s),
		"unknown_pct", share_pct(facts->unknown_s, facts->vgpu_s), "fps_missing_pct",
		share_pct(facts->fps_missing_s, facts->vgpu_s), "broken_s_as_counted",
		rounded(facts->broken_s), "model_error", encode_error(replay, gpu->summaries),
		"runs", encode_runs(replay, gpu->summaries, facts->seconds));
}

static void print_json(const struct writer *writer, const struct replay *replay)
{
	struct experiment_summary sums[RUNS];
	json_t *gpus = json_array(), *answer;

	add_up(replay, sums);
	for (int i = 0; i < replay->n_gpus; i++)
		(void)json_array_append_new(gpus, encode_gpu(replay, &replay->gpus[i]));
	answer = json_pack(
		"{s:O, s:O, s:s?, s:I, s:O, s:O, s:o, s:{s:o, s:o}}", "from",
		json_object_get(replay->head, "from"), "to", json_object_get(replay->head, "to"),
		"kept_from", replay->kept_from[0] ? replay->kept_from : NULL, "seed",
		(json_int_t)replay->seed, "newcomers", json_object_get(replay->head, "newcomers"),
		"set", json_object_get(replay->head, "set"), "gpus", gpus, "total", "model_error",
		encode_error(replay, sums), "runs", encode_runs(replay, sums, shortest_s(replay)));
	writer_json(writer, answer);
	json_decref(answer);
}

/* --- tables --- */

/*
 * Returns true if the tables show this field of a summary. The other fields are only in the JSON.
 */
static bool is_shown(const struct replay *replay, const struct summary_field *field, double seconds)
{
	static const char *const hidden[] = {"seconds", "vgpus_start", "closed",    "severe_s",
					     "mmr",	"lambda",      "blackout_s"};

	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		if (strcmp(field->name, hidden[i]) == 0)
			return false;
	return is_long_enough(field, seconds) &&
	       (!is_money(field) || has_prices(replay, replay->has[TRIAL] ? TRIAL : MODEL));
}

static json_t *make_row(const struct replay *replay, const struct summary_field *field,
			const struct experiment_summary *summaries)
{
	json_t *row = json_pack("{s:s}", "what", field->title);

	for (int i = 0; i < RUNS; i++) {
		char text[64];

		if (!replay->has[i] || (i == RECORDED && !field->recorded) ||
		    (is_money(field) && !has_prices(replay, (enum run_kind)i)))
			continue;
		snprintf(text, sizeof(text), "%.*f", field->decimals,
			 summary_value(field, &summaries[i]));
		(void)json_object_set_new(row, run_names[i], json_string(text));
	}
	return row;
}

static void print_runs(const struct writer *writer, const struct replay *replay,
		       const struct experiment_summary *summaries, double seconds)
{
	static const char *const heads[RUNS] = {"RECORDED", "MODEL", "IN FORCE", "TRIAL"};
	struct writer_column columns[1 + RUNS] = {
		{.head = "", .key = "what", .format = WRITER_TEXT}};
	const struct summary_field *field;
	json_t *rows = json_array();
	size_t n = 1;

	for (int i = 0; i < RUNS; i++)
		if (replay->has[i])
			columns[n++] = (struct writer_column){
				.head = heads[i], .key = run_names[i], .format = WRITER_TEXT};
	for (size_t i = 0; (field = summary_field_at(i)); i++)
		if (is_shown(replay, field, seconds))
			(void)json_array_append_new(rows, make_row(replay, field, summaries));
	(void)writer_table(writer, columns, n, rows);
	json_decref(rows);
}

static void print_error(const struct writer *writer, const struct replay *replay,
			const struct experiment_summary *summaries)
{
	const struct account_summary *was = &summaries[RECORDED].account;
	const struct account_summary *model = &summaries[MODEL].account;
	char profit[64] = "";

	if (has_prices(replay, MODEL))
		snprintf(profit, sizeof(profit), ", profit %+.4f", model->profit - was->profit);
	writer_line(writer,
		    "Error of the model (model minus recorded): utilisation %+.1f points, "
		    "broken time %+.2f points%s",
		    model->util_avg_pct - was->util_avg_pct, model->broken_pct - was->broken_pct,
		    profit);
}

static void print_facts(const struct writer *writer, const struct replay_gpu *gpu)
{
	const struct recording_facts *facts = &gpu->facts;
	char span[WRITER_SPAN_MAX], gap[WRITER_SPAN_MAX];

	if (!gpu->played) {
		writer_line(writer, "%s: not simulated: %s", gpu->name, gpu->why.msg);
		return;
	}
	writer_format_span(facts->seconds, span);
	writer_format_span(facts->gap_s, gap);
	writer_line(writer, "%s: %s of data, %d vGPUs; %d gaps (%s in total) removed", gpu->name,
		    span, facts->vgpus, facts->gaps, gap);
	writer_line(writer, "  share of vGPU-seconds with estimated demand: %.1f %%",
		    share_pct(facts->censored_s, facts->vgpu_s));
	writer_line(writer, "  share of vGPU-seconds without a reading: %.1f %%",
		    share_pct(facts->unknown_s, facts->vgpu_s));
	writer_line(writer, "  share of vGPU-seconds in which frames were not counted: %.1f %%",
		    share_pct(facts->fps_missing_s, facts->vgpu_s));
}

static void print_head(const struct writer *writer, const struct replay *replay)
{
	static const struct writer_column times[] = {{.key = "from", .format = WRITER_TIME},
						     {.key = "to", .format = WRITER_TIME}};
	const json_t *set = json_object_get(replay->head, "set"), *pair;
	char from[WRITER_CELL_MAX], to[WRITER_CELL_MAX];
	size_t i;

	writer_format_cell(writer, &times[0], replay->head, from);
	writer_format_cell(writer, &times[1], replay->head, to);
	writer_line(writer, "%s to %s; policy in force: %s", from, to, replay->policies[MODEL]);
	if (replay->has[TRIAL])
		writer_line(writer, "trial: %s%s", replay->policies[TRIAL],
			    json_array_size(set) > 0 ? " with" : "");
	json_array_foreach (set, i, pair) {
		writer_line(writer, "  %s", json_string_value(pair));
	}
}

static void print_tables(const struct writer *writer, const struct replay *replay)
{
	struct experiment_summary sums[RUNS];

	print_head(writer, replay);
	for (int i = 0; i < replay->n_gpus; i++) {
		const struct replay_gpu *gpu = &replay->gpus[i];

		writer_line(writer, "%s", "");
		print_facts(writer, gpu);
		if (!gpu->played)
			continue;
		print_runs(writer, replay, gpu->summaries, gpu->facts.seconds);
		print_error(writer, replay, gpu->summaries);
	}
	if (replay->n_gpus == 1)
		return;
	add_up(replay, sums);
	writer_line(writer, "%s", "");
	writer_line(writer, "all GPUs:");
	print_runs(writer, replay, sums, shortest_s(replay));
}

#define REMOVE_S 300 /* a new vGPU is removed this many seconds after its sale failed */

/* The simulation of one run on one GPU. */
struct run {
	const struct policy *policy;
	uint64_t seed;
	struct scenario *scenario; /* NULL: the run is not made */
	struct experiment_summary summary;
	struct err err;
	int result;
};

/* --- the parameters --- */

static const char *value_text(const json_t *value, char text[64])
{
	if (json_is_boolean(value))
		return json_is_true(value) ? "on" : "off";
	if (json_is_string(value))
		return json_string_value(value);
	snprintf(text, 64, "%.15g", json_number_value(value));
	return text;
}

/*
 * Sets the parameter @key, named as in `policy set`. Returns -ENOENT if @key has no effect in an
 * experiment.
 */
static int set_key(struct scenario *scenario, const char *key, const json_t *value,
		   struct err *reterr)
{
	static const char *const sections[] = {"policy.", "offer.", "price."};
	char number[64], name[96];
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < ARRAY_SIZE(sections); i++) {
		snprintf(name, sizeof(name), "%s%s", sections[i], key);
		r = scenario_set(scenario, name, value_text(value, number), reterr);
	}
	return r;
}

/* Applies the parameters in force. Keys without effect in an experiment are ignored. */
static int set_in_force(struct scenario *scenario, json_t *params, struct err *reterr)
{
	const char *key;
	json_t *value;
	int r = 0;

	json_object_foreach (params, key, value) {
		if (r == 0)
			r = set_key(scenario, key, value, reterr);
		if (r == -ENOENT)
			r = 0;
	}
	return r;
}

static int set_options(const struct replay *replay, struct scenario *scenario, struct err *reterr)
{
	json_t *value;
	const char *key;
	int r = 0;

	json_object_foreach (json_object_get(replay->head, "values"), key, value) {
		if (r == 0)
			r = set_key(scenario, key, value, reterr);
		if (r == -ENOENT)
			r = err_fail(reterr, EINVAL, "%s: has no effect in a simulation", key);
	}
	return r;
}

/* --- one run --- */

static int add_newcomers(const struct replay *replay, const struct recording_newcomers *newcomers,
			 struct scenario *scenario, struct err *reterr)
{
	struct scenario_tenant *tenant;

	if (newcomers)
		return recording_newcomers_add(newcomers, scenario, reterr);
	tenant = scenario_add_tenant(scenario, "newcomer");
	strcpy(tenant->workload_text, "--newcomer");
	tenant->workload = replay->newcomer;
	return 0;
}

static int make_scenario(const struct replay *replay, const struct replay_gpu *gpu,
			 const struct recording_newcomers *newcomers, enum run_kind which,
			 struct scenario *scenario, struct err *reterr)
{
	int r;

	scenario_default(scenario);
	scenario->step_pct = gpu->step_pct;
	scenario->floor_pct = gpu->floor_pct;
	scenario->migrate = gpu->migrates;
	scenario->remove_s = REMOVE_S;
	if (gpu->weights)
		strcpy(scenario->discipline, "weight");
	r = recording_tenants(gpu->recording, scenario, reterr);
	if (r == 0)
		r = set_in_force(scenario, json_object_get(replay->in_force, "params"), reterr);
	if (r == 0 && which == TRIAL)
		r = set_options(replay, scenario, reterr);
	if (r == 0 && scenario->params.paper_mode && gpu->sharing == POLICY_SHARING_GUARANTEE)
		return err_fail(reterr, EINVAL,
				"GPU %s has sharing = guarantee: paper_mode cannot be simulated",
				gpu->name);
	scenario->sharing = gpu->sharing;
	if (r == 0 && which != MODEL && replay->newcomers)
		r = add_newcomers(replay, newcomers, scenario, reterr);
	return r == 0 ? scenario_check(scenario, reterr) : r;
}

static void play(void *userdata, int index)
{
	struct run *run = &((struct run *)userdata)[index];
	struct experiment *experiment;

	if (!run->scenario)
		return;
	run->result =
		experiment_new(run->scenario, run->policy, run->seed, NULL, &experiment, &run->err);
	if (run->result == 0)
		experiment_finish(experiment, &run->summary);
}

/* Summarizes the recording with the prices that are configured now. */
static int sum_recorded(const struct replay *replay, struct replay_gpu *gpu, struct err *reterr)
{
	CLEANUP_FREE struct scenario *scenario = xmalloc(sizeof(*scenario));
	int r = make_scenario(replay, gpu, NULL, MODEL, scenario, reterr);

	if (r == 0)
		recording_summarize(gpu->recording, scenario, &gpu->summaries[RECORDED]);
	return r;
}

static int play_runs(const struct replay *replay, struct replay_gpu *gpu,
		     const struct recording_newcomers *newcomers, struct err *reterr)
{
	struct run runs[RUNS] = {{0}};
	int r = 0;

	for (int i = MODEL; r == 0 && i < RUNS; i++) {
		if (!replay->has[i])
			continue;
		runs[i].policy = policy_find(replay->policies[i]);
		runs[i].seed = replay->seed;
		runs[i].scenario = xmalloc(sizeof(*runs[i].scenario));
		r = make_scenario(replay, gpu, newcomers, (enum run_kind)i, runs[i].scenario,
				  reterr);
	}
	if (r == 0)
		thread_run_all(RUNS, play, runs);
	for (int i = MODEL; i < RUNS; i++) {
		if (r == 0 && runs[i].result < 0)
			r = err_fail(reterr, -runs[i].result, "%s", runs[i].err.msg);
		gpu->summaries[i] = runs[i].summary;
		free(runs[i].scenario);
	}
	return r;
}

static int play_gpu(const struct replay *replay, struct replay_gpu *gpu, struct err *reterr)
{
	struct recording_newcomers *newcomers = NULL;
	int r = recording_finish(gpu->recording, &gpu->why);

	if (r == -ENODATA)
		return 0;
	if (r < 0)
		return err_fail(reterr, -r, "GPU %s: %s", gpu->name, gpu->why.msg);
	gpu->facts = recording_facts(gpu->recording);
	if (replay->newcomers && !replay->newcomer_text)
		r = recording_newcomers_new(gpu->recording, replay->seed, &newcomers, reterr);
	if (r == 0)
		r = sum_recorded(replay, gpu, reterr);
	if (r == 0)
		r = play_runs(replay, gpu, newcomers, reterr);
	recording_newcomers_free(newcomers);
	gpu->recording = recording_free(gpu->recording);
	gpu->played = r == 0;
	return r;
}

/* --- the command --- */

static int take_newcomers(struct replay *replay, struct err *reterr)
{
	const char *text = field_text(replay->head, "newcomers");
	struct err err;

	replay->newcomers = strcmp(text, "none") != 0;
	if (!replay->newcomers || strcmp(text, "recorded") == 0)
		return 0;
	replay->newcomer_text = text;
	if (workload_load(text, NULL, &replay->newcomer, &replay->newcomer_trace, &err) < 0)
		return err_fail(reterr, EINVAL, "--newcomer: %s", err.msg);
	return 0;
}

static int check_policy(const char *name, struct err *reterr)
{
	char names[256];

	if (policy_find(name))
		return 0;
	run_list_policies(", ", names, sizeof(names));
	return err_fail(reterr, EINVAL, "--policy: unknown policy '%.60s' (allowed: %s)", name,
			names);
}

/* Chooses the runs and the policy of each run. */
static int plan_runs(struct replay *replay, struct err *reterr)
{
	const char *in_force = field_text(replay->in_force, "name");
	const char *trial = json_string_value(json_object_get(replay->head, "policy"));
	int r = trial ? check_policy(trial, reterr) : 0;

	if (r == 0)
		r = take_newcomers(replay, reterr);
	if (r == 0 && !policy_find(in_force))
		r = err_fail(reterr, ENOENT,
			     "policy in force '%.60s': unknown to this version of gover-sim",
			     in_force);
	for (int i = 0; i < RUNS; i++)
		replay->policies[i] = i == TRIAL && trial ? trial : in_force;
	replay->seed = (uint64_t)json_integer_value(json_object_get(replay->head, "seed"));
	replay->has[RECORDED] = true;
	replay->has[MODEL] = true;
	replay->has[IN_FORCE] = replay->newcomers;
	replay->has[TRIAL] = trial || json_array_size(json_object_get(replay->head, "set")) > 0;
	return r;
}

/* Fails if no GPU could be simulated. */
static int check_result(const struct replay *replay, struct err *reterr)
{
	const struct replay_gpu *first = &replay->gpus[0];

	for (int i = 0; i < replay->n_gpus; i++)
		if (replay->gpus[i].played)
			return 0;
	return err_fail(reterr, ENODATA, "GPU %s, %s to %s: %s%s%s", first->name,
			field_text(replay->head, "from"), field_text(replay->head, "to"),
			first->why.msg,
			replay->kept_from[0] ? "; the values of each period are kept from " : "",
			replay->kept_from[0] ? replay->kept_from : "");
}

int replay_run(bool json, struct err *reterr)
{
	CLEANUP_FREE struct replay *replay = xcalloc(1, sizeof(*replay));
	struct writer writer;
	int r;

	replay->head = read_one(reterr);
	replay->in_force = json_object_get(replay->head, "in_force");
	r = replay->head ? plan_runs(replay, reterr) : -EPROTO;
	if (r == 0)
		r = read_rest(replay, reterr);
	for (int i = 0; r == 0 && i < replay->n_gpus; i++)
		r = play_gpu(replay, &replay->gpus[i], reterr);
	if (r == 0)
		r = check_result(replay, reterr);
	writer_init(&writer, stdout, json);
	if (r == 0 && json)
		print_json(&writer, replay);
	else if (r == 0)
		print_tables(&writer, replay);
	if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		r = err_fail(reterr, EIO, "standard output: %s", strerror(errno));
	for (int i = 0; i < replay->n_gpus; i++)
		recording_free(replay->gpus[i].recording);
	trace_free(replay->newcomer_trace);
	json_decref(replay->head);
	return r;
}
