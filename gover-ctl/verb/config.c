/* SPDX-License-Identifier: MIT */
/*
 * `config check`: reads a configuration as gover-d does and prints all faults. Needs no daemon.
 * Without FILE it checks the files of the unit or of the running daemon, and compares the time of
 * their last change with the start of the daemon.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "gover-ctl/installation.h"
#include "gover-ctl/verb/verbs.h"
#include "gover-d/config/config.h"

#define DAEMON_TIMEOUT_MS 2000L

struct check {
	const struct writer *writer;
	json_t *files, *faults;
	int64_t started_ms;	/* start of the running daemon; 0: unknown */
	char changed[PATH_MAX]; /* a file that was changed after this start; "": none */
};

static int64_t changed_ms(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0;
	return (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
}

static void note_change(struct check *check, const char *path)
{
	if (check->started_ms && !check->changed[0] && changed_ms(path) > check->started_ms)
		snprintf(check->changed, sizeof(check->changed), "%s", path);
}

static void take_file(void *userdata, const char *file)
{
	struct check *check = userdata;

	note_change(check, file);
	(void)json_array_append_new(check->files, json_string(file));
}

static void take_fault(void *userdata, const char *file, int line, const char *text)
{
	struct check *check = userdata;

	(void)json_array_append_new(check->faults,
				    json_pack("{s:s?, s:o, s:s}", "file", file, "line",
					      line > 0 ? json_integer(line) : json_null(), "text",
					      text));
	if (check->writer->json)
		return;
	if (file && line > 0)
		(void)ctl_fail(CTL_FAILED, "%s:%d: %s", file, line, text);
	else if (file)
		(void)ctl_fail(CTL_FAILED, "%s: %s", file, text);
	else
		(void)ctl_fail(CTL_FAILED, "%s", text);
}

static void print_good(const struct check *check, const char *path)
{
	const json_t *file;
	size_t i;

	if (json_array_size(check->files) == 0)
		writer_line(check->writer,
			    "%s: no such file, and no drop-ins: gover-d starts with its defaults",
			    path);
	json_array_foreach (check->files, i, file) {
		writer_line(check->writer, "%s: valid", json_string_value(file));
	}
}

/* --- without FILE --- */

static const char *const source_names[] = {
	[INSTALLATION_DEFAULT] = "default",
	[INSTALLATION_UNIT] = "unit",
	[INSTALLATION_PROCESS] = "process",
};

/* Examines the installation; the daemon on the unix socket is asked, if it answers soon. */
static void find_installation(struct ctl *ctl, struct installation *installation)
{
	const struct client_call call = {.method = "GET", .path = "/v1/host"};
	CLEANUP_REPLY struct reply reply = {0};
	int r = -ENOTCONN;

	if (!ctl->url && ctl_open_client(ctl, NULL) == 0) {
		client_set_timeout(ctl->client, DAEMON_TIMEOUT_MS);
		r = ctl_try_request(ctl, &call, &reply, NULL);
	}
	installation_examine(r == 0 ? reply.json : NULL, installation);
}

static void print_source(const struct writer *writer, const struct installation *i)
{
	const char *path = installation_config(i);

	if (i->source == INSTALLATION_UNIT)
		writer_line(writer, "checking %s, the configuration of %s", path, UNIT_NAME);
	else if (i->source == INSTALLATION_PROCESS)
		writer_line(writer,
			    "checking %s, the configuration of the running gover-d (pid %d)", path,
			    (int)i->pid);
	else
		writer_line(writer,
			    "checking %s, the default: found neither %s nor a running gover-d",
			    path, UNIT_NAME);
}

/* Notes a drop-in that was added or removed. */
static void note_folder(struct check *check, const char *path)
{
	char folder[PATH_MAX];

	if (snprintf(folder, sizeof(folder), "%s.d", path) < (int)sizeof(folder))
		note_change(check, folder);
}

static void print_restart(const struct check *check, const struct installation *i, int faults)
{
	const char *cure = faults ? "a restart would fail with these faults"
			   : i->source == INSTALLATION_UNIT
				   ? "restart it: sudo systemctl restart gover-d"
				   : "restart it";

	if (i->config_differs)
		writer_line(check->writer,
			    "the running gover-d reads %s, not the file of the unit: %s",
			    i->running[0] ? i->running : CONFIG_PATH_DEFAULT, cure);
	else if (check->changed[0])
		writer_line(check->writer, "gover-d was started before the last change of %s: %s",
			    check->changed, cure);
	else if (check->started_ms)
		writer_line(check->writer,
			    "gover-d was started after the last change of these files");
}

static json_t *encode_restart(const struct check *check, const struct installation *i)
{
	if (!check->started_ms)
		return json_null();
	return json_boolean(i->config_differs || check->changed[0]);
}

enum ctl_exit verb_config_check(struct ctl *ctl, const struct args *args)
{
	const char *file = args->n_words > 0 ? args->words[0] : NULL;
	struct installation found = {.pid = 0};
	struct check check = {
		.writer = &ctl->writer, .files = json_array(), .faults = json_array()};
	const struct config_faults faults = {
		.userdata = &check, .file = take_file, .fault = take_fault};
	const char *path;
	json_t *answer;
	int n;

	if (!file)
		find_installation(ctl, &found);
	path = file ? file : installation_config(&found);
	check.started_ms = found.started_ms;
	if (!file && !ctl->writer.json)
		print_source(&ctl->writer, &found);
	n = config_find_faults(file || found.config[0] ? path : NULL, &faults);
	note_folder(&check, path);
	answer = json_pack("{s:b, s:o, s:o, s:s, s:s, s:o}", "ok", n == 0, "files", check.files,
			   "faults", check.faults, "path", path, "source",
			   file ? "argument" : source_names[found.source], "restart_needed",
			   encode_restart(&check, &found));
	if (n < 0 || !answer)
		n = (int)ctl_fail_memory();
	else if (ctl->writer.json)
		writer_json(&ctl->writer, answer);
	else if (n == 0)
		print_good(&check, path);
	if (answer && !ctl->writer.json)
		print_restart(&check, &found, n);
	json_decref(answer);
	return n == 0 ? CTL_DONE : CTL_FAILED;
}
