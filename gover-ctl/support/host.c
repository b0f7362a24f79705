/* SPDX-License-Identifier: MIT */
/* What a bug report tells of this machine. */
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
#include "gover-ctl/support/host.h"
#include "gover-d/config/config.h"

#define JOURNAL_LINES 1000
#define FILE_MAX      (64 * 1024)
#define UNIT	      "gover-d.service"

static int close_text(FILE *stream, char **text, struct err *reterr)
{
	if (fclose(stream) == 0)
		return 0;
	free(*text);
	*text = NULL;
	return err_fail(reterr, ENOMEM, "out of memory");
}

/* Lines of a file that begin with one of @keys; all without keys. */
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
	return close_text(out, ret_text, reterr);
}

static void put_entry(FILE *out, sd_journal *journal)
{
	char when[64] = "";
	const void *data;
	uint64_t time_us = 0;
	time_t seconds;
	struct tm tm;
	size_t length;
	const size_t prefix = strlen("MESSAGE=");

	if (sd_journal_get_data(journal, "MESSAGE", &data, &length) < 0 || length < prefix)
		return;
	(void)sd_journal_get_realtime_usec(journal, &time_us);
	seconds = (time_t)(time_us / 1000000);
	if (gmtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(out, "%s %.*s\n", when, (int)(length - prefix), (const char *)data + prefix);
}

/* Goes back so far and reads on to the end. Returns how many entries there were. */
static int put_journal(FILE *out, sd_journal *journal)
{
	int n = 0, r = sd_journal_add_match(journal, "_SYSTEMD_UNIT=" UNIT, 0);

	if (r >= 0)
		r = sd_journal_seek_tail(journal);
	if (r >= 0)
		r = sd_journal_previous_skip(journal, JOURNAL_LINES);
	while (r > 0) {
		put_entry(out, journal);
		n++;
		r = sd_journal_next(journal);
	}
	return r < 0 ? r : n;
}

int support_host_journal(char **ret_text, struct err *reterr)
{
	sd_journal *journal;
	size_t length;
	FILE *out;
	int n, r = sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);

	if (r < 0)
		return err_fail(reterr, -r, "the journal cannot be opened: %s", strerror(-r));
	out = open_memstream(ret_text, &length);
	n = out ? put_journal(out, journal) : -ENOMEM;
	sd_journal_close(journal);
	r = out ? close_text(out, ret_text, reterr) : err_fail(reterr, ENOMEM, "out of memory");
	if (r < 0 || n > 0)
		return r;
	free(*ret_text);
	if (n < 0)
		return err_fail(reterr, -n, "the journal cannot be read: %s", strerror(-n));
	return err_fail(reterr, ENODATA,
			"the journal has nothing of " UNIT " that you may read (root may, and "
			"members of systemd-journal)");
}

/* What stands behind --config on the command line of @pid. "": nothing, or it cannot be read. */
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
	if (!strstr(line,
		    "gover-d")) /* its number is another program's by now, or of another host */
		return;
	for (const char *word = line; word < line + n; word += strlen(word) + 1) {
		if (next || strncmp(word, "--config=", 9) == 0)
			snprintf(path, PATH_MAX, "%s", next ? word : word + 9);
		next = strcmp(word, "--config") == 0;
	}
}

static void put_fault(void *userdata, const char *file, int line, const char *text)
{
	fprintf(userdata, "# fault: %s:%d: %s\n", file ? file : "", line, text);
}

int support_host_config(long pid, char **ret_text, struct err *reterr)
{
	CLEANUP_FREE struct config *config = malloc(sizeof(*config));
	char path[PATH_MAX];
	const char *named;
	size_t length;
	FILE *out = open_memstream(ret_text, &length);
	struct err err;

	if (!config || !out) {
		if (out)
			fclose(out);
		return err_fail(reterr, ENOMEM, "out of memory");
	}
	config_of(pid, path);
	named = path[0] ? path : NULL;
	config_default(config);
	fprintf(out, "# As the files say it now, from %s; live changes are in policy.json.\n",
		named ? named : CONFIG_PATH_DEFAULT);
	if (config_load(config, named, &err) == 0)
		config_print(config, out);
	else
		(void)config_find_faults(
			named, &(struct config_faults){.userdata = out, .fault = put_fault});
	return close_text(out, ret_text, reterr);
}
