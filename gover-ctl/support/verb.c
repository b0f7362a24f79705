/* SPDX-License-Identifier: MIT */
/*
 * `support`: one archive for a bug report. All is collected first, then names are learnt from all
 * of it, then each text is redacted: the same name has the same pseudonym everywhere. Must never
 * put a text into the archive that redact.c has not seen.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gover-ctl/doctor/report.h"
#include "gover-ctl/field.h"
#include "gover-ctl/support/redact.h"
#include "gover-ctl/support/host.h"
#include "gover-ctl/support/tarball.h"
#include "gover-ctl/verb/verbs.h"

#define FOLDER	  "gover-support/"
#define PARTS_MAX 24

struct part {
	const char *name, *what;
	json_t *json; /* or */
	char *text;
	char why[ERR_MSG_MAX]; /* neither: it is left out */
	size_t length;	       /* as it was written */
};

struct support {
	struct ctl *ctl;
	struct redact *redact;
	struct part parts[PARTS_MAX];
	size_t n_parts;
	bool names; /* become pseudonyms */
	bool reached;
	int64_t now_s;
};

static const struct question {
	const char *name, *path, *what;
	bool text;
} questions[] = {
	{"status.json", "/v1/host", "the daemon at a glance", false},
	{"gpus.json", "/v1/gpus", "its GPUs", false},
	{"vgpus.json", "/v1/vgpus", "its vGPUs", false},
	{"alerts.json", "/v1/alerts?all=true", "what is and was wrong", false},
	{"decisions.json", "/v1/decisions?limit=1000", "what it decided lately, and why", false},
	{"offers.json", "/v1/offers?all=true", "what it offered", false},
	{"policy.json", "/v1/policy", "parameters in force, and those of the files", false},
	{"metrics.txt", "/metrics", "what Prometheus is told", true},
};

static struct part *add_part(struct support *support, const char *name, const char *what)
{
	struct part *part = &support->parts[support->n_parts++];

	part->name = name;
	part->what = what;
	return part;
}

static void ask(struct support *support, const struct question *question)
{
	struct part *part = add_part(support, question->name, question->what);
	struct client_call call = {
		.method = "GET", .path = question->path, .any_text = question->text};
	struct reply reply = {0};
	struct err err = {.msg = ""};
	int r = ctl_try_request(support->ctl, &call, &reply, &err);

	support->reached = support->reached || r == 0;
	if (r != 0) {
		snprintf(part->why, sizeof(part->why), "%s", err.msg);
	} else if (question->text) {
		part->text = reply.text ? reply.text : strdup("");
		reply.text = NULL;
	} else {
		part->json = json_incref(reply.json);
	}
	reply_fini(&reply);
}

static const json_t *host_of(const struct support *support)
{
	return support->parts[0].json;
}

static void tell_version(struct support *support)
{
	struct part *part = add_part(support, "version.txt", "which gover this is");
	const char *daemon = field_text(host_of(support), "version");

	if (asprintf(&part->text, "gover-ctl %s\ngover-d %s\n", GOVER_VERSION,
		     daemon[0] ? daemon : "was not reached") < 0)
		part->text = NULL;
}

static void collect(struct support *support)
{
	struct part *part;
	struct err err;
	double pid;

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
		ask(support, &questions[i]);
	tell_version(support);
	part = add_part(support, "doctor.json", "what this host has and lacks");
	part->json = doctor_report(client_address(support->ctl->client), host_of(support),
				   support->parts[0].why);
	part = add_part(support, "config.txt", "the configuration with its defaults");
	pid = field_number(host_of(support), "pid");
	if (support_host_config(pid > 0 ? (long)pid : 0, &part->text, &err) < 0)
		snprintf(part->why, sizeof(part->why), "%s", err.msg);
	part = add_part(support, "journal.txt", "the last lines of gover-d in the journal");
	if (support_host_journal(&part->text, &err) < 0) {
		snprintf(part->why, sizeof(part->why), "%s", err.msg);
		part->text = NULL;
	}
	part = add_part(support, "host.txt", "kernel, system, processors, memory");
	if (support_host_system(&part->text, &err) < 0)
		snprintf(part->why, sizeof(part->why), "%s", err.msg);
}

static int learn(struct support *support)
{
	char host[256] = "";
	int r = 0;

	for (size_t i = 0; r == 0 && i < support->n_parts; i++)
		r = redact_learn_json(support->redact, support->parts[i].json);
	for (size_t i = 0; r == 0 && i < support->n_parts; i++)
		if (support->parts[i].text)
			r = redact_learn_text(support->redact, support->parts[i].text);
	if (gethostname(host, sizeof(host) - 1) == 0 && strcmp(host, "localhost") != 0 && r == 0)
		r = redact_learn(support->redact, REDACT_HOST, host);
	return r;
}

/* The caller frees it. NULL: out of memory. */
static char *redacted(const struct support *support, const struct part *part)
{
	json_t *json;
	char *text;

	if (part->text)
		return redact_text(support->redact, part->text);
	json = redact_json(support->redact, part->json);
	text = json ? json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
	json_decref(json);
	return text;
}

static int write_part(struct support *support, struct tarball *tarball, const char *name,
		      const char *text, struct err *reterr)
{
	char path[128];

	if (!text)
		return err_fail(reterr, ENOMEM, "out of memory");
	snprintf(path, sizeof(path), FOLDER "%s", name);
	return tarball_add(tarball, path, support->now_s, text, strlen(text), reterr);
}

/* The archive's own list: what is in it, what is not and why, what was taken out. */
static char *make_contents(const struct support *support)
{
	char *text = NULL, when[64] = "";
	time_t now = (time_t)support->now_s;
	size_t length;
	struct tm tm;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(out, "Made by gover-ctl " GOVER_VERSION " support at %s.\n%s\nIn this archive:\n",
		when, support->reached ? "" : "No daemon was reached.\n");
	for (size_t i = 0; i < support->n_parts; i++)
		if (!support->parts[i].why[0])
			fprintf(out, "  %-15s %7zu bytes  %s\n", support->parts[i].name,
				support->parts[i].length, support->parts[i].what);
	fputs("\nLeft out:\n", out);
	for (size_t i = 0; i < support->n_parts; i++) {
		CLEANUP_FREE char *why = redact_text(support->redact, support->parts[i].why);

		if (support->parts[i].why[0])
			fprintf(out, "  %-15s %s\n", support->parts[i].name, why ? why : "");
	}
	fputs("  history, contracts' prices, audit: never in it\n\n"
	      "Taken out: tokens, passwords, user information, paths and queries of URLs "
	      "(REDACTED).\n",
	      out);
	if (support->names)
		fprintf(out,
			"Pseudonyms stand for %d VMs, %d vGPUs, %d labels with %d values, and "
			"this host's name: the same one for the same name, in every file.\n",
			redact_count(support->redact, REDACT_VM),
			redact_count(support->redact, REDACT_VGPU),
			redact_count(support->redact, REDACT_LABEL),
			redact_count(support->redact, REDACT_VALUE));
	else
		fputs("Names were left as they are (--no-redact).\n", out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static int write_parts(struct support *support, struct tarball *tarball, struct err *reterr)
{
	CLEANUP_FREE char *contents = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < support->n_parts; i++) {
		struct part *part = &support->parts[i];
		CLEANUP_FREE char *text = NULL;

		if (part->why[0])
			continue;
		text = redacted(support, part);
		part->length = text ? strlen(text) : 0;
		r = write_part(support, tarball, part->name, text, reterr);
	}
	if (r < 0)
		return r;
	contents = make_contents(support);
	return write_part(support, tarball, "CONTENTS.txt", contents, reterr);
}

static int write_archive(struct support *support, const char *path, struct err *reterr)
{
	struct tarball *tarball;
	int r = tarball_new(path, &tarball, reterr);

	if (r < 0)
		return r;
	r = write_parts(support, tarball, reterr);
	if (r == 0)
		return tarball_finish(tarball, reterr);
	tarball_abandon(tarball);
	return r;
}

static json_t *make_answer(const struct support *support, const char *path)
{
	json_t *files = json_array(), *left_out = json_array();

	for (size_t i = 0; i < support->n_parts; i++) {
		const struct part *part = &support->parts[i];

		if (part->why[0])
			(void)json_array_append_new(
				left_out,
				json_pack("{s:s, s:s}", "name", part->name, "why", part->why));
		else
			(void)json_array_append_new(files,
						    json_pack("{s:s, s:I}", "name", part->name,
							      "bytes", (json_int_t)part->length));
	}
	return json_pack("{s:s, s:b, s:b, s:o, s:o}", "file", path, "daemon", support->reached,
			 "names_redacted", support->names, "files", files, "left_out", left_out);
}

/* What was done; nothing where the archive itself is on standard output. */
static void tell(const struct support *support, const char *path)
{
	const struct writer *writer = &support->ctl->writer;

	if (strcmp(path, "-") == 0)
		return;
	if (writer->json) {
		json_t *answer = make_answer(support, path);

		writer_json(writer, answer);
		json_decref(answer);
		return;
	}
	if (!support->reached)
		writer_line(writer, "No daemon was reached: %s", support->parts[0].why);
	for (size_t i = 0; support->reached && i < support->n_parts; i++)
		if (support->parts[i].why[0])
			writer_line(writer, "left out: %s: %s", support->parts[i].name,
				    support->parts[i].why);
	writer_line(writer,
		    "%s is written. %s; CONTENTS.txt in it tells what is there and what is "
		    "not. Look at it before you give it away.",
		    path,
		    support->names ? "Names of VMs, vGPUs and labels are pseudonyms"
				   : "Names are as they are");
}

static void default_path(int64_t now_s, char path[64])
{
	time_t now = (time_t)now_s;
	struct tm tm;

	if (!gmtime_r(&now, &tm) ||
	    strftime(path, 64, "gover-support-%Y%m%dT%H%M%SZ.tar.gz", &tm) == 0)
		strcpy(path, "gover-support.tar.gz");
}

static void fini(struct support *support)
{
	for (size_t i = 0; i < support->n_parts; i++) {
		json_decref(support->parts[i].json);
		free(support->parts[i].text);
	}
	redact_free(support->redact);
}

enum ctl_exit verb_support(struct ctl *ctl, const struct args *args)
{
	struct support support = {
		.ctl = ctl,
		.names = !args_has(args, OPTION_NO_REDACT),
		.now_s = (int64_t)time(NULL),
	};
	char path_text[64];
	const char *path = args->n_words > 0 ? args->words[0] : path_text;
	struct err err = {.msg = ""};
	int r = ctl_open_client(ctl, &err);

	default_path(support.now_s, path_text);
	if (r < 0)
		return ctl_fail(ctl_exit_code(r), "%s", err.msg);
	if (strcmp(path, "-") == 0 && (ctl->writer.tty || ctl->writer.json))
		return ctl_fail(CTL_USAGE, "support: an archive cannot be on standard output %s",
				ctl->writer.json ? "beside --json" : "where that is a terminal");
	support.redact = redact_new(support.names);
	if (!support.redact)
		return ctl_fail(CTL_FAILED, "out of memory");
	collect(&support);
	r = learn(&support);
	r = r < 0 ? err_fail(&err, -r, "out of memory") : write_archive(&support, path, &err);
	if (r == 0)
		tell(&support, path);
	fini(&support);
	return r < 0 ? ctl_fail(CTL_FAILED, "support: %s", err.msg) : CTL_DONE;
}
