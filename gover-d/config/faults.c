/* SPDX-License-Identifier: MIT */
/*
 * Finds all faults of a configuration, with file and line. If a section has a fault, rules about
 * several keys are not reported for that section, because the fault may be the cause.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "gover-d/config/table.h"

/*
 * Limit of stored places: the positions of keys and faults in the files. In a configuration with
 * more keys and faults, a fault may be reported without a line.
 */
#define PLACES_MAX 1024

struct place {
	char title[CONFIG_TITLE_MAX], key[32]; /* @key is "" for the place of a fault */
	const char *file;		       /* in finder.files */
	int line;
};

struct file_name {
	struct file_name *next;
	char path[];
};

struct finder {
	const struct config_faults *faults;
	struct place *places;	 /* room for @room places */
	struct file_name *files; /* the files read so far */
	const char *file;	 /* the current file */
	int n_places, room, n;
};

static void take_file(void *userdata, const char *file)
{
	struct finder *finder = userdata;
	size_t size = strlen(file) + 1;
	struct file_name *name = xmalloc(sizeof(*name) + size);

	memcpy(name->path, file, size);
	name->next = finder->files;
	finder->files = name;
	finder->file = name->path;
	if (finder->faults->file)
		finder->faults->file(finder->faults->userdata, file);
}

/* Returns a new place; NULL: too many places. */
static struct place *add_place(struct finder *finder)
{
	if (finder->n_places == PLACES_MAX)
		return NULL;
	if (finder->n_places == finder->room) {
		finder->room = finder->room ? 2 * finder->room : 32;
		finder->places = xreallocarray(finder->places, (size_t)finder->room,
					       sizeof(*finder->places));
	}
	return &finder->places[finder->n_places++];
}

static void remember_place(struct finder *finder, int line, const char *title, const char *key)
{
	struct place *place = add_place(finder);

	if (!place)
		return;
	place->line = line;
	snprintf(place->title, sizeof(place->title), "%s", title);
	snprintf(place->key, sizeof(place->key), "%s", key);
	place->file = finder->file;
}

static void report(struct finder *finder, const char *file, int line, const char *text)
{
	finder->n++;
	finder->faults->fault(finder->faults->userdata, file, line, text);
}

static void take_fault(void *userdata, const char *file, int line, const char *title,
		       const char *why)
{
	struct finder *finder = userdata;

	remember_place(finder, line, title, "");
	report(finder, file, line, why);
}

static void take_key(void *userdata, const char *file, int line, const char *title, const char *key)
{
	(void)file;
	remember_place(userdata, line, title, key);
}

/*
 * @text is the message of a rule about several keys. Returns true if another fault may be the cause
 * of this message: a fault in a section that @text names, in [daemon], or before the first section.
 */
static bool is_doubtful(const struct finder *finder, const char *text)
{
	char title[CONFIG_TITLE_MAX + 2];

	for (int i = 0; i < finder->n_places; i++) {
		if (finder->places[i].key[0])
			continue;
		snprintf(title, sizeof(title), "[%s]", finder->places[i].title);
		if (strstr(text, title) || strcmp(title, "[daemon]") == 0 || title[1] == ']')
			return true;
	}
	return false;
}

/*
 * Returns the last place that sets the key named at the start of @text ("[TITLE] KEY = ..."); NULL:
 * unknown.
 */
static const struct place *find_place(const struct finder *finder, const char *text)
{
	const struct place *found = NULL;
	char head[CONFIG_TITLE_MAX + sizeof(((struct place *)NULL)->key) + 4];

	for (int i = 0; i < finder->n_places; i++) {
		const struct place *place = &finder->places[i];

		snprintf(head, sizeof(head), "[%s] %s ", place->title, place->key);
		if (place->key[0] && strncmp(text, head, strlen(head)) == 0)
			found = place;
	}
	return found;
}

static void take_check(void *userdata, const char *text)
{
	struct finder *finder = userdata;
	const struct place *place = find_place(finder, text);

	if (!is_doubtful(finder, text))
		report(finder, place ? place->file : NULL, place ? place->line : 0, text);
}

static void free_files(struct file_name *name)
{
	while (name) {
		struct file_name *next = name->next;

		free(name);
		name = next;
	}
}

int config_find_faults(const char *path, const struct config_faults *faults)
{
	CLEANUP_FREE struct config *config = xmalloc(sizeof(*config));
	struct finder finder = {.faults = faults};
	const struct config_watch watch = {
		.userdata = &finder, .file = take_file, .fault = take_fault, .seen = take_key};

	config_default(config);
	(void)config_load_watched(config, path, &watch, NULL); /* the faults are reported */
	config_check_all(config, take_check, &finder);
	free_files(finder.files);
	free(finder.places);
	return finder.n;
}
