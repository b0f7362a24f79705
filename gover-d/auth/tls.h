/* SPDX-License-Identifier: MIT */
/*
 * The certificate of TCP: read from its files, looked at again for as long as the daemon runs, and
 * shown to each handshake. Must never show a byte of a key.
 */
#ifndef GOVER_D_AUTH_TLS_H
#define GOVER_D_AUTH_TLS_H

#include <gnutls/abstract.h>
#include <stdint.h>

#include "base/err.h"

struct tls;
struct worker;

/* Reads both PEM files and sees that they are a pair, as GnuTLS understands it. A negative errno
 * with a sentence that names the file. One at a time: see tls_select_certificate(). */
int tls_new(const char *certificate_path, const char *key_path, struct tls **ret_tls,
	    struct err *reterr);
/* No handshake and no job of it is under way any more. NULL is fine; returns NULL. */
struct tls *tls_free(struct tls *tls);

/* Once a period: has @worker look every TLS_CHECK_PERIODS whether the files are others. Those that
 * are a pair are shown from then on; the log tells of them, and of those that are none. */
#define TLS_CHECK_PERIODS 10
void tls_tick(struct tls *tls, struct worker *worker, uint64_t now_ns);

/* Until when the certificate that is shown is good, in seconds since 1970. */
int64_t tls_expires_s(const struct tls *tls);

/* For MHD_OPTION_HTTPS_CERT_CALLBACK: what GnuTLS shows in a handshake. */
int tls_select_certificate(gnutls_session_t session, const gnutls_datum_t *authorities,
			   int n_authorities, const gnutls_pk_algorithm_t *algorithms,
			   int n_algorithms, gnutls_pcert_st **ret_chain, unsigned int *ret_n_chain,
			   gnutls_privkey_t *ret_key);

#endif
