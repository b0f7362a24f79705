/* SPDX-License-Identifier: MIT */
/*
 * Scans the bytes that libmicrohttpd receives, before it parses them. libmicrohttpd has no callback
 * for received bytes. Therefore this module defines recv() and gnutls_record_recv(), and the
 * dynamic linker binds the calls of every library to these definitions, as with a replaced
 * malloc(). Outside receive_run(), and for other file descriptors, they only call the system. The
 * object is linked into programs by name, because an archive would add it to every program that
 * calls recv().
 */
#ifndef GOVER_D_HTTP_RECEIVE_H
#define GOVER_D_HTTP_RECEIVE_H

#include <microhttpd.h>
#include <stdbool.h>

#include "gover-d/http/connection-table.h"

/*
 * Calls MHD_run(). The bytes of each connection in @table are scanned. @tls: the bytes are scanned
 * after their decryption.
 */
void receive_run(struct connection_table *table, struct MHD_Daemon *daemon, bool tls);

#endif
