/* SPDX-License-Identifier: MIT */
/*
 * Authentication: identifies the principal of each request by its connection (credentials from the
 * kernel) and by its token. Owns the tokens, the limits by address and the TLS certificate. A token
 * is neither logged nor stored in clear text.
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

#define AUTHN_TLS_REQUIRED                                                                        \
	"listen: TLS is required for a non-loopback address: set tls_certificate and tls_key of " \
	"[daemon], or listen on 127.0.0.1 or [::1]"

/*
 * Returns a new instance; NULL: out of memory. Until authn_open(), only root and the user of the
 * daemon have access, over the unix socket.
 */
struct authn *authn_new(void);
struct authn *authn_free(struct authn *authn); /* NULL is fine; returns NULL */

/* Applies the configuration: groups, tokens, certificate. -EINVAL with a message: the certificate
 * and its key are not usable. Unreadable tokens are logged, and every token is then invalid. */
int authn_open(struct authn *authn, const struct config *config, struct err *reterr);

const struct access_rules *authn_rules(const struct authn *authn);

/*
 * Identifies the caller of a request on a connection of @peer. The headers @authorization and @host
 * may be NULL.
 */
void authn_identify(struct authn *authn, const struct peer *peer, const char *authorization,
		    const char *host, struct instant now, struct principal *ret_principal);

struct tokens *authn_tokens(struct authn *authn);
/*
 * Returns the path of the token file. NULL: the file could not be read, so it must not be
 * overwritten.
 */
const char *authn_tokens_path(const struct authn *authn);

/* Call it once a period: reloads a renewed certificate. @worker reads the files. */
void authn_tick(struct authn *authn, struct worker *worker, uint64_t now_ns);

/* Returns the certificate for TCP; NULL: TLS is not configured. */
const struct tls *authn_tls(const struct authn *authn);

/*
 * Checks a listening socket. -EPERM with a message: @fd listens on a non-loopback TCP address
 * without TLS.
 */
int authn_check_listener(const struct authn *authn, int fd, struct err *reterr);

#endif
