/* SPDX-License-Identifier: MIT */
/*
 * Everything that is wrong with a configuration, file by file and line by line. Must never tell a
 * fault that another one has made: where a section has one, what is said of its keys together is
 * left for the next time.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/config/table.h"

#define PLACES_MAX 1024 /* keys and faults that are remembered; the rest is told without a line */
#define TITLE_MAX  (ID_MAX + sizeof("flavor "))

struct place {
	char title[TITLE_MAX], key[32]; /* key "": a fault */
	char file[PATH_MAX];
	int line;
};

struct finder {
	const struct config_faults *faults;
	struct place *places;
	int n_places, n;
};

static void note_file(void *userdata, const char *file)
{
	const struct finder *finder = userdata;

	if (finder->faults->file)
		finder->faults->file(finder->faults->userdata, file);
}

static void note_place(struct finder *finder, const char *file, int line, const char *title,
		       const char *key)
{
	struct place *place = &finder->places[finder->n_places];

	if (finder->n_places == PLACES_MAX)
		return;
	finder->n_places++;
	place->line = line;
	snprintf(place->title, sizeof(place->title), "%s", title);
	snprintf(place->key, sizeof(place->key), "%s", key);
	snprintf(place->file, sizeof(place->file), "%s", file ? file : "");
}

static void tell(struct finder *finder, const char *file, int line, const char *text)
{
	finder->n++;
	finder->faults->fault(finder->faults->userdata, file, line, text);
}

static void take_fault(void *userdata, const char *file, int line, const char *title,
		       const char *why)
{
	struct finder *finder = userdata;

	note_place(finder, file, line, title, "");
	tell(finder, file, line, why);
}

static void take_key(void *userdata, const char *file, int line, const char *title, const char *key)
{
	note_place(userdata, file, line, title, key);
}

/* Does a sentence of several keys speak of a section that has a fault of its own, or may it come
 * from one that has? */
static bool is_doubtful(const struct finder *finder, const char *text)
{
	char title[TITLE_MAX + 2];

	for (int i = 0; i < finder->n_places; i++) {
		if (finder->places[i].key[0])
			continue;
		snprintf(title, sizeof(title), "[%s]", finder->places[i].title);
		if (strstr(text, title) || strcmp(title, "[daemon]") == 0 || title[1] == ']')
			return true;
	}
	return false;
}

/* Where the key stands that "[TITLE] KEY = ..." begins with, said last; NULL: nowhere. */
static const struct place *find_place(const struct finder *finder, const char *text)
{
	const struct place *found = NULL;
	char head[TITLE_MAX + sizeof(((struct place *)NULL)->key) + 4];

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
		tell(finder, place ? place->file : NULL, place ? place->line : 0, text);
}

int config_find_faults(const char *path, const struct config_faults *faults)
{
	CLEANUP_FREE struct config *config = malloc(sizeof(*config));
	CLEANUP_FREE struct place *places = calloc(PLACES_MAX, sizeof(*places));
	struct finder finder = {.faults = faults, .places = places};
	const struct config_watch watch = {
		.userdata = &finder, .file = note_file, .fault = take_fault, .seen = take_key};
	struct err err;

	if (!config || !places)
		return -ENOMEM;
	config_default(config);
	if (config_load_watched(config, path, &watch, &err) == -ENOMEM)
		return -ENOMEM;
	config_check_all(config, take_check, &finder);
	return finder.n;
}
