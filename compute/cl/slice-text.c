/* SPDX-License-Identifier: MIT */
/* The preamble of rectified sources, and a scanner that finds what a source uses. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compute/cl/slice-text.h"

#define N(array)  (sizeof(array) / sizeof((array)[0]))
#define TWO_SIDES 0x40000000u /* bit of the word: two dimensions of 15 bits each */
#define SIDE_BITS 15

/*
 * Offsets are read through get_global_id(): PoCL 3.1 assumes that small launches have small
 * offsets, and computes get_global_offset() wrongly. The difference to get_local_id() is the same
 * in a whole work-group, which a compiler can see. Divisions of 32 bits are cheap and exact,
 * because no side of a sliced launch has 2^31 work-items. Dimensions above 2 do not exist; targets
 * answer differently, as they do without the preamble.
 */
static const char preamble[] =
	"static size_t gover_slice_global_id(uint d) {"
	" return d != 2 ? get_global_id(d) : 0; }\n"
	"static size_t gover_slice_group_id(uint d) {"
	" return d < 2 ? (uint)(get_global_id(d) - get_local_id(d)) / (uint)get_local_size(d)"
	" : get_group_id(d); }\n"
	"static uint gover_slice_word(void) {"
	" return (uint)(get_global_id(2) - get_local_id(2)); }\n"
	"static size_t gover_slice_num_groups(uint d) {"
	" uint w = gover_slice_word();"
	" if (d > 1) return get_num_groups(d);"
	" if (w & 0x40000000u) return d == 0 ? w & 0x7fffu : (w >> 15) & 0x7fffu;"
	" return d == 0 ? w : 1; }\n"
	"static size_t gover_slice_global_size(uint d) {"
	" return d < 2 ? gover_slice_num_groups(d) * get_local_size(d) : get_global_size(d); }\n"
	"static size_t gover_slice_global_offset(uint d) {"
	" return d < 3 ? 0 : get_global_offset(d); }\n"
	"static uint gover_slice_work_dim(void) {"
	" return gover_slice_word() & 0x40000000u ? 2u : 1u; }\n"
	"static size_t gover_slice_global_linear_id(void) {"
	" return get_global_id(1) * gover_slice_global_size(0) + get_global_id(0); }\n"
	"#define get_global_id(d) gover_slice_global_id(d)\n"
	"#define get_group_id(d) gover_slice_group_id(d)\n"
	"#define get_num_groups(d) gover_slice_num_groups(d)\n"
	"#define get_global_size(d) gover_slice_global_size(d)\n"
	"#define get_global_offset(d) gover_slice_global_offset(d)\n"
	"#define get_work_dim() gover_slice_work_dim()\n"
	"#define get_global_linear_id() gover_slice_global_linear_id()\n"
	"#define enqueue_kernel gover_slice_is_not_possible\n"
	"#define pipe gover_slice_is_not_possible\n"
	"#line 1\n";

/* Does not compile if variables can live longer than a launch. */
static const char variables[] =
	"#if __OPENCL_C_VERSION__ == 200 || defined(__OPENCL_CPP_VERSION__) ||"
	" defined(__opencl_c_program_scope_global_variables)\n"
	"#error variables outside of functions\n"
	"#endif\n";

/* Does not compile if the macros are not those of the preamble at the end of the source. */
#define CHECK(number, call, expected)                                             \
	"typedef char gover_slice_check_" number "[sizeof(GOVER_SLICE_TEXT(" call \
	")) == sizeof(\"" expected "\") ? 1 : -1];\n"
static const char postamble[] =
	"\n#define GOVER_SLICE_TEXT_OF(x) #x\n"
	"#define GOVER_SLICE_TEXT(x) GOVER_SLICE_TEXT_OF(x)\n" CHECK("1", "get_global_id(0)",
								     "gover_slice_global_id(0)")
		CHECK("2", "get_group_id(0)", "gover_slice_group_id(0)")
			CHECK("3", "get_num_groups(0)", "gover_slice_num_groups(0)") CHECK(
				"4", "get_global_size(0)", "gover_slice_global_size(0)")
				CHECK("5", "get_global_offset(0)", "gover_slice_global_offset(0)")
					CHECK("6", "get_work_dim()", "gover_slice_work_dim()")
						CHECK("7", "get_global_linear_id()",
						      "gover_slice_global_linear_id()");

static const char *const replaced[] = {
	"get_global_id",     "get_group_id", "get_num_groups",	     "get_global_size",
	"get_global_offset", "get_work_dim", "get_global_linear_id",
};

struct word {
	const char *at;
	size_t length;
};

/* A statement outside of functions, up to its ';' or '{'. */
struct statement {
	unsigned int words;
	bool has_parenthesis, is_harmless, has_ended;
};

struct scanner {
	const char *at, *end;
	bool line_begins;
	int braces, parentheses;
	struct word last; /* the word before the present token; no length: not a word */
	struct statement statement;
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9');
}

static bool equals(struct word word, const char *text)
{
	return strlen(text) == word.length && memcmp(text, word.at, word.length) == 0;
}

static bool is_one_of(struct word word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (equals(word, list[i]))
			return true;
	return false;
}

static char peek(const struct scanner *s, size_t ahead)
{
	return (size_t)(s->end - s->at) > ahead ? s->at[ahead] : '\0';
}

static void skip_comment(struct scanner *s)
{
	bool is_line = peek(s, 1) == '/';

	s->at += 2;
	while (s->at < s->end && !(is_line ? *s->at == '\n' : *s->at == '*' && peek(s, 1) == '/'))
		s->at++;
	if (!is_line)
		s->at = s->end - s->at > 2 ? s->at + 2 : s->end;
}

static void skip_quoted(struct scanner *s)
{
	char quote = *s->at++;

	while (s->at < s->end && *s->at != quote && *s->at != '\n')
		s->at += *s->at == '\\' && s->end - s->at > 1 ? 2 : 1;
	if (s->at < s->end && *s->at == quote)
		s->at++;
}

/* Skips spaces, comments, and joined lines. @lines: also ends of lines. */
static void skip_space(struct scanner *s, bool lines)
{
	while (s->at < s->end) {
		if (*s->at == '\n') {
			if (!lines)
				return;
			s->line_begins = true;
			s->at++;
		} else if (*s->at == ' ' || (*s->at >= '\t' && *s->at <= '\r')) {
			s->at++;
		} else if (*s->at == '/' && (peek(s, 1) == '/' || peek(s, 1) == '*')) {
			skip_comment(s);
		} else if (*s->at == '\\' && peek(s, 1) == '\n') {
			s->at += 2;
		} else if (*s->at == '\\' && peek(s, 1) == '\r' && peek(s, 2) == '\n') {
			s->at += 3;
		} else {
			return;
		}
	}
}

static struct word take_word(struct scanner *s)
{
	struct word word = {.at = s->at};

	while (s->at < s->end && is_word(*s->at))
		s->at++;
	word.length = (size_t)(s->at - word.at);
	return word;
}

/* Words that no program may contain. */
static enum slice_text check_word(struct word word)
{
	static const char prefix[] = "gover_slice", text[] = "GOVER_SLICE";

	if (equals(word, "enqueue_kernel"))
		return SLICE_TEXT_ENQUEUES;
	if (equals(word, "pipe") || equals(word, "__pipe"))
		return SLICE_TEXT_PIPE;
	if (word.length >= N(prefix) - 1 && (memcmp(word.at, prefix, N(prefix) - 1) == 0 ||
					     memcmp(word.at, text, N(text) - 1) == 0))
		return SLICE_TEXT_RESERVED;
	return SLICE_TEXT_OK;
}

/* A preprocessor line. A macro may contain the name of a replaced function in any way. */
static enum slice_text scan_directive(struct scanner *s)
{
	enum slice_text result = SLICE_TEXT_OK;
	struct word kind, word;
	bool is_first = true;

	s->at++;
	skip_space(s, false);
	kind = take_word(s);
	for (skip_space(s, false); s->at < s->end && *s->at != '\n'; skip_space(s, false)) {
		if (*s->at == '"' || *s->at == '\'') {
			skip_quoted(s);
			continue;
		}
		word = take_word(s);
		if (word.length == 0)
			s->at++;
		if (is_first && (equals(kind, "define") || equals(kind, "undef")) &&
		    is_one_of(word, replaced, N(replaced)))
			return SLICE_TEXT_REDEFINED;
		is_first = false;
		if (result == SLICE_TEXT_OK && !equals(kind, "pragma"))
			result = check_word(word);
	}
	return result;
}

/* The name of a replaced function. A word before it, such as a type, makes it a declaration. */
static enum slice_text check_replaced(struct scanner *s)
{
	static const char *const before[] = {"return", "else", "do", "case", "sizeof"};
	struct scanner ahead = *s;

	if (s->last.length > 0 && is_letter(*s->last.at) && !is_one_of(s->last, before, N(before)))
		return SLICE_TEXT_REDEFINED;
	skip_space(&ahead, true);
	return peek(&ahead, 0) == '(' ? SLICE_TEXT_OK : SLICE_TEXT_REFERENCED;
}

/* Looks for variables that are no constants and live longer than a launch. */
static enum slice_text check_variable(struct scanner *s, struct word word)
{
	static const char *const harmless[] = {"typedef",    "struct", "union",	    "enum",
					       "__constant", "const",  "constant",  "sampler_t",
					       "using",	     "extern", "namespace", "template"};
	struct statement *statement = &s->statement;

	if (s->braces > 0)
		return equals(word, "static") ? SLICE_TEXT_VARIABLE : SLICE_TEXT_OK;
	if (s->parentheses > 0 || statement->has_ended)
		return SLICE_TEXT_OK;
	if (equals(word, "global") || equals(word, "__global"))
		return SLICE_TEXT_VARIABLE;
	statement->words++;
	if (is_one_of(word, harmless, N(harmless)))
		statement->is_harmless = true;
	return SLICE_TEXT_OK;
}

/* Returns true if the statement that ends defines a variable. */
static bool is_variable(const struct statement *statement)
{
	return statement->words >= 2 && !statement->has_parenthesis && !statement->is_harmless;
}

static enum slice_text scan_mark(struct scanner *s)
{
	char mark = *s->at++;
	bool is_outside = s->braces == 0 && s->parentheses == 0;
	enum slice_text result = SLICE_TEXT_OK;

	if (is_outside && (mark == ';' || mark == '=') && is_variable(&s->statement) &&
	    !s->statement.has_ended)
		result = SLICE_TEXT_VARIABLE;
	if (is_outside && mark == '(')
		s->statement.has_parenthesis = true;
	if (is_outside && (mark == '=' || mark == '{'))
		s->statement.has_ended = true;
	s->parentheses += (mark == '(') - (mark == ')' && s->parentheses > 0);
	s->braces += (mark == '{') - (mark == '}' && s->braces > 0);
	if (s->braces == 0 && s->parentheses == 0 && (mark == ';' || mark == '}'))
		s->statement = (struct statement){0};
	return result;
}

static enum slice_text scan_token(struct scanner *s)
{
	enum slice_text result;
	struct word word;

	if (*s->at == '#' && s->line_begins) {
		s->last.length = 0;
		return scan_directive(s);
	}
	s->line_begins = false;
	if (*s->at == '"' || *s->at == '\'') {
		skip_quoted(s);
		s->last.length = 0;
		return SLICE_TEXT_OK;
	}
	word = take_word(s);
	if (word.length == 0) {
		s->last.length = 0;
		return scan_mark(s);
	}
	result = is_one_of(word, replaced, N(replaced)) ? check_replaced(s) : check_word(word);
	if (result == SLICE_TEXT_OK)
		result = check_variable(s, word);
	s->last = word;
	return result;
}

enum slice_text slice_text_check(const char *text, size_t size)
{
	struct scanner s = {.at = text, .end = text + size, .line_begins = true};
	enum slice_text result = SLICE_TEXT_OK, found;

	if (size > 0 && memchr(text, '\0', size))
		return SLICE_TEXT_INVALID;
	for (skip_space(&s, true); s.at < s.end; skip_space(&s, true)) {
		found = scan_token(&s);
		if (found != SLICE_TEXT_OK)
			result = found;
		if (found != SLICE_TEXT_OK && found != SLICE_TEXT_VARIABLE)
			break;
	}
	return result;
}

const char *slice_text_reason(enum slice_text result)
{
	static const char *const reasons[] = {
		[SLICE_TEXT_OK] = "its source can be sliced",
		[SLICE_TEXT_REDEFINED] = "its source defines a function for indices",
		[SLICE_TEXT_REFERENCED] = "its source names a function for indices without a call",
		[SLICE_TEXT_ENQUEUES] = "its source enqueues kernels on the device",
		[SLICE_TEXT_PIPE] = "its source uses pipes",
		[SLICE_TEXT_VARIABLE] = "its source may have variables outside of functions",
		[SLICE_TEXT_RESERVED] = "its source uses a reserved name",
		[SLICE_TEXT_INVALID] = "its source contains a NUL byte",
	};

	return reasons[result];
}

char *slice_text_rectify(const char *text, size_t size, enum slice_text check)
{
	const char *guard = check == SLICE_TEXT_VARIABLE ? variables : "";
	size_t length = strlen(guard) + N(preamble) - 1;
	char *rectified = malloc(length + size + N(postamble));

	if (!rectified)
		return NULL;
	memcpy(rectified, guard, strlen(guard));
	memcpy(rectified + strlen(guard), preamble, N(preamble) - 1);
	if (size > 0)
		memcpy(rectified + length, text, size);
	memcpy(rectified + length + size, postamble, N(postamble));
	return rectified;
}

uint32_t slice_text_word(unsigned int dimensions, uint32_t groups0, uint32_t groups1)
{
	return dimensions == 1 ? groups0 : TWO_SIDES | groups1 << SIDE_BITS | groups0;
}
