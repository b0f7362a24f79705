/* SPDX-License-Identifier: MIT */
/*
 * Reads a configuration file and its drop-ins, and finds all their faults, with file and line. If a
 * section has a fault, rules about several keys are not reported for that section, because the
 * fault may be the cause.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/inifile.h"
#include "base/xalloc.h"
#include "gover-d/config/table.h"

#define FILE_BYTES_MAX (256 * 1024)
/*
 * Limit of stored places: the positions of keys and faults in the files. In a configuration with
 * more keys and faults, a fault may be reported without a line.
 */
#define PLACES_MAX 1024

/* The sections of one kind that the files contain. */
struct named_sections {
	bool replaced; /* a section of a file has replaced the default sections */
	/* for each section: number of the last file that contains the section */
	int file[CONFIG_SECTIONS_MAX];
};

struct place {
	char title[CONFIG_TITLE_MAX], key[32]; /* @key is "" for the place of a fault */
	const char *file;
	int line;
};

struct file_name {
	struct file_name *next;
	char path[];
};

struct loader {
	struct config *config;
	struct named_sections named[CONFIG_KINDS];
	int file;		      /* number of the current file, from 1 */
	const char *path;	      /* path of the current file */
	char title[CONFIG_TITLE_MAX]; /* title of the current section */
	/* NULL: stops at the first fault. The members below are then not used. */
	const struct config_faults *faults;
	struct file_name *files; /* the files read so far */
	struct place *places;
	int n_places, n_faults;
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

static void remember_place(struct loader *l, int line, const char *key)
{
	int n = l->n_places;

	if (n == PLACES_MAX)
		return;
	if ((n & (n - 1)) == 0) /* full: the size is the next power of two */
		l->places = xreallocarray(l->places, n ? 2 * (size_t)n : 1, sizeof(*l->places));
	l->places[n] = (struct place){.file = l->path, .line = line};
	memcpy(l->places[n].title, l->title, sizeof(l->title));
	snprintf(l->places[n].key, sizeof(l->places[n].key), "%s", key);
	l->n_places++;
}

static void report(struct loader *l, const char *file, int line, const char *text)
{
	l->n_faults++;
	l->faults->fault(l->faults->userdata, file, line, text);
}

static void take_fault(void *userdata, int line, const char *why)
{
	struct loader *l = userdata;

	remember_place(l, line, "");
	report(l, l->path, line, why);
}

static void take_key(void *userdata, const struct setting *setting, int line)
{
	remember_place(userdata, line, setting->key);
}

/* Makes @path, a file or a folder, the current file. */
static void enter_file(struct loader *l, const char *path)
{
	size_t size = strlen(path) + 1;
	struct file_name *name;

	l->file++;
	l->path = path;
	l->title[0] = '\0';
	if (!l->faults)
		return;
	name = xmalloc(sizeof(*name) + size);
	memcpy(name->path, path, size);
	name->next = l->files;
	l->files = name;
	l->path = name->path;
}

static int read_file(struct loader *l, const char *path, struct err *reterr)
{
	const struct inifile_reader reader = {
		.at = config_key_at,
		.userdata = l,
		.enter = enter_section,
		.fault = l->faults ? take_fault : NULL,
		.seen = l->faults ? take_key : NULL,
	};
	struct err why = {.msg = ""};
	int r;

	enter_file(l, path);
	if (l->faults && l->faults->file)
		l->faults->file(l->faults->userdata, path);
	r = inifile_read(path, FILE_BYTES_MAX, &reader, &why);
	l->title[0] = '\0';
	/*
	 * Faults in a line were reported through take_fault(). This message concerns the whole file
	 * and starts with "PATH: ".
	 */
	if (r < 0 && l->faults && why.msg[0])
		take_fault(l, 0, why.msg + strlen(path) + strlen(": "));
	return r < 0 ? err_fail(reterr, -r, "%s", why.msg) : 0;
}

static int is_drop_in(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot && strcmp(dot, ".conf") == 0;
}

/*
 * Reads all drop-ins in the order of their names. Stops at the first fault; with l->faults,
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
		enter_file(l, folder);
		if (l->faults)
			take_fault(l, 0, strerror(n));
		return err_fail(reterr, n, "%s: cannot be read: %s", folder, strerror(n));
	}
	for (int i = 0; i < n; i++) {
		int one = 0;

		snprintf(file, sizeof(file), "%s/%s", folder, entries[i]->d_name);
		if (r == 0 || l->faults)
			one = read_file(l, file, reterr);
		r = r < 0 ? r : one;
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int load(struct loader *l, const char *path, struct err *reterr)
{
	const char *main_file = path ? path : CONFIG_PATH_DEFAULT;
	int r = 0, drop_ins = 0;

	if (path || access(main_file, F_OK) == 0)
		r = read_file(l, main_file, reterr);
	if (r == 0 || l->faults)
		drop_ins = read_drop_ins(l, main_file, reterr);
	return r < 0 ? r : drop_ins;
}

int config_load(struct config *config, const char *path, struct err *reterr)
{
	CLEANUP_FREE struct config *copy = xmalloc(sizeof(*copy));
	struct loader l = {.config = copy};
	int r;

	*copy = *config;
	r = load(&l, path, reterr);
	if (r < 0)
		return r;
	*config = *copy;
	return 0;
}

/* --- faults of rules about several keys --- */

/*
 * @text is the message of a rule about several keys. Returns true if another fault may be the cause
 * of this message: a fault in a section that @text names, in [daemon], or before the first section.
 */
static bool is_doubtful(const struct loader *l, const char *text)
{
	char title[CONFIG_TITLE_MAX + 2];

	for (int i = 0; i < l->n_places; i++) {
		if (l->places[i].key[0])
			continue;
		snprintf(title, sizeof(title), "[%s]", l->places[i].title);
		if (strstr(text, title) || strcmp(title, "[daemon]") == 0 || title[1] == ']')
			return true;
	}
	return false;
}

/*
 * Returns the last place that sets the key named at the start of @text ("[TITLE] KEY = ..."); NULL:
 * unknown.
 */
static const struct place *find_place(const struct loader *l, const char *text)
{
	const struct place *found = NULL;
	char head[CONFIG_TITLE_MAX + sizeof(((struct place *)NULL)->key) + 4];

	for (int i = 0; i < l->n_places; i++) {
		const struct place *place = &l->places[i];

		snprintf(head, sizeof(head), "[%s] %s ", place->title, place->key);
		if (place->key[0] && strncmp(text, head, strlen(head)) == 0)
			found = place;
	}
	return found;
}

static void take_check(void *userdata, const char *text)
{
	struct loader *l = userdata;
	const struct place *place = find_place(l, text);

	if (!is_doubtful(l, text))
		report(l, place ? place->file : NULL, place ? place->line : 0, text);
}

int config_find_faults(const char *path, const struct config_faults *faults)
{
	CLEANUP_FREE struct config *config = xmalloc(sizeof(*config));
	struct loader l = {.config = config, .faults = faults};
	struct file_name *next;

	config_default(config);
	(void)load(&l, path, NULL); /* the faults are reported */
	config_check_all(config, take_check, &l);
	for (; l.files; l.files = next) {
		next = l.files->next;
		free(l.files);
	}
	free(l.places);
	return l.n_faults;
}
