/* SPDX-License-Identifier: MIT */
/*
 * Finds all faults of a configuration, with file and line. If a section has a fault, rules about
 * several keys are not reported for that section, because the fault may be the cause.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/config/table.h"

/*
 * Limit of stored places: the positions of keys and faults in the files. In a configuration with
 * more keys and faults, a fault may be reported without a line.
 */
#define PLACES_MAX 1024
#define TITLE_MAX  (ID_MAX + sizeof("flavor "))

struct place {
	char title[TITLE_MAX], key[32]; /* @key is "" for the place of a fault */
	char file[PATH_MAX];
	int line;
};

struct finder {
	const struct config_faults *faults;
	struct place *places;
	int n_places, n;
};

static void take_file(void *userdata, const char *file)
{
	const struct finder *finder = userdata;

	if (finder->faults->file)
		finder->faults->file(finder->faults->userdata, file);
}

static void remember_place(struct finder *finder, const char *file, int line, const char *title,
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

static void report(struct finder *finder, const char *file, int line, const char *text)
{
	finder->n++;
	finder->faults->fault(finder->faults->userdata, file, line, text);
}

static void take_fault(void *userdata, const char *file, int line, const char *title,
		       const char *why)
{
	struct finder *finder = userdata;

	remember_place(finder, file, line, title, "");
	report(finder, file, line, why);
}

static void take_key(void *userdata, const char *file, int line, const char *title, const char *key)
{
	remember_place(userdata, file, line, title, key);
}

/*
 * @text is the message of a rule about several keys. Returns true if another fault may be the cause
 * of this message: a fault in a section that @text names, in [daemon], or before the first section.
 */
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

/*
 * Returns the last place that sets the key named at the start of @text ("[TITLE] KEY = ..."); NULL:
 * unknown.
 */
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
		report(finder, place ? place->file : NULL, place ? place->line : 0, text);
}

int config_find_faults(const char *path, const struct config_faults *faults)
{
	CLEANUP_FREE struct config *config = malloc(sizeof(*config));
	CLEANUP_FREE struct place *places = calloc(PLACES_MAX, sizeof(*places));
	struct finder finder = {.faults = faults, .places = places};
	const struct config_watch watch = {
		.userdata = &finder, .file = take_file, .fault = take_fault, .seen = take_key};
	struct err err;

	if (!config || !places)
		return -ENOMEM;
	config_default(config);
	if (config_load_watched(config, path, &watch, &err) == -ENOMEM)
		return -ENOMEM;
	config_check_all(config, take_check, &finder);
	return finder.n;
}
