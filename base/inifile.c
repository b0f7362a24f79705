/* SPDX-License-Identifier: MIT */
/*
 * libinih splits lines into key and value, and no more: it cuts lines at 199 bytes and section
 * names at 49 without a word, joins indented lines to the value above, and tells neither line
 * numbers nor empty sections. So it is fed from memory, line by line, by next_line(), which refuses
 * long lines, drops indentation, counts, and keeps the sections to itself.
 */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/inifile.h"
#include "base/nearest.h"

struct loader {
	const struct inifile_reader *reader;
	const char *path;
	const char *rest; /* of the file's text */
	int line;
	const char *section;		      /* as in the table; NULL before the first */
	void *base;			      /* what its keys are written into */
	bool sections_seen[INIFILE_KEYS_MAX]; /* by the section's first key */
	bool keys_seen[INIFILE_KEYS_MAX];     /* in this section */
	bool passing_over;		      /* until the next section: this one has a fault */
	int n_faults;			      /* that the reader was told of */
	int failed_line;		      /* 0: none */
	struct err *reterr;
};

static int load_fail(struct loader *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int load_fail(struct loader *l, const char *format, ...)
{
	char why[ERR_MSG_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	if (l->reader->fault) {
		l->reader->fault(l->reader->userdata, l->line, why);
		l->n_faults++;
		return -EINVAL;
	}
	l->failed_line = l->line;
	return err_fail(l->reterr, EINVAL, "%s:%d: %s", l->path, l->line, why);
}

/* "; did you mean X? Allowed: X, Y, Z", of the sections (@section NULL) or of one's keys. */
static const char *hint(const struct loader *l, const char *section, const char *wrong,
			char *ret_text, size_t size)
{
	const struct setting *setting;
	const char *nearest = NULL, *last = "";
	int best = NEAREST_FAR;
	char list[400] = "";

	for (size_t i = 0; (setting = l->reader->at(i)); i++) {
		const char *name = section ? setting->key : setting->section;
		size_t used = strlen(list);

		if (section ? strcmp(setting->section, section) != 0 : strcmp(name, last) == 0)
			continue;
		last = name;
		snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", name);
		nearest_offer(wrong, name, &best, &nearest);
	}
	if (nearest)
		snprintf(ret_text, size, "; did you mean \"%s\"? Allowed: %s", nearest, list);
	else
		snprintf(ret_text, size, "; allowed: %s", list);
	return ret_text;
}

/* What stands behind the first word of @title where the table's @section has names, else NULL. */
static const char *name_in(const char *section, const char *title)
{
	size_t length = strcspn(section, " ");

	if (section[length] == '\0' || strncmp(section, title, length) != 0 ||
	    (title[length] != '\0' && title[length] != ' '))
		return NULL;
	return title + length + strspn(title + length, " ");
}

static int enter(struct loader *l, const struct setting *first, const char *name)
{
	struct err why = {""};

	l->section = first->section;
	if (l->reader->enter(l->reader->userdata, first, name, l->line, &l->base, &why) < 0)
		return load_fail(l, "%s", why.msg);
	return 0;
}

static int enter_section(struct loader *l, const char *title)
{
	const struct setting *setting;
	char text[ERR_MSG_MAX];

	memset(l->keys_seen, 0, sizeof(l->keys_seen));
	l->passing_over = false;
	for (size_t i = 0; (setting = l->reader->at(i)); i++) {
		const char *name = name_in(setting->section, title);

		if (name)
			return enter(l, setting, name);
		if (strcmp(setting->section, title) != 0)
			continue;
		if (l->sections_seen[i])
			return load_fail(l, "[%s] is given for the second time", title);
		l->sections_seen[i] = true;
		return enter(l, setting, NULL);
	}
	return load_fail(l, "unknown section [%.60s]%s", title,
			 hint(l, NULL, title, text, sizeof(text)));
}

/* Takes a line that begins with '['. */
static int read_header(struct loader *l, char *line)
{
	char *end = strchr(line, ']');
	const char *after = end ? end + 1 + strspn(end + 1, " \t\r") : "";

	if (!end || (*after != '\0' && *after != ';' && *after != '#'))
		return load_fail(l, "\"%.60s\" is no section; allowed: [NAME] alone on its line",
				 line);
	while (end > line + 1 && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return enter_section(l, line + 1 + strspn(line + 1, " \t"));
}

/* Behind the byte-order mark, if there is one. */
static const char *skip_mark(const char *text)
{
	return strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text;
}

#define NO_LINE "neither [SECTION] nor KEY = VALUE nor a comment (# or ;)"

/* Is the line, which is no header and not indented, empty, a comment, or KEY = VALUE to libinih?
 * Of any other it would tell at the end of the file, and of the first alone; behind a byte-order
 * mark it would see a header. */
static bool is_readable(const char *line)
{
	bool after_space = false;

	if (strchr(";#", line[0])) /* or the empty line */
		return true;
	if (skip_mark(line) > line)
		return false;
	for (; *line != '\0' && *line != '=' && *line != ':'; line++) {
		if (after_space && *line == ';')
			return false;
		after_space = isspace((unsigned char)*line);
	}
	return *line != '\0';
}

/* libinih's fgets(): the next line without its indentation; an empty one in place of a [section].
 */
static char *next_line(char *line, int size, void *stream)
{
	struct loader *l = stream;
	size_t length = strcspn(l->rest, "\n");
	const char *text = l->rest;

	if (l->failed_line > 0 || *text == '\0')
		return NULL;
	l->rest += length + (text[length] == '\n');
	l->line++;
	for (; length > 0 && isspace((unsigned char)*text); length--)
		text++;
	if (length + 2 > (size_t)size) {
		load_fail(l, "a line of %zu characters; allowed: at most %d", length, size - 2);
		length = 0;
	}
	memcpy(line, text, length);
	line[length] = '\0';
	if (line[0] == '[') {
		l->passing_over = read_header(l, line) < 0;
		line[0] = '\0';
	} else if (!is_readable(line)) {
		load_fail(l, NO_LINE);
		line[0] = '\0';
	}
	return l->failed_line > 0 ? NULL : line;
}

static int set_value(struct loader *l, const char *key, const char *value)
{
	const struct inifile_reader *reader = l->reader;
	const struct setting *setting;
	char text[ERR_MSG_MAX];
	struct err why = {""};
	int r;

	if (!l->section)
		return load_fail(l, "\"%.60s\" stands before the first section%s", key,
				 hint(l, NULL, "", text, sizeof(text)));
	for (size_t i = 0; (setting = reader->at(i)); i++) {
		if (strcmp(setting->section, l->section) != 0 || strcmp(setting->key, key) != 0)
			continue;
		if (l->keys_seen[i])
			return load_fail(l, "[%s] %s is given for the second time",
					 setting->section, key);
		l->keys_seen[i] = true;
		r = setting_set(setting, l->base, value, &why);
		if (r == 0 && reader->check)
			r = reader->check(reader->userdata, setting, l->base, &why);
		if (r == 0 && reader->seen)
			reader->seen(reader->userdata, setting, l->line);
		return r < 0 ? load_fail(l, "%s", why.msg) : 0;
	}
	return load_fail(l, "[%s] has no key \"%.60s\"%s", l->section, key,
			 hint(l, l->section, key, text, sizeof(text)));
}

/* libinih's handler, which says 1 for good. It is never shown a section: @section is "". */
static int take_value(void *user, const char *section, const char *key, const char *value)
{
	struct loader *l = user;

	(void)section;
	return l->passing_over || set_value(l, key, value) == 0 || l->reader->fault;
}

static int load_text(struct loader *l, const char *text, size_t length)
{
	int bad_line;

	if (strlen(text) != length)
		return err_fail(l->reterr, EINVAL, "%s: holds a zero byte; allowed: text", l->path);
	l->rest = skip_mark(text);
	bad_line = ini_parse_stream(next_line, l, take_value, l);
	if (bad_line < 0)
		return err_fail(l->reterr, ENOMEM, "%s: out of memory", l->path);
	if (bad_line > 0 && l->failed_line == 0) { /* is_readable() was wrong */
		l->line = bad_line;
		load_fail(l, NO_LINE);
	}
	return l->failed_line > 0 || l->n_faults > 0 ? -EINVAL : 0;
}

int inifile_read(const char *path, size_t bytes_max, const struct inifile_reader *reader,
		 struct err *reterr)
{
	struct loader l = {.reader = reader, .path = path, .reterr = reterr};
	CLEANUP_FREE char *text = NULL;
	size_t length;
	int r = file_read(path, bytes_max, &text, &length);

	if (r == -EFBIG)
		return err_fail(reterr, EFBIG, "%s: is larger than %zu bytes", path, bytes_max);
	if (r < 0)
		return err_fail(reterr, -r, "%s: cannot be read: %s", path, strerror(-r));
	return load_text(&l, text, length);
}
