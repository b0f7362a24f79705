/* SPDX-License-Identifier: MIT */
/* Bearer tokens and their file. Only the hash of a token is stored. */
#include <errno.h>
#include <gnutls/crypto.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "gover-d/auth/tokens.h"

#define PREFIX	       "gvr_"
#define RANDOM_BYTES   32
#define TEXT_LENGTH    (TOKEN_TEXT_SIZE - 1)
#define FILE_BYTES_MAX (256 * 1024)

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

struct tokens {
	struct token list[TOKENS_MAX];
	size_t n;
};

struct tokens *tokens_new(void)
{
	return xcalloc(1, sizeof(struct tokens));
}

struct tokens *tokens_free(struct tokens *tokens)
{
	free(tokens);
	return NULL;
}

void tokens_assign(struct tokens *to, const struct tokens *from)
{
	*to = *from;
}

static int hash_token(const char *text, uint8_t hash[TOKEN_HASH_BYTES])
{
	return gnutls_hash_fast(GNUTLS_DIG_SHA256, text, TEXT_LENGTH, hash) < 0 ? -EIO : 0;
}

static bool is_form(const char *text)
{
	return strncmp(text, PREFIX, strlen(PREFIX)) == 0 && strlen(text) == TEXT_LENGTH &&
	       strspn(text + strlen(PREFIX), letters) == TEXT_LENGTH - strlen(PREFIX);
}

const struct token *tokens_find(const struct tokens *tokens, const char *text)
{
	const struct token *found = NULL;
	uint8_t hash[TOKEN_HASH_BYTES];

	if (!is_form(text) || hash_token(text, hash) < 0)
		return NULL;
	for (size_t i = 0; i < tokens->n; i++)
		if (gnutls_memcmp(tokens->list[i].hash, hash, sizeof(hash)) == 0)
			found = &tokens->list[i];
	return found;
}

const struct token *tokens_at(const struct tokens *tokens, size_t index)
{
	return index < tokens->n ? &tokens->list[index] : NULL;
}

const struct token *tokens_named(const struct tokens *tokens, const char *name)
{
	for (size_t i = 0; i < tokens->n; i++)
		if (strcmp(tokens->list[i].name, name) == 0)
			return &tokens->list[i];
	return NULL;
}

bool token_is_expired(const struct token *token, int64_t now_ms)
{
	return token->expired || (token->expires_ms && now_ms >= token->expires_ms);
}

bool tokens_expire(struct tokens *tokens, int64_t now_ms)
{
	bool any = false;

	for (size_t i = 0; i < tokens->n; i++) {
		struct token *token = &tokens->list[i];
		bool expired = token_is_expired(token, now_ms);

		any = any || expired != token->expired;
		token->expired = expired;
	}
	return any;
}

/* Writes base64url without padding: 43 characters for 32 bytes. */
static void write_text(const uint8_t bytes[RANDOM_BYTES], char text[TOKEN_TEXT_SIZE])
{
	char *at = text + strlen(PREFIX);
	uint32_t bits = 0;
	int held = 0;

	memcpy(text, PREFIX, strlen(PREFIX));
	for (int i = 0; i < RANDOM_BYTES; i++) {
		bits = bits << 8 | bytes[i];
		for (held += 8; held >= 6; held -= 6)
			*at++ = letters[bits >> (held - 6) & 63];
	}
	*at++ = letters[bits << (6 - held) & 63];
	*at = '\0';
}

int tokens_add(struct tokens *tokens, const struct token *terms, char ret_text[TOKEN_TEXT_SIZE],
	       struct err *reterr)
{
	struct token token = *terms;
	uint8_t bytes[RANDOM_BYTES];

	if (tokens_named(tokens, terms->name))
		return err_fail(reterr, EEXIST,
				"token %s: already exists (revoke it first, or use another name)",
				terms->name);
	if (tokens->n == TOKENS_MAX)
		return err_fail(reterr, ENOSPC, "too many tokens (limit %d)", TOKENS_MAX);
	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != (ssize_t)sizeof(bytes))
		return err_fail(reterr, EIO, "no random bytes available: %s", strerror(errno));
	write_text(bytes, ret_text);
	explicit_bzero(bytes, sizeof(bytes));
	if (hash_token(ret_text, token.hash) < 0)
		return err_fail(reterr, EIO, "the SHA-256 of the token cannot be computed");
	tokens->list[tokens->n++] = token;
	return 0;
}

int tokens_remove(struct tokens *tokens, const char *name)
{
	const struct token *found = tokens_named(tokens, name);
	size_t i = found ? (size_t)(found - tokens->list) : 0;

	if (!found)
		return -ENOENT;
	tokens->n--;
	memmove(&tokens->list[i], &tokens->list[i + 1], (tokens->n - i) * sizeof(struct token));
	return 0;
}

char *tokens_encode(const struct tokens *tokens)
{
	json_t *list = json_array(), *file = json_pack("{s:i, s:o}", "version", 1, "tokens", list);
	char *text;

	for (size_t i = 0; i < tokens->n; i++) {
		const struct token *t = &tokens->list[i];
		char hex[2 * TOKEN_HASH_BYTES + 1];

		for (int b = 0; b < TOKEN_HASH_BYTES; b++)
			snprintf(hex + 2 * b, 3, "%02x", t->hash[b]);
		json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:I, s:b, s:s}", "name",
						      t->name, "scope", access_scope_name(t->scope),
						      "created_ms", (json_int_t)t->created_ms,
						      "expires_ms", (json_int_t)t->expires_ms,
						      "expired", t->expired, "sha256", hex));
	}
	text = json_dumps(file, JSON_INDENT(1));
	json_decref(file);
	return text;
}

static bool read_hash(const char *hex, uint8_t hash[TOKEN_HASH_BYTES])
{
	size_t n = 2 * TOKEN_HASH_BYTES;

	if (strlen(hex) != n || strspn(hex, "0123456789abcdef") != n)
		return false;
	for (int i = 0; i < TOKEN_HASH_BYTES; i++)
		(void)sscanf(hex + 2 * i, "%2hhx", &hash[i]);
	return true;
}

static bool read_token(json_t *object, struct token *token)
{
	const char *name, *scope, *hex;
	json_int_t created, expires;
	int expired = false; /* files of earlier versions do not contain it */

	if (json_unpack(object, "{s:s, s:s, s:I, s:I, s?b, s:s !}", "name", &name, "scope", &scope,
			"created_ms", &created, "expires_ms", &expires, "expired", &expired,
			"sha256", &hex) < 0)
		return false;
	*token = (struct token){
		.scope = access_scope_find(scope),
		.created_ms = created,
		.expires_ms = expires,
		.expired = expired,
	};
	return id_copy(token->name, name) == 0 && token->scope != ACCESS_NONE && created >= 0 &&
	       expires >= 0 && read_hash(hex, token->hash);
}

static int read_list(struct tokens *tokens, json_t *file, const char *path, struct err *reterr)
{
	json_t *list = json_object_get(file, "tokens"), *object;
	size_t i;

	if (json_integer_value(json_object_get(file, "version")) != 1 || !json_is_array(list))
		return err_fail(reterr, EINVAL, "%s: unknown format or version", path);
	if (json_array_size(list) > TOKENS_MAX)
		return err_fail(reterr, EINVAL, "%s: too many tokens (limit %d)", path, TOKENS_MAX);
	json_array_foreach (list, i, object) {
		struct token token;

		if (!read_token(object, &token) || tokens_named(tokens, token.name))
			return err_fail(reterr, EINVAL, "%s: token %zu: invalid", path, i + 1);
		tokens->list[tokens->n++] = token;
	}
	return 0;
}

int tokens_parse(struct tokens *tokens, const char *text, size_t length, const char *path,
		 struct err *reterr)
{
	json_error_t error;
	json_t *file = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	int r;

	tokens->n = 0;
	if (!file)
		return err_fail(reterr, EINVAL, "%s: not JSON: line %d: %s", path, error.line,
				error.text);
	r = read_list(tokens, file, path, reterr);
	json_decref(file);
	if (r < 0)
		tokens->n = 0;
	return r;
}

int tokens_load(struct tokens *tokens, const char *path, struct err *reterr)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	int r = file_read(path, FILE_BYTES_MAX, &text, &length);

	tokens->n = 0;
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return err_fail(reterr, -r, "%s: cannot be read: %s", path, file_error(r));
	return tokens_parse(tokens, text, length, path, reterr);
}
