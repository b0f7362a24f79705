/* SPDX-License-Identifier: MIT */
/*
 * Runs every scenario under every policy with every seed, with one thread per CPU. Each experiment
 * runs in a single thread and writes its own result, so the output does not depend on the order in
 * which threads finish. Prints the comparison as a table or as JSON. With --out, writes the
 * comparison, a row for every run, and a diagram to a folder.
 */
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "sim/experiment/summary.h"
#include "sim/host/run.h"

#define REAL_DIGITS 9
#define NAME_SIZE   128

/* One scenario under one policy. */
struct compare_row {
	char scenario_name[NAME_SIZE], policy_name[NAME_SIZE];
	struct scenario *scenario;
	struct run_strategy strategy;
	struct experiment_summary *runs; /* results, one per seed */
};

struct compare {
	const struct compare_options *options;
	struct compare_row *rows;
	int n_rows;
};

/* --- the rows --- */

static void name_scenario(const char *path, char name[NAME_SIZE])
{
	const char *base = strrchr(path, '/');
	char *dot;

	snprintf(name, NAME_SIZE, "%s", base ? base + 1 : path);
	dot = strrchr(name, '.');
	if (dot && dot > name)
		*dot = '\0';
}

/* Fills a row of the comparison. @text: policy and parameters, "NAME[:KEY=VALUE]...". */
static int make_row(const struct compare_options *options, const char *path, const char *text,
		    struct compare_row *row, struct err *reterr)
{
	char words[NAME_SIZE], *rest = words;
	const char *sets[NAME_SIZE / 2];
	int n_sets = 0, r;

	name_scenario(path, row->scenario_name);
	snprintf(row->policy_name, sizeof(row->policy_name), "%s", text);
	strcpy(words, row->policy_name);
	r = run_strategy(strsep(&rest, ":"), &row->strategy, reterr);
	while (rest)
		sets[n_sets++] = strsep(&rest, ":");
	if (r == 0)
		r = run_scenario(path, options->run->sets, options->run->n_sets, &row->scenario,
				 reterr);
	if (r == 0)
		r = run_sets(row->scenario, sets, n_sets, reterr);
	if (r == 0)
		row->runs = xcalloc((size_t)options->seeds, sizeof(*row->runs));
	return r;
}

static int count_policies(const char *policies)
{
	int n = 1;

	for (; *policies; policies++)
		n += *policies == ',';
	return n;
}

static int make_rows(struct compare *compare, const char *policies, struct err *reterr)
{
	const struct compare_options *options = compare->options;
	int n = count_policies(policies);

	compare->rows = xcalloc((size_t)(options->n_scenarios * n), sizeof(*compare->rows));
	for (int s = 0; s < options->n_scenarios; s++) {
		CLEANUP_FREE char *copy = xstrdup(policies);
		char *rest = copy;

		while (rest) {
			const char *text = strsep(&rest, ",");
			int r;

			if (strlen(text) >= NAME_SIZE)
				return err_fail(reterr, EINVAL, "--policies: '%.40s...': too long",
						text);
			r = make_row(options, options->scenarios[s], text,
				     &compare->rows[compare->n_rows++], reterr);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* --- running --- */

struct work {
	struct compare *compare;
	atomic_int failed; /* an errno */
	struct err err;	   /* message of the experiment that failed first */
};

/* Returns the seed of run number @run of @row. */
static uint64_t seed_of(const struct compare *compare, const struct compare_row *row, int run)
{
	int first = compare->options->run->seed;

	return (uint64_t)(first >= 0 ? first : row->scenario->seed) + (uint64_t)run;
}

static int play(const struct compare *compare, struct compare_row *row, int run, struct err *reterr)
{
	uint64_t seed = seed_of(compare, row, run);
	struct experiment *experiment;
	struct best_schedule *schedule;
	int r = run_experiment(&row->strategy, row->scenario, seed, NULL, NULL, &experiment,
			       &schedule, reterr);

	if (r < 0)
		return r;
	experiment_finish(experiment, &row->runs[run]);
	best_schedule_free(schedule);
	return 0;
}

static void play_one(void *userdata, int index)
{
	struct work *work = userdata;
	int seeds = work->compare->options->seeds;
	struct compare_row *row = &work->compare->rows[index / seeds];
	struct err err = {""};
	int zero = 0, r = play(work->compare, row, index % seeds, &err);

	if (r < 0 && atomic_compare_exchange_strong(&work->failed, &zero, -r))
		(void)err_fail(&work->err, -r, "%s: %.400s", row->scenario_name, err.msg);
}

static int play_rows(struct compare *compare, struct err *reterr)
{
	struct work work = {.compare = compare};
	int failed;

	thread_run_all(compare->n_rows * compare->options->seeds, play_one, &work);
	failed = atomic_load(&work.failed);
	return failed ? err_fail(reterr, failed, "%s", work.err.msg) : 0;
}

/* --- statistics over the seeds --- */

struct spread {
	double mean, least, most;
};

static struct spread spread_of(const struct compare *compare, const struct compare_row *row,
			       const struct summary_field *field)
{
	struct spread spread = {0, INFINITY, -INFINITY};
	int n = compare->options->seeds;

	for (int i = 0; i < n; i++) {
		double value = summary_value(field, &row->runs[i]);

		spread.mean += value / n;
		spread.least = fmin(spread.least, value);
		spread.most = fmax(spread.most, value);
	}
	return spread;
}

/* --- the table --- */

static const struct {
	const char *title, *field; /* field: name of a field of the summary */
	/* true: the column shows the maximum of all runs; false: the mean */
	bool most;
	int decimals;
} columns[] = {
	{"VGPUS", "vgpus_end", false, 2},
	{"SOLD %S", "sold_cap_pct_s", false, 0},
	{"OVERBOOKED", "overbooking_avg", false, 2},
	{"UTIL %", "util_avg_pct", false, 1},
	{"AT END %", "util_final_pct", false, 1},
	{"BROKEN %", "broken_pct", false, 2},
	{"WORST %", "broken_pct", true, 2},
	{"FAILED", "failed", false, 2},
	{"MOVES/MIN", "cap_moves_per_min", false, 1},
	{"MMR", "mmr", false, 3},
	{"LAMBDA", "lambda", false, 3},
	{"PROFIT", "profit", false, 4},
	{"SHORT %", "shortfall_pct", false, 2},
	{"MOVED", "moves", false, 2},
	{"STAY S", "stay_median_s", false, 0},
	{"NET", "net_income", false, 4},
};

static bool fill_line(const struct compare *compare, const struct compare_row *row,
		      struct libscols_line *line)
{
	bool ok = line && scols_line_set_data(line, 0, row->scenario_name) == 0 &&
		  scols_line_set_data(line, 1, row->policy_name) == 0;

	for (size_t i = 0; ok && i < ARRAY_SIZE(columns); i++) {
		struct spread spread =
			spread_of(compare, row, summary_find_field(columns[i].field));
		char text[64];

		snprintf(text, sizeof(text), "%.*f", columns[i].decimals,
			 columns[i].most ? spread.most : spread.mean);
		ok = scols_line_set_data(line, i + 2, text) == 0;
	}
	return ok;
}

static void fill_table(const struct compare *compare, struct libscols_table *table)
{
	bool ok = scols_table_new_column(table, "SCENARIO", 0, 0) &&
		  scols_table_new_column(table, "POLICY", 0, 0);

	for (size_t i = 0; ok && i < ARRAY_SIZE(columns); i++)
		ok = scols_table_new_column(table, columns[i].title, 0, SCOLS_FL_RIGHT);
	for (int i = 0; ok && i < compare->n_rows; i++)
		ok = fill_line(compare, &compare->rows[i], scols_table_new_line(table, NULL));
	if (!ok)
		xalloc_fail(0);
}

static int print_table(const struct compare *compare)
{
	struct libscols_table *table;
	int r;

	scols_init_debug(0);
	table = scols_new_table();
	fill_table(compare, table);
	r = scols_print_table(table);
	scols_unref_table(table);
	return r;
}

/* --- JSON --- */

static json_t *encode_row(const struct compare *compare, const struct compare_row *row)
{
	json_t *mean = json_object(), *least = json_object(), *most = json_object();
	const struct summary_field *field;

	for (size_t i = 0; (field = summary_field_at(i)); i++) {
		struct spread spread = spread_of(compare, row, field);

		(void)json_object_set_new(mean, field->name, json_real(spread.mean));
		(void)json_object_set_new(least, field->name, json_real(spread.least));
		(void)json_object_set_new(most, field->name, json_real(spread.most));
	}
	return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o}", "scenario", row->scenario_name, "policy",
			 row->policy_name, "seeds", compare->options->seeds, "mean", mean, "least",
			 least, "most", most);
}

static int dump_json(const struct compare *compare, FILE *out)
{
	json_t *rows = json_array();
	int r = 0;

	for (int i = 0; i < compare->n_rows; i++)
		json_array_append_new(rows, encode_row(compare, &compare->rows[i]));
	if (json_dumpf(rows, out, JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS)) < 0 ||
	    fputc('\n', out) == EOF)
		r = -EIO;
	json_decref(rows);
	return r;
}

static int print(const struct compare *compare, struct err *reterr)
{
	int r = compare->options->run->json ? dump_json(compare, stdout) : print_table(compare);

	if (r == 0 && (fflush(stdout) == EOF || ferror(stdout)))
		r = -EIO;
	return r < 0 ? err_fail(reterr, -r, "standard output: cannot be written: %s", strerror(-r))
		     : 0;
}

/* --- files --- */

static int dump_runs(const struct compare *compare, FILE *out)
{
	const struct summary_field *field;

	fputs("scenario,policy,seed", out);
	for (size_t i = 0; (field = summary_field_at(i)); i++)
		fprintf(out, ",%s", field->name);
	fputc('\n', out);
	for (int k = 0; k < compare->n_rows; k++) {
		const struct compare_row *row = &compare->rows[k];

		for (int run = 0; run < compare->options->seeds; run++) {
			fprintf(out, "%s,%s,%llu", row->scenario_name, row->policy_name,
				(unsigned long long)seed_of(compare, row, run));
			for (size_t i = 0; (field = summary_field_at(i)); i++)
				fprintf(out, ",%.*g", REAL_DIGITS,
					summary_value(field, &row->runs[run]));
			fputc('\n', out);
		}
	}
	return 0;
}

static void dump_bars(const struct compare *compare, FILE *out)
{
	const struct summary_field *sold = summary_find_field("sold_cap_pct_s");
	const struct summary_field *broken = summary_find_field("broken_pct");

	fputs("$bars << END\n", out);
	for (int i = 0; i < compare->n_rows; i++) {
		const struct compare_row *row = &compare->rows[i];
		struct spread s = spread_of(compare, row, sold);
		struct spread b = spread_of(compare, row, broken);

		fprintf(out, "\"%s %s\" %.9g %.9g %.9g %.9g %.9g %.9g\n",
			i > 0 && strcmp(row[-1].scenario_name, row->scenario_name) == 0
				? ""
				: row->scenario_name,
			row->policy_name, s.mean, s.least, s.most, b.mean, b.least, b.most);
	}
	fputs("END\n", out);
}

/* Writes a gnuplot script, which must run in the folder that contains the script. */
static int dump_drawing(const struct compare *compare, FILE *out)
{
	int width = 300 + 60 * compare->n_rows;

	fprintf(out, "set terminal pngcairo noenhanced size %d,700 font 'sans,10'\n",
		width < 700 ? 700 : width);
	fputs("set output 'compare.png'\n", out);
	dump_bars(compare, out);
	fprintf(out,
		"set multiplot layout 2,1 title 'mean of %d seeds, lines from minimum to "
		"maximum'\n"
		"set boxwidth 0.6\nset style fill solid 0.6\nset xtics rotate by -30\n"
		"set grid y\nset yrange [0:*]\nunset key\nset bars small\n"
		"set ylabel 'sold capacity, %% x s'\n"
		"plot $bars using 0:2:xtic(1) with boxes linecolor rgb '#4477aa', "
		"'' using 0:2:3:4 with yerrorbars pointsize 0 linecolor rgb 'black'\n"
		"set ylabel 'broken time, %%'\n"
		"plot $bars using 0:5:xtic(1) with boxes linecolor rgb '#cc6677', "
		"'' using 0:5:6:7 with yerrorbars pointsize 0 linecolor rgb 'black'\n"
		"unset multiplot\n",
		compare->options->seeds);
	return 0;
}

static const struct {
	const char *name;
	int (*dump)(const struct compare *compare, FILE *out);
} outputs[] = {{"runs.csv", dump_runs}, {"compare.json", dump_json}, {"compare.gp", dump_drawing}};

static int write_output(const struct compare *compare, size_t index, struct err *reterr)
{
	CLEANUP_FREE char *path =
		xasprintf("%s/%s", compare->options->run->out, outputs[index].name);
	FILE *out = fopen(path, "we");
	int r;

	if (!out)
		return err_fail(reterr, errno, "%s/%s: cannot be written: %s",
				compare->options->run->out, outputs[index].name, strerror(errno));
	r = outputs[index].dump(compare, out);
	if (r == 0 && ferror(out))
		r = -EIO;
	if (fclose(out) == EOF && r == 0)
		r = -errno;
	return r < 0 ? err_fail(reterr, -r, "%s: cannot be written: %s", path, strerror(-r)) : 0;
}

static int draw(const char *dir, struct err *reterr)
{
	const char *const argv[] = {"sh", "-c", "cd -- \"$1\" && exec gnuplot compare.gp",
				    "sh", dir,	NULL};
	extern char **environ;
	int status = -1;
	pid_t pid;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, (char *const *)(uintptr_t)argv, environ) == 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	return status == 0 ? 0
			   : err_fail(reterr, EIO,
				      "%s/compare.png: not drawn: gnuplot is not installed or "
				      "failed",
				      dir);
}

static int write_all(const struct compare *compare, struct err *reterr)
{
	const char *dir = compare->options->run->out;
	int r = file_make_dirs(dir);

	if (r < 0)
		return err_fail(reterr, -r, "%s: cannot be created: %s", dir, strerror(-r));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(outputs); i++)
		r = write_output(compare, i, reterr);
	if (r == 0 && compare->options->plot)
		r = draw(dir, reterr);
	return r;
}

int compare_run(const struct compare_options *options, struct err *reterr)
{
	struct compare compare = {.options = options};
	char all[256];
	int r;

	run_list_policies(",", all, sizeof(all));
	r = make_rows(&compare, options->policies ? options->policies : all, reterr);
	if (r == 0)
		r = play_rows(&compare, reterr);
	if (r == 0)
		r = print(&compare, reterr);
	if (r == 0 && options->run->out)
		r = write_all(&compare, reterr);
	for (int i = 0; i < compare.n_rows; i++) {
		run_free(compare.rows[i].scenario);
		free(compare.rows[i].runs);
	}
	free(compare.rows);
	return r;
}
