/* SPDX-License-Identifier: MIT */
/*
 * The gate: says of each request who asks, from what the kernel tells of the connection and from
 * the token it carries. Holds the tokens, the limits by address and the certificate. What somebody
 * may do is access.h's. Must never log a token, nor keep one.
 */
#ifndef GOVER_D_AUTH_GATE_H
#define GOVER_D_AUTH_GATE_H

#include "base/clock.h"
#include "gover-d/auth/access.h"
#include "gover-d/auth/peer.h"

struct config;
struct gate;
struct gate_tls;
struct tokens;
struct worker;

#define GATE_TLS_NEEDED                                                                          \
	"listen: off loopback TLS is required: set tls_certificate and tls_key of [daemon], or " \
	"listen on 127.0.0.1 or [::1]"

/* Lets in root and the user the daemon runs as, on the unix socket, and nobody else. NULL: no
 * memory. */
struct gate *gate_new(void);
struct gate *gate_free(struct gate *gate); /* NULL is fine; returns NULL */

/*
 * Takes up what the configuration says of access: groups, tokens, certificate. -EINVAL with a
 * sentence: certificate and key are of no use. Tokens that cannot be read are told in the log, and
 * nobody's are good then.
 */
int gate_open(struct gate *gate, const struct config *config, struct err *reterr);

const struct access_rules *gate_rules(const struct gate *gate);

/* Of a request with these headers (NULL: it has none) on a connection from @peer. */
void gate_identify(struct gate *gate, const struct peer *peer, const char *authorization,
		   const char *host, struct instant now, struct access_who *ret_who);

struct tokens *gate_tokens(struct gate *gate);
/* Where they are kept; NULL: what stands there could not be read, and is not to be lost. */
const char *gate_tokens_path(const struct gate *gate);

/* Once a period. @worker reads what may wait on a disk. */
void gate_tick(struct gate *gate, struct worker *worker, uint64_t now_ns);

/* The certificate of TCP; NULL: it is not encrypted. */
const struct gate_tls *gate_tls(const struct gate *gate);

/* May TCP be served on the listening socket @fd? -EPERM with a sentence: off loopback and without
 * TLS. */
int gate_check_listener(const struct gate *gate, int fd, struct err *reterr);

#endif
