/* SPDX-License-Identifier: MIT */
/* The parser of server-sent events: the size of the chunks does not matter. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/shared/sse.h"
#include "tests/unit/unit.h"

static char got[4096];
static int wanted;

static bool take(void *userdata, const char *kind, const char *data)
{
	struct sse *sse = userdata;
	size_t n = strlen(got);

	snprintf(got + n, sizeof(got) - n, "%s|%s|%s;", sse->id, kind, data);
	return --wanted != 0;
}

static int feed(const char *text, size_t piece)
{
	struct sse sse = {.event = take, .userdata = &sse};
	size_t length = strlen(text);
	int r = 0;

	got[0] = '\0';
	for (size_t at = 0; at < length && r == 0; at += piece)
		r = sse_feed(&sse, text + at, at + piece < length ? piece : length - at);
	sse_reset(&sse);
	return r;
}

TEST(events_are_parsed_from_any_chunks)
{
	static const struct {
		const char *text, *events;
	} cases[] = {
		{"", ""},
		{"retry: 1000\nid: b-1\n\n", ""},
		{"id: b-1\nevent: alert\ndata: {}\n\n", "b-1|alert|{};"},
		{"id: b-1\n\nevent: tick\ndata: 1\n\ndata: 2\n\n", "b-1|tick|1;b-1|message|2;"},
		{"data:x\ndata: y\ndata\n\n", "|message|x\ny\n;"},
		{"id: b-1\r\nevent: a\r\ndata: x\r\n\r\nid: b-2\r\ndata: y\r\n\r\n",
		 "b-1|a|x;b-2|message|y;"},
		{"data: x\r\rdata: y\r\r", "|message|x;|message|y;"},
		{":\n\n: a word\ndata: x\n\n", "|message|x;"},
		{"event: a\n\ndata: x\n\n", "|message|x;"},
		{"data: never whole\n", ""},
		{"colour: red\ndata: x: y\n\n", "|message|x: y;"},
		{"id: b-1\nid: a&b\ndata: x\n\n", "b-1|message|x;"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t piece = 1; piece < 40; piece++) {
			assert_int_equal(feed(cases[i].text, piece), 0);
			assert_string_equal(got, cases[i].events);
		}
	}
}

TEST(the_receiver_can_stop)
{
	wanted = 2;
	assert_int_equal(feed("data: 1\n\ndata: 2\n\ndata: 3\n\n", 5), 1);
	assert_string_equal(got, "|message|1;|message|2;");
}
