/* SPDX-License-Identifier: MIT */
/* Keeps the text of /etc/passwd in memory. Lookups are rare: only refused requests need a name. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "gover-d/auth/users.h"
#include "gover-d/util/worker.h"

#define FILE_MAX (1024 * 1024)

struct users {
	struct worker_job job; /* must be the first member: the job is cast to this struct */
	char *text;	       /* content of the file; NULL: not read */
	bool missed;	       /* a lookup has failed since the file was read */
	bool reading;	       /* the worker is reading the file */
	char path[PATH_MAX];
	char *fresh; /* content that the worker has read; NULL: it could not be read */
};

struct users *users_new(void)
{
	return xcalloc(1, sizeof(struct users));
}

struct users *users_free(struct users *users)
{
	if (users) {
		free(users->text);
		free(users->fresh);
	}
	free(users);
	return NULL;
}

static void take(struct users *users)
{
	users->missed = false;
	if (!users->fresh)
		return;
	free(users->text);
	users->text = users->fresh;
	users->fresh = NULL;
}

int users_load(struct users *users, const char *path)
{
	int r;

	snprintf(users->path, sizeof(users->path), "%s", path);
	r = file_read(path, FILE_MAX, &users->fresh, NULL);
	if (r < 0)
		users->fresh = NULL;
	take(users);
	return r;
}

/* Returns true for a name that needs no quoting in a shell command. */
static bool is_word(const char *name, size_t n)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	return n > 0 && n < USERS_NAME_MAX && name[0] != '-' && strspn(name, allowed) >= n;
}

/* Returns true if @line is an entry "NAME:PASSWORD:UID:..." with this uid. */
static bool line_has_uid(const char *line, size_t length, uid_t uid, size_t *ret_name_length)
{
	const char *name_end = memchr(line, ':', length), *number, *number_end;
	char text[16];
	int64_t value;

	if (!name_end)
		return false;
	number = memchr(name_end + 1, ':', length - (size_t)(name_end + 1 - line));
	if (!number++)
		return false;
	number_end = memchr(number, ':', length - (size_t)(number - line));
	if (!number_end || (size_t)(number_end - number) >= sizeof(text))
		return false;
	memcpy(text, number, (size_t)(number_end - number));
	text[number_end - number] = '\0';
	*ret_name_length = (size_t)(name_end - line);
	return parse_int(text, 0, UINT32_MAX, &value) == 0 && value == (int64_t)uid;
}

bool users_find(struct users *users, uid_t uid, char ret_name[USERS_NAME_MAX])
{
	for (const char *line = users->text; line && *line;) {
		size_t length = strcspn(line, "\n"), n;

		if (line_has_uid(line, length, uid, &n) && is_word(line, n)) {
			memcpy(ret_name, line, n);
			ret_name[n] = '\0';
			return true;
		}
		line += length + (line[length] == '\n');
	}
	users->missed = true;
	return false;
}

/* Runs in the worker. */
static void read_file(struct worker_job *job)
{
	struct users *users = (struct users *)job;

	if (file_read(users->path, FILE_MAX, &users->fresh, NULL) < 0)
		users->fresh = NULL;
}

static void on_read(struct worker_job *job)
{
	struct users *users = (struct users *)job;

	users->reading = false;
	take(users);
}

void users_tick(struct users *users, struct worker *worker)
{
	if (!users->missed || users->reading || !users->path[0])
		return;
	users->job = (struct worker_job){.run = read_file, .done = on_read};
	users->reading = worker_submit(worker, &users->job) == 0;
}
