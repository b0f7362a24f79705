/* SPDX-License-Identifier: MIT */
/*
 * Reads a configuration file. Must never go on after what it does not understand, nor change the
 * configuration it was given unless the whole file is good.
 *
 * libinih splits lines into key and value, and no more: it cuts lines at 199 bytes and section
 * names at 49 without a word, joins indented lines to the value above, and tells neither line
 * numbers nor empty sections. So it is fed from memory, line by line, by next_line(), which refuses
 * long lines, drops indentation, counts, and keeps the sections to itself.
 */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/nearest.h"
#include "gover-d/config-table.h"

#define FILE_BYTES_MAX (256 * 1024)
#define NAME_LENGTH    32 /* the longest section or key name, with room for a misspelling */

struct loader {
	const char *path;
	const char *rest; /* of the file's text */
	int line;
	struct config *config;
	const char *section;	/* as in the table; NULL before the first */
	void *base;		/* what its keys are written into */
	bool gpu_seen;		/* the file's own GPUs have replaced those before */
	bool flavor_seen;	/* the same of its flavours */
	uint64_t sections_seen; /* bit of the section's first key */
	uint64_t keys_seen;	/* in this section */
	int failed_line;	/* 0: none */
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
	l->failed_line = l->line;
	return err_fail(l->reterr, EINVAL, "%s:%d: %s", l->path, l->line, why);
}

/* "; did you mean X? Allowed: X, Y, Z", of the sections (@section NULL) or of one's keys. */
static const char *hint(const char *section, const char *wrong, char *ret_text, size_t size)
{
	const struct config_key_info *info;
	const char *nearest = NULL, *last = "";
	int best = NEAREST_FAR;
	char list[400] = "";

	for (size_t i = 0; (info = config_key_at(i)); i++) {
		const char *name = section ? info->key : info->section;
		size_t used = strlen(list);

		if (section ? strcmp(info->section, section) != 0 : strcmp(name, last) == 0)
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

static int enter_gpu(struct loader *l, const char *name)
{
	struct config *config = l->config;

	if (!id_valid(name))
		return load_fail(l,
				 "[gpu %.70s]: a GPU's name is 1 to 63 of A-Z a-z 0-9 . _ - and "
				 "begins with neither . nor -",
				 name);
	if (!l->gpu_seen)
		config->n_gpus = 0;
	l->gpu_seen = true;
	for (int g = 0; g < config->n_gpus; g++)
		if (strcmp(config->gpus[g].gpu.name, name) == 0)
			return load_fail(l, "[gpu %s] is given for the second time", name);
	if (config->n_gpus == GPUS_MAX)
		return load_fail(l, "[gpu %s]: at most %d GPUs are allowed", name, GPUS_MAX);
	l->section = CONFIG_GPU_SECTION;
	l->base = &config->gpus[config->n_gpus++];
	config_table_default_gpu(l->base, name);
	return 0;
}

static int enter_flavor(struct loader *l, const char *name)
{
	struct config *config = l->config;

	if (!id_valid(name))
		return load_fail(l,
				 "[flavor %.70s]: a flavour's name is 1 to 63 of A-Z a-z 0-9 . _ - "
				 "and begins with neither . nor -",
				 name);
	if (!l->flavor_seen)
		config->n_flavors = 0;
	l->flavor_seen = true;
	for (int i = 0; i < config->n_flavors; i++)
		if (strcmp(config->flavors[i].name, name) == 0)
			return load_fail(l, "[flavor %s] is given for the second time", name);
	if (config->n_flavors == FLAVORS_MAX)
		return load_fail(l, "[flavor %s]: at most %d sections of flavours are allowed",
				 name, FLAVORS_MAX);
	l->section = CONFIG_FLAVOR_SECTION;
	l->base = &config->flavors[config->n_flavors++];
	config_table_default_flavor(l->base, name);
	return 0;
}

static int enter_section(struct loader *l, const char *title)
{
	const struct config_key_info *info;
	char text[ERR_MSG_MAX];

	l->keys_seen = 0;
	if (strcmp(title, "gpu") == 0)
		return enter_gpu(l, "gpu0");
	if (strncmp(title, "gpu ", 4) == 0)
		return enter_gpu(l, title + 4 + strspn(title + 4, " "));
	if (strcmp(title, "flavor") == 0)
		return enter_flavor(l, "");
	if (strncmp(title, "flavor ", 7) == 0)
		return enter_flavor(l, title + 7 + strspn(title + 7, " "));
	for (size_t i = 0; (info = config_key_at(i)); i++) {
		if (strcmp(info->section, title) != 0)
			continue;
		if (l->sections_seen & (1ULL << i))
			return load_fail(l, "[%s] is given for the second time", title);
		l->sections_seen |= 1ULL << i;
		l->section = info->section;
		l->base = l->config;
		return 0;
	}
	return load_fail(l, "unknown section [%.60s]%s", title,
			 hint(NULL, title, text, sizeof(text)));
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
	for (; length > 0 && isblank((unsigned char)*text); length--)
		text++;
	if (length + 2 > (size_t)size) {
		load_fail(l, "a line of %zu characters; allowed: at most %d", length, size - 2);
		return NULL;
	}
	memcpy(line, text, length);
	line[length] = '\0';
	if (line[0] == '[') {
		if (read_header(l, line) < 0)
			return NULL;
		line[0] = '\0';
	}
	return line;
}

static int set_value(struct loader *l, const char *key, const char *value)
{
	const struct config_key_info *info;
	char text[ERR_MSG_MAX];
	struct err why;

	if (!l->section)
		return load_fail(l, "\"%.60s\" stands before the first section%s", key,
				 hint(NULL, "", text, sizeof(text)));
	for (size_t i = 0; (info = config_key_at(i)); i++) {
		if (strcmp(info->section, l->section) != 0 || strcmp(info->key, key) != 0)
			continue;
		if (l->keys_seen & (1ULL << i))
			return load_fail(l, "[%s] %s is given for the second time", info->section,
					 key);
		l->keys_seen |= 1ULL << i;
		if (config_table_set(i, l->base, value, &why) < 0)
			return load_fail(l, "%s", why.msg);
		return 0;
	}
	return load_fail(l, "[%s] has no key \"%.60s\"%s", l->section, key,
			 hint(l->section, key, text, sizeof(text)));
}

/* libinih's handler, which says 1 for good. It is never shown a section: @section is "". */
static int take_value(void *user, const char *section, const char *key, const char *value)
{
	(void)section;
	return set_value(user, key, value) == 0;
}

static int load_text(struct loader *l, const char *text, size_t length)
{
	int bad_line;

	if (strlen(text) != length)
		return err_fail(l->reterr, EINVAL, "%s: holds a zero byte; allowed: text", l->path);
	l->rest = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text;
	bad_line = ini_parse_stream(next_line, l, take_value, l);
	if (bad_line < 0)
		return err_fail(l->reterr, ENOMEM, "%s: out of memory", l->path);
	/* A line without '=' is an error only libinih has seen; it has gone on reading. */
	if (bad_line > 0 && bad_line != l->failed_line) {
		l->line = bad_line;
		load_fail(l, "neither [SECTION] nor KEY = VALUE nor a comment (# or ;)");
	}
	return l->failed_line > 0 ? -EINVAL : 0;
}

int config_load(struct config *config, const char *path, struct err *reterr)
{
	CLEANUP_FREE struct config *copy = malloc(sizeof(*copy));
	CLEANUP_FREE char *text = NULL;
	struct loader l = {.path = path, .config = copy, .reterr = reterr};
	size_t length;
	int r;

	if (!copy)
		return err_fail(reterr, ENOMEM, "%s: out of memory", path);
	r = file_read(path, FILE_BYTES_MAX, &text, &length);
	if (r == -EFBIG)
		return err_fail(reterr, EFBIG, "%s: is larger than %d bytes", path, FILE_BYTES_MAX);
	if (r < 0)
		return err_fail(reterr, -r, "%s: cannot be read: %s", path, strerror(-r));
	*copy = *config;
	r = load_text(&l, text, length);
	if (r < 0)
		return r;
	*config = *copy;
	return 0;
}
