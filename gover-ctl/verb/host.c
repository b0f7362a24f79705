/* SPDX-License-Identifier: MIT */
/*
 * The verbs `config check` and `support`, which run other programs of this host.
 * `config check` prints all faults that gover-d --check-config finds. It needs no running daemon.
 * Without FILE it checks the files of the unit or of the running daemon, and compares the time of
 * their last change with the time when the daemon read them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "base/xalloc.h"
#include "gover-ctl/shared/program.h"
#include "gover-ctl/shared/unit.h"
#include "gover-ctl/verb/host.h"

#define DAEMON_TIMEOUT_MS 2000L
#define SOS_PACKAGE	  "sosreport"

struct check {
	const struct writer *writer;
	const json_t *files, *faults;
	int64_t read_ms;	/* when the running daemon read the files; 0: unknown */
	char changed[PATH_MAX]; /* a file that was changed later; "": none */
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
	if (check->read_ms && !check->changed[0] && changed_ms(path) > check->read_ms)
		snprintf(check->changed, sizeof(check->changed), "%s", path);
}

static void print_fault(const json_t *fault)
{
	const char *file = field_text(fault, "file"), *text = field_text(fault, "text");
	double line = field_number(fault, "line");

	if (file[0] && line > 0)
		(void)ctl_fail(CTL_FAILED, "%s:%.0f: %s", file, line, text);
	else if (file[0])
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

/*
 * Examines the installation; the daemon on the unix socket is asked, if it answers soon. @reply is
 * its answer, to which @installation refers.
 */
static void find_installation(struct ctl *ctl, struct reply *reply,
			      struct installation *installation)
{
	const struct client_call call = {.method = "GET", .path = "/v1/host"};
	int r = -ENOTCONN;

	if (!ctl->url && ctl_open_client(ctl, NULL) == 0) {
		client_set_timeout(ctl->client, DAEMON_TIMEOUT_MS);
		r = ctl_try_request(ctl, &call, reply, NULL);
	}
	installation_examine(r == 0 ? reply->json : NULL, installation);
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

/* Prints what the running daemon does not use yet. */
static void print_pending(const struct check *check, const struct installation *i, int faults)
{
	const bool unit = i->source == INSTALLATION_UNIT;
	const char *restart = faults ? "a restart would fail with these faults"
			      : unit ? "restart it: sudo systemctl restart gover-d"
				     : "restart it";
	const char *reload = faults ? "a reload would fail with these faults"
			     : unit ? "reload it: sudo systemctl reload gover-d"
				    : "reload it with SIGHUP";
	const json_t *key;
	size_t at;

	json_array_foreach (i->restart_keys, at, key) {
		writer_line(check->writer, "%s has changed: gover-d uses it after a restart",
			    json_string_value(key));
	}
	if (i->config_differs)
		writer_line(check->writer,
			    "the running gover-d reads %s, not the file of the unit: %s",
			    i->running[0] ? i->running : CONFIG_PATH_DEFAULT, restart);
	else if (check->changed[0])
		writer_line(check->writer, "gover-d has not read the last change of %s: %s",
			    check->changed, reload);
	else if (check->read_ms)
		writer_line(check->writer, "gover-d has read the last change of these files");
}

static json_t *encode_reload(const struct check *check)
{
	return check->read_ms ? json_boolean(check->changed[0]) : json_null();
}

/* A file that the daemon has not read may have changed keys that need a restart. */
static json_t *encode_restart(const struct check *check, const struct installation *i)
{
	if (!check->read_ms)
		return json_null();
	return json_boolean(i->config_differs || check->changed[0] ||
			    json_array_size(i->restart_keys) > 0);
}

/* Prints the faults, or the files if there are none, and whether a reload or restart is needed. */
static void print_text(const struct check *check, const char *path,
		       const struct installation *found)
{
	int n = (int)json_array_size(check->faults);
	const json_t *fault;
	size_t i;

	json_array_foreach (check->faults, i, fault) {
		print_fault(fault);
	}
	if (n == 0)
		print_good(check, path);
	print_pending(check, found, n);
}

enum ctl_exit verb_config_check(struct ctl *ctl, const struct args *args)
{
	const char *file = args->n_words > 0 ? args->words[0] : NULL, *path;
	CLEANUP_REPLY struct reply reply = {0};
	struct installation found = {.pid = 0};
	struct check check = {.writer = &ctl->writer};
	const char *argv[] = {"gover-d", "--check-config", "--json", NULL, NULL, NULL};
	json_t *answer;
	const json_t *name;
	struct err err;
	bool ok;
	size_t i;

	if (!file)
		find_installation(ctl, &reply, &found);
	path = file ? file : installation_config(&found);
	check.read_ms = found.read_ms;
	if (!file && !ctl->writer.json)
		print_source(&ctl->writer, &found);
	if (file || found.config[0]) {
		argv[3] = "--config";
		argv[4] = path;
	}
	answer = program_read_json(argv, &err);
	if (!answer)
		return ctl_fail(CTL_FAILED, "%s", err.msg);
	check.files = json_object_get(answer, "files");
	check.faults = json_object_get(answer, "faults");
	json_array_foreach (check.files, i, name) {
		note_change(&check, json_string_value(name));
	}
	note_folder(&check, path);
	ok = json_array_size(check.faults) == 0;
	if (ctl->writer.json) {
		(void)json_object_update_new(
			answer, json_pack("{s:b, s:s, s:s, s:o, s:o}", "ok", ok, "path", path,
					  "source", file ? "argument" : source_names[found.source],
					  "reload_needed", encode_reload(&check), "restart_needed",
					  encode_restart(&check, &found)));
		writer_json(&ctl->writer, answer);
	} else {
		print_text(&check, path, &found);
	}
	json_decref(answer);
	return ok ? CTL_DONE : CTL_FAILED;
}

/* Runs sos with the plug-in dist/sos/gover.py. */
enum ctl_exit verb_support(struct ctl *ctl, const struct args *args)
{
	static const char *const first[] = {"sos", "report", "--batch", "-o", "gover"};
	char **argv = xcalloc(ARRAY_SIZE(first) + (size_t)args->n_words + 1, sizeof(*argv));

	memcpy(argv, first, sizeof(first));
	memcpy(argv + ARRAY_SIZE(first), args->words, (size_t)args->n_words * sizeof(*argv));
	if (ctl->socket && setenv("GOVER_SOCKET", ctl->socket, 1) < 0)
		return ctl_fail(CTL_FAILED, "support: GOVER_SOCKET: %s", strerror(errno));
	execvp(argv[0], argv);
	free(argv);
	if (errno != ENOENT)
		return ctl_fail(CTL_FAILED, "support: sos: %s", strerror(errno));
	return ctl_fail(CTL_FAILED,
			"support: sos is not installed (install the package " SOS_PACKAGE
			", then run as root: sos report -o gover)");
}
