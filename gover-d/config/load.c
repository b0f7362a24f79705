/* SPDX-License-Identifier: MIT */
/* Reads a configuration file and its drop-ins. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/inifile.h"
#include "base/xalloc.h"
#include "gover-d/config/table.h"

#define FILE_BYTES_MAX (256 * 1024)

/* The sections of one kind that the files contain. */
struct named_sections {
	bool replaced; /* a section of a file has replaced the default sections */
	/* for each section: number of the last file that contains the section */
	int file[CONFIG_SECTIONS_MAX];
};

struct loader {
	struct config *config;
	struct named_sections named[CONFIG_KINDS];
	int file;			  /* number of the current file, from 1 */
	const char *path;		  /* path of the current file */
	char title[CONFIG_TITLE_MAX];	  /* title of the current section */
	const struct config_watch *watch; /* may be NULL */
};

static int enter_named(struct loader *l, const struct config_kind *kind, const char *name,
		       void **ret_base, struct err *reterr)
{
	struct named_sections *s = &l->named[kind - config_kinds];
	int n, i = 0;

	if (!id_valid(name))
		return err_fail(reterr, EINVAL,
				"[%s %.70s]: not a valid name of %s (allowed: 1 to %d characters "
				"of A-Z a-z 0-9 . _ - not starting with . or -)",
				kind->word, name, kind->noun, ID_MAX - 1);
	n = s->replaced ? config_kind_count(kind, l->config) : 0;
	s->replaced = true;
	while (i < n && strcmp(config_kind_name(kind, l->config, i), name) != 0)
		i++;
	if (i == kind->max)
		return err_fail(reterr, EINVAL, "[%s %s]: too many sections (allowed: up to %d)",
				kind->word, name, kind->max);
	if (i < n && s->file[i] == l->file)
		return err_fail(reterr, EINVAL, "[%s %s] is given twice", kind->word, name);
	*ret_base = (char *)l->config + kind->list_at + (size_t)i * kind->size;
	if (i == n)
		kind->set_default(*ret_base, name);
	config_kind_set_count(kind, l->config, i == n ? n + 1 : n);
	s->file[i] = l->file;
	return 0;
}

static int enter_section(void *userdata, const struct setting *first, const char *name, int line,
			 void **ret_base, struct err *reterr)
{
	struct loader *l = userdata;
	const struct config_kind *kind = config_kind_find(first);

	(void)line;
	if (kind && kind->default_name && name[0] == '\0')
		name = kind->default_name;
	snprintf(l->title, sizeof(l->title), "%.*s%s%s", (int)strcspn(first->section, " "),
		 first->section, name ? " " : "", name ? name : "");
	if (kind)
		return enter_named(l, kind, name, ret_base, reterr);
	*ret_base = l->config;
	return 0;
}

static void report_fault(void *userdata, int line, const char *why)
{
	const struct loader *l = userdata;

	l->watch->fault(l->watch->userdata, l->path, line, l->title, why);
}

static void report_seen(void *userdata, const struct setting *setting, int line)
{
	const struct loader *l = userdata;

	l->watch->seen(l->watch->userdata, l->path, line, l->title, setting->key);
}

static int read_file(struct loader *l, const char *path, struct err *reterr)
{
	const struct inifile_reader reader = {
		.at = config_key_at,
		.userdata = l,
		.enter = enter_section,
		.fault = l->watch ? report_fault : NULL,
		.seen = l->watch ? report_seen : NULL,
	};
	struct err why = {.msg = ""};
	int r;

	l->file++;
	l->path = path;
	l->title[0] = '\0';
	if (l->watch)
		l->watch->file(l->watch->userdata, path);
	r = inifile_read(path, FILE_BYTES_MAX, &reader, &why);
	/*
	 * Faults in a line were reported through report_fault(). This message concerns the whole
	 * file and starts with "PATH: ".
	 */
	if (r < 0 && l->watch && why.msg[0])
		l->watch->fault(l->watch->userdata, path, 0, "",
				why.msg + strlen(path) + strlen(": "));
	return r < 0 ? err_fail(reterr, -r, "%s", why.msg) : 0;
}

static int is_drop_in(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot && strcmp(dot, ".conf") == 0;
}

/*
 * Reads all drop-ins in the order of their names. Stops at the first fault; with l->watch,
 * continues after a fault.
 */
static int read_drop_ins(struct loader *l, const char *path, struct err *reterr)
{
	char folder[PATH_MAX], file[PATH_MAX + NAME_MAX + 2];
	struct dirent **entries = NULL;
	int n, r = 0;

	if (snprintf(folder, sizeof(folder), "%s.d", path) >= (int)sizeof(folder))
		return 0;
	n = scandir(folder, &entries, is_drop_in, alphasort);
	if (n < 0 && errno != ENOENT && errno != ENOTDIR) {
		n = errno;
		if (l->watch)
			l->watch->fault(l->watch->userdata, folder, 0, "", strerror(n));
		return err_fail(reterr, n, "%s: cannot be read: %s", folder, strerror(n));
	}
	for (int i = 0; i < n; i++) {
		int one = 0;

		snprintf(file, sizeof(file), "%s/%s", folder, entries[i]->d_name);
		if (r == 0 || l->watch)
			one = read_file(l, file, reterr);
		r = r < 0 ? r : one;
		free(entries[i]);
	}
	free(entries);
	return r;
}

int config_load_watched(struct config *config, const char *path, const struct config_watch *watch,
			struct err *reterr)
{
	const char *main_file = path ? path : CONFIG_PATH_DEFAULT;
	struct loader l = {.config = config, .watch = watch};
	int r = 0, drop_ins = 0;

	if (path || access(main_file, F_OK) == 0)
		r = read_file(&l, main_file, reterr);
	if (r == 0 || watch)
		drop_ins = read_drop_ins(&l, main_file, reterr);
	return r < 0 ? r : drop_ins;
}

int config_load(struct config *config, const char *path, struct err *reterr)
{
	CLEANUP_FREE struct config *copy = xmalloc(sizeof(*copy));
	int r;

	*copy = *config;
	r = config_load_watched(copy, path, NULL, reterr);
	if (r < 0)
		return r;
	*config = *copy;
	return 0;
}
