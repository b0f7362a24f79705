/* SPDX-License-Identifier: MIT */
/*
 * The hash is the first 64 bits of SHA-256, computed by GnuTLS. The hash is 0 if GnuTLS has no
 * SHA-256.
 */
#include <gnutls/crypto.h>
#include <string.h>

#include "base/hash.h"

uint64_t hash_text(const char *text)
{
	uint64_t words[4] = {0};

	(void)gnutls_hash_fast(GNUTLS_DIG_SHA256, text, strlen(text), words);
	return words[0];
}
