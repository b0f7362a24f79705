/* SPDX-License-Identifier: MIT */
/* The first 64 bits of SHA-256 from GnuTLS; 0 if GnuTLS has no SHA-256. */
#include <gnutls/crypto.h>
#include <string.h>

#include "base/hash.h"

uint64_t hash_text(const char *text)
{
	uint64_t words[4] = {0};

	(void)gnutls_hash_fast(GNUTLS_DIG_SHA256, text, strlen(text), words);
	return words[0];
}
