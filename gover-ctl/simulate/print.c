/* SPDX-License-Identifier: MIT */
/* What the runs of a simulation came to, side by side. Must never print a number as if it were
 * known where it is not. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/simulate/simulate.h"
#include "gover-ctl/verb/tables.h"
#include "gover-ctl/verb/tell.h"
#include "sim/experiment/report.h"

static const char *const run_names[SIMULATE_RUNS] = {
	[SIMULATE_RECORDED] = "recorded",
	[SIMULATE_MODEL] = "model",
	[SIMULATE_IN_FORCE] = "in_force",
	[SIMULATE_TRIAL] = "trial",
};

/* Six decimals: what is behind them is the clock's. */
static double rounded(double value)
{
	return round(value * 1e6) / 1e6;
}

static enum ctl_exit out_of_memory(void)
{
	return ctl_fail(CTL_FAILED, "out of memory");
}

/* Of what really happened only the account is known, who left and the caps. */
static bool is_known(enum simulate_run run, const struct report_field *field)
{
	size_t offset = field->offset;

	return run != SIMULATE_RECORDED || offset < sizeof(struct account_summary) ||
	       offset == offsetof(struct trial_summary, left) ||
	       offset == offsetof(struct trial_summary, cap_moves) ||
	       offset == offsetof(struct trial_summary, cap_moves_per_min);
}

/* --- all GPUs together --- */

static void add_account(struct account_summary *sum, const struct account_summary *one)
{
	sum->util_avg_pct += one->util_avg_pct * one->seconds;
	sum->util_final_pct += one->util_final_pct * one->seconds;
	sum->overbooking_final += one->overbooking_final * one->seconds;
	sum->seconds += one->seconds;
	sum->vgpu_s += one->vgpu_s;
	sum->broken_s += one->broken_s;
	for (int i = 0; i < ACCOUNT_DEPTHS; i++)
		sum->depth_s[i] += one->depth_s[i];
	sum->vgpus_avg += one->vgpus_avg;
	sum->vgpus_start += one->vgpus_start;
	sum->vgpus_end += one->vgpus_end;
	sum->vgpus_most += one->vgpus_most;
	sum->sold_cap_pct_s += one->sold_cap_pct_s;
	sum->revenue += one->revenue;
	sum->penalty += one->penalty;
	sum->profit += one->profit;
	sum->mmr = fmin(sum->mmr, one->mmr);
	sum->lambda = fmax(sum->lambda, one->lambda);
	sum->worst_broken_pct = fmax(sum->worst_broken_pct, one->worst_broken_pct);
}

/* Means are over the seconds of GPUs; of what cannot be added the worst GPU's. */
static void add_up(const struct simulate *simulate, enum simulate_run run,
		   struct trial_summary *ret_sum)
{
	struct trial_summary sum = {.account = {.mmr = 1}};
	struct account_summary *account = &sum.account;

	for (int i = 0; i < simulate->n_gpus; i++) {
		const struct trial_summary *one = &simulate->gpus[i].summaries[run];

		if (!simulate->gpus[i].played)
			continue;
		add_account(account, &one->account);
		sum.offers += one->offers;
		sum.sales += one->sales;
		sum.kept += one->kept;
		sum.failed += one->failed;
		sum.closed += one->closed;
		sum.refused += one->refused;
		sum.left += one->left;
		sum.cap_moves += one->cap_moves;
		sum.cap_moves_per_min += one->cap_moves_per_min;
		sum.severe_s += one->severe_s;
	}
	account->util_avg_pct /= account->seconds;
	account->util_final_pct /= account->seconds;
	account->overbooking_final /= account->seconds;
	account->overbooking_avg = account->sold_cap_pct_s / account->seconds / 100;
	account->broken_pct = account->vgpu_s > 0 ? 100 * account->broken_s / account->vgpu_s : 0;
	*ret_sum = sum;
}

/* --- for programs --- */

static json_t *encode_run(const struct simulate *simulate, enum simulate_run run,
			  const struct trial_summary *summary)
{
	json_t *object = json_pack("{s:s, s:s?}", "run", run_names[run], "policy",
				   run == SIMULATE_RECORDED ? NULL : simulate->policies[run]);
	json_t *depths = json_object();
	const struct report_field *field;

	for (size_t i = 0; (field = report_field_at(i)); i++) {
		double value = report_value(field, summary);
		json_t *number =
			field->whole ? json_integer((json_int_t)value) : json_real(rounded(value));

		if (!is_known(run, field)) {
			json_decref(number);
			number = json_null();
		}
		(void)json_object_set_new(object, field->name, number);
	}
	for (int i = 0; i < ACCOUNT_DEPTHS; i++)
		(void)json_object_set_new(depths, account_depth_name(i),
					  json_real(rounded(summary->account.depth_s[i])));
	(void)json_object_set_new(object, "broken_s_at_depth", depths);
	return object;
}

/* What the model has too much. */
static json_t *encode_error(const struct trial_summary *summaries)
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

static json_t *encode_runs(const struct simulate *simulate, const struct trial_summary *summaries)
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
	struct trial_summary sums[SIMULATE_RUNS];

	for (int i = 0; i < SIMULATE_RUNS; i++)
		add_up(simulate, (enum simulate_run)i, &sums[i]);
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

static enum ctl_exit tell_program(struct ctl *ctl, const struct simulate *simulate)
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

/* --- for people --- */

/* As a trial's summary calls them, but for what only fills the page. */
static bool is_shown(const struct report_field *field)
{
	static const char *const left_out[] = {"seconds",  "vgpus_start", "closed",
					       "severe_s", "mmr",	  "lambda"};

	for (size_t i = 0; i < ARRAY_SIZE(left_out); i++)
		if (strcmp(field->name, left_out[i]) == 0)
			return false;
	return true;
}

static json_t *make_row(const struct simulate *simulate, const struct report_field *field,
			const struct trial_summary *summaries)
{
	json_t *row = json_pack("{s:s}", "what", field->title);

	for (int i = 0; i < SIMULATE_RUNS; i++) {
		char text[64];

		if (!simulate->has[i] || !is_known((enum simulate_run)i, field))
			continue;
		snprintf(text, sizeof(text), "%.*f", field->decimals,
			 report_value(field, &summaries[i]));
		(void)json_object_set_new(row, run_names[i], json_string(text));
	}
	return row;
}

static enum ctl_exit print_runs(const struct writer *writer, const struct simulate *simulate,
				const struct trial_summary *summaries)
{
	static const char *const heads[SIMULATE_RUNS] = {"RECORDED", "MODEL", "IN FORCE", "TRIAL"};
	struct writer_column columns[1 + SIMULATE_RUNS] = {
		{.head = "", .key = "what", .format = WRITER_TEXT}};
	const struct report_field *field;
	json_t *rows = json_array();
	size_t n = 1;
	int r;

	for (int i = 0; i < SIMULATE_RUNS; i++)
		if (simulate->has[i])
			columns[n++] = (struct writer_column){
				.head = heads[i], .key = run_names[i], .format = WRITER_TEXT};
	for (size_t i = 0; (field = report_field_at(i)); i++)
		if (is_shown(field))
			(void)json_array_append_new(rows, make_row(simulate, field, summaries));
	r = rows ? writer_table(writer, columns, n, rows) : -1;
	json_decref(rows);
	return r < 0 ? out_of_memory() : CTL_DONE;
}

static void print_error(const struct writer *writer, const struct trial_summary *summaries)
{
	const struct account_summary *was = &summaries[SIMULATE_RECORDED].account;
	const struct account_summary *model = &summaries[SIMULATE_MODEL].account;

	writer_line(writer,
		    "The model's own error, on the demand as estimated: utilisation %+.1f points, "
		    "broken time %+.2f points, profit %+.4f",
		    model->util_avg_pct - was->util_avg_pct, model->broken_pct - was->broken_pct,
		    model->profit - was->profit);
}

static void print_facts(const struct writer *writer, const struct simulate_gpu *gpu)
{
	const struct recording_facts *facts = &gpu->facts;
	char span[WRITER_SPAN_MAX], gap[WRITER_SPAN_MAX];

	if (!gpu->played) {
		writer_line(writer, "%s: not played: %s", gpu->name, gpu->why.msg);
		return;
	}
	writer_span(facts->seconds, span);
	writer_span(facts->gap_s, gap);
	writer_line(writer, "%s: %s of %d vGPUs; %d gaps (%s) cut out", gpu->name, span,
		    facts->vgpus, facts->gaps, gap);
	writer_line(writer,
		    "  of the vGPU-seconds: demand beyond the cap estimated in %.1f %%, no "
		    "reading in %.1f %%, frames not counted in %.1f %%",
		    share_pct(facts->censored_s, facts->vgpu_s),
		    share_pct(facts->unknown_s, facts->vgpu_s),
		    share_pct(facts->fps_missing_s, facts->vgpu_s));
}

static void print_head(const struct writer *writer, const struct simulate *simulate)
{
	char from[TELL_MAX], to[TELL_MAX];

	tell_time(simulate->range.from, from);
	tell_time(simulate->range.to, to);
	writer_line(writer, "%s to %s; in force: %s", from, to, simulate->policies[SIMULATE_MODEL]);
	if (simulate->has[SIMULATE_TRIAL])
		writer_line(writer, "on trial: %s%s", simulate->policies[SIMULATE_TRIAL],
			    simulate->n_sets > 0 ? " with" : "");
	for (size_t i = 0; i < simulate->n_sets; i++)
		writer_line(writer, "  %s", simulate->sets[i]);
}

static enum ctl_exit tell_people(struct ctl *ctl, const struct simulate *simulate)
{
	struct trial_summary sums[SIMULATE_RUNS];
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
	for (int i = 0; i < SIMULATE_RUNS; i++)
		add_up(simulate, (enum simulate_run)i, &sums[i]);
	writer_line(&ctl->writer, "%s", "");
	writer_line(&ctl->writer, "all GPUs:");
	return print_runs(&ctl->writer, simulate, sums);
}

/* A range that was asked for and is kept in part is played in part. */
static void warn(const struct simulate *simulate)
{
	if (simulate->from_given && strcmp(simulate->range.from, simulate->kept_from) < 0)
		ctl_fail(CTL_DONE,
			 "single periods are kept from %s; what is left of the time before, "
			 "minutes, cannot be played",
			 simulate->kept_from);
}

enum ctl_exit simulate_tell(struct ctl *ctl, const struct simulate *simulate)
{
	warn(simulate);
	return ctl->writer.json ? tell_program(ctl, simulate) : tell_people(ctl, simulate);
}
