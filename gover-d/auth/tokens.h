/* SPDX-License-Identifier: MIT */
/*
 * Bearer tokens with their names and scopes. A token is 32 random bytes; only its SHA-256 is
 * stored, so the file does not disclose tokens. The token itself is returned once, when it is
 * created.
 */
#ifndef GOVER_D_AUTH_TOKENS_H
#define GOVER_D_AUTH_TOKENS_H

#include <stdint.h>

#include "base/id.h"
#include "gover-d/auth/access.h"

#define TOKENS_MAX	 256
#define TOKEN_HASH_BYTES 32
#define TOKEN_TEXT_SIZE	 48 /* "gvr_", 43 of A-Z a-z 0-9 - _, and NUL */

struct token {
	char name[ID_MAX];
	enum access_scope scope; /* read, operate or admin */
	int64_t created_ms;
	int64_t expires_ms; /* 0: never */
	uint8_t hash[TOKEN_HASH_BYTES];
};

struct tokens;
struct tokens *tokens_new(void);		   /* NULL: out of memory */
struct tokens *tokens_free(struct tokens *tokens); /* NULL is fine; returns NULL */

/* Reads the file; a missing file means no tokens. If any part of it is invalid, it is rejected as a
 * whole and there are no tokens. */
int tokens_load(struct tokens *tokens, const char *path, struct err *reterr);
/* The same for a text. */
int tokens_parse(struct tokens *tokens, const char *text, size_t length, const char *path,
		 struct err *reterr);
/* The text of the file, which the caller frees; NULL: out of memory. */
char *tokens_encode(const struct tokens *tokens);

/* Finds a token by its text; NULL: unknown. The time does not depend on how much of a token
 * matches. */
const struct token *tokens_find(const struct tokens *tokens, const char *text);

const struct token *tokens_at(const struct tokens *tokens, size_t index); /* NULL past the end */
const struct token *tokens_named(const struct tokens *tokens, const char *name); /* NULL: unknown */

/*
 * Creates a token with these terms (their hash is ignored) and returns its text. -EEXIST: the name
 * is in use; -ENOSPC: there are TOKENS_MAX.
 */
int tokens_add(struct tokens *tokens, const struct token *terms, char ret_text[TOKEN_TEXT_SIZE],
	       struct err *reterr);
int tokens_remove(struct tokens *tokens, const char *name); /* -ENOENT */

#endif
