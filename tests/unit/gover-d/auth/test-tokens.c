/* SPDX-License-Identifier: MIT */
/* Tokens (creation, lookup, revocation, file) and the limits of an address. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gover-d/auth/limits.h"
#include "gover-d/auth/tokens.h"
#include "tests/unit/unit.h"

static struct tokens *tokens;
static struct err err;

static int begin(void)
{
	tokens = tokens_new();
	return tokens ? 0 : -1;
}

static int end(void)
{
	tokens = tokens_free(tokens);
	return 0;
}

FIXTURE(begin, end)

static void make(const char *name, enum access_scope scope, char text[TOKEN_TEXT_SIZE])
{
	struct token terms = {.scope = scope, .created_ms = 1000, .expires_ms = 5000};

	snprintf(terms.name, sizeof(terms.name), "%s", name);
	assert_int_equal(tokens_add(tokens, &terms, text, &err), 0);
}

TEST(only_the_exact_token_is_found)
{
	char a[TOKEN_TEXT_SIZE], b[TOKEN_TEXT_SIZE], wrong[2 * TOKEN_TEXT_SIZE];

	make("a", ACCESS_READ, a);
	make("b", ACCESS_ADMIN, b);
	assert_int_equal(strlen(a), 47);
	assert_string_not_equal(a, b);
	assert_string_equal(tokens_find(tokens, a)->name, "a");
	assert_string_equal(tokens_find(tokens, b)->name, "b");
	assert_int_equal(tokens_find(tokens, b)->scope, ACCESS_ADMIN);
	for (size_t i = 0; i < strlen(a); i++) {
		strcpy(wrong, a);
		wrong[i] = wrong[i] == 'x' ? 'y' : 'x';
		assert_null(tokens_find(tokens, wrong));
		wrong[i] = '\0';
		assert_null(tokens_find(tokens, wrong));
	}
	snprintf(wrong, sizeof(wrong), "%s%s", a, a);
	assert_null(tokens_find(tokens, wrong));
	wrong[strlen(a) + 1] = '\0';
	assert_null(tokens_find(tokens, wrong));
}

TEST(a_removed_token_is_not_found)
{
	char a[TOKEN_TEXT_SIZE], b[TOKEN_TEXT_SIZE];
	struct token again = {.name = "a", .scope = ACCESS_READ};

	make("a", ACCESS_READ, a);
	make("b", ACCESS_READ, b);
	assert_int_equal(tokens_add(tokens, &again, a + 0, &err), -EEXIST);
	assert_int_equal(tokens_remove(tokens, "a"), 0);
	assert_int_equal(tokens_remove(tokens, "a"), -ENOENT);
	assert_null(tokens_find(tokens, a));
	assert_string_equal(tokens_find(tokens, b)->name, "b");
	make("a", ACCESS_READ, b);
	assert_null(tokens_find(tokens, a));
}

TEST(an_expired_token_stays_expired)
{
	char text[TOKEN_TEXT_SIZE];
	CLEANUP_FREE char *file = NULL;
	const struct token *token;

	make("a", ACCESS_READ, text);
	token = tokens_find(tokens, text);
	assert_false(tokens_expire(tokens, 4999));
	assert_false(token_is_expired(token, 4999));
	assert_true(token_is_expired(token, 5000));
	assert_true(tokens_expire(tokens, 5000));
	assert_false(tokens_expire(tokens, 5000));
	assert_true(token_is_expired(token, 4999));
	file = tokens_encode(tokens);
	assert_int_equal(tokens_parse(tokens, file, strlen(file), "file", &err), 0);
	assert_true(token_is_expired(tokens_find(tokens, text), 1));
}

TEST(the_file_contains_everything_but_the_tokens)
{
	char a[TOKEN_TEXT_SIZE], b[TOKEN_TEXT_SIZE];
	CLEANUP_FREE char *text = NULL;
	const struct token *found;

	make("a", ACCESS_OPERATE, a);
	make("b", ACCESS_READ, b);
	text = tokens_encode(tokens);
	assert_non_null(text);
	assert_null(strstr(text, "gvr_"));
	assert_null(strstr(text, a + 4));
	tokens_free(tokens);
	tokens = tokens_new();
	assert_int_equal(tokens_parse(tokens, text, strlen(text), "f", &err), 0);
	found = tokens_find(tokens, a);
	assert_non_null(found);
	assert_string_equal(found->name, "a");
	assert_int_equal(found->scope, ACCESS_OPERATE);
	assert_int_equal(found->created_ms, 1000);
	assert_int_equal(found->expires_ms, 5000);
	assert_non_null(tokens_find(tokens, b));
}

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define TOKEN(name, scope, hash)                                                     \
	"{\"name\":\"" name "\",\"scope\":\"" scope "\",\"created_ms\":1,\"expires_" \
	"ms\":0,\"sha256\":\"" hash "\"}"
#define FILE_OF(list) "{\"version\":1,\"tokens\":[" list "]}"

TEST(an_invalid_file_is_rejected_as_a_whole)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{\"version\":2,\"tokens\":[]}",
		"{\"version\":1}",
		FILE_OF("7"),
		FILE_OF(TOKEN("a", "read", HASH) "," TOKEN("a", "read", HASH)),
		FILE_OF(TOKEN("a", "read", HASH) "," TOKEN("b", "none", HASH)),
		FILE_OF(TOKEN("a", "open", HASH)),
		FILE_OF(TOKEN("../a", "read", HASH)),
		FILE_OF(TOKEN("a", "read", "00")),
		FILE_OF(TOKEN("a", "read", HASH "00")),
		FILE_OF(TOKEN("a", "read",
			      "zz112233445566778899aabbccddeeff00112233445566778899aabbccddeeff")),
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (tokens_parse(tokens, bad[i], strlen(bad[i]), "file", &err) != -EINVAL)
			fail_msg("%s", bad[i]);
		assert_non_null(strstr(err.msg, "file: "));
		assert_null(tokens_at(tokens, 0));
	}
	assert_int_equal(tokens_parse(tokens, FILE_OF(TOKEN("a", "read", HASH)),
				      strlen(FILE_OF(TOKEN("a", "read", HASH))), "f", &err),
			 0);
	assert_int_equal(tokens_load(tokens, "/no/such/file", &err), 0);
	assert_null(tokens_at(tokens, 0));
}

TEST(the_number_of_tokens_is_limited)
{
	char text[TOKEN_TEXT_SIZE], name[16];
	struct token more = {.name = "more", .scope = ACCESS_READ};

	for (int i = 0; i < TOKENS_MAX; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		make(name, ACCESS_READ, text);
	}
	assert_int_equal(tokens_add(tokens, &more, text, &err), -ENOSPC);
}

/* --- limits --- */

static const uint8_t address[PEER_KEY_BYTES] = {1};

TEST_WITH(invalid_tokens_block_an_address_longer_each_time, NULL, NULL)
{
	static const unsigned int costs_s[] = {1, 2, 4, 8, 16, 32, 60, 60};
	struct limits *limits = limits_new();
	uint64_t now_ns = 1000 * NS_PER_S;
	unsigned int begins_s;

	for (int i = 1; i < LIMITS_FREE_TRIES; i++) {
		assert_int_equal(limits_fail_token(limits, address, now_ns, &begins_s), 0);
		assert_int_equal(begins_s, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(costs_s); i++) {
		assert_int_equal(limits_fail_token(limits, address, now_ns, &begins_s), 0);
		assert_int_equal(begins_s, costs_s[i]);
		for (int n = 0; n < 100; n++)
			assert_int_equal(limits_fail_token(limits, address, now_ns + 1, &begins_s),
					 costs_s[i]);
		now_ns += costs_s[i] * NS_PER_S;
	}
	now_ns += LIMITS_FORGIVE_S * NS_PER_S;
	assert_int_equal(limits_fail_token(limits, address, now_ns, &begins_s), 0);
	assert_int_equal(begins_s, 0);
	limits_free(limits);
}

TEST_WITH(other_addresses_are_not_blocked, NULL, NULL)
{
	static const uint8_t other[PEER_KEY_BYTES] = {2};
	struct limits *limits = limits_new();
	unsigned int begins_s;

	for (int i = 0; i < 100; i++)
		(void)limits_fail_token(limits, address, NS_PER_S, &begins_s);
	assert_int_not_equal(limits_fail_token(limits, address, NS_PER_S, &begins_s), 0);
	assert_int_equal(limits_fail_token(limits, other, NS_PER_S, &begins_s), 0);
	limits_free(limits);
}

TEST_WITH(requests_are_limited_per_second, NULL, NULL)
{
	struct limits *limits = limits_new();

	for (uint64_t s = 10; s < 13; s++) {
		for (int i = 0; i < 5; i++)
			assert_true(limits_take_request(limits, address, 5, s * NS_PER_S));
		assert_false(limits_take_request(limits, address, 5, s * NS_PER_S + 1));
		assert_false(limits_take_request(limits, address, 5, (s + 1) * NS_PER_S - 1));
		assert_true(limits_take_request(limits, address, 0, s * NS_PER_S + 1));
	}
	limits_free(limits);
}

/* The table has a fixed size and must still count correctly after 100000 addresses. */
TEST_WITH(the_table_does_not_grow, NULL, NULL)
{
	struct limits *limits = limits_new();
	uint8_t key[PEER_KEY_BYTES] = {0};
	unsigned int begins_s;

	for (uint32_t i = 0; i < 100000; i++) {
		memcpy(key, &i, sizeof(i));
		assert_true(limits_take_request(limits, key, 1, NS_PER_S + i));
		assert_false(limits_take_request(limits, key, 1, NS_PER_S + i));
		(void)limits_fail_token(limits, key, NS_PER_S + i, &begins_s);
	}
	limits_free(limits);
}
