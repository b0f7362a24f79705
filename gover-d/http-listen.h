/* SPDX-License-Identifier: MIT */
/* The sockets REST listens on. Each call returns an fd (O_CLOEXEC, non-blocking) or a negative
 * errno. */
#ifndef GOVER_D_HTTP_LISTEN_H
#define GOVER_D_HTTP_LISTEN_H

#include "base/err.h"

/*
 * A unix socket, mode 0666, its folder made where it is missing. What a dead daemon left is
 * replaced; -EADDRINUSE: another daemon answers there, -ENOTSOCK: something else has the name.
 */
int http_listen_unix(const char *path, struct err *reterr);

/* "ADDR:PORT", numbers only, IPv6 in brackets. -EINVAL: not of this form. */
int http_listen_tcp(const char *address, struct err *reterr);

#endif
