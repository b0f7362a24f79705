/* SPDX-License-Identifier: MIT */
/*
 * Authentication: identifies the principal of each request. On the unix socket, the kernel reports
 * the credentials of the caller; over TCP, the request contains a token, or the client has a
 * certificate. The module owns the tokens, the limits for each caller and the TLS certificate. A
 * token is neither logged nor stored in clear text.
 */
#ifndef GOVER_D_AUTH_AUTHN_H
#define GOVER_D_AUTH_AUTHN_H

#include <stdint.h>

#include "base/clock.h"
#include "base/id.h"
#include "gover-d/auth/access.h"
#include "gover-d/auth/limits.h"

/*
 * The peer of a connection: a process on this host, or an IP address. The kernel is asked once for
 * each connection. User names are not looked up, because a lookup may block.
 */
struct peer {
	bool local;		 /* the peer is connected to the unix socket */
	bool loopback;		 /* the peer uses TCP from a loopback address */
	enum access_scope scope; /* scope of the peer if @local is true */
	uid_t uid;		 /* user id of the peer if @local is true */
	char name[ACCESS_NAME_MAX];
	char from[ACCESS_FROM_MAX];
	/*
	 * Key for the limits of auth/limits.h: the IPv4 address, or the /64 network of the IPv6
	 * address.
	 */
	uint8_t key[PEER_KEY_BYTES];
};

/*
 * Reads the peer of the connected socket @fd. A negative errno means that the peer is unknown and
 * has no access.
 */
int peer_read(int fd, const struct access_rules *rules, struct peer *ret_peer);

struct config;
struct authn;
struct tls;
struct tls_client;
struct tokens;
struct worker;

#define AUTHN_TLS_REQUIRED                                                                        \
	"listen: TLS is required for a non-loopback address: set tls_certificate and tls_key of " \
	"[daemon], or listen on 127.0.0.1 or [::1]"

/*
 * Returns a new instance. Until authn_open(), only root and the user of the
 * daemon have access, over the unix socket.
 */
struct authn *authn_new(void);
struct authn *authn_free(struct authn *authn); /* accepts NULL; returns NULL */

/*
 * Reads the groups, the token file and the certificate of @config. Returns a negative errno with a
 * message if the certificate or its key is not usable. If the token file cannot be read, logs an
 * error and treats every token as invalid until the file can be read.
 */
int authn_open(struct authn *authn, const struct config *config, struct err *reterr);

const struct access_rules *authn_rules(const struct authn *authn);

/* What a request over TCP contains for its identification. */
struct credentials {
	const char *authorization, *host, *origin; /* header fields; NULL: not in the request */
	const struct tls_client *client; /* checked by tls_check_client(); NULL: without TLS */
};

/*
 * Identifies the caller of a request that @peer sent. A token has priority over a certificate,
 * because a client sends it on purpose.
 */
void authn_identify(struct authn *authn, const struct peer *peer,
		    const struct credentials *credentials, struct instant now,
		    struct principal *ret_principal);

/* The token or certificate of a principal, for a reply that continues after the request. */
struct authn_session {
	char token[ID_MAX]; /* "": the principal has no token */
	int64_t created_ms; /* of the token: distinguishes it from a later one of the same name */
	int64_t expires_s;  /* of the certificate, as in struct principal */
	unsigned int tls_generation; /* of the certificate; 0: the principal has none */
};

void authn_session_begin(const struct authn *authn, const struct principal *principal,
			 struct authn_session *ret_session);
/*
 * Returns false if the token was revoked or has expired, or if the certificate has expired or was
 * checked with other CAs than those in force.
 */
bool authn_session_is_valid(const struct authn *authn, const struct authn_session *session,
			    int64_t now_ms);

struct tokens *authn_tokens(struct authn *authn);
/*
 * Returns the path of the token file; NULL: the file could not be read and must not be overwritten.
 */
const char *authn_tokens_path(const struct authn *authn);

/*
 * Returns why the token file cannot be read, so that all tokens are invalid; NULL: it was read.
 * Valid until the next call of authn_tick().
 */
const char *authn_tokens_problem(const struct authn *authn);

/*
 * To be called once per period. Reloads a renewed certificate, and a token file that could not be
 * read; @worker reads the files.
 */
void authn_tick(struct authn *authn, struct worker *worker, uint64_t now_ns);

/* Returns the certificate for TCP; NULL: TLS is not configured. */
const struct tls *authn_tls(const struct authn *authn);

/*
 * Checks a listening socket. -EPERM with a message: @fd listens on a non-loopback TCP address
 * without TLS.
 */
int authn_check_listener(const struct authn *authn, int fd, struct err *reterr);

#endif
