/* SPDX-License-Identifier: MIT */
/*
 * The gate: says of each request who asks, from what the kernel tells of the connection and from
 * the token it carries. Holds the tokens, the limits by address and the certificate. What somebody
 * may do is access.h's. Must never log a token, nor keep one.
 */
#ifndef GOVER_D_AUTH_AUTHN_H
#define GOVER_D_AUTH_AUTHN_H

#include "base/clock.h"
#include "gover-d/auth/access.h"
#include "gover-d/auth/peer.h"

struct config;
struct authn;
struct tls;
struct tokens;
struct worker;

#define AUTHN_TLS_REQUIRED                                                                       \
	"listen: off loopback TLS is required: set tls_certificate and tls_key of [daemon], or " \
	"listen on 127.0.0.1 or [::1]"

/* Lets in root and the user the daemon runs as, on the unix socket, and nobody else. NULL: no
 * memory. */
struct authn *authn_new(void);
struct authn *authn_free(struct authn *authn); /* NULL is fine; returns NULL */

/*
 * Takes up what the configuration says of access: groups, tokens, certificate. -EINVAL with a
 * sentence: certificate and key are of no use. Tokens that cannot be read are told in the log, and
 * nobody's are good then.
 */
int authn_open(struct authn *authn, const struct config *config, struct err *reterr);

const struct access_rules *authn_rules(const struct authn *authn);

/* Of a request with these headers (NULL: it has none) on a connection from @peer. */
void authn_identify(struct authn *authn, const struct peer *peer, const char *authorization,
		    const char *host, struct instant now, struct principal *ret_principal);

struct tokens *authn_tokens(struct authn *authn);
/* Where they are kept; NULL: what stands there could not be read, and is not to be lost. */
const char *authn_tokens_path(const struct authn *authn);

/* Once a period. @worker reads what may wait on a disk. */
void authn_tick(struct authn *authn, struct worker *worker, uint64_t now_ns);

/* The certificate of TCP; NULL: it is not encrypted. */
const struct tls *authn_tls(const struct authn *authn);

/* May TCP be served on the listening socket @fd? -EPERM with a sentence: off loopback and without
 * TLS. */
int authn_check_listener(const struct authn *authn, int fd, struct err *reterr);

#endif
