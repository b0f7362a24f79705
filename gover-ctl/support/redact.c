/* SPDX-License-Identifier: MIT */
/* Pseudonyms for names and addresses, and removal of secrets. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/support/redact.h"

#define REMOVED	      "REDACTED"
#define NAME_TEXT_MAX 256

static const char *const kind_names[REDACT_KINDS] = {
	[REDACT_VM] = "vm",	    [REDACT_VGPU] = "vgpu",    [REDACT_GPU] = "gpu",
	[REDACT_FLAVOR] = "flavor", [REDACT_TOKEN] = "token",  [REDACT_CLIENT] = "client",
	[REDACT_LABEL] = "label",   [REDACT_VALUE] = "value",  [REDACT_HOST] = "host",
	[REDACT_PATH] = "path",	    [REDACT_ADDRESS] = "addr",
};

/* JSON members and configuration keys whose value is a name to redact. */
static const struct {
	const char *key;
	/* @key is a name only in objects that also have this member; NULL: in all objects */
	const char *sibling;
	enum redact_kind kind;
} name_keys[] = {
	{"vm", NULL, REDACT_VM},
	{"vgpu", NULL, REDACT_VGPU},
	{"donor", NULL, REDACT_VGPU},
	{"id", NULL, REDACT_VGPU},
	{"gpu", NULL, REDACT_GPU},
	{"name", "backend", REDACT_GPU},
	{"flavor", NULL, REDACT_FLAVOR},
	{"name", "scope", REDACT_TOKEN},
	{"on_alert", NULL, REDACT_PATH},
	{"on_migrate", NULL, REDACT_PATH},
	{"on_offer", NULL, REDACT_PATH},
	{"tls_certificate", NULL, REDACT_PATH},
	{"tls_key", NULL, REDACT_PATH},
	{"tls_client_ca", NULL, REDACT_PATH},
	{"client", "subject", REDACT_CLIENT},
	{"subject", "client", REDACT_CLIENT},
};

/*
 * Patterns of secrets and addresses. Group 1 of a match is kept, the rest of the match is replaced.
 */
static const struct {
	const char *text;
	bool address;
} patterns[] = {
	/* KEY = VALUE of a secret; must be first, because is_secret_key() uses patterns[0] */
	{"([a-z0-9_-]*(token|secret|passwd|password|api_?key|credential)[a-z0-9_-]*[\"']?"
	 "[[:space:]]*[=:][[:space:]]*[\"']?)[^[:space:]\"',;]+",
	 false},
	/* user name and password in a URL */
	{"([a-z][a-z0-9+.-]*://)[^][:space:]\"'<>]*@", false},
	/* path and query of a URL: the URL of a webhook often contains a secret there */
	{"(https?://[^][:space:]\"'<>/?]+[/?])[^][:space:]\"'<>]+", false},
	/* value of a webhook that is not a valid URL */
	{"(webhook[[:space:]]*=[[:space:]]*)[^\n]+", false},
	{"(gvr_)[A-Za-z0-9_-]+", false}, /* the tokens of gover-d */
	{"(bearer[[:space:]]+)[^[:space:]\"']+", false},
	{"(basic[[:space:]]+)[A-Za-z0-9+/]{8,}=*", false},
	{"([a-z]://([^][:space:]\"'<>/?]*@)?)[^]@[:space:]\"'<>/?]+", true}, /* host of a URL */
	{"(^|[^0-9a-z.])[0-9]{1,3}(\\.[0-9]{1,3}){3}", true},
	{"(^|[^0-9a-z.:])[0-9a-f]*:[0-9a-f]*:[0-9a-f.:]*", true},
};
/* index of the pattern "host of a URL", which matches host names and addresses */
#define URL_HOST 7

struct name {
	char *text, *pseudonym;
	size_t length;
	enum redact_kind kind;
	bool digits; /* true: the name has only digits; a number in a text can look the same */
};

struct redact {
	bool names_too;
	struct name *names; /* sorted by length, the longest name first */
	size_t n;
	int counts[REDACT_KINDS];
	regex_t patterns[ARRAY_SIZE(patterns)];
	size_t n_patterns;
};

const char *redact_kind_name(enum redact_kind kind)
{
	return kind_names[kind];
}

struct redact *redact_new(bool names)
{
	struct redact *redact = calloc(1, sizeof(*redact));

	if (!redact)
		return NULL;
	redact->names_too = names;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (regcomp(&redact->patterns[i], patterns[i].text, REG_EXTENDED | REG_ICASE) != 0)
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

int redact_count(const struct redact *redact, enum redact_kind kind)
{
	return redact->counts[kind];
}

/* --- learning --- */

static const char *pseudonym_of(const struct redact *redact, const char *text)
{
	for (size_t i = 0; i < redact->n; i++)
		if (strcmp(redact->names[i].text, text) == 0)
			return redact->names[i].pseudonym;
	return NULL;
}

int redact_learn(struct redact *redact, enum redact_kind kind, const char *text)
{
	struct name *names, name = {.length = strlen(text), .kind = kind};
	size_t at = 0;

	if (!redact->names_too || !text[0] || pseudonym_of(redact, text))
		return 0;
	names = realloc(redact->names, (redact->n + 1) * sizeof(*names));
	if (!names)
		return -ENOMEM;
	redact->names = names;
	name.digits = strspn(text, "0123456789") == name.length;
	name.text = strdup(text);
	if (asprintf(&name.pseudonym, "%s-%d", kind_names[kind], redact->counts[kind] + 1) < 0)
		name.pseudonym = NULL;
	if (!name.text || !name.pseudonym) {
		free(name.text);
		free(name.pseudonym);
		return -ENOMEM;
	}
	redact->counts[kind]++;
	while (at < redact->n && names[at].length >= name.length)
		at++;
	memmove(names + at + 1, names + at, (redact->n - at) * sizeof(*names));
	names[at] = name;
	redact->n++;
	return 0;
}

/* Returns the kind of the name in the member @key of @object; REDACT_KINDS: not a name. */
static enum redact_kind kind_of(const char *key, const json_t *object)
{
	for (size_t i = 0; i < ARRAY_SIZE(name_keys); i++)
		if (strcmp(key, name_keys[i].key) == 0 &&
		    (!name_keys[i].sibling || json_object_get(object, name_keys[i].sibling)))
			return name_keys[i].kind;
	return REDACT_KINDS;
}

/*
 * Learns names from a row of the audit log: the name of the token or client in "who", and the name
 * in "path".
 */
static int learn_audit(struct redact *redact, const char *key, const char *text)
{
	char collection[16] = "", name[NAME_TEXT_MAX];

	if (strcmp(key, "who") == 0 && sscanf(text, "token %255s", name) == 1)
		return redact_learn(redact, REDACT_TOKEN, name);
	if (strcmp(key, "who") == 0 && sscanf(text, "client %255s", name) == 1)
		return redact_learn(redact, REDACT_CLIENT, name);
	if (strcmp(key, "path") != 0 ||
	    sscanf(text, "/v1/%15[a-z]/%255[^/?]", collection, name) != 2)
		return 0;
	return strcmp(collection, "vgpus") == 0	   ? redact_learn(redact, REDACT_VGPU, name)
	       : strcmp(collection, "gpus") == 0   ? redact_learn(redact, REDACT_GPU, name)
	       : strcmp(collection, "tokens") == 0 ? redact_learn(redact, REDACT_TOKEN, name)
						   : 0;
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
	if (!json_is_string(value))
		return redact_learn_json(redact, value);
	return kind != REDACT_KINDS ? redact_learn(redact, kind, json_string_value(value))
				    : learn_audit(redact, key, json_string_value(value));
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

/* --- text --- */

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/*
 * Returns true if the digits from @at to @end belong to a decimal number, a time or a date, or are
 * the value of a metric.
 */
static bool in_number(const char *text, const char *at, const char *end)
{
	return (at - text >= 2 && at[-2] == '}') ||
	       (at - text >= 2 && strchr(".:-", at[-1]) && isdigit((unsigned char)at[-2])) ||
	       (*end && strchr(".:-", *end) && isdigit((unsigned char)end[1]));
}

/* Returns the name that begins at @at, or NULL if no name begins there. */
static const struct name *name_at(const struct redact *redact, const char *text, const char *at)
{
	if (at > text && in_word(at[-1]))
		return NULL;
	for (size_t i = 0; i < redact->n; i++) {
		const struct name *name = &redact->names[i];
		const char *end = at + name->length;

		/* a text followed by =" is the label key of a metric, and is not redacted */
		if (strncmp(at, name->text, name->length) == 0 && !in_word(*end) &&
		    strncmp(end, "=\"", 2) != 0 &&
		    !(name->digits && (name->kind == REDACT_VALUE || in_number(text, at, end))))
			return name;
	}
	return NULL;
}

static void replace_names(const struct redact *redact, const char *text, FILE *out)
{
	for (const char *at = text; *at;) {
		const struct name *name = name_at(redact, text, at);

		if (name)
			fputs(name->pseudonym, out);
		else
			fputc(*at, out);
		at += name ? name->length : 1;
	}
}

/* Returns the end of the address that begins at @text, or @text if no address begins there. */
static const char *address_end(size_t pattern, const char *text, const char *end,
			       char address[NAME_TEXT_MAX])
{
	struct in6_addr any;

	while (end > text && strchr(".:", end[-1]))
		end--;
	snprintf(address, NAME_TEXT_MAX, "%.*s", (int)(end - text), text);
	return pattern == URL_HOST || inet_pton(AF_INET, address, &any) == 1 ||
			       inet_pton(AF_INET6, address, &any) == 1
		       ? end
		       : text;
}

static int replace_matches(struct redact *redact, size_t pattern, const char *text, FILE *out)
{
	regmatch_t match[2];
	int flags = 0, r = 0;

	while (r == 0 &&
	       regexec(&redact->patterns[pattern], text, ARRAY_SIZE(match), match, flags) == 0) {
		const char *begin = text + match[1].rm_eo, *end = text + match[0].rm_eo;
		char address[NAME_TEXT_MAX];

		fwrite(text, 1, (size_t)(begin - text), out);
		text = end;
		flags = REG_NOTBOL;
		if (!patterns[pattern].address) {
			fputs(end[-1] == '@' ? REMOVED "@" : REMOVED, out);
			continue;
		}
		text = address_end(pattern, begin, end, address);
		if (text > begin) {
			r = redact_learn(redact, REDACT_ADDRESS, address);
			fputs(r == 0 ? pseudonym_of(redact, address) : "", out);
		} else {
			fwrite(begin, 1, (size_t)(end - begin), out);
			text = end;
		}
	}
	fputs(text, out);
	return r;
}

/*
 * Returns a changed copy of @text. Step 0 replaces all names. Step N replaces all matches of
 * patterns[N - 1].
 */
static char *pass(struct redact *redact, size_t step, const char *text)
{
	char *result = NULL;
	size_t length;
	FILE *out = open_memstream(&result, &length);
	int r = 0;

	if (!out)
		return NULL;
	if (step == 0)
		replace_names(redact, text, out);
	else
		r = replace_matches(redact, step - 1, text, out);
	if (fclose(out) == 0 && r == 0)
		return result;
	free(result);
	return NULL;
}

/*
 * Replaces names first, then secrets. A secret is removed completely, even if a pseudonym has
 * already replaced a name in it.
 */
char *redact_text(struct redact *redact, const char *text)
{
	char *now = pass(redact, 0, text);

	for (size_t i = 0; now && i < redact->n_patterns; i++) {
		char *next = patterns[i].address && !redact->names_too ? strdup(now)
								       : pass(redact, i + 1, now);

		free(now);
		now = next;
	}
	return now;
}

/* --- JSON --- */

static json_t *redact_string(struct redact *redact, const char *text)
{
	const char *pseudonym = pseudonym_of(redact, text);
	CLEANUP_FREE char *redacted = pseudonym ? NULL : redact_text(redact, text);

	return json_string(pseudonym ? pseudonym : redacted);
}

/* Returns true if a value with this key is a secret. */
static bool is_secret_key(const struct redact *redact, const char *key)
{
	char line[128];

	snprintf(line, sizeof(line), "%.100s=x", key);
	return regexec(&redact->patterns[0], line, 0, NULL, 0) == 0;
}

static json_t *redact_object(struct redact *redact, json_t *object, bool labels)
{
	json_t *copy = json_object(), *value;
	const char *key;
	int r = 0;

	json_object_foreach (object, key, value) {
		const char *pseudonym = labels ? pseudonym_of(redact, key) : NULL;
		json_t *fresh = json_is_string(value) && is_secret_key(redact, key)
					? json_string(REMOVED)
				: json_is_object(value)
					? redact_object(redact, value, strcmp(key, "labels") == 0)
					: redact_json(redact, value);

		r |= json_object_set_new(copy, pseudonym ? pseudonym : key, fresh);
	}
	if (r == 0)
		return copy;
	json_decref(copy);
	return NULL;
}

json_t *redact_json(struct redact *redact, json_t *json)
{
	json_t *copy, *value;
	size_t i;
	int r = 0;

	if (json_is_object(json))
		return redact_object(redact, json, false);
	if (json_is_string(json))
		return redact_string(redact, json_string_value(json));
	if (!json_is_array(json))
		return json_incref(json);
	copy = json_array();
	json_array_foreach (json, i, value)
		r |= json_array_append_new(copy, redact_json(redact, value));
	if (r == 0)
		return copy;
	json_decref(copy);
	return NULL;
}
