/* SPDX-License-Identifier: MIT */
/* HTTP: runs libmicrohttpd in the sd-event loop. Independent of routes. */
#ifndef GOVER_D_HTTP_HTTP_H
#define GOVER_D_HTTP_HTTP_H

#include <systemd/sd-event.h>

#include "base/err.h"

struct api;
struct authn;
struct http;

/*
 * Serves @api on the unix socket @socket_path and, if @listen is not empty, on TCP ADDR:PORT. With
 * socket activation, it serves @api on the sockets from systemd instead. A stale unix socket is
 * replaced. -EADDRINUSE: another daemon uses the socket. The event sources have a lower priority
 * than the tick.
 */
int http_new(sd_event *event, const char *socket_path, const char *listen, struct api *api,
	     struct authn *authn, struct http **ret_http, struct err *reterr);
/*
 * Makes the unix socket again if another program has removed or replaced its name. Open connections
 * stay. Call it once a period.
 */
void http_tick(struct http *http);
/* Returns why the unix socket cannot be made again; "": it needs not. */
const char *http_problem(const struct http *http);
/* Removes the unix socket. Accepts NULL; returns NULL. */
struct http *http_free(struct http *http);

#endif
