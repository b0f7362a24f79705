/* SPDX-License-Identifier: MIT */
/* A scanner of OpenCL C tokens, and a parser of kernel heads on it. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/double/device/source.h"

#define ARGUMENT_TOKENS 16

struct scanner {
	const char *at, *end;
	unsigned line;
	char token[SOURCE_NAME]; /* an identifier or a number, or one character; empty: the end */
	bool is_cut;		 /* the token is longer than SOURCE_NAME */
	bool line_begins;
	struct source *source;
};

static char peek(const struct scanner *s, size_t ahead)
{
	return (size_t)(s->end - s->at) > ahead ? s->at[ahead] : '\0';
}

static void step(struct scanner *s)
{
	if (*s->at == '\n') {
		s->line++;
		s->line_begins = true;
	}
	s->at++;
}

static void skip_comment(struct scanner *s)
{
	bool is_line = peek(s, 1) == '/';

	s->at += 2;
	while (s->at < s->end && !(is_line ? *s->at == '\n' : *s->at == '*' && peek(s, 1) == '/'))
		step(s);
	if (!is_line && s->at < s->end)
		s->at += 2;
}

/* A preprocessor line, with the lines that a backslash joins to it. */
static void skip_directive(struct scanner *s)
{
	while (s->at < s->end && *s->at != '\n') {
		if (*s->at == '/' && peek(s, 1) == '*') {
			skip_comment(s);
			continue;
		}
		if (*s->at == '\\' && s->end - s->at > 1)
			s->at++;
		step(s);
	}
}

static void skip_quoted(struct scanner *s)
{
	char quote = *s->at++;

	while (s->at < s->end && *s->at != quote && *s->at != '\n') {
		if (*s->at == '\\' && s->end - s->at > 1)
			s->at++;
		step(s);
	}
	if (s->at < s->end && *s->at == quote)
		s->at++;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Reads the next token into s->token. Returns false at the end. */
static bool next(struct scanner *s)
{
	size_t n = 0;

	s->token[0] = '\0';
	s->is_cut = false;
	while (s->at < s->end) {
		char c = *s->at;

		if (isspace((unsigned char)c) || c == '\0')
			step(s);
		else if (c == '/' && (peek(s, 1) == '/' || peek(s, 1) == '*'))
			skip_comment(s);
		else if (c == '#' && s->line_begins)
			skip_directive(s);
		else if (c == '"' || c == '\'')
			skip_quoted(s);
		else
			break;
	}
	if (s->at >= s->end)
		return false;
	s->line_begins = false;
	if (!is_word(*s->at)) {
		s->token[n++] = *s->at++;
		s->token[n] = '\0';
		return true;
	}
	for (; s->at < s->end && is_word(*s->at); s->at++) {
		if (n < SOURCE_NAME - 1)
			s->token[n++] = *s->at;
		else
			s->is_cut = true;
	}
	s->token[n] = '\0';
	return true;
}

static bool is(const struct scanner *s, const char *token)
{
	return strcmp(s->token, token) == 0;
}

static bool is_one_of(const char *token, const char *const *words)
{
	for (; *words; words++) {
		if (strcmp(token, *words) == 0)
			return true;
	}
	return false;
}

static int fail(struct scanner *s, const char *problem)
{
	snprintf(s->source->log, SOURCE_LOG, "line %u: %s%s%s", s->line, problem,
		 s->token[0] != '\0' ? " at " : " at the end", s->token);
	return -EINVAL;
}

/* __attribute__((...)), of which only reqd_work_group_size(X, Y, Z) has a meaning. */
static int parse_attribute(struct scanner *s, size_t group[3])
{
	unsigned depth = 0, n = 3;

	do {
		if (!next(s))
			return fail(s, "attribute without an end");
		if (is(s, "("))
			depth++;
		else if (is(s, ")"))
			depth--;
		else if (is(s, "reqd_work_group_size") || is(s, "__reqd_work_group_size__"))
			n = 0;
		else if (n < 3 && isdigit((unsigned char)s->token[0]))
			group[n++] = (size_t)strtoul(s->token, NULL, 0);
	} while (depth > 0);
	return 0;
}

/* The bytes of a value of the type @type, which may be a vector, or 0. */
static size_t size_of(const char *type)
{
	static const struct {
		const char *name;
		size_t size;
	} types[] = {
		{"char", 1},   {"uchar", 1},	 {"bool", 1},	  {"short", 2},	    {"ushort", 2},
		{"half", 2},   {"int", 4},	 {"uint", 4},	  {"float", 4},	    {"long", 8},
		{"ulong", 8},  {"double", 8},	 {"size_t", 8},	  {"ptrdiff_t", 8}, {"unsigned", 4},
		{"signed", 4}, {"sampler_t", 8}, {"intptr_t", 8}, {"uintptr_t", 8},
	};
	size_t letters = strcspn(type, "0123456789");
	unsigned long lanes = type[letters] == '\0' ? 1 : strtoul(type + letters, NULL, 10);

	if (lanes != 1 && lanes != 2 && lanes != 3 && lanes != 4 && lanes != 8 && lanes != 16)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strlen(types[i].name) == letters && strncmp(types[i].name, type, letters) == 0)
			return types[i].size * (lanes == 3 ? 4 : lanes);
	}
	return 0;
}

/* Sorts one token of an argument. Returns false if it belongs to the type or is the name. */
static bool take_qualifier(struct source_argument *argument, const char *token)
{
	static const char *const ignored[] = {"__private",    "private",    "struct",
					      "read_only",    "write_only", "__read_only",
					      "__write_only", NULL};
	static const struct {
		const char *word;
		enum source_kind kind;
	} spaces[] = {
		{"__global", SOURCE_GLOBAL},	 {"global", SOURCE_GLOBAL},
		{"__constant", SOURCE_CONSTANT}, {"constant", SOURCE_CONSTANT},
		{"__local", SOURCE_LOCAL},	 {"local", SOURCE_LOCAL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		if (strcmp(token, spaces[i].word) == 0) {
			argument->kind = spaces[i].kind;
			return true;
		}
	}
	if (strcmp(token, "const") == 0)
		argument->is_const = true;
	else if (strcmp(token, "volatile") == 0)
		argument->is_volatile = true;
	else if (strcmp(token, "restrict") == 0 || strcmp(token, "__restrict") == 0)
		argument->is_restrict = true;
	else
		return is_one_of(token, ignored);
	return true;
}

/* Makes an argument of its words, the last of which is its name. */
static int finish_argument(struct scanner *s, struct source_argument *argument,
			   char words[ARGUMENT_TOKENS][SOURCE_NAME], unsigned n, bool is_pointer)
{
	unsigned type = 0;
	bool is_unsigned;

	if (n < 2)
		return fail(s, "argument without a type or a name");
	is_unsigned = strcmp(words[0], "unsigned") == 0;
	if ((is_unsigned || strcmp(words[0], "signed") == 0) && n > 2)
		type = 1;
	snprintf(argument->type, SOURCE_NAME, "%s%.*s%s", is_unsigned && type ? "u" : "",
		 SOURCE_NAME - 3, words[type], is_pointer ? "*" : "");
	memcpy(argument->name, words[n - 1], SOURCE_NAME);
	if (is_pointer && argument->kind == SOURCE_VALUE)
		return fail(s, "pointer argument without an address space");
	if (!is_pointer && argument->kind != SOURCE_VALUE)
		return fail(s, "address space of an argument that is no pointer");
	argument->size = is_pointer ? 0 : size_of(argument->type);
	return 0;
}

/* Parses one argument up to the ',' or ')' behind it. */
static int parse_argument(struct scanner *s, struct source_argument *argument)
{
	char words[ARGUMENT_TOKENS][SOURCE_NAME];
	size_t ignored[3];
	bool is_pointer = false;
	unsigned n = 0;

	*argument = (struct source_argument){.kind = SOURCE_VALUE};
	for (; !is(s, ",") && !is(s, ")"); next(s)) {
		if (is(s, "*")) {
			if (is_pointer)
				return fail(s, "pointer to a pointer");
			is_pointer = true;
		} else if (is(s, "__attribute__")) {
			if (parse_attribute(s, ignored) < 0)
				return -EINVAL;
		} else if (!is_word(s->token[0]) || s->is_cut || n == ARGUMENT_TOKENS) {
			return fail(s, "argument that is not understood");
		} else if (!take_qualifier(argument, s->token)) {
			memcpy(words[n++], s->token, SOURCE_NAME);
		}
	}
	if (n == 1 && !is_pointer && strcmp(words[0], "void") == 0)
		return 1;
	return finish_argument(s, argument, words, n, is_pointer);
}

static int parse_arguments(struct scanner *s, struct source_kernel *kernel)
{
	struct source *source = s->source;
	struct source_argument argument;

	kernel->first = source->n_arguments;
	next(s);
	while (!is(s, ")")) {
		int rc = parse_argument(s, &argument);

		if (rc < 0)
			return rc;
		if (rc == 1 && kernel->n_arguments == 0 && is(s, ")"))
			break;
		if (rc == 1)
			return fail(s, "argument of type void");
		if (source->n_arguments == SOURCE_ARGUMENTS)
			return fail(s, "too many arguments");
		source->arguments[source->n_arguments++] = argument;
		kernel->n_arguments++;
		if (is(s, ",") && (!next(s) || is(s, ")")))
			return fail(s, "argument missing");
	}
	return 0;
}

/* Parses a head after its word __kernel. A prototype defines no kernel. */
static int parse_head(struct scanner *s, const size_t group[3])
{
	struct source *source = s->source;
	struct source_kernel kernel = {.group = {group[0], group[1], group[2]}};
	int rc;

	while (next(s) && is(s, "__attribute__")) {
		if (parse_attribute(s, kernel.group) < 0)
			return -EINVAL;
	}
	if (!is(s, "void"))
		return fail(s, "kernel that does not return void");
	if (!next(s) || !is_word(s->token[0]) || isdigit((unsigned char)s->token[0]) || s->is_cut)
		return fail(s, "kernel without a valid name");
	memcpy(kernel.name, s->token, SOURCE_NAME);
	if (!next(s) || !is(s, "("))
		return fail(s, "kernel without arguments");
	rc = parse_arguments(s, &kernel);
	if (rc < 0)
		return rc;
	while (next(s) && is(s, "__attribute__")) {
		if (parse_attribute(s, kernel.group) < 0)
			return -EINVAL;
	}
	if (is(s, ";")) {
		source->n_arguments = kernel.first;
		return 0;
	}
	if (!is(s, "{"))
		return fail(s, "kernel without a body");
	if (source_find(source, kernel.name))
		return fail(s, "kernel defined twice");
	if (source->n_kernels == SOURCE_KERNELS)
		return fail(s, "too many kernels");
	source->kernels[source->n_kernels++] = kernel;
	return 0;
}

int source_parse(const char *text, size_t size, struct source *ret_source)
{
	struct scanner s = {text, text + size, 1, "", false, true, ret_source};
	size_t group[3] = {0};
	int depth = 0;

	ret_source->n_kernels = ret_source->n_arguments = 0;
	ret_source->log[0] = '\0';
	while (next(&s)) {
		int rc = 0;

		if (is(&s, "__kernel") || is(&s, "kernel")) {
			rc = parse_head(&s, group);
			memset(group, 0, sizeof(group));
			depth += is(&s, "{");
		} else if (is(&s, "__attribute__") && depth == 0) {
			rc = parse_attribute(&s, group);
		} else if (is(&s, "{")) {
			depth++;
		} else if (is(&s, "}") && --depth < 0) {
			rc = fail(&s, "more } than {");
		}
		if (rc < 0)
			return rc;
	}
	return depth == 0 ? 0 : fail(&s, "} missing");
}

const struct source_kernel *source_find(const struct source *source, const char *name)
{
	for (unsigned i = 0; i < source->n_kernels; i++) {
		if (strcmp(source->kernels[i].name, name) == 0)
			return &source->kernels[i];
	}
	return NULL;
}
