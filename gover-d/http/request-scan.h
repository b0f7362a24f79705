/* SPDX-License-Identifier: MIT */
/*
 * A strict scan of the bytes that a client sends on a connection: request lines, header fields and
 * the framing of bodies (RFC 9112). libmicrohttpd accepts forms that other programs read
 * differently, so that a proxy and this daemon could see different requests in the same bytes. The
 * scan finds the first such byte. It performs no I/O and allocates no memory.
 */
#ifndef GOVER_D_HTTP_REQUEST_SCAN_H
#define GOVER_D_HTTP_REQUEST_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_SCAN_HEAD_MAX	    12288 /* bytes of a request line and its header fields */
#define REQUEST_SCAN_FIELDS_MAX	    100	  /* header fields of a request */
#define REQUEST_SCAN_PARAMETERS_MAX 64	  /* query parameters of a request */
#define REQUEST_SCAN_NAME_MAX	    20	  /* longer than each field name that the scan knows */
#define REQUEST_SCAN_COMPLETION_MAX 64	  /* longer than each text of request_scan_complete() */

/* Why a request is refused. */
struct request_refusal {
	unsigned int status; /* HTTP status: 400, 414, 431, 505; 500: the request was not scanned */
	const char *text;    /* one sentence for the client */
};

/* The scan of one connection. All zero: no byte was received. */
struct request_scan {
	int state;
	const struct request_refusal *refusal; /* NULL: no refusal yet */
	size_t n_completed;		       /* bytes copied by request_scan_complete() */
	uint64_t n_heads;		       /* complete heads */
	uint64_t n_taken;		       /* return value of request_scan_take() */
	uint64_t refused;		       /* number of the refused request */
	uint64_t left; /* bytes of the body or chunk that are still to come */
	unsigned int head_bytes, n_fields, n_parameters;
	unsigned int position; /* in the method, the version, a known value or a chunk size */
	int field;	       /* the known field whose value is scanned */
	unsigned int fields;   /* known fields of this head */
	unsigned int n_name;
	char name[REQUEST_SCAN_NAME_MAX];
	bool http_1_0;
};

/*
 * Scans the next @n bytes. Returns the number of bytes before the first byte that must be refused,
 * or @n. After a refusal, no further byte is accepted.
 */
size_t request_scan_feed(struct request_scan *scan, const char *bytes, size_t n);

/*
 * Copies at most @size bytes of the text that completes a refused request, beginning after the
 * bytes copied before. Returns their number; 0: all bytes were copied. The accepted bytes, followed
 * by this text, are a request that libmicrohttpd can parse, so that the client gets an answer.
 */
size_t request_scan_complete(struct request_scan *scan, char *buffer, size_t size);

/*
 * Returns the number of the next request of the connection: 1, 2 and so on. The server calls it
 * once for each request, in the order of the requests.
 */
uint64_t request_scan_take(struct request_scan *scan);

/*
 * Returns why the request @number must be refused; NULL: all bytes of its head were scanned and
 * accepted. @scan may be NULL: the connection was not scanned. The result is static.
 */
const struct request_refusal *request_scan_refusal(const struct request_scan *scan,
						   uint64_t number);

#endif
