/* SPDX-License-Identifier: MIT */
/*
 * The CAs of client certificates, and the check of a certificate against these CAs. libmicrohttpd
 * passes any certificate on; only this check makes it a proof.
 */
#ifndef GOVER_D_AUTH_CLIENT_TRUST_H
#define GOVER_D_AUTH_CLIENT_TRUST_H

#include <gnutls/gnutls.h>
#include <stdint.h>

#include "base/err.h"
#include "gover-d/config/config.h"

struct client_trust;

/* What a client has proved with its certificate. */
enum client_proof {
	CLIENT_NO_CERTIFICATE,
	CLIENT_UNTRUSTED, /* expired, for another purpose, too weak, or not issued by a CA */
	CLIENT_TRUSTED,
};

struct client_certificate {
	enum client_proof proof;
	/* the following members are set if @proof is CLIENT_TRUSTED */
	char subject[CLIENT_SUBJECT_MAX]; /* as GnuTLS prints it (RFC 4514); "": not usable */
	int64_t expires_s;		  /* seconds since 1970 at which it or an issuer expires */
};

/*
 * Reads the CAs in the PEM file @path. Returns a negative errno with a message that names the file.
 */
int client_trust_load(const char *path, struct client_trust **ret_trust, struct err *reterr);
struct client_trust *client_trust_free(struct client_trust *trust); /* accepts NULL; returns NULL */

/*
 * Checks the certificate that the client has sent in the handshake of @session: the chain up to a
 * CA, the validity at the time of the system clock, the extended key usage (client authentication,
 * if the certificate has this extension), and keys of at least 112 bits of security. If memory
 * is short, the certificate is not trusted.
 */
void client_trust_check(const struct client_trust *trust, gnutls_session_t session,
			struct client_certificate *ret_certificate);

#endif
