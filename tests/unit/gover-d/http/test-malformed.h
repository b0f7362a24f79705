/* SPDX-License-Identifier: MIT */
/*
 * Requests as raw bytes: malformed requests, which must get one error reply and no further reply on
 * the connection, and unusual requests that must be accepted.
 */
#ifndef TESTS_UNIT_GOVER_D_HTTP_TEST_MALFORMED_H
#define TESTS_UNIT_GOVER_D_HTTP_TEST_MALFORMED_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct raw_request {
	const char *name;
	int status;	    /* expected status */
	const char *before; /* the request is @before, @n_repeated times @repeated, and @after */
	size_t before_size; /* @before can contain a NUL */
	const char *repeated, *after;
	int n_repeated;
};

#define RAW(name, status, bytes)                                  \
	{                                                         \
		name, status, bytes, sizeof(bytes) - 1, "", "", 0 \
	}
#define RAW_REPEATED(name, status, before, repeated, n, after)               \
	{                                                                    \
		name, status, before, sizeof(before) - 1, repeated, after, n \
	}
#define HOST_LINE	  "Host: x\r\n"
#define GET(lines)	  "GET /healthz HTTP/1.1\r\n" lines "\r\n"
#define JSON(line, lines) line HOST_LINE "Content-Type: application/json\r\n" lines "\r\n"
#define PATCH(lines)	  JSON("PATCH /v1/vgpus/a HTTP/1.1\r\n", lines)
#define POST(lines)	  JSON("POST /v1/vgpus HTTP/1.1\r\n", lines)
#define CHUNKED		  "Transfer-Encoding: chunked\r\n"
/* A second request of 34 bytes that a client hides in the body of the first one. */
#define HIDDEN	      "GET /healthz HTTP/1.1\r\n" HOST_LINE "\r\n"
#define HIDDEN_LENGTH "Content-Length: 34\r\n"

static const struct raw_request malformed[] = {
	RAW("two different lengths", 400, PATCH("Content-Length: 0\r\n" HIDDEN_LENGTH) HIDDEN),
	RAW("two different lengths, the longer one first", 400,
	    PATCH(HIDDEN_LENGTH "Content-Length: 0\r\n") HIDDEN),
	RAW("two equal lengths", 400,
	    PATCH("Content-Length: 2\r\nContent-Length: 2\r\n") "{}" HIDDEN),
	RAW("a list of lengths", 400, PATCH("Content-Length: 2, 2\r\n") "{}" HIDDEN),
	RAW("a length with a sign", 400, PATCH("Content-Length: +2\r\n") "{}" HIDDEN),
	RAW("a negative length", 400, PATCH("Content-Length: -1\r\n") HIDDEN),
	RAW("a length in hexadecimal", 400, PATCH("Content-Length: 0x2\r\n") "{}" HIDDEN),
	RAW("a length with an exponent", 400, PATCH("Content-Length: 1e1\r\n") HIDDEN),
	RAW("an empty length", 400, PATCH("Content-Length:\r\n") HIDDEN),
	RAW("two numbers in a length", 400, PATCH("Content-Length: 2 3\r\n") "{}" HIDDEN),
	RAW("a length of more than 63 bits", 400, PATCH("Content-Length: 9999999999999999999\r\n")),
	RAW("whitespace after a length", 400, PATCH("Content-Length: 2 \r\n") "{}" HIDDEN),
	RAW("length and chunks", 400,
	    PATCH("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n") "0\r\n\r\n" HIDDEN),
	RAW("chunks and length", 400,
	    PATCH("Transfer-Encoding: chunked\r\n" HIDDEN_LENGTH) "0\r\n\r\n" HIDDEN),
	RAW("an unknown encoding", 400, PATCH("Transfer-Encoding: gzip\r\n") HIDDEN),
	RAW("no encoding", 400, GET(HOST_LINE "Transfer-Encoding: identity\r\n") HIDDEN),
	RAW("an empty encoding", 400, GET(HOST_LINE "Transfer-Encoding:\r\n") HIDDEN),
	RAW("two encodings", 400, PATCH("Transfer-Encoding: gzip, chunked\r\n") "0\r\n\r\n" HIDDEN),
	RAW("an encoding that begins like chunked", 400,
	    PATCH("Transfer-Encoding: chunkedx\r\n") "0\r\n\r\n" HIDDEN),
	RAW("whitespace after the encoding", 400,
	    PATCH("Transfer-Encoding: chunked \r\n") "0\r\n\r\n" HIDDEN),
	RAW("the encoding twice", 400,
	    PATCH("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n") "0\r\n\r"
										  "\n" HIDDEN),
	RAW("chunks in HTTP/1.0", 400,
	    "POST /v1/vgpus HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HIDDEN),

	RAW("no host", 400, GET("")),
	RAW("two hosts", 400, GET(HOST_LINE HOST_LINE)),
	RAW("two hosts in other letters", 400, GET(HOST_LINE "hOST: y\r\n")),
	RAW("two hosts in HTTP/1.0", 400, "GET /healthz HTTP/1.0\r\n" HOST_LINE HOST_LINE "\r\n"),

	RAW("a space before the colon of Host", 400, GET("Host : x\r\n")),
	RAW("a space before a colon", 400, GET(HOST_LINE "Accept : x\r\n")),
	RAW("a tab before a colon", 400, GET(HOST_LINE "Accept\t: x\r\n")),
	RAW("a space before the colon of a length", 400, PATCH("Content-Length : 34\r\n") HIDDEN),
	RAW("a line without a colon", 400, GET(HOST_LINE "abc\r\n")),
	RAW("an empty name", 400, GET(HOST_LINE ": x\r\n")),
	RAW("a slash in a name", 400, GET(HOST_LINE "a/b: x\r\n")),
	RAW("a letter outside ASCII in a name", 400, GET(HOST_LINE "\xc3\xa4: x\r\n")),
	RAW("NUL in a name", 400, GET(HOST_LINE "A\0B: x\r\n")),
	RAW("NUL in a value", 400, GET(HOST_LINE "A: b\0c\r\n")),
	RAW("a control character in a value", 400, GET(HOST_LINE "A: b\033c\r\n")),
	RAW("DEL in a value", 400, GET(HOST_LINE "A: b\177c\r\n")),
	RAW("a folded value", 400, GET(HOST_LINE "A: b\r\n c\r\n")),
	RAW("a value folded with a tab", 400, GET(HOST_LINE "A: b\r\n\tc\r\n")),
	RAW("a folded first line", 400, GET(" " HOST_LINE)),
	RAW("a folded length", 400, PATCH("Content-Length:\r\n 34\r\n") HIDDEN),

	RAW("LF ends every line", 400, "GET /healthz HTTP/1.1\nHost: x\n\n"),
	RAW("LF ends the request line", 400, "GET /healthz HTTP/1.1\nHost: x\r\n\r\n"),
	RAW("LF ends a field", 400, GET("A: b\n" HOST_LINE)),
	RAW("LF ends the head", 400,
	    "GET /healthz HTTP/1.1\r\nHost: x\r\n\nGET / HTTP/1.1\r\n\r\n"),
	RAW("LF before the request", 400, "\n" HIDDEN),
	RAW("CR in a value", 400, GET(HOST_LINE "A: b\rc\r\n")),
	RAW("CR in a target", 400, "GET /healthz\rx HTTP/1.1\r\n" HOST_LINE "\r\n"),
	RAW("CR before CR LF", 400, GET("Host: x\r\r\n")),
	RAW("CR ends the request line", 400, "GET /healthz HTTP/1.1\rHost: x\r\n\r\n"),
	RAW("CR ends the head", 400, "GET /healthz HTTP/1.1\r\nHost: x\r\n\rx"),
	RAW("CR before the request", 400, "\r" HIDDEN),

	RAW("two spaces in the request line", 400, "GET  /healthz HTTP/1.1\r\nHost: x\r\n\r\n"),
	RAW("a space in the target", 400, "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"),
	RAW("a space after the version", 400, "GET /healthz HTTP/1.1 \r\nHost: x\r\n\r\n"),
	RAW("a space before the method", 400, " GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"),
	RAW("tabs in the request line", 400, "GET\t/healthz\tHTTP/1.1\r\nHost: x\r\n\r\n"),
	RAW("NUL in the target", 400, "GET /health\0z HTTP/1.1\r\nHost: x\r\n\r\n"),
	RAW("no version", 400, "GET /healthz\r\n\r\n"),
	RAW("no target", 400, "GET HTTP/1.1\r\nHost: x\r\n\r\n"),
	RAW("another protocol", 400, "GET /healthz RTSP/1.0\r\nHost: x\r\n\r\n"),
	RAW("a version in lower case", 400, "GET /healthz http/1.1\r\nHost: x\r\n\r\n"),
	RAW("a version of three digits", 400, "GET /healthz HTTP/1.10\r\nHost: x\r\n\r\n"),
	RAW("the preface of HTTP/2", 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
	RAW("a later version", 505, "GET /healthz HTTP/1.2\r\nHost: x\r\n\r\n"),
	RAW("TLS on a plain socket", 400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),

	RAW_REPEATED("300 parameters", 414, "GET /v1/host?", "a=1&", 300,
		     " HTTP/1.1\r\nHost: x\r\n\r\n"),
	RAW_REPEATED("65 parameters", 414, "GET /v1/host?", "a&", 64,
		     "a HTTP/1.1\r\nHost: x\r\n\r\n"),
	RAW_REPEATED("a long target", 414, "GET /", "0123456789", 1300,
		     " HTTP/1.1\r\nHost: x\r\n\r\n"),
	RAW_REPEATED("a target without an end", 414, "GET /", "0123456789", 4000, ""),
	RAW_REPEATED("a method without an end", 414, "", "0123456789", 4000, ""),
	RAW_REPEATED("101 fields", 431, "GET /healthz HTTP/1.1\r\nHost: x\r\n", "A: b\r\n", 100,
		     "\r\n"),
	RAW_REPEATED("a long value", 431, "GET /healthz HTTP/1.1\r\nHost: x\r\nA: ", "0123456789",
		     1300, "\r\n\r\n"),
	RAW_REPEATED("a name without an end", 431, "GET /healthz HTTP/1.1\r\nHost: x\r\n",
		     "abcdefghij", 4000, ""),

	RAW("a chunk extension", 400, PATCH(CHUNKED) "2;a=b\r\n{}\r\n0\r\n\r\n" HIDDEN),
	RAW("an extension of the last chunk", 400, PATCH(CHUNKED) "2\r\n{}\r\n0;a\r\n\r\n" HIDDEN),
	RAW("LF ends the size of a chunk", 400, PATCH(CHUNKED) "2\n{}\r\n0\r\n\r\n" HIDDEN),
	RAW("CR ends the size of a chunk", 400, PATCH(CHUNKED) "2\r{}\r\n0\r\n\r\n" HIDDEN),
	RAW("LF ends a chunk", 400, PATCH(CHUNKED) "2\r\n{}\n0\r\n\r\n" HIDDEN),
	RAW("CR ends a chunk", 400, PATCH(CHUNKED) "2\r\n{}\r0\r\n\r\n" HIDDEN),
	RAW("a chunk longer than its size", 400, PATCH(CHUNKED) "2\r\n{}xx\r\n0\r\n\r\n" HIDDEN),
	RAW("no size of a chunk", 400, PATCH(CHUNKED) "\r\n{}\r\n0\r\n\r\n" HIDDEN),
	RAW("a size with 0x", 400, PATCH(CHUNKED) "0x2\r\n{}\r\n0\r\n\r\n" HIDDEN),
	RAW("a size of nine digits", 400, PATCH(CHUNKED) "000000002\r\n{}\r\n0\r\n\r\n" HIDDEN),
	RAW("a space after a size", 400, PATCH(CHUNKED) "2 \r\n{}\r\n0\r\n\r\n" HIDDEN),
	RAW("a trailer field", 400, PATCH(CHUNKED) "2\r\n{}\r\n0\r\nA: b\r\n\r\n" HIDDEN),
	RAW("LF ends the body", 400, PATCH(CHUNKED) "2\r\n{}\r\n0\r\n\n" HIDDEN),
	RAW("CR ends the body", 400, PATCH(CHUNKED) "2\r\n{}\r\n0\r\n\rx" HIDDEN),
};

/* Requests that are accepted, and the status that test-api.h returns for each. */
static const struct raw_request accepted[] = {
	RAW("an empty line before the request", 200, "\r\n" HIDDEN),
	RAW("no whitespace around a value", 200, GET("Host:x\r\n")),
	RAW("whitespace around a value", 200, GET("Host: \t x \t\r\n")),
	RAW("an empty value", 200, GET(HOST_LINE "A:\r\n")),
	RAW("bytes above 0x7f in a value", 200, GET(HOST_LINE "A: \xc3\xa4\r\n")),
	RAW("every character of a name", 200, GET(HOST_LINE "!#$%&'*+-.^_`|~09azAZ: x\r\n")),
	RAW("names in other letters", 422,
	    "POST /v1/vgpus HTTP/1.1\r\nhOST: x\r\ncontent-TYPE: application/json\r\n"
	    "cONTENT-lENGTH: 2\r\n\r\n{}"),
	RAW("a name that begins like a known one", 200, GET(HOST_LINE "Host-X: y\r\nHos: y\r\n")),
	RAW("a long name that begins like a known one", 200,
	    GET(HOST_LINE "Transfer-Encodings-0: x\r\nContent-Length-0123456789: x\r\n")),
	RAW("no host in HTTP/1.0", 200, "GET /healthz HTTP/1.0\r\n\r\n"),
	RAW("a body of a GET", 200, GET(HOST_LINE HIDDEN_LENGTH) HIDDEN),
	RAW("a length of zero", 415,
	    "POST /v1/vgpus HTTP/1.1\r\n" HOST_LINE "Content-Length: 00\r\n\r\n"),
	RAW("chunks", 422, POST(CHUNKED) "1\r\n{\r\n00000001\r\n}\r\n0\r\n\r\n"),
	RAW_REPEATED("a size in hexadecimal", 422, POST(CHUNKED) "aB\r\n{", " ", 169,
		     "}\r\n000\r\n\r\n"),
	RAW("an encoding in other letters", 422,
	    POST("Transfer-Encoding: CHUNKED\r\n") "2\r\n{}\r\n0\r\n\r\n"),
	RAW("an unknown method", 405, "get /healthz HTTP/1.1\r\n" HOST_LINE "\r\n"),
	RAW_REPEATED("64 parameters", 400, "GET /v1/host?", "a&", 63,
		     "a HTTP/1.1\r\nHost: x\r\n\r\n"),
	RAW_REPEATED("100 fields", 200, "GET /healthz HTTP/1.1\r\nHost: x\r\n", "A: b\r\n", 99,
		     "\r\n"),
	RAW_REPEATED("a large head", 200, "GET /healthz HTTP/1.1\r\nHost: x\r\nA: ", "0123456789",
		     1220, "\r\n\r\n"),
};

/* Returns the bytes of a request, which the caller frees. */
static inline char *raw_request_bytes(const struct raw_request *raw, size_t *ret_n)
{
	const size_t repeated = strlen(raw->repeated), after = strlen(raw->after);
	char *bytes = malloc(raw->before_size + (size_t)raw->n_repeated * repeated + after + 1);
	size_t n = raw->before_size;

	if (!bytes)
		abort();
	memcpy(bytes, raw->before, n);
	for (int i = 0; i < raw->n_repeated; i++, n += repeated)
		memcpy(bytes + n, raw->repeated, repeated);
	memcpy(bytes + n, raw->after, after);
	*ret_n = n + after;
	return bytes;
}

#endif
