/* SPDX-License-Identifier: MIT */
/* Collects information about this host: system, journal, configuration. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json-text.h"
#include "gover-ctl/support/host.h"
#include "gover-ctl/field.h"
#include "gover-d/config/config.h"

#define JOURNAL_LINES 1000
#define FILE_MAX      (64 * 1024)
#define STATE_MAX     (16 * 1024 * 1024)
#define UNIT	      "gover-d.service"
/* MESSAGE_ID of journal entries about silences (dist/gover.catalog) */
#define SILENCE_ID "66ff3076e01d42d9b29c16ac3624a78b"

/* Copies to @out the lines of a file that begin with one of @keys; @keys NULL: all lines. */
static void put_file(FILE *out, const char *path, const char *const *keys)
{
	CLEANUP_FREE char *text = NULL;
	char *rest = NULL;
	size_t length;

	if (file_read(path, FILE_MAX, &text, &length) < 0)
		return;
	for (const char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		bool wanted = !keys;

		for (size_t i = 0; keys && keys[i]; i++)
			wanted = wanted || strncmp(line, keys[i], strlen(keys[i])) == 0;
		if (wanted)
			fprintf(out, "%s: %s\n", path, line);
	}
}

int support_host_system(char **ret_text, struct err *reterr)
{
	static const char *const os[] = {"PRETTY_NAME=", "VERSION_ID=", NULL};
	static const char *const memory[] = {"MemTotal:", "MemAvailable:", NULL};
	static const char *const modules[] = {"i915 ", "kvmgt ", "mdev ", "vfio_mdev ",
					      "kvm ",  "gover",	 NULL};
	struct utsname name;
	size_t length;
	FILE *out = open_memstream(ret_text, &length);

	if (!out)
		return err_fail(reterr, ENOMEM, "out of memory");
	if (uname(&name) == 0)
		fprintf(out, "kernel: %s %s %s %s\n", name.sysname, name.release, name.version,
			name.machine);
	put_file(out, "/etc/os-release", os);
	fprintf(out, "processors: %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
	put_file(out, "/proc/meminfo", memory);
	put_file(out, "/proc/loadavg", NULL);
	put_file(out, "/sys/fs/cgroup/cgroup.controllers", NULL);
	put_file(out, "/proc/modules", modules);
	return fclose(out) == 0 ? 0 : err_fail(reterr, ENOMEM, "out of memory");
}

static json_t *encode_entry(sd_journal *journal)
{
	static const char *const fields[][2] = {
		{"MESSAGE", "message"},	      {"PRIORITY", "priority"},
		{"MESSAGE_ID", "message_id"}, {"GOVER_GPU", "gpu"},
		{"GOVER_VGPU", "vgpu"},	      {"GOVER_VM", "vm"},
		{"GOVER_ALERT", "alert"},     {"GOVER_DECISION", "decision"},
	};
	json_t *entry = json_object();
	char when[64] = "";
	uint64_t time_us = 0;
	time_t seconds;
	struct tm tm;

	(void)sd_journal_get_realtime_usec(journal, &time_us);
	seconds = (time_t)(time_us / 1000000);
	if (gmtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	(void)json_object_set_new(entry, "time", json_string(when));
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const size_t prefix = strlen(fields[i][0]) + 1;
		const void *data;
		size_t length;

		if (sd_journal_get_data(journal, fields[i][0], &data, &length) == 0)
			(void)json_object_set_new(
				entry, fields[i][1],
				json_stringn((const char *)data + prefix, length - prefix));
	}
	/*
	 * Removes messages about silences: they contain a reason, which is free text of an
	 * operator. Names in free text cannot be recognised.
	 */
	if (strcmp(field_text(entry, "message_id"), SILENCE_ID) == 0)
		(void)json_object_del(entry, "message");
	return entry;
}

/* Returns the number of entries, or a negative errno. */
static int read_journal(sd_journal *journal, json_t *entries)
{
	int r = sd_journal_add_match(journal, "_SYSTEMD_UNIT=" UNIT, 0);

	if (r >= 0)
		r = sd_journal_seek_tail(journal);
	if (r >= 0)
		r = sd_journal_previous_skip(journal, JOURNAL_LINES);
	for (; r > 0; r = sd_journal_next(journal))
		(void)json_array_append_new(entries, encode_entry(journal));
	return r < 0 ? r : (int)json_array_size(entries);
}

int support_host_journal(json_t **ret_entries, struct err *reterr)
{
	sd_journal *journal;
	json_t *entries;
	int n, r = sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);

	if (r < 0)
		return err_fail(reterr, -r, "journal: cannot be opened: %s", strerror(-r));
	entries = json_array();
	n = read_journal(journal, entries);
	sd_journal_close(journal);
	if (n > 0) {
		*ret_entries = entries;
		return 0;
	}
	json_decref(entries);
	if (n < 0)
		return err_fail(reterr, -n, "journal: cannot be read: %s", strerror(-n));
	return err_fail(reterr, ENODATA,
			"journal: no readable entry of " UNIT " (readable by root and by members "
			"of systemd-journal)");
}

/*
 * Finds the argument of --config on the command line of @pid; "" if there is no such argument or if
 * the command line is unreadable.
 */
static void config_of(long pid, char path[PATH_MAX])
{
	char name[64], line[PATH_MAX];
	bool next = false;
	size_t n;
	FILE *file;

	path[0] = '\0';
	snprintf(name, sizeof(name), "/proc/%ld/cmdline", pid);
	file = pid > 0 ? fopen(name, "re") : NULL;
	if (!file)
		return;
	n = fread(line, 1, sizeof(line) - 1, file);
	line[n] = '\0';
	fclose(file);
	/* @pid is another program: the daemon has ended or runs on another host */
	if (!strstr(line, "gover-d"))
		return;
	for (const char *word = line; word < line + n; word += strlen(word) + 1) {
		if (next || strncmp(word, "--config=", 9) == 0)
			snprintf(path, PATH_MAX, "%s", next ? word : word + 9);
		next = strcmp(word, "--config") == 0;
	}
}

static void add_fault(void *userdata, const char *file, int line, const char *text)
{
	(void)json_array_append_new(userdata, json_pack("{s:s, s:i, s:s}", "file", file ? file : "",
							"line", line, "fault", text));
}

/*
 * Converts the lines of config_print() to objects: "[gpu gpu0]" becomes {"section": "gpu", "gpu":
 * "gpu0"}.
 */
static int encode_config(const struct config *config, json_t *sections)
{
	CLEANUP_FREE char *text = NULL;
	char *rest = NULL, key[64], value[512];
	json_t *section = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return -ENOMEM;
	config_print(config, out);
	if (fclose(out) != 0)
		return -ENOMEM;
	for (const char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		int n = sscanf(line, "[%63[a-z] %511[^]]", key, value);
		const char *set = strstr(line, " =");

		if (n > 0) {
			section = json_pack("{s:s}", "section", key);
			(void)json_array_append_new(sections, section);
		}
		if (n == 2)
			(void)json_object_set_new(section, key, json_string(value));
		else if (set && sscanf(line, "%63[a-z0-9_]", key) == 1)
			(void)json_object_set_new(section, key, json_string(set[2] ? set + 3 : ""));
	}
	return 0;
}

static json_t *read_state(const char *state_dir)
{
	static const char *const files[] = {"contracts.json", "tokens.json"};
	json_t *state = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		CLEANUP_FREE char *text = NULL;
		char path[PATH_MAX];
		size_t length;

		snprintf(path, sizeof(path), "%.160s/%s", state_dir, files[i]);
		if (file_read(path, STATE_MAX, &text, &length) == 0)
			(void)json_array_append_new(state, json_text_parse(text, length, 0, NULL));
	}
	return state;
}

int support_host_config(long pid, json_t **ret_sections, json_t **ret_state, struct err *reterr)
{
	CLEANUP_FREE struct config *config = malloc(sizeof(*config));
	json_t *sections = json_array();
	char path[PATH_MAX];
	const char *named;
	struct err err;
	int r = config ? 0 : -ENOMEM;

	config_of(pid, path);
	named = path[0] ? path : NULL;
	if (config)
		config_default(config);
	if (r == 0 && config_load(config, named, &err) == 0) {
		r = encode_config(config, sections);
		*ret_state = read_state(config->state_dir);
	} else if (r == 0) {
		(void)config_find_faults(
			named, &(struct config_faults){.userdata = sections, .fault = add_fault});
	}
	if (r == 0)
		*ret_sections = sections;
	else
		json_decref(sections);
	return r == 0 ? 0 : err_fail(reterr, ENOMEM, "out of memory");
}
