/* SPDX-License-Identifier: MIT */
/*
 * Bearer tokens with their names and scopes. A token is 32 random bytes; only its SHA-256 is
 * stored, so the file does not disclose tokens. The token itself is returned once, when it is
 * created.
 */
#ifndef GOVER_D_AUTH_TOKENS_H
#define GOVER_D_AUTH_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "gover-d/auth/access.h"

#define TOKENS_MAX	 256
#define TOKEN_HASH_BYTES 32
/* size of the text of a token: "gvr_", 43 characters of A-Z a-z 0-9 - _, and NUL */
#define TOKEN_TEXT_SIZE 48

struct token {
	char name[ID_MAX];
	enum access_scope scope; /* ACCESS_READ, ACCESS_OPERATE or ACCESS_ADMIN */
	int64_t created_ms;
	int64_t expires_ms; /* Unix time in ms; 0: never */
	bool expired;	    /* see tokens_expire() */
	uint8_t hash[TOKEN_HASH_BYTES];
};

struct tokens;
struct tokens *tokens_new(void);
struct tokens *tokens_free(struct tokens *tokens); /* accepts NULL; returns NULL */
/* Replaces all tokens of @to by those of @from. */
void tokens_assign(struct tokens *to, const struct tokens *from);

/*
 * Replaces all tokens by the tokens of the file. A missing file counts as a file without tokens. If
 * any part of the file is invalid, the whole file is rejected and @tokens is empty.
 */
int tokens_load(struct tokens *tokens, const char *path, struct err *reterr);
/* Does the same as tokens_load() with @text as the content of the file. Messages contain @path. */
int tokens_parse(struct tokens *tokens, const char *text, size_t length, const char *path,
		 struct err *reterr);
/* Returns the content of the token file, which the caller frees. */
char *tokens_encode(const struct tokens *tokens);

/*
 * Returns the token with this text; NULL: unknown. The run time does not depend on the number of
 * matching characters, so it discloses nothing about a token.
 */
const struct token *tokens_find(const struct tokens *tokens, const char *text);

const struct token *tokens_at(const struct tokens *tokens, size_t index); /* NULL past the end */
const struct token *tokens_named(const struct tokens *tokens, const char *name); /* NULL: unknown */

bool token_is_expired(const struct token *token, int64_t now_ms);
/*
 * Marks the tokens that are expired, so that they stay expired if the clock is set back. Returns
 * true if it has marked one. The caller stores the tokens.
 */
bool tokens_expire(struct tokens *tokens, int64_t now_ms);

/*
 * Creates a token with the name, scope and times of @terms, and writes its text to @ret_text.
 * -EEXIST: the name is in use; -ENOSPC: TOKENS_MAX tokens exist.
 */
int tokens_add(struct tokens *tokens, const struct token *terms, char ret_text[TOKEN_TEXT_SIZE],
	       struct err *reterr);
int tokens_remove(struct tokens *tokens, const char *name); /* -ENOENT: unknown name */

#endif
