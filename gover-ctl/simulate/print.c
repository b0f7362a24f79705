/* SPDX-License-Identifier: MIT */
/* Prints the comparison of runs. Values that a recording does not contain are left empty. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/simulate/simulate.h"
#include "gover-ctl/verb/tables.h"
#include "gover-ctl/verb/describe.h"
#include "sim/experiment/summary.h"

#define DECIMALS 6 /* decimal places of JSON numbers; more would show only clock jitter */

static const char *const run_names[SIMULATE_RUNS] = {
	[SIMULATE_RECORDED] = "recorded",
	[SIMULATE_MODEL] = "model",
	[SIMULATE_IN_FORCE] = "in_force",
	[SIMULATE_TRIAL] = "trial",
};

static double rounded(double value)
{
	return round(value * 1e6) / 1e6;
}

static enum ctl_exit out_of_memory(void)
{
	return ctl_fail(CTL_FAILED, "out of memory");
}

/* Adds up the summaries of all GPUs. */
static void add_up(const struct simulate *simulate, struct experiment_summary sums[SIMULATE_RUNS])
{
	for (int run = 0; run < SIMULATE_RUNS; run++) {
		const struct experiment_summary *parts[SIMULATE_GPUS_MAX];
		int n = 0;

		for (int i = 0; i < simulate->n_gpus; i++)
			if (simulate->gpus[i].played)
				parts[n++] = &simulate->gpus[i].summaries[run];
		summary_add_up(parts, n, &sums[run]);
	}
}

/* --- JSON --- */

static json_t *encode_run(const struct simulate *simulate, enum simulate_run run,
			  const struct experiment_summary *summary)
{
	json_t *object = json_pack("{s:s, s:s?}", "run", run_names[run], "policy",
				   run == SIMULATE_RECORDED ? NULL : simulate->policies[run]);

	summary_encode(summary, run == SIMULATE_RECORDED, DECIMALS, object);
	return object;
}

/* Returns the error of the model: the values of the run "model" minus the recorded values. */
static json_t *encode_error(const struct experiment_summary *summaries)
{
	const struct account_summary *was = &summaries[SIMULATE_RECORDED].account;
	const struct account_summary *model = &summaries[SIMULATE_MODEL].account;

	return json_pack("{s:f, s:f, s:f, s:f, s:f}", "util_avg_pct",
			 rounded(model->util_avg_pct - was->util_avg_pct), "broken_pct",
			 rounded(model->broken_pct - was->broken_pct), "sold_cap_pct_s",
			 rounded(model->sold_cap_pct_s - was->sold_cap_pct_s), "revenue",
			 rounded(model->revenue - was->revenue), "profit",
			 rounded(model->profit - was->profit));
}

static json_t *encode_runs(const struct simulate *simulate,
			   const struct experiment_summary *summaries)
{
	json_t *runs = json_array();

	for (int i = 0; i < SIMULATE_RUNS; i++)
		if (simulate->has[i])
			(void)json_array_append_new(
				runs, encode_run(simulate, (enum simulate_run)i, &summaries[i]));
	return runs;
}

static double share_pct(double part, double whole)
{
	return whole > 0 ? rounded(100 * part / whole) : 0;
}

static json_t *encode_gpu(const struct simulate *simulate, const struct simulate_gpu *gpu)
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
			 "runs", encode_runs(simulate, gpu->summaries));
}

static json_t *encode_total(const struct simulate *simulate)
{
	struct experiment_summary sums[SIMULATE_RUNS];

	add_up(simulate, sums);
	return json_pack("{s:o, s:o}", "model_error", encode_error(sums), "runs",
			 encode_runs(simulate, sums));
}

static json_t *encode_sets(const struct simulate *simulate)
{
	json_t *sets = json_array();

	for (size_t i = 0; i < simulate->n_sets; i++)
		(void)json_array_append_new(sets, json_string(simulate->sets[i]));
	return sets;
}

static enum ctl_exit print_json(struct ctl *ctl, const struct simulate *simulate)
{
	const char *newcomers = !simulate->newcomers	  ? "none"
				: simulate->newcomer_text ? simulate->newcomer_text
							  : "recorded";
	json_t *gpus = json_array();
	json_t *answer;

	for (int i = 0; i < simulate->n_gpus; i++)
		(void)json_array_append_new(gpus, encode_gpu(simulate, &simulate->gpus[i]));
	answer = json_pack("{s:s, s:s, s:s?, s:I, s:s, s:o, s:o, s:o}", "from",
			   simulate->range.from, "to", simulate->range.to, "kept_from",
			   simulate->kept_from[0] ? simulate->kept_from : NULL, "seed",
			   (json_int_t)simulate->seed, "newcomers", newcomers, "set",
			   encode_sets(simulate), "gpus", gpus, "total", encode_total(simulate));
	if (!answer)
		return out_of_memory();
	writer_json(&ctl->writer, answer);
	json_decref(answer);
	return CTL_DONE;
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

static json_t *make_row(const struct simulate *simulate, const struct summary_field *field,
			const struct experiment_summary *summaries)
{
	json_t *row = json_pack("{s:s}", "what", field->title);

	for (int i = 0; i < SIMULATE_RUNS; i++) {
		char text[64];

		if (!simulate->has[i] || (i == SIMULATE_RECORDED && !field->recorded))
			continue;
		snprintf(text, sizeof(text), "%.*f", field->decimals,
			 summary_value(field, &summaries[i]));
		(void)json_object_set_new(row, run_names[i], json_string(text));
	}
	return row;
}

static enum ctl_exit print_runs(const struct writer *writer, const struct simulate *simulate,
				const struct experiment_summary *summaries)
{
	static const char *const heads[SIMULATE_RUNS] = {"RECORDED", "MODEL", "IN FORCE", "TRIAL"};
	struct writer_column columns[1 + SIMULATE_RUNS] = {
		{.head = "", .key = "what", .format = WRITER_TEXT}};
	const struct summary_field *field;
	json_t *rows = json_array();
	size_t n = 1;
	int r;

	for (int i = 0; i < SIMULATE_RUNS; i++)
		if (simulate->has[i])
			columns[n++] = (struct writer_column){
				.head = heads[i], .key = run_names[i], .format = WRITER_TEXT};
	for (size_t i = 0; (field = summary_field_at(i)); i++)
		if (is_shown(field))
			(void)json_array_append_new(rows, make_row(simulate, field, summaries));
	r = rows ? writer_table(writer, columns, n, rows) : -1;
	json_decref(rows);
	return r < 0 ? out_of_memory() : CTL_DONE;
}

static void print_error(const struct writer *writer, const struct experiment_summary *summaries)
{
	const struct account_summary *was = &summaries[SIMULATE_RECORDED].account;
	const struct account_summary *model = &summaries[SIMULATE_MODEL].account;

	writer_line(writer,
		    "Error of the model (model minus recorded): utilisation %+.1f points, "
		    "broken time %+.2f points, profit %+.4f",
		    model->util_avg_pct - was->util_avg_pct, model->broken_pct - was->broken_pct,
		    model->profit - was->profit);
}

static void print_facts(const struct writer *writer, const struct simulate_gpu *gpu)
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

static void print_head(const struct writer *writer, const struct simulate *simulate)
{
	char from[DESCRIBE_MAX], to[DESCRIBE_MAX];

	describe_time(simulate->range.from, from);
	describe_time(simulate->range.to, to);
	writer_line(writer, "%s to %s; policy in force: %s", from, to,
		    simulate->policies[SIMULATE_MODEL]);
	if (simulate->has[SIMULATE_TRIAL])
		writer_line(writer, "trial: %s%s", simulate->policies[SIMULATE_TRIAL],
			    simulate->n_sets > 0 ? " with" : "");
	for (size_t i = 0; i < simulate->n_sets; i++)
		writer_line(writer, "  %s", simulate->sets[i]);
}

static enum ctl_exit print_tables(struct ctl *ctl, const struct simulate *simulate)
{
	struct experiment_summary sums[SIMULATE_RUNS];
	enum ctl_exit r = CTL_DONE;

	print_head(&ctl->writer, simulate);
	for (int i = 0; r == CTL_DONE && i < simulate->n_gpus; i++) {
		const struct simulate_gpu *gpu = &simulate->gpus[i];

		writer_line(&ctl->writer, "%s", "");
		print_facts(&ctl->writer, gpu);
		if (!gpu->played)
			continue;
		r = print_runs(&ctl->writer, simulate, gpu->summaries);
		print_error(&ctl->writer, gpu->summaries);
	}
	if (r != CTL_DONE || simulate->n_gpus == 1)
		return r;
	add_up(simulate, sums);
	writer_line(&ctl->writer, "%s", "");
	writer_line(&ctl->writer, "all GPUs:");
	return print_runs(&ctl->writer, simulate, sums);
}

/* Prints a warning if the requested range begins before the available periods. */
static void warn(const struct simulate *simulate)
{
	if (simulate->from_given && strcmp(simulate->range.from, simulate->kept_from) < 0)
		ctl_fail(CTL_DONE,
			 "--from: the values of each period are kept only from %s on; the "
			 "simulation "
			 "starts at this time",
			 simulate->kept_from);
}

enum ctl_exit simulate_print(struct ctl *ctl, const struct simulate *simulate)
{
	warn(simulate);
	return ctl->writer.json ? print_json(ctl, simulate) : print_tables(ctl, simulate);
}
