/* SPDX-License-Identifier: MIT */
/*
 * Prints a comparison as a table or as JSON. With --out, writes the comparison, a row for every
 * run, and a diagram to a folder.
 */
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "sim/host/compare-print.h"

#define REAL_DIGITS 9

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

int compare_print(const struct compare *compare, struct err *reterr)
{
	int r = compare->options->json ? dump_json(compare, stdout) : print_table(compare);

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
				(unsigned long long)compare_seed(compare, row, run));
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
	CLEANUP_FREE char *path = xasprintf("%s/%s", compare->options->out, outputs[index].name);
	FILE *out = fopen(path, "we");
	int r;

	if (!out)
		return err_fail(reterr, errno, "%s/%s: cannot be written: %s",
				compare->options->out, outputs[index].name, strerror(errno));
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

int compare_write(const struct compare *compare, struct err *reterr)
{
	const char *dir = compare->options->out;
	int r = file_make_dirs(dir);

	if (r < 0)
		return err_fail(reterr, -r, "%s: cannot be created: %s", dir, strerror(-r));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(outputs); i++)
		r = write_output(compare, i, reterr);
	if (r == 0 && compare->options->plot)
		r = draw(dir, reterr);
	return r;
}
