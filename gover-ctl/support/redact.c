/* SPDX-License-Identifier: MIT */
/* Names and secrets taken out. In doubt it takes out too much. */
#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/support/redact.h"

#define REMOVED "REDACTED"

/* What is a secret by its form: what group 1 matches stays, the rest is removed. */
static const char *const secrets[] = {
	/* user information of a URL */
	"([a-z][a-z0-9+.-]*://)[^][:space:]\"'<>]*@",
	/* path and query of one: webhooks carry their key there */
	"(https?://[^][:space:]\"'<>/?]+[/?])[^][:space:]\"'<>]+",
	/* the same where the URL is none */
	"(webhook[[:space:]]*=[[:space:]]*)[^\n]+",
	/* our own tokens, wherever they stand */
	"(gvr_)[A-Za-z0-9_-]+",
	"(bearer[[:space:]]+)[^[:space:]\"']+",
	"(basic[[:space:]]+)[A-Za-z0-9+/]{8,}=*",
	/* the log on a label that is not understood */
	"(: label )[^\n]+",
	/* KEY = VALUE; stays the last: is_secret_key() asks it */
	"([a-z0-9_-]*(token|secret|passwd|password|api_?key|credential)[a-z0-9_-]*[\"']?[[:space:]]"
	"*[=:]"
	"[[:space:]]*[\"']?)[^[:space:]\"',;]+",
};

struct name {
	char *text, *pseudonym;
	size_t length;
	enum redact_kind kind;
	bool weak; /* a word that stands for other things too */
};

struct redact {
	bool names_too;
	struct name *names; /* the longest first */
	size_t n;
	int counts[REDACT_KINDS];
	regex_t patterns[ARRAY_SIZE(secrets)];
	size_t n_patterns;
};

struct redact *redact_new(bool names)
{
	struct redact *redact = calloc(1, sizeof(*redact));

	if (!redact)
		return NULL;
	redact->names_too = names;
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
		if (regcomp(&redact->patterns[i], secrets[i], REG_EXTENDED | REG_ICASE) != 0)
			return redact_free(redact);
		redact->n_patterns++;
	}
	return redact;
}

struct redact *redact_free(struct redact *redact)
{
	if (!redact)
		return NULL;
	for (size_t i = 0; i < redact->n; i++) {
		free(redact->names[i].text);
		free(redact->names[i].pseudonym);
	}
	free(redact->names);
	for (size_t i = 0; i < redact->n_patterns; i++)
		regfree(&redact->patterns[i]);
	free(redact);
	return NULL;
}

static const struct name *find(const struct redact *redact, const char *text)
{
	for (size_t i = 0; i < redact->n; i++)
		if (strcmp(redact->names[i].text, text) == 0)
			return &redact->names[i];
	return NULL;
}

static bool is_weak(enum redact_kind kind, const char *name)
{
	size_t length = strlen(name);

	return kind == REDACT_LABEL || length < 3 || strspn(name, "0123456789.,:+-") == length;
}

int redact_learn(struct redact *redact, enum redact_kind kind, const char *name)
{
	static const char *const prefixes[] = {
		[REDACT_VM] = "vm",	  [REDACT_VGPU] = "vgpu", [REDACT_LABEL] = "label",
		[REDACT_VALUE] = "value", [REDACT_HOST] = "host",
	};
	struct name *names, fresh = {.length = strlen(name), .kind = kind};
	size_t at = 0;

	if (!redact->names_too || !name[0] || find(redact, name))
		return 0;
	names = realloc(redact->names, (redact->n + 1) * sizeof(*names));
	if (!names)
		return -ENOMEM;
	redact->names = names;
	fresh.weak = is_weak(kind, name);
	fresh.text = strdup(name);
	if (asprintf(&fresh.pseudonym, "%s-%d", prefixes[kind], redact->counts[kind] + 1) < 0)
		fresh.pseudonym = NULL;
	if (!fresh.text || !fresh.pseudonym) {
		free(fresh.text);
		free(fresh.pseudonym);
		return -ENOMEM;
	}
	redact->counts[kind]++;
	while (at < redact->n && names[at].length >= fresh.length)
		at++;
	memmove(names + at + 1, names + at, (redact->n - at) * sizeof(*names));
	names[at] = fresh;
	redact->n++;
	return 0;
}

int redact_count(const struct redact *redact, enum redact_kind kind)
{
	return redact->counts[kind];
}

/* Which kind of name the member @key of an object is. REDACT_KINDS: none. */
static enum redact_kind kind_of(const char *key, const json_t *object)
{
	if (strcmp(key, "vm") == 0)
		return REDACT_VM;
	if (strcmp(key, "vgpu") == 0 || strcmp(key, "donor") == 0 ||
	    (strcmp(key, "id") == 0 && json_object_get(object, "initial_cap_pct")))
		return REDACT_VGPU;
	return REDACT_KINDS;
}

static int learn_labels(struct redact *redact, json_t *labels)
{
	const char *key;
	json_t *value;
	int r = 0;

	json_object_foreach (labels, key, value) {
		if (r == 0)
			r = redact_learn(redact, REDACT_LABEL, key);
		if (r == 0 && json_is_string(value))
			r = redact_learn(redact, REDACT_VALUE, json_string_value(value));
	}
	return r;
}

static int learn_member(struct redact *redact, const json_t *object, const char *key, json_t *value)
{
	enum redact_kind kind = kind_of(key, object);

	if (strcmp(key, "labels") == 0)
		return learn_labels(redact, value);
	if (kind != REDACT_KINDS && json_is_string(value))
		return redact_learn(redact, kind, json_string_value(value));
	return redact_learn_json(redact, value);
}

int redact_learn_json(struct redact *redact, json_t *json)
{
	const char *key;
	json_t *value;
	size_t i;
	int r = 0;

	json_object_foreach (json, key, value) {
		if (r == 0)
			r = learn_member(redact, json, key, value);
	}
	json_array_foreach (json, i, value) {
		if (r == 0)
			r = redact_learn_json(redact, value);
	}
	return r;
}

/* --- texts --- */

/* What follows the words vGPU and VM in sentences and is no name. */
static const char *const no_names[] = {
	"a",	 "and",	   "any",    "are",   "as",    "at",   "away",	"between",
	"can",	 "cannot", "counts", "did",   "does",  "had",  "has",	"in",
	"is",	 "it",	   "its",    "just",  "may",   "must", "needs", "needed",
	"nor",	 "not",	   "of",     "on",    "only",  "or",   "read",	"scheduler",
	"seen",	 "should", "take",   "taken", "that",  "the",  "then",	"to",
	"wants", "was",	   "when",   "which", "whose", "will", "with",	"would",
};

static int learn_word(struct redact *redact, enum redact_kind kind, const char *text)
{
	size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789._-");
	char word[256];

	while (length > 0 && strchr(".-", text[length - 1]))
		length--;
	if (length == 0 || length >= sizeof(word))
		return 0;
	memcpy(word, text, length);
	word[length] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(no_names); i++)
		if (strcmp(word, no_names[i]) == 0)
			return 0;
	return redact_learn(redact, kind, word);
}

/* "NAME 40 -> 35 %": whose cap moves; @arrow is within @text. */
static int learn_moved(struct redact *redact, const char *text, const char *arrow)
{
	const char *at = arrow;

	while (at > text && isdigit((unsigned char)at[-1]))
		at--;
	if (at == arrow || at == text || at[-1] != ' ')
		return 0;
	at--;
	while (at > text && !strchr(" ,:\n", at[-1]))
		at--;
	return learn_word(redact, REDACT_VGPU, at);
}

int redact_learn_text(struct redact *redact, const char *text)
{
	static const struct {
		const char *word;
		enum redact_kind kind;
	} words[] = {{"vGPU ", REDACT_VGPU}, {"VM ", REDACT_VM}};
	int r = 0;

	for (const char *at = strstr(text, " -> "); at && r == 0; at = strstr(at + 1, " -> "))
		r = learn_moved(redact, text, at);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (const char *at = strstr(text, words[i].word); at && r == 0;
		     at = strstr(at, words[i].word)) {
			at += strlen(words[i].word);
			r = learn_word(redact, words[i].kind, at);
		}
	return r;
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Does what stands before @at say that a name follows? */
static bool is_announced(const char *text, const char *at)
{
	static const char *const before[] = {"\"", "'", "=", "vGPU ", "VM ", "vm "};

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		size_t length = strlen(before[i]);

		if ((size_t)(at - text) >= length && strncmp(at - length, before[i], length) == 0)
			return true;
	}
	return false;
}

/* The name that begins at @at. NULL: none. */
static const struct name *name_at(const struct redact *redact, const char *text, const char *at)
{
	if (at > text && in_word(at[-1]))
		return NULL;
	for (size_t i = 0; i < redact->n; i++) {
		const struct name *name = &redact->names[i];

		if (name->text[0] != at[0] || strncmp(at, name->text, name->length) != 0 ||
		    in_word(at[name->length]))
			continue;
		if (name->kind != REDACT_LABEL && (!name->weak || is_announced(text, at)))
			return name;
	}
	return NULL;
}

static char *replace_names(const struct redact *redact, const char *text)
{
	char *out = NULL;
	size_t length;
	FILE *stream = open_memstream(&out, &length);

	if (!stream)
		return NULL;
	for (const char *at = text; *at;) {
		const struct name *name = name_at(redact, text, at);

		if (name)
			fputs(name->pseudonym, stream);
		else
			fputc(*at, stream);
		at += name ? name->length : 1;
	}
	if (fclose(stream) == 0)
		return out;
	free(out);
	return NULL;
}

static char *remove_secrets(const regex_t *pattern, const char *text)
{
	regmatch_t match[2];
	char *out = NULL;
	size_t length;
	FILE *stream = open_memstream(&out, &length);
	int flags = 0;

	if (!stream)
		return NULL;
	while (regexec(pattern, text, ARRAY_SIZE(match), match, flags) == 0) {
		bool user = text[match[0].rm_eo - 1] == '@';

		fwrite(text, 1, (size_t)match[1].rm_eo, stream);
		fputs(user ? REMOVED "@" : REMOVED, stream);
		text += match[0].rm_eo;
		flags = REG_NOTBOL;
	}
	fputs(text, stream);
	if (fclose(stream) == 0)
		return out;
	free(out);
	return NULL;
}

/* Names come first: a secret that holds one is then removed with it. */
char *redact_text(const struct redact *redact, const char *text)
{
	char *now = replace_names(redact, text);

	for (size_t i = 0; now && i < redact->n_patterns; i++) {
		char *next = remove_secrets(&redact->patterns[i], now);

		free(now);
		now = next;
	}
	return now;
}

/* --- answers --- */

static json_t *string_of(const struct redact *redact, const char *text, bool is_name)
{
	const struct name *name = is_name ? find(redact, text) : NULL;
	CLEANUP_FREE char *redacted = name ? NULL : redact_text(redact, text);

	if (name)
		return json_string(name->pseudonym);
	return redacted ? json_string(redacted) : NULL;
}

static json_t *labels_of(const struct redact *redact, json_t *labels)
{
	json_t *copy = json_object(), *value;
	const char *key;

	json_object_foreach (labels, key, value) {
		const struct name *name = find(redact, key);
		const char *text = json_is_string(value) ? json_string_value(value) : "";

		if (json_object_set_new(copy, name ? name->pseudonym : key,
					string_of(redact, text, true)) < 0) {
			json_decref(copy);
			return NULL;
		}
	}
	return copy;
}

/* Would KEY = VALUE lose its value? */
static bool is_secret_key(const struct redact *redact, const char *key)
{
	const regex_t *pattern = &redact->patterns[redact->n_patterns - 1];
	char line[128];

	snprintf(line, sizeof(line), "%.100s=x", key);
	return regexec(pattern, line, 0, NULL, 0) == 0;
}

static json_t *object_of(const struct redact *redact, json_t *object)
{
	json_t *copy = json_object(), *value, *fresh;
	const char *key;

	json_object_foreach (object, key, value) {
		bool is_name = kind_of(key, object) != REDACT_KINDS;

		if (strcmp(key, "labels") == 0 && json_is_object(value))
			fresh = labels_of(redact, value);
		else if (json_is_string(value) && is_secret_key(redact, key))
			fresh = json_string(REMOVED);
		else if (json_is_string(value))
			fresh = string_of(redact, json_string_value(value), is_name);
		else
			fresh = redact_json(redact, value);
		if (json_object_set_new(copy, key, fresh) < 0) {
			json_decref(copy);
			return NULL;
		}
	}
	return copy;
}

static json_t *array_of(const struct redact *redact, const json_t *array)
{
	json_t *copy = json_array(), *value;
	size_t i;

	json_array_foreach (array, i, value) {
		if (json_array_append_new(copy, redact_json(redact, value)) < 0) {
			json_decref(copy);
			return NULL;
		}
	}
	return copy;
}

json_t *redact_json(const struct redact *redact, json_t *json)
{
	if (json_is_object(json))
		return object_of(redact, json);
	if (json_is_array(json))
		return array_of(redact, json);
	if (json_is_string(json))
		return string_of(redact, json_string_value(json), true);
	return json_incref(json);
}
