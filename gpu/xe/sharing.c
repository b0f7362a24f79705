/* SPDX-License-Identifier: MIT */
/* Priorities of functions, and the older policy sched_if_idle. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gpu/xe/sharing.h"

#define TEXT_MAX 64

/* The words of the driver for each sharing. */
static const struct {
	const char *sharing;
	const char *priority; /* sched_priority */
	const char *if_idle;  /* sched_if_idle */
} words[] = {
	{"guarantee", "low", "0"},
	{"hard", "normal", "1"},
	{"high", "high", NULL},
};

/* Cuts the text to the word in brackets: "[low] normal" becomes "low". */
static int cut_choice(char *text)
{
	char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;

	if (!end)
		return -EINVAL;
	*end = '\0';
	memmove(text, begin + 1, strlen(begin + 1) + 1);
	return 0;
}

static int name_of(enum xe_sharing_form form, const char *text, const char **ret_name)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *word =
			form == XE_SHARING_PRIORITY ? words[i].priority : words[i].if_idle;

		if (word && strcmp(word, text) == 0) {
			*ret_name = words[i].sharing;
			return 0;
		}
	}
	return -EINVAL;
}

static int read_priority(const struct xe_place *place, int vf, const char **ret_name)
{
	struct xe_files files = {.n = 0};
	char text[TEXT_MAX];
	int r = xe_files_open(place, vf, "sched_priority", &files);

	if (r == 0)
		r = xe_files_read_text(&files, text, sizeof(text));
	xe_files_close(&files);
	if (r == 0)
		r = cut_choice(text);
	return r < 0 ? r : name_of(XE_SHARING_PRIORITY, text, ret_name);
}

static int read_if_idle(const struct xe_place *place, const char **ret_name)
{
	struct xe_files files = {.n = 0};
	char text[TEXT_MAX];
	int r = xe_files_open_sharing(place, &files);

	if (r == 0)
		r = xe_files_read_text(&files, text, sizeof(text));
	xe_files_close(&files);
	return r < 0 ? r : name_of(XE_SHARING_IF_IDLE, text, ret_name);
}

int xe_sharing_read(const struct xe_place *place, int n_vfs, char ret_word[XE_SHARING_MAX])
{
	const char *name = "", *other;
	bool if_idle = place->layout->form == XE_SHARING_IF_IDLE;
	int r = if_idle ? read_if_idle(place, &name) : read_priority(place, 0, &name);

	for (int vf = 1; vf <= n_vfs && r == 0 && !if_idle; vf++) {
		r = read_priority(place, vf, &other);
		if (r == 0 && strcmp(name, other) != 0 && strcmp(name, "high") != 0)
			name = "mixed";
	}
	if (r == -ENOENT)
		return -EOPNOTSUPP;
	if (r == -EUCLEAN) {
		name = "mixed"; /* a write repairs it */
		r = 0;
	}
	if (r == 0)
		snprintf(ret_word, XE_SHARING_MAX, "%s", name);
	return r;
}

int xe_sharing_write(const struct xe_place *place, bool guarantee)
{
	size_t row = guarantee ? 0 : 1;
	struct xe_files files = {.n = 0};
	int r = xe_files_open_sharing(place, &files);

	if (r == 0)
		r = xe_files_write_text(&files, place->layout->form == XE_SHARING_PRIORITY
							? words[row].priority
							: words[row].if_idle);
	xe_files_close(&files);
	return r == -ENOENT ? -EOPNOTSUPP : r;
}
