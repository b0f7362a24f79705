/* SPDX-License-Identifier: MIT */
/* Prints the comparison of runs. Values that a recording does not contain are left empty. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "base/terminal/writer.h"
#include "sim/experiment/summary.h"
#include "sim/host/replay.h"

#define DECIMALS 6 /* decimal places of JSON numbers; more would show only clock jitter */

static const char *const run_names[REPLAY_RUNS] = {
	[REPLAY_RECORDED] = "recorded",
	[REPLAY_MODEL] = "model",
	[REPLAY_IN_FORCE] = "in_force",
	[REPLAY_TRIAL] = "trial",
};

static double rounded(double value)
{
	return round(value * 1e6) / 1e6;
}

/* Adds up the summaries of all GPUs. */
static void add_up(const struct replay *replay, struct experiment_summary sums[REPLAY_RUNS])
{
	for (int run = 0; run < REPLAY_RUNS; run++) {
		const struct experiment_summary *parts[REPLAY_GPUS_MAX];
		int n = 0;

		for (int i = 0; i < replay->n_gpus; i++)
			if (replay->gpus[i].played)
				parts[n++] = &replay->gpus[i].summaries[run];
		summary_add_up(parts, n, &sums[run]);
	}
}

/* --- JSON --- */

static json_t *encode_run(const struct replay *replay, enum replay_run run,
			  const struct experiment_summary *summary)
{
	json_t *object = json_pack("{s:s, s:s?}", "run", run_names[run], "policy",
				   run == REPLAY_RECORDED ? NULL : replay->policies[run]);

	summary_encode(summary, run == REPLAY_RECORDED, DECIMALS, object);
	return object;
}

/* Returns the error of the model: the values of the run "model" minus the recorded values. */
static json_t *encode_error(const struct experiment_summary *summaries)
{
	const struct account_summary *was = &summaries[REPLAY_RECORDED].account;
	const struct account_summary *model = &summaries[REPLAY_MODEL].account;

	return json_pack("{s:f, s:f, s:f, s:f, s:f}", "util_avg_pct",
			 rounded(model->util_avg_pct - was->util_avg_pct), "broken_pct",
			 rounded(model->broken_pct - was->broken_pct), "sold_cap_pct_s",
			 rounded(model->sold_cap_pct_s - was->sold_cap_pct_s), "revenue",
			 rounded(model->revenue - was->revenue), "profit",
			 rounded(model->profit - was->profit));
}

static json_t *encode_runs(const struct replay *replay, const struct experiment_summary *summaries)
{
	json_t *runs = json_array();

	for (int i = 0; i < REPLAY_RUNS; i++)
		if (replay->has[i])
			(void)json_array_append_new(
				runs, encode_run(replay, (enum replay_run)i, &summaries[i]));
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
	return json_pack("{s:s, s:f, s:f, s:i, s:f, s:i, s:i, s:f, s:f, s:f, s:f, s:o, s:o}", "gpu",
			 gpu->name, "seconds", rounded(facts->seconds), "period_s",
			 rounded(facts->period_s), "gaps", facts->gaps, "gap_s",
			 rounded(facts->gap_s), "vgpus", facts->vgpus, "spans", facts->spans,
			 "censored_pct", share_pct(facts->censored_s, facts->vgpu_s), "unknown_pct",
			 share_pct(facts->unknown_s, facts->vgpu_s), "fps_missing_pct",
			 share_pct(facts->fps_missing_s, facts->vgpu_s), "broken_s_as_counted",
			 rounded(facts->broken_s), "model_error", encode_error(gpu->summaries),
			 "runs", encode_runs(replay, gpu->summaries));
}

static json_t *encode_total(const struct replay *replay)
{
	struct experiment_summary sums[REPLAY_RUNS];

	add_up(replay, sums);
	return json_pack("{s:o, s:o}", "model_error", encode_error(sums), "runs",
			 encode_runs(replay, sums));
}

static void print_json(const struct writer *writer, const struct replay *replay)
{
	json_t *gpus = json_array(), *answer;

	for (int i = 0; i < replay->n_gpus; i++)
		(void)json_array_append_new(gpus, encode_gpu(replay, &replay->gpus[i]));
	answer = json_pack(
		"{s:O, s:O, s:s?, s:I, s:O, s:O, s:o, s:o}", "from",
		json_object_get(replay->head, "from"), "to", json_object_get(replay->head, "to"),
		"kept_from", replay->kept_from[0] ? replay->kept_from : NULL, "seed",
		(json_int_t)replay->seed, "newcomers", json_object_get(replay->head, "newcomers"),
		"set", json_object_get(replay->head, "set"), "gpus", gpus, "total",
		encode_total(replay));
	writer_json(writer, answer);
	json_decref(answer);
}

/* --- tables --- */

/*
 * Returns true if the tables show this field of a summary. The other fields are only in the JSON.
 */
static bool is_shown(const struct summary_field *field)
{
	static const char *const hidden[] = {"seconds", "vgpus_start", "closed",    "severe_s",
					     "mmr",	"lambda",      "blackout_s"};

	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		if (strcmp(field->name, hidden[i]) == 0)
			return false;
	return true;
}

static json_t *make_row(const struct replay *replay, const struct summary_field *field,
			const struct experiment_summary *summaries)
{
	json_t *row = json_pack("{s:s}", "what", field->title);

	for (int i = 0; i < REPLAY_RUNS; i++) {
		char text[64];

		if (!replay->has[i] || (i == REPLAY_RECORDED && !field->recorded))
			continue;
		snprintf(text, sizeof(text), "%.*f", field->decimals,
			 summary_value(field, &summaries[i]));
		(void)json_object_set_new(row, run_names[i], json_string(text));
	}
	return row;
}

static void print_runs(const struct writer *writer, const struct replay *replay,
		       const struct experiment_summary *summaries)
{
	static const char *const heads[REPLAY_RUNS] = {"RECORDED", "MODEL", "IN FORCE", "TRIAL"};
	struct writer_column columns[1 + REPLAY_RUNS] = {
		{.head = "", .key = "what", .format = WRITER_TEXT}};
	const struct summary_field *field;
	json_t *rows = json_array();
	size_t n = 1;

	for (int i = 0; i < REPLAY_RUNS; i++)
		if (replay->has[i])
			columns[n++] = (struct writer_column){
				.head = heads[i], .key = run_names[i], .format = WRITER_TEXT};
	for (size_t i = 0; (field = summary_field_at(i)); i++)
		if (is_shown(field))
			(void)json_array_append_new(rows, make_row(replay, field, summaries));
	(void)writer_table(writer, columns, n, rows);
	json_decref(rows);
}

static void print_error(const struct writer *writer, const struct experiment_summary *summaries)
{
	const struct account_summary *was = &summaries[REPLAY_RECORDED].account;
	const struct account_summary *model = &summaries[REPLAY_MODEL].account;

	writer_line(writer,
		    "Error of the model (model minus recorded): utilisation %+.1f points, "
		    "broken time %+.2f points, profit %+.4f",
		    model->util_avg_pct - was->util_avg_pct, model->broken_pct - was->broken_pct,
		    model->profit - was->profit);
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
	writer_line(writer, "%s to %s; policy in force: %s", from, to,
		    replay->policies[REPLAY_MODEL]);
	if (replay->has[REPLAY_TRIAL])
		writer_line(writer, "trial: %s%s", replay->policies[REPLAY_TRIAL],
			    json_array_size(set) > 0 ? " with" : "");
	json_array_foreach (set, i, pair) {
		writer_line(writer, "  %s", json_string_value(pair));
	}
}

static void print_tables(const struct writer *writer, const struct replay *replay)
{
	struct experiment_summary sums[REPLAY_RUNS];

	print_head(writer, replay);
	for (int i = 0; i < replay->n_gpus; i++) {
		const struct replay_gpu *gpu = &replay->gpus[i];

		writer_line(writer, "%s", "");
		print_facts(writer, gpu);
		if (!gpu->played)
			continue;
		print_runs(writer, replay, gpu->summaries);
		print_error(writer, gpu->summaries);
	}
	if (replay->n_gpus == 1)
		return;
	add_up(replay, sums);
	writer_line(writer, "%s", "");
	writer_line(writer, "all GPUs:");
	print_runs(writer, replay, sums);
}

void replay_print(const struct replay *replay, bool json)
{
	struct writer writer;

	writer_init(&writer, stdout, json);
	if (json)
		print_json(&writer, replay);
	else
		print_tables(&writer, replay);
}
