/* SPDX-License-Identifier: MIT */
/* Replaces recv() and gnutls_record_recv() while libmicrohttpd runs. */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "gover-d/http/receive.h"
#include "gover-d/http/request-scan.h"

/*
 * The functions have other names in C, because the C library can define recv() as an inline
 * function.
 */
ssize_t receive_plain(int fd, void *buffer, size_t size, int flags) __asm__("recv");
ssize_t receive_tls(gnutls_session_t session, void *buffer,
		    size_t size) __asm__("gnutls_record_recv");

/*
 * The connections whose bytes are scanned; NULL: libmicrohttpd does not run in this thread. The
 * replaced functions have fixed parameters, so they cannot get this table from their caller. Other
 * threads, such as the one of the webhook, are not affected.
 */
static _Thread_local struct connection_table *running;
static _Thread_local bool running_tls;

void receive_run(struct connection_table *table, struct MHD_Daemon *daemon, bool tls)
{
	running = table;
	running_tls = tls;
	/* cannot fail: the daemon has no thread of its own */
	(void)MHD_run(daemon);
	running = NULL;
}

/* Scans the @n bytes in @buffer. Returns the number of bytes for libmicrohttpd. */
static ssize_t check(struct request_scan *scan, char *buffer, ssize_t n, size_t size)
{
	size_t accepted = n > 0 ? request_scan_feed(scan, buffer, (size_t)n) : 0;

	if (!scan->refusal)
		return n;
	return (ssize_t)(accepted +
			 request_scan_complete(scan, buffer + accepted, size - accepted));
}

/*
 * Returns true if the end of the bytes must wait until the reply was sent. libmicrohttpd 0.9.75
 * reads a resumed connection before it asks for the reply, and closes a connection at the end of
 * its bytes. A client that only closed its sending side would get no answer to its change. After
 * the reply, libmicrohttpd reads again; if the client is gone, sending the reply fails.
 */
static bool ends_early(int fd, ssize_t n)
{
	return n == 0 && connection_table_replying(running, fd);
}

static struct request_scan *find_scan(int fd, bool tls)
{
	return running && running_tls == tls ? connection_table_scan(running, fd) : NULL;
}

ssize_t receive_plain(int fd, void *buffer, size_t size, int flags)
{
	struct request_scan *scan = find_scan(fd, /* tls= */ false);

	if (scan && scan->refusal)
		return (ssize_t)request_scan_complete(scan, buffer, size);

	ssize_t n = recvfrom(fd, buffer, size, flags, NULL, NULL);

	if (scan && ends_early(fd, n)) {
		errno = EAGAIN;
		return -1;
	}
	return scan ? check(scan, buffer, n, size) : n;
}

ssize_t receive_tls(gnutls_session_t session, void *buffer, size_t size)
{
	unsigned char sequence[8]; /* of the record, not used */
	const int fd = gnutls_transport_get_int(session);
	struct request_scan *scan = find_scan(fd, /* tls= */ true);

	if (scan && scan->refusal)
		return (ssize_t)request_scan_complete(scan, buffer, size);

	ssize_t n = gnutls_record_recv_seq(session, buffer, size, sequence);

	if (scan && ends_early(fd, n))
		return GNUTLS_E_AGAIN;
	return scan ? check(scan, buffer, n, size) : n;
}
