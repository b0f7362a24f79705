/* SPDX-License-Identifier: MIT */
/*
 * Bearer tokens: whom each is for and what he may do. A token is 32 random bytes, of which only the
 * SHA-256 is kept: there is nothing to be stolen from the file, and nothing to be guessed. Must
 * never keep or tell a token, other than to who has it made.
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
struct tokens *tokens_new(void);		   /* NULL: no memory */
struct tokens *tokens_free(struct tokens *tokens); /* NULL is fine; returns NULL */

/* Reads the file; no file is no token. A file that is not wholly understood is refused, and there
 * are none then. */
int tokens_load(struct tokens *tokens, const char *path, struct err *reterr);
/* The same of a text. */
int tokens_parse(struct tokens *tokens, const char *text, size_t length, const char *path,
		 struct err *reterr);
/* The text of the file, from malloc; NULL: no memory. */
char *tokens_encode(const struct tokens *tokens);

/* Whose is it? NULL: nobody's. Takes as long for one that is nearly right as for any other. */
const struct token *tokens_find(const struct tokens *tokens, const char *text);

const struct token *tokens_at(const struct tokens *tokens, size_t index); /* NULL past the end */
const struct token *tokens_named(const struct tokens *tokens, const char *name); /* or NULL */

/*
 * Makes one of these terms (their hash is not looked at) and tells it, this once. -EEXIST: the name
 * is taken; -ENOSPC: there are TOKENS_MAX.
 */
int tokens_add(struct tokens *tokens, const struct token *terms, char ret_text[TOKEN_TEXT_SIZE],
	       struct err *reterr);
int tokens_remove(struct tokens *tokens, const char *name); /* -ENOENT */

#endif
