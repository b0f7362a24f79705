/* SPDX-License-Identifier: MIT */
/*
 * `support`: creates one archive for a bug report. First all parts are collected. Then the names to
 * be redacted are found in the parts. Finally each part is redacted.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json-text.h"
#include "gover-ctl/doctor/report.h"
#include "gover-ctl/field.h"
#include "gover-ctl/support/redact.h"
#include "gover-ctl/support/host.h"
#include "gover-ctl/support/tarball.h"
#include "gover-ctl/verb/verbs.h"

#define FOLDER	  "gover-support/"
#define PARTS_MAX 24

struct part {
	/* file name; NULL: not archived; read only to find the names to be redacted */
	const char *name;
	const char *what;
	json_t *json; /* content as JSON; NULL: @text is used */
	char *text;
	char why[ERR_MSG_MAX]; /* reason if the part is missing; "": the part is present */
	size_t length;	       /* bytes after redaction */
};

struct support {
	struct ctl *ctl;
	struct redact *redact;
	struct part parts[PARTS_MAX];
	size_t n_parts;
	bool names; /* true: replace names by pseudonyms */
	bool reached;
	int64_t now_s;
};

static const struct question {
	const char *name, *path, *what;
	bool text; /* true: the reply is not JSON */
} questions[] = {
	{"status.json", "/v1/host", "status of the daemon", false},
	{"gpus.json", "/v1/gpus", "GPUs", false},
	{"vgpus.json", "/v1/vgpus", "vGPUs", false},
	{"alerts.json", "/v1/alerts?all=true", "active and cleared alerts", false},
	{"decisions.json", "/v1/decisions?limit=1000", "latest decisions with their reasons",
	 false},
	{"offers.json", "/v1/offers?all=true", "offers", false},
	{"policy.json", "/v1/policy", "parameters in force and in the configuration files", false},
	{"metrics.txt", "/metrics", "metrics for Prometheus", true},
	/*
	 * These replies are not archived. They are read only to find the names to be redacted, and
	 * need the scope admin.
	 */
	{NULL, "/v1/tokens", NULL, false},
	{NULL, "/v1/audit?limit=1000", NULL, false},
};

static struct part *add_part(struct support *support, const char *name, const char *what)
{
	struct part *part = &support->parts[support->n_parts++];

	part->name = name;
	part->what = what;
	return part;
}

static bool is_included(const struct part *part)
{
	return part->name && !part->why[0];
}

static bool is_left_out(const struct part *part)
{
	return part->name && part->why[0];
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

static void add_version(struct support *support)
{
	struct part *part = add_part(support, "version.txt", "versions of gover-ctl and gover-d");
	const char *daemon = field_text(host_of(support), "version");

	if (asprintf(&part->text, "gover-ctl %s\ngover-d %s\n", GOVER_VERSION,
		     daemon[0] ? daemon : "not reached") < 0)
		part->text = NULL;
}

static void collect(struct support *support)
{
	struct part *part;
	struct err err;
	double pid;

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
		ask(support, &questions[i]);
	add_version(support);
	part = add_part(support, "doctor.json", "result of gover-ctl doctor");
	part->json =
		doctor_report(&(struct doctor_daemon){.where = client_address(support->ctl->client),
						      .over_socket = !support->ctl->url,
						      .host = host_of(support),
						      .no_answer = support->parts[0].why},
			      /* anonymous= */ true);
	part = add_part(support, "config.json", "configuration, with the defaults of missing keys");
	pid = field_number(host_of(support), "pid");
	if (support_host_config(pid > 0 ? (long)pid : 0, &part->json,
				&add_part(support, NULL, NULL)->json, &err) < 0)
		snprintf(part->why, sizeof(part->why), "%s", err.msg);
	part = add_part(support, "journal.json", "last journal entries of gover-d");
	if (support_host_journal(&part->json, &err) < 0)
		snprintf(part->why, sizeof(part->why), "%s", err.msg);
	part = add_part(support, "host.txt", "kernel, operating system, processors, memory");
	if (support_host_system(&part->text, &err) < 0)
		snprintf(part->why, sizeof(part->why), "%s", err.msg);
}

static int learn(struct support *support)
{
	char host[256] = "";
	int r = 0;

	for (size_t i = 0; r == 0 && i < support->n_parts; i++)
		r = redact_learn_json(support->redact, support->parts[i].json);
	if (gethostname(host, sizeof(host) - 1) == 0 && strcmp(host, "localhost") != 0 && r == 0)
		r = redact_learn(support->redact, REDACT_HOST, host);
	return r;
}

/* Returns the redacted content of a part, which the caller frees. NULL: out of memory. */
static char *redacted(const struct support *support, const struct part *part)
{
	json_t *json;
	char *text;

	if (part->text)
		return redact_text(support->redact, part->text);
	json = redact_json(support->redact, part->json);
	text = json_text_print(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
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

/*
 * Returns the text of CONTENTS.txt: the parts, the missing parts with the reasons, and a summary of
 * the redaction. NULL: out of memory.
 */
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
	fprintf(out,
		"Support archive, created by gover-ctl " GOVER_VERSION
		" at %s.\n%s\nIn this archive:\n",
		when, support->reached ? "" : "The daemon was not reached.\n");
	for (size_t i = 0; i < support->n_parts; i++)
		if (is_included(&support->parts[i]))
			fprintf(out, "  %-15s %7zu bytes  %s\n", support->parts[i].name,
				support->parts[i].length, support->parts[i].what);
	fputs("\nLeft out:\n", out);
	for (size_t i = 0; i < support->n_parts; i++) {
		CLEANUP_FREE char *why = redact_text(support->redact, support->parts[i].why);

		if (is_left_out(&support->parts[i]))
			fprintf(out, "  %-15s %s\n", support->parts[i].name, why ? why : "");
	}
	fputs("  history, prices of contracts, audit: never included\n\n"
	      "Replaced by REDACTED: tokens, passwords, and the user, path and query of URLs.\n",
	      out);
	fputs(support->names
		      ? "Replaced by pseudonyms (equal names have equal pseudonyms in all files):"
		      : "Names and addresses are unchanged (--no-redact).",
	      out);
	for (int i = 0; support->names && i < REDACT_KINDS; i++)
		fprintf(out, " %s: %d%s", redact_kind_name((enum redact_kind)i),
			redact_count(support->redact, (enum redact_kind)i),
			i + 1 < REDACT_KINDS ? "," : ".");
	fputc('\n', out);
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

		if (!is_included(part))
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

		if (is_left_out(part))
			(void)json_array_append_new(
				left_out,
				json_pack("{s:s, s:s}", "name", part->name, "why", part->why));
		else if (part->name)
			(void)json_array_append_new(files,
						    json_pack("{s:s, s:I}", "name", part->name,
							      "bytes", (json_int_t)part->length));
	}
	return json_pack("{s:s, s:b, s:b, s:o, s:o}", "file", path, "daemon", support->reached,
			 "names_redacted", support->names, "files", files, "left_out", left_out);
}

/* Prints the result, unless the archive was written to standard output. */
static void print_result(const struct support *support, const char *path)
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
		writer_line(writer, "The daemon was not reached: %s", support->parts[0].why);
	for (size_t i = 0; support->reached && i < support->n_parts; i++)
		if (is_left_out(&support->parts[i]))
			writer_line(writer, "left out: %s: %s", support->parts[i].name,
				    support->parts[i].why);
	writer_line(writer,
		    "archive %s: %s; review the archive before you share it (CONTENTS.txt lists "
		    "its parts)",
		    path,
		    support->names ? "names and addresses are replaced by pseudonyms"
				   : "names and addresses are unchanged");
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
		return ctl_fail(
			CTL_USAGE, "support: archive cannot be written to standard output: %s",
			ctl->writer.json ? "--json is set" : "standard output is a terminal");
	support.redact = redact_new(support.names);
	if (!support.redact)
		return ctl_fail(CTL_FAILED, "out of memory");
	collect(&support);
	r = learn(&support);
	r = r < 0 ? err_fail(&err, -r, "out of memory") : write_archive(&support, path, &err);
	if (r == 0)
		print_result(&support, path);
	fini(&support);
	return r < 0 ? ctl_fail(CTL_FAILED, "support: %s", err.msg) : CTL_DONE;
}
