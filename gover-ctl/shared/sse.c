/* SPDX-License-Identifier: MIT */
/* Parser of server-sent events (WHATWG HTML, section 9.2). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "gover-ctl/shared/sse.h"

#define EVENT_MAX (64u << 20) /* maximum bytes of a line and of the data of an event */

static int append(char **text, size_t *length, const char *more, size_t n)
{
	if (n > EVENT_MAX - *length)
		return -EMSGSIZE;
	*text = xrealloc(*text, *length + n + 1);
	memcpy(*text + *length, more, n);
	*length += n;
	(*text)[*length] = '\0';
	return 0;
}

static void drop_event(struct sse *sse)
{
	free(sse->data);
	sse->data = NULL;
	sse->data_length = 0;
	sse->kind[0] = '\0';
}

static void drop_line(struct sse *sse)
{
	free(sse->line);
	sse->line = NULL;
	sse->line_length = 0;
}

void sse_reset(struct sse *sse)
{
	drop_event(sse);
	drop_line(sse);
	sse->after_cr = false;
}

static void take_id(struct sse *sse, const char *value)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

	if (strlen(value) < sizeof(sse->id) && value[strspn(value, allowed)] == '\0')
		strcpy(sse->id, value);
}

static int end_event(struct sse *sse)
{
	int r = 0;

	if (sse->data)
		r = !sse->event(sse->userdata, sse->kind[0] ? sse->kind : "message", sse->data);
	drop_event(sse);
	return r;
}

static int take_line(struct sse *sse, char *line)
{
	char *value = strchr(line, ':');

	if (line[0] == '\0')
		return end_event(sse);
	if (value) {
		*value++ = '\0';
		value += *value == ' ';
	} else {
		value = line + strlen(line);
	}
	if (strcmp(line, "id") == 0)
		take_id(sse, value);
	else if (strcmp(line, "event") == 0)
		snprintf(sse->kind, sizeof(sse->kind), "%s", value);
	else if (strcmp(line, "data") == 0 && sse->data)
		return append(&sse->data, &sse->data_length, "\n", 1) < 0 ||
				       append(&sse->data, &sse->data_length, value, strlen(value)) <
					       0
			       ? -EMSGSIZE
			       : 0;
	else if (strcmp(line, "data") == 0)
		return append(&sse->data, &sse->data_length, value, strlen(value));
	return 0;
}

static int end_line(struct sse *sse)
{
	char nothing[] = "";
	int r = take_line(sse, sse->line ? sse->line : nothing);

	drop_line(sse);
	return r;
}

int sse_feed(struct sse *sse, const char *bytes, size_t size)
{
	int r = 0;

	while (size > 0 && r == 0) {
		size_t n = 0;

		if (sse->after_cr && bytes[0] == '\n') { /* CR LF is a single line end */
			bytes++;
			size--;
			sse->after_cr = false;
			continue;
		}
		while (n < size && bytes[n] != '\n' && bytes[n] != '\r')
			n++;
		if (n > 0)
			r = append(&sse->line, &sse->line_length, bytes, n);
		sse->after_cr = n < size && bytes[n] == '\r';
		if (r == 0 && n < size)
			r = end_line(sse);
		n += n < size;
		bytes += n;
		size -= n;
	}
	return r;
}
