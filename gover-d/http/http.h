/* SPDX-License-Identifier: MIT */
/* HTTP: libmicrohttpd inside the sd-event loop. Knows no route and no vGPU. */
#ifndef GOVER_D_HTTP_HTTP_H
#define GOVER_D_HTTP_HTTP_H

#include <systemd/sd-event.h>

#include "base/err.h"

struct api;
struct http;

/*
 * Serves @api on the unix socket @socket_path (stale one replaced, mode 0666; -EADDRINUSE with a
 * sentence when another daemon answers there) and, where @listen is not empty, on TCP ADDR:PORT;
 * on what systemd handed over instead, where it did.
 * Runs at a lower priority than the tick.
 */
int http_new(sd_event *event, const char *socket_path, const char *listen, struct api *api,
	     struct http **ret_http, struct err *reterr);
struct http *http_free(struct http *http); /* removes the socket; NULL is fine; returns NULL */

#endif
