/* SPDX-License-Identifier: MIT */
/* How long a token or a certificate keeps an event stream open. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/auth/authn.h"
#include "gover-d/auth/tokens.h"
#include "tests/unit/unit.h"

static struct authn *authn;
static struct err err;

static int begin(void)
{
	authn = authn_new();
	return authn ? 0 : -1;
}

static int end(void)
{
	authn = authn_free(authn);
	return 0;
}

FIXTURE(begin, end)

static void make(const char *name, int64_t created_ms, int64_t expires_ms)
{
	struct token terms = {
		.scope = ACCESS_READ, .created_ms = created_ms, .expires_ms = expires_ms};
	char text[TOKEN_TEXT_SIZE];

	strcpy(terms.name, name);
	assert_int_equal(tokens_add(authn_tokens(authn), &terms, text, &err), 0);
}

/* Returns the session of a principal that has the name @name and no certificate. */
static struct authn_session session_of(const char *name)
{
	struct principal principal = {.scope = ACCESS_READ};
	struct authn_session session;

	strcpy(principal.name, name);
	authn_session_begin(authn, &principal, &session);
	return session;
}

TEST(a_session_ends_when_its_token_expires_or_is_revoked)
{
	struct authn_session expiring, lasting;

	make("a", 1000, 5000);
	make("b", 1000, 0);
	expiring = session_of("token a");
	lasting = session_of("token b");
	assert_true(authn_session_is_valid(authn, &expiring, 4999));
	assert_false(authn_session_is_valid(authn, &expiring, 5000));
	assert_true(authn_session_is_valid(authn, &lasting, INT64_MAX));
	assert_int_equal(tokens_remove(authn_tokens(authn), "b"), 0);
	assert_false(authn_session_is_valid(authn, &lasting, 2000));
	assert_true(authn_session_is_valid(authn, &expiring, 2000));
}

TEST(a_later_token_of_the_same_name_does_not_continue_a_session)
{
	struct authn_session session;

	make("a", 1000, 0);
	session = session_of("token a");
	assert_int_equal(tokens_remove(authn_tokens(authn), "a"), 0);
	make("a", 2000, 0);
	assert_false(authn_session_is_valid(authn, &session, 3000));
	session = session_of("token a");
	assert_true(authn_session_is_valid(authn, &session, 3000));
}

TEST(a_session_without_token_and_certificate_does_not_end)
{
	static const char *const names[] = {"root", "uid 1000", "client a", "anonymous"};

	make("a", 1000, 5000);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct authn_session session = session_of(names[i]);

		assert_true(authn_session_is_valid(authn, &session, INT64_MAX));
	}
}

TEST(a_session_ends_when_its_certificate_expires)
{
	struct principal principal = {
		.name = "client a", .scope = ACCESS_READ, .expires_s = 5, .tls_generation = 1};
	struct authn_session session;

	authn_session_begin(authn, &principal, &session);
	assert_false(authn_session_is_valid(authn, &session, 5000));
}
