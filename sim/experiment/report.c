/* SPDX-License-Identifier: MIT */
/* Writes the files of a report. report_close() returns the errors of earlier writes. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "sim/experiment/report.h"

#define REAL_DIGITS 9

enum report_file { REPORT_SECONDS, REPORT_HOST, REPORT_DECISIONS, REPORT_FILES };

static const struct {
	const char *name, *header;
} report_files[REPORT_FILES] = {
	[REPORT_SECONDS] = {"seconds.csv", "t_s,vgpu,cap_pct,contract_pct,load_pct,demand_pct,"
					   "util_pct,fps,target_fps,broken\n"},
	[REPORT_HOST] = {"host.csv", "t_s,util_pct,vgpus,sum_cap_pct,sum_contract_pct,"
				     "broken_vgpus\n"},
	[REPORT_DECISIONS] = {"decisions.jsonl", ""},
};

struct report {
	char *dir;
	FILE *files[REPORT_FILES];
};

/* --- the summary --- */

static json_t *encode_vgpu(const struct experiment_vgpu *vgpu, const struct account_vgpu *account)
{
	double seen_s = account->seen_s;

	return json_pack(
		"{s:s, s:s, s:i, s:f, s:f, s:o, s:f, s:f, s:f, s:o, s:f, s:f, s:f, s:f, s:f, s:f, "
		"s:b, s:f, s:f}",
		"vgpu", vgpu->id, "tenant", vgpu->kind->name, "contract_pct",
		vgpu->terms.initial_cap_pct, "target_fps", vgpu->terms.target_fps, "came_s",
		vgpu->came_s, "left_s", isnan(vgpu->left_s) ? json_null() : json_real(vgpu->left_s),
		"seen_s", seen_s, "broken_s", account->broken_s, "broken_pct",
		seen_s > 0 ? 100 * account->broken_s / seen_s : 0, "broken_s_at_depth",
		summary_encode_depths(account->depth_s, SUMMARY_EXACT), "promised_s",
		account->promised_s, "shortfall_s", account->shortfall_s, "served_gpu_s",
		account->served_s, "ideal_gpu_s", account->ideal_s, "revenue", account->revenue,
		"penalty", account->penalty, "moved", vgpu->moved, "shortfall_penalty",
		account->shortfall_penalty, "move_cost", account->move_cost);
}

json_t *report_encode(const struct experiment *experiment, const char *policy, uint64_t seed)
{
	const struct account_vgpu *account;
	const struct experiment_vgpu *vgpu;
	struct experiment_summary summary;
	json_t *vgpus = json_array();
	json_t *all = json_pack("{s:s, s:I}", "policy", policy, "seed", (json_int_t)seed);

	experiment_summarize(experiment, &summary);
	summary_encode(&summary, false, SUMMARY_EXACT, all);
	for (int i = 0; (vgpu = experiment_vgpu_at(experiment, i, &account)); i++)
		(void)json_array_append_new(vgpus, encode_vgpu(vgpu, account));
	(void)json_object_set_new(all, "vgpus", vgpus);
	return all;
}

/* --- the files --- */

static FILE *open_file(const char *dir, const char *name, struct err *reterr)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", dir, name);
	FILE *file = fopen(path, "we");

	if (!file)
		(void)err_fail(reterr, errno, "%s/%s: cannot be written: %s", dir, name,
			       strerror(errno));
	return file;
}

int report_open(const char *dir, struct report **ret_report, struct err *reterr)
{
	struct report *report;
	int r = file_make_dirs(dir);

	if (r < 0)
		return err_fail(reterr, -r, "%s: cannot be created: %s", dir, strerror(-r));
	report = xcalloc(1, sizeof(*report));
	report->dir = xstrdup(dir);
	for (int i = 0; i < REPORT_FILES; i++) {
		report->files[i] = open_file(dir, report_files[i].name, reterr);
		if (!report->files[i]) {
			r = -errno;
			(void)report_close(report, NULL, NULL);
			return r < 0 ? r : -EIO;
		}
		fputs(report_files[i].header, report->files[i]);
	}
	*ret_report = report;
	return 0;
}

static json_t *encode_decision(const struct experiment_event *event)
{
	const struct policy_decision *pd = event->decision;
	json_t *line = json_pack("{s:f, s:s, s:s, s:s}", "t_s", event->t_s, "kind", event->kind,
				 "vgpu", event->vgpu, "donor", event->donor);
	json_t *numbers = json_object(), *moves = json_array();

	for (int i = 0; pd && i < pd->n_numbers; i++)
		(void)json_object_set_new(numbers, pd->numbers[i].name,
					  json_real(pd->numbers[i].value));
	for (int i = 0; pd && i < pd->n_moves; i++) {
		const struct policy_move *move = &event->out->moves[pd->first_move + i];

		(void)json_array_append_new(moves,
					    json_pack("{s:s, s:i, s:i}", "vgpu",
						      event->gpu->vgpus[move->vgpu].id, "from_pct",
						      move->from_pct, "to_pct", move->to_pct));
	}
	(void)json_object_set_new(line, "numbers", numbers);
	(void)json_object_set_new(line, "moves", moves);
	(void)json_object_set_new(line, "why", json_string(event->why));
	return line;
}

void report_event(void *userdata, const struct experiment_event *event)
{
	struct report *report = userdata;
	FILE *out = report->files[REPORT_DECISIONS];
	json_t *line = encode_decision(event);

	(void)json_dumpf(line, out, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));
	json_decref(line);
	fputc('\n', out);
}

static void write_vgpu(FILE *out, double t_s, const struct experiment_vgpu *vgpu)
{
	const struct account_sample *s = &vgpu->sample;

	fprintf(out, "%.3f,%s,%d,%d,%.3f,%.3f,%.3f,", t_s, vgpu->id, vgpu->sampled_cap_pct,
		s->contract_pct, 100 * s->load, 100 * s->demand, 100 * s->util);
	if (s->makes_frames)
		fprintf(out, "%.2f", s->fps);
	fprintf(out, ",%g,%d\n", s->target_fps, s->broken);
}

void report_period(struct report *report, const struct experiment *experiment)
{
	int sum_cap_pct = 0, sum_contract_pct = 0, broken = 0, n = 0;
	double t_s = experiment_now_s(experiment);
	const struct experiment_vgpu *vgpu;

	for (; (vgpu = experiment_current_vgpu_at(experiment, n)); n++) {
		write_vgpu(report->files[REPORT_SECONDS], t_s, vgpu);
		sum_cap_pct += vgpu->sampled_cap_pct;
		sum_contract_pct += vgpu->sample.contract_pct;
		broken += vgpu->sample.broken;
	}
	fprintf(report->files[REPORT_HOST], "%.3f,%.3f,%d,%d,%d,%d\n", t_s,
		100 * experiment_util(experiment), n, sum_cap_pct, sum_contract_pct, broken);
}

static int write_summary(const struct report *report, const json_t *summary, struct err *reterr)
{
	FILE *out = open_file(report->dir, "summary.json", reterr);
	int r = 0;

	if (!out)
		return -EIO;
	if (json_dumpf(summary, out, JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS)) < 0 ||
	    fputc('\n', out) == EOF)
		r = -EIO;
	if (fclose(out) == EOF)
		r = -EIO;
	return r < 0 ? err_fail(reterr, EIO, "%s/summary.json: cannot be written", report->dir) : 0;
}

int report_close(struct report *report, const json_t *summary, struct err *reterr)
{
	int r = 0;

	if (!report)
		return 0;
	for (int i = 0; i < REPORT_FILES; i++) {
		bool bad = report->files[i] && ferror(report->files[i]);

		if (report->files[i] && (fclose(report->files[i]) == EOF || bad))
			r = err_fail(reterr, EIO, "%s/%s: cannot be written: %s", report->dir,
				     report_files[i].name, strerror(errno));
	}
	if (r == 0 && summary)
		r = write_summary(report, summary, reterr);
	free(report->dir);
	free(report);
	return r;
}
