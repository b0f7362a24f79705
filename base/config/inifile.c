/* SPDX-License-Identifier: MIT */
/*
 * The parser of INI files. Limits the length of a line, and reports the line number of each fault.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/config/inifile.h"
#include "base/file.h"
#include "base/text.h"

#define LINE_MAX_BYTES 198 /* maximum length of a line without its indentation */

struct loader {
	const struct inifile_reader *reader;
	const char *path;
	int line;
	const char *section; /* name of the section in the table of settings; NULL before the first
				section */
	void *base;	     /* struct to which the values of the section are written */
	/* true: the section was read; the index is its first row in the table of settings */
	bool sections_seen[INIFILE_KEYS_MAX];
	/* true: the key was read in this section; the index is its row in the table */
	bool keys_seen[INIFILE_KEYS_MAX];
	bool skipping; /* true: the header of this section is wrong, so its keys are skipped */
	struct err *reterr;
};

__attribute__((format(printf, 2, 3))) static int load_fail(struct loader *l, const char *format,
							   ...)
{
	char why[ERR_MSG_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	if (l->reader->fault) {
		l->reader->fault(l->reader->userdata, l->line, why);
		return -EINVAL;
	}
	return err_fail(l->reterr, EINVAL, "%s:%d: %s", l->path, l->line, why);
}

/* Writes " (did you mean X? allowed: X, Y, Z)" for a wrong key of @section, or for a wrong section
 * if @section is NULL. Returns @ret_text. */
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
		snprintf(ret_text, size, " (did you mean \"%s\"? allowed: %s)", nearest, list);
	else
		snprintf(ret_text, size, " (allowed: %s)", list);
	return ret_text;
}

/*
 * If @section is of the form "gpu NAME", returns the name in @title: "0" for "gpu 0", "" for "gpu".
 * Returns NULL if @section contains no NAME or @title begins with another word.
 */
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
	for (size_t i = 0; (setting = l->reader->at(i)); i++) {
		const char *name = name_in(setting->section, title);

		if (name)
			return enter(l, setting, name);
		if (strcmp(setting->section, title) != 0)
			continue;
		if (l->sections_seen[i])
			return load_fail(l, "[%s] is given twice", title);
		l->sections_seen[i] = true;
		return enter(l, setting, NULL);
	}
	return load_fail(l, "unknown section [%.60s]%s", title,
			 hint(l, NULL, title, text, sizeof(text)));
}

static int set_value(struct loader *l, const char *key, const char *value)
{
	const struct inifile_reader *reader = l->reader;
	const struct setting *setting;
	char text[ERR_MSG_MAX];
	struct err why = {""};
	int r;

	if (!l->section)
		return load_fail(l, "key \"%.60s\" before the first section%s", key,
				 hint(l, NULL, "", text, sizeof(text)));
	for (size_t i = 0; (setting = reader->at(i)); i++) {
		if (strcmp(setting->section, l->section) != 0 || strcmp(setting->key, key) != 0)
			continue;
		if (l->keys_seen[i])
			return load_fail(l, "[%s] %s is given twice", setting->section,
					 setting->key);
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

/* --- lines --- */

static char *strip(char *text)
{
	size_t length;

	while (isspace((unsigned char)*text))
		text++;
	for (length = strlen(text); length > 0 && isspace((unsigned char)text[length - 1]);)
		length--;
	text[length] = '\0';
	return text;
}

static int read_header(struct loader *l, char *line)
{
	char *end = strchr(line, ']');
	const char *after = end ? end + 1 + strspn(end + 1, " \t\r") : "";

	if (!end || (*after != '\0' && *after != ';' && *after != '#'))
		return load_fail(
			l, "\"%.60s\" is not a section (allowed: [NAME] alone on its line)", line);
	*end = '\0';
	return enter_section(l, strip(line + 1));
}

static int read_line(struct loader *l, char *line)
{
	char *value, *comment;
	int r;

	while (isspace((unsigned char)*line))
		line++;
	if (strlen(line) > LINE_MAX_BYTES)
		return load_fail(l, "line of %zu characters (allowed: at most %d)", strlen(line),
				 LINE_MAX_BYTES);
	line = strip(line);
	if (strchr("#;", *line)) /* a comment or an empty line */
		return 0;
	if (*line == '[') {
		r = read_header(l, line);
		l->skipping = r < 0;
		return r;
	}
	/* A ';' after white space begins a comment. */
	comment = line;
	while ((comment = strchr(comment, ';')) && !isspace((unsigned char)comment[-1]))
		comment++;
	if (comment)
		*comment = '\0';
	value = line + strcspn(line, "=:");
	if (*value == '\0')
		return load_fail(l, "not a line of an INI file (allowed: [SECTION], KEY = VALUE or "
				    "a comment with # or ;)");
	*value++ = '\0';
	return l->skipping ? 0 : set_value(l, strip(line), strip(value));
}

/* Stops at the first fault, unless the reader has a fault() callback. */
static int read_lines(struct loader *l, char *text)
{
	int r, result = 0;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		l->line++;
		r = read_line(l, line);
		if (r < 0 && !l->reader->fault)
			return r;
		if (r < 0)
			result = r;
	}
	return result;
}

int inifile_read(const char *path, size_t bytes_max, const struct inifile_reader *reader,
		 struct err *reterr)
{
	struct loader l = {.reader = reader, .path = path, .reterr = reterr};
	static const char byte_order_mark[] = "\xEF\xBB\xBF";
	CLEANUP_FREE char *text = NULL;
	size_t length, skip;
	int r = file_read(path, bytes_max, &text, &length);

	if (r == -EFBIG)
		return err_fail(reterr, EFBIG, "%s: larger than %zu bytes", path, bytes_max);
	if (r < 0)
		return err_fail(reterr, -r, "%s: cannot be read: %s", path, file_error(r));
	if (strlen(text) != length)
		return err_fail(reterr, EINVAL, "%s: contains a zero byte (allowed: text)", path);
	skip = strncmp(text, byte_order_mark, 3) == 0 ? 3 : 0;
	return read_lines(&l, text + skip);
}
