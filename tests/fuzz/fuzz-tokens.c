/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes token files. A valid file must be written again with the same content. An invalid file
 * must yield no token.
 */
#include "gover-d/auth/tokens.h"
#include "tests/fuzz/fuzz.h"

static void check_tokens(const struct tokens *tokens)
{
	const struct token *token;

	for (size_t i = 0; (token = tokens_at(tokens, i)); i++) {
		FUZZ_CHECK(id_valid(token->name));
		FUZZ_CHECK(token->scope >= ACCESS_READ && token->scope <= ACCESS_ADMIN);
		FUZZ_CHECK(token->created_ms >= 0 && token->expires_ms >= 0);
		FUZZ_CHECK(tokens_named(tokens, token->name) == token);
		FUZZ_CHECK(i < TOKENS_MAX);
	}
}

FUZZ(tokens)
{
	struct tokens *tokens = tokens_new(), *again = tokens_new();
	CLEANUP_FREE char *text = NULL, *text_again = NULL;
	struct err err = {""};
	int r;

	FUZZ_CHECK(tokens && again);
	r = tokens_parse(tokens, (const char *)data, size, "file", &err);
	FUZZ_CHECK(r == 0 || (strncmp(err.msg, "file: ", 6) == 0 && !tokens_at(tokens, 0)));
	check_tokens(tokens);
	text = tokens_encode(tokens);
	FUZZ_CHECK(text);
	FUZZ_CHECK(tokens_parse(again, text, strlen(text), "again", &err) == 0);
	text_again = tokens_encode(again);
	FUZZ_CHECK(text_again && strcmp(text, text_again) == 0);
	tokens_free(tokens);
	tokens_free(again);
	return 0;
}
