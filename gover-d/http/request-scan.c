/* SPDX-License-Identifier: MIT */
/*
 * A state machine that reads byte by byte. Each state has a function that returns the next state.
 * The scan is stricter than RFC 9112 where no client needs the rest: it refuses chunk extensions,
 * trailer fields, and whitespace after the values of Content-Length and Transfer-Encoding.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "gover-d/http/request-scan.h"

enum state {
	START, /* before a request line; an empty line is skipped, as RFC 9112 recommends */
	START_LF,
	METHOD,
	TARGET_START,
	TARGET,
	VERSION,
	VERSION_END,
	VERSION_LF,
	FIELD, /* at the start of a line */
	NAME,
	VALUE_START,
	VALUE,
	VALUE_LF,
	HEAD_LF,
	BODY,
	CHUNK_START,
	CHUNK_SIZE,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_END,
	CHUNK_END_LF,
	TRAILER,
	TRAILER_LF,
	N_STATES,
};

/* Fields with an effect on framing and routing. The other fields are only checked for their form.
 */
enum field { OTHER, HOST, CONTENT_LENGTH, TRANSFER_ENCODING };

enum reason {
	BAD_LINE,
	BAD_VERSION,
	LONG_LINE,
	MANY_PARAMETERS,
	BAD_NAME,
	BAD_VALUE,
	BAD_END,
	FOLDED,
	MANY_FIELDS,
	LONG_HEAD,
	REPEATED,
	BAD_LENGTH,
	BAD_ENCODING,
	NO_HOST,
	TWO_FRAMINGS,
	OLD_CHUNKED,
	BAD_CHUNK,
	NOT_SCANNED,
};

#define TEXT(number)  #number
#define LIMIT(number) "(limit " TEXT(number) ")"

static const struct request_refusal refusals[] = {
	[BAD_LINE] = {400, "request line: malformed (allowed: METHOD TARGET HTTP/1.1)"},
	[BAD_VERSION] = {505, "HTTP version: not supported (allowed: HTTP/1.0, HTTP/1.1)"},
	[LONG_LINE] = {414, "request line: too many bytes " LIMIT(REQUEST_SCAN_HEAD_MAX)},
	[MANY_PARAMETERS] = {414, "query: too many parameters " LIMIT(REQUEST_SCAN_PARAMETERS_MAX)},
	[BAD_NAME] = {400, "header field: malformed name (allowed: letters, digits and "
			   "!#$%&'*+-.^_`|~, directly followed by ':')"},
	[BAD_VALUE] = {400, "header field: control character in the value"},
	[BAD_END] = {400, "request: a line does not end with CR LF"},
	[FOLDED] = {400, "header field: a line begins with whitespace"},
	[MANY_FIELDS] = {431, "header fields: too many " LIMIT(REQUEST_SCAN_FIELDS_MAX)},
	[LONG_HEAD] = {431, "header fields: too many bytes " LIMIT(REQUEST_SCAN_HEAD_MAX)},
	[REPEATED] = {400, "Host, Content-Length or Transfer-Encoding: given twice"},
	[BAD_LENGTH] = {400, "Content-Length: malformed (allowed: a number of bytes)"},
	[BAD_ENCODING] = {400, "Transfer-Encoding: not supported (allowed: chunked)"},
	[NO_HOST] = {400, "Host: required in HTTP/1.1"},
	[TWO_FRAMINGS] = {400, "Content-Length: not allowed with Transfer-Encoding"},
	[OLD_CHUNKED] = {400, "Transfer-Encoding: not allowed in HTTP/1.0"},
	[BAD_CHUNK] = {400, "chunk: malformed (allowed: SIZE CR LF DATA CR LF, without extensions "
			    "and trailer fields)"},
	[NOT_SCANNED] = {500, "the request was not scanned"},
};

static bool is_token(unsigned char c)
{
	return isalnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* Bytes from 0x80 are allowed, as in RFC 9110. */
static bool is_visible(unsigned char c)
{
	return c > 0x20 && c != 0x7f;
}

static bool is_text(unsigned char c)
{
	return is_visible(c) || c == ' ' || c == '\t';
}

/* Sets the refusal of the request whose bytes are scanned, and stays in the state. */
static enum state refuse(struct request_scan *scan, enum reason reason)
{
	scan->refusal = &refusals[reason];
	scan->refused = scan->n_heads + (scan->state < BODY);
	return (enum state)scan->state;
}

static enum state expect(struct request_scan *scan, unsigned char c, char expected, enum state next)
{
	return c == (unsigned char)expected ? next : refuse(scan, BAD_END);
}

static enum state expect_in_chunk(struct request_scan *scan, unsigned char c, char expected,
				  enum state next)
{
	return c == (unsigned char)expected ? next : refuse(scan, BAD_CHUNK);
}

/* --- the request line --- */

static enum state start(struct request_scan *scan, unsigned char c)
{
	if (c == '\r')
		return START_LF;
	if (!is_token(c))
		return refuse(scan, c == '\n' ? BAD_END : BAD_LINE);
	scan->n_fields = scan->n_parameters = scan->fields = 0;
	scan->left = 0;
	scan->head_bytes = 1;
	scan->http_1_0 = false;
	return METHOD;
}

static enum state start_lf(struct request_scan *scan, unsigned char c)
{
	return expect(scan, c, '\n', START);
}

static enum state method(struct request_scan *scan, unsigned char c)
{
	return c == ' ' ? TARGET_START : is_token(c) ? METHOD : refuse(scan, BAD_LINE);
}

static enum state target_start(struct request_scan *scan, unsigned char c)
{
	return is_visible(c) ? TARGET : refuse(scan, BAD_LINE);
}

static enum state target(struct request_scan *scan, unsigned char c)
{
	if (c == ' ') {
		scan->position = 0;
		return VERSION;
	}
	if (!is_visible(c))
		return refuse(scan, BAD_LINE);
	if ((c == '?' || c == '&') && ++scan->n_parameters > REQUEST_SCAN_PARAMETERS_MAX)
		return refuse(scan, MANY_PARAMETERS);
	return TARGET;
}

static enum state version(struct request_scan *scan, unsigned char c)
{
	static const char known[] = "HTTP/1.";

	if (known[scan->position] == '\0') {
		if (c != '0' && c != '1')
			return refuse(scan, BAD_VERSION);
		scan->http_1_0 = c == '0';
		return VERSION_END;
	}
	if (c != (unsigned char)known[scan->position])
		return refuse(scan, isdigit(c) && scan->position == 5 ? BAD_VERSION : BAD_LINE);
	scan->position++;
	return VERSION;
}

static enum state version_end(struct request_scan *scan, unsigned char c)
{
	return expect(scan, c, '\r', VERSION_LF);
}

static enum state version_lf(struct request_scan *scan, unsigned char c)
{
	return expect(scan, c, '\n', FIELD);
}

/* --- header fields --- */

static enum state name(struct request_scan *scan, unsigned char c);

/* Checks the fields before the end of the head, so that a completion can contain further fields. */
static enum state end_fields(struct request_scan *scan)
{
	const bool chunked = scan->fields & 1U << TRANSFER_ENCODING;

	if (!scan->http_1_0 && !(scan->fields & 1U << HOST))
		return refuse(scan, NO_HOST);
	if (chunked && (scan->fields & 1U << CONTENT_LENGTH))
		return refuse(scan, TWO_FRAMINGS);
	return chunked && scan->http_1_0 ? refuse(scan, OLD_CHUNKED) : HEAD_LF;
}

static enum state field(struct request_scan *scan, unsigned char c)
{
	if (c == '\r')
		return end_fields(scan);
	if (c == ' ' || c == '\t')
		return refuse(scan, FOLDED);
	if (scan->n_fields == REQUEST_SCAN_FIELDS_MAX)
		return refuse(scan, MANY_FIELDS);
	scan->n_fields++;
	scan->n_name = 0;
	return c == '\n'  ? refuse(scan, BAD_END)
	       : c == ':' ? refuse(scan, BAD_NAME)
			  : name(scan, c);
}

static enum field find_field(const struct request_scan *scan)
{
	static const char *const names[] = {
		[HOST] = "host",
		[CONTENT_LENGTH] = "content-length",
		[TRANSFER_ENCODING] = "transfer-encoding",
	};

	for (int i = HOST; i < (int)ARRAY_SIZE(names); i++)
		if (scan->n_name == strlen(names[i]) &&
		    strncasecmp(scan->name, names[i], scan->n_name) == 0)
			return (enum field)i;
	return OTHER;
}

static enum state name(struct request_scan *scan, unsigned char c)
{
	enum field known;

	if (c != ':') {
		if (!is_token(c))
			return refuse(scan, BAD_NAME);
		if (scan->n_name < REQUEST_SCAN_NAME_MAX)
			scan->name[scan->n_name++] = (char)c;
		return NAME;
	}
	known = find_field(scan);
	if (known != OTHER && (scan->fields & 1U << known))
		return refuse(scan, REPEATED);
	scan->fields |= 1U << known;
	scan->field = known;
	scan->position = 0;
	return VALUE_START;
}

static enum state length_digit(struct request_scan *scan, unsigned char c)
{
	if (c == '\r' && scan->position > 0)
		return VALUE_LF;
	if (!isdigit(c) || scan->left > (INT64_MAX - 9) / 10)
		return refuse(scan, BAD_LENGTH);
	scan->left = scan->left * 10 + (c - '0');
	scan->position++;
	return VALUE;
}

static enum state encoding_letter(struct request_scan *scan, unsigned char c)
{
	static const char known[] = "chunked\r";

	if (tolower(c) != known[scan->position])
		return refuse(scan, BAD_ENCODING);
	scan->position++;
	return c == '\r' ? VALUE_LF : VALUE;
}

static enum state value(struct request_scan *scan, unsigned char c)
{
	if (scan->field == CONTENT_LENGTH)
		return length_digit(scan, c);
	if (scan->field == TRANSFER_ENCODING)
		return encoding_letter(scan, c);
	if (c == '\r')
		return VALUE_LF;
	return is_text(c) ? VALUE : refuse(scan, c == '\n' ? BAD_END : BAD_VALUE);
}

static enum state value_start(struct request_scan *scan, unsigned char c)
{
	return c == ' ' || c == '\t' ? VALUE_START : value(scan, c);
}

static enum state value_lf(struct request_scan *scan, unsigned char c)
{
	return expect(scan, c, '\n', FIELD);
}

static enum state head_lf(struct request_scan *scan, unsigned char c)
{
	if (c != '\n')
		return refuse(scan, BAD_END);
	scan->n_heads++;
	if (scan->fields & 1U << TRANSFER_ENCODING)
		return CHUNK_START;
	return scan->left > 0 ? BODY : START;
}

/* --- chunks --- */

static enum state chunk_size(struct request_scan *scan, unsigned char c)
{
	if (c == '\r')
		return CHUNK_SIZE_LF;
	if (!isxdigit(c) || scan->position == 8)
		return refuse(scan, BAD_CHUNK);
	scan->left = scan->left * 16 + (unsigned int)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
	scan->position++;
	return CHUNK_SIZE;
}

static enum state chunk_start(struct request_scan *scan, unsigned char c)
{
	scan->left = 0;
	scan->position = 0;
	return c == '\r' ? refuse(scan, BAD_CHUNK) : chunk_size(scan, c);
}

static enum state chunk_size_lf(struct request_scan *scan, unsigned char c)
{
	return expect_in_chunk(scan, c, '\n', scan->left > 0 ? CHUNK_DATA : TRAILER);
}

static enum state chunk_end(struct request_scan *scan, unsigned char c)
{
	return expect_in_chunk(scan, c, '\r', CHUNK_END_LF);
}

static enum state chunk_end_lf(struct request_scan *scan, unsigned char c)
{
	return expect_in_chunk(scan, c, '\n', CHUNK_START);
}

static enum state trailer(struct request_scan *scan, unsigned char c)
{
	return expect_in_chunk(scan, c, '\r', TRAILER_LF);
}

static enum state trailer_lf(struct request_scan *scan, unsigned char c)
{
	return expect_in_chunk(scan, c, '\n', START);
}

/* --- all states --- */

#define LINE	   "GET / HTTP/1.1\r\n"
#define LAST_CHUNK "\r\n0\r\n\r\n"

/*
 * The function of each state, and the text that completes the line or the body of a request refused
 * in this state. A field name gets a suffix, so that it is no known field. BODY and CHUNK_DATA
 * accept every byte. Without a valid chunk size, libmicrohttpd itself answers the request with
 * status 400.
 */
static const struct {
	enum state (*next)(struct request_scan *scan, unsigned char c);
	const char *completion;
} states[N_STATES] = {
	[START] = {start, LINE},
	[START_LF] = {start_lf, "\n" LINE},
	[METHOD] = {method, &LINE[3]},
	[TARGET_START] = {target_start, &LINE[4]},
	[TARGET] = {target, &LINE[5]},
	[VERSION] = {version, &LINE[6]},
	[VERSION_END] = {version_end, "\r\n"},
	[VERSION_LF] = {version_lf, "\n"},
	[FIELD] = {field, ""},
	[NAME] = {name, "-: x\r\n"},
	[VALUE_START] = {value_start, "0\r\n"},
	[VALUE] = {value, "\r\n"},
	[VALUE_LF] = {value_lf, "\n"},
	[HEAD_LF] = {head_lf, "\n"},
	[CHUNK_START] = {chunk_start, &LAST_CHUNK[2]},
	[CHUNK_SIZE] = {chunk_size, "x\r\n"},
	[CHUNK_SIZE_LF] = {chunk_size_lf, "x\r\n"},
	[CHUNK_END] = {chunk_end, LAST_CHUNK},
	[CHUNK_END_LF] = {chunk_end_lf, &LAST_CHUNK[1]},
	[TRAILER] = {trailer, &LAST_CHUNK[5]},
	[TRAILER_LF] = {trailer_lf, &LAST_CHUNK[6]},
};

/*
 * libmicrohttpd 1.0.10 itself answers a request with two Host fields or with an encoding other than
 * "chunked", with a text of its own. Therefore a head gets no second Host field, and a refused
 * encoding becomes "chunked".
 */
static void make_completion(const struct request_scan *scan, char text[REQUEST_SCAN_COMPLETION_MAX])
{
	const bool in_head = scan->state < HEAD_LF;
	const bool has_host = scan->state >= FIELD && scan->fields & 1U << HOST;
	const bool in_encoding = (scan->state == VALUE_START || scan->state == VALUE) &&
				 scan->field == TRANSFER_ENCODING;
	const char *line = in_encoding ? "chunked\r\n" : states[scan->state].completion;

	if (in_encoding || scan->state == VERSION)
		line += scan->position;
	snprintf(text, REQUEST_SCAN_COMPLETION_MAX, "%s%s%s%s", line,
		 in_head && !has_host ? "Host: refused\r\n" : "", in_head ? "\r\n" : "",
		 in_encoding ? &LAST_CHUNK[2] : "");
}

size_t request_scan_complete(struct request_scan *scan, char *buffer, size_t size)
{
	char text[REQUEST_SCAN_COMPLETION_MAX];
	size_t n;

	make_completion(scan, text);
	n = strnlen(text + scan->n_completed, size);
	memcpy(buffer, text + scan->n_completed, n);
	scan->n_completed += n;
	return n;
}

/* Skips at most @n bytes of the body. Returns their number. */
static size_t skip_body(struct request_scan *scan, size_t n)
{
	if (n < scan->left) {
		scan->left -= n;
		return n;
	}
	n = (size_t)scan->left;
	scan->left = 0;
	scan->state = scan->state == BODY ? START : CHUNK_END;
	return n;
}

/*
 * Skips the text of a value without the call of a function for each byte. Returns the number of
 * skipped bytes.
 */
static size_t skip_value(struct request_scan *scan, const char *bytes, size_t n)
{
	const size_t limit = REQUEST_SCAN_HEAD_MAX - scan->head_bytes;
	size_t i;

	if (scan->state != VALUE || scan->field >= CONTENT_LENGTH)
		return 0;
	for (i = 0; i < n && i < limit && is_text((unsigned char)bytes[i]); i++)
		;
	scan->head_bytes += (unsigned int)i;
	return i;
}

static void scan_byte(struct request_scan *scan, unsigned char c)
{
	const bool in_head = scan->state > START_LF && scan->state < BODY;

	if (in_head && scan->head_bytes++ == REQUEST_SCAN_HEAD_MAX)
		(void)refuse(scan, scan->state < FIELD ? LONG_LINE : LONG_HEAD);
	else
		scan->state = (int)states[scan->state].next(scan, c);
}

size_t request_scan_feed(struct request_scan *scan, const char *bytes, size_t n)
{
	size_t i = 0;

	while (i < n && !scan->refusal) {
		if (scan->state == BODY || scan->state == CHUNK_DATA) {
			i += skip_body(scan, n - i);
			continue;
		}
		i += skip_value(scan, bytes + i, n - i);
		if (i < n) {
			scan_byte(scan, (unsigned char)bytes[i]);
			i += !scan->refusal;
		}
	}
	return i;
}

uint64_t request_scan_take(struct request_scan *scan)
{
	return ++scan->n_taken;
}

const struct request_refusal *request_scan_refusal(const struct request_scan *scan, uint64_t number)
{
	if (scan && scan->refusal && scan->refused == number)
		return scan->refusal;
	return scan && number <= scan->n_heads ? NULL : &refusals[NOT_SCANNED];
}
