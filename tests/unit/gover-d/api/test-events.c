/* SPDX-License-Identifier: MIT */
/* The ring of events: ids, resumed readers, kinds, lost events, and readers that are too slow. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/api/events.h"
#include "tests/unit/unit.h"

static struct events *events;
static struct events_reader reader;
static char got[4 * 1024 * 1024];

static int begin(void)
{
	events = events_new("b00t");
	assert_non_null(events);
	return 0;
}

static int end(void)
{
	events_reader_fini(&reader);
	events = events_free(events);
	return 0;
}

FIXTURE(begin, end)

static void follow(unsigned int kinds, const char *after)
{
	events_reader_fini(&reader);
	events_reader_init(&reader, events, kinds, after);
}

/* Reads all available bytes, @piece bytes at a time. */
static const char *read_all(size_t piece)
{
	size_t length = 0, n;

	while ((n = events_reader_read(&reader, got + length, piece)) > 0)
		length += n;
	got[length] = '\0';
	return got;
}

static void add(enum events_kind kind, int n)
{
	for (int i = 0; i < n; i++)
		events_add(events, kind, "{}");
}

static void add_large(enum events_kind kind, size_t size)
{
	CLEANUP_FREE char *text = malloc(size + 1);

	memset(text, ' ', size);
	text[size] = '\0';
	events_add(events, kind, text);
}

TEST(kinds_are_parsed_strictly)
{
	static const char *const wrong[] = {"", ",", "alert,", "alerts", "alert, tick", "lost"};
	unsigned int kinds;

	assert_int_equal(events_kinds_parse("alert", &kinds), 0);
	assert_int_equal(kinds, 1u << EVENTS_ALERT);
	assert_int_equal(events_kinds_parse("tick,offer,change,alert,decision", &kinds), 0);
	assert_int_equal(kinds, EVENTS_ALL);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(events_kinds_parse(wrong[i], &kinds), -EINVAL);
}

TEST(an_event_is_read_once)
{
	add(EVENTS_ALERT, 1);
	follow(EVENTS_ALL, NULL);
	assert_string_equal(read_all(4096), "retry: 1000\nid: b00t-1\n\n");
	assert_int_equal(events_reader_look(&reader), 0);
	events_add(events, EVENTS_DECISION, "{\"id\":7}");
	assert_int_equal(events_reader_look(&reader), 1);
	assert_string_equal(read_all(4096), "id: b00t-2\nevent: decision\ndata: {\"id\":7}\n\n");
	assert_string_equal(read_all(4096), "");
}

TEST(small_reads_give_the_whole_text)
{
	follow(EVENTS_ALL, NULL);
	events_add(events, EVENTS_OFFER, "{\"id\":1}");
	events_add(events, EVENTS_CHANGE, "{\"what\":\"gpu\"}");
	assert_string_equal(read_all(3), "retry: 1000\nid: b00t-0\n\n"
					 "id: b00t-1\nevent: offer\ndata: {\"id\":1}\n\n"
					 "id: b00t-2\nevent: change\ndata: {\"what\":\"gpu\"}\n\n");
}

TEST(a_reader_resumes_after_its_last_event)
{
	add(EVENTS_ALERT, 2);
	add(EVENTS_OFFER, 1);
	follow(1u << EVENTS_ALERT, "b00t-1");
	assert_string_equal(read_all(4096), "id: b00t-2\nevent: alert\ndata: {}\n\n");
	follow(EVENTS_ALL, "b00t-0");
	assert_non_null(strstr(read_all(4096), "id: b00t-1\n"));
	assert_non_null(strstr(got, "id: b00t-3\nevent: offer\n"));
	assert_null(strstr(got, "lost"));
	follow(EVENTS_ALL, "b00t-3");
	assert_string_equal(read_all(4096), "");
}

TEST(events_that_cannot_be_replayed_are_reported_as_lost)
{
	static const char *const ids[] = {"b00t-1", "b00t-9999", "other-1400",
					  "b00t",   "b00t--1",	 "b00t-99999999999999999999",
					  "\xff\"", "1400"};

	add(EVENTS_ALERT, 1400);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		follow(EVENTS_ALL, ids[i]);
		assert_non_null(strstr(read_all(4096), "id: b00t-1400\nevent: lost\n"));
		assert_int_equal(events_reader_look(&reader), 0);
	}
	assert_non_null(strstr(got, "data: {\"after\":\"1400\"}\n\n"));
	follow(EVENTS_ALL, "b00t-376"); /* the ring contains the newest 1024 events */
	assert_non_null(strstr(read_all(4096), "id: b00t-377\n"));
	assert_null(strstr(got, "lost"));
	follow(EVENTS_ALL, "b00t-375");
	assert_non_null(strstr(read_all(4096), "event: lost\ndata: {\"after\":\"b00t-375\"}\n\n"));
}

TEST(only_the_newest_tick_is_read)
{
	events_add(events, EVENTS_TICK, "1");
	follow(1u << EVENTS_TICK | 1u << EVENTS_ALERT, NULL);
	(void)read_all(4096);
	events_add(events, EVENTS_TICK, "2");
	events_add(events, EVENTS_TICK, "3");
	add(EVENTS_ALERT, 1);
	assert_string_equal(read_all(4096), "id: b00t-1\nevent: alert\ndata: {}\n\n"
					    "event: tick\ndata: 3\n\n");
	assert_int_equal(events_reader_look(&reader), 0);
	follow(1u << EVENTS_ALERT, "b00t-1");
	events_add(events, EVENTS_TICK, "4");
	assert_int_equal(events_reader_look(&reader), 0);
}

TEST(a_reader_behind_the_ring_gets_epipe)
{
	follow(EVENTS_ALL, NULL);
	(void)read_all(4096);
	add(EVENTS_ALERT, EVENTS_KEPT);
	assert_int_equal(events_reader_look(&reader), 1);
	add(EVENTS_ALERT, 1);
	assert_int_equal(events_reader_look(&reader), -EPIPE);
	assert_int_equal(events_reader_read(&reader, got, 4096), 0);
}

TEST(events_of_other_kinds_do_not_overrun_a_reader)
{
	follow(1u << EVENTS_OFFER, NULL);
	(void)read_all(4096);
	for (int i = 0; i < 3 * EVENTS_KEPT; i++) {
		add(EVENTS_ALERT, 1);
		assert_int_equal(events_reader_look(&reader), 0);
	}
	add(EVENTS_OFFER, 1);
	assert_string_equal(read_all(4096), "id: b00t-3073\nevent: offer\ndata: {}\n\n");
}

TEST(a_reader_with_too_many_unread_bytes_gets_epipe)
{
	follow(EVENTS_ALL, NULL);
	(void)read_all(4096);
	for (int i = 0; i < 7; i++) {
		add_large(EVENTS_DECISION, 32 * 1024);
		assert_int_equal(events_reader_look(&reader), 1);
	}
	add_large(EVENTS_DECISION, 32 * 1024);
	assert_int_equal(events_reader_look(&reader), -EPIPE);
	follow(EVENTS_ALL, "b00t-0"); /* replayed events do not count as unread */
	assert_int_equal(events_reader_look(&reader), 1);
	assert_true(strlen(read_all(1000)) > 8 * 32 * 1024);
	assert_int_equal(events_reader_look(&reader), 0);
	for (int i = 0; i < 7; i++)
		add_large(EVENTS_DECISION, 32 * 1024);
	assert_int_equal(events_reader_look(&reader), 1);
	add_large(EVENTS_DECISION, 32 * 1024);
	assert_int_equal(events_reader_look(&reader), -EPIPE);
}

TEST(one_large_tick_does_not_overrun_a_reader)
{
	follow(EVENTS_ALL, NULL);
	(void)read_all(4096);
	for (int i = 0; i < 4; i++) {
		add_large(EVENTS_TICK, 1024 * 1024);
		assert_int_equal(events_reader_look(&reader), 1);
	}
	add_large(EVENTS_TICK, 1024 * 1024);
	assert_int_equal(events_reader_look(&reader), -EPIPE);
	follow(EVENTS_ALL, NULL);
	for (int i = 0; i < 20; i++) {
		add_large(EVENTS_TICK, 1024 * 1024);
		assert_true(strlen(read_all(4096)) > 1024 * 1024);
		assert_int_equal(events_reader_look(&reader), 0);
	}
}

TEST(the_bytes_of_the_ring_are_limited)
{
	for (int i = 0; i < 100; i++)
		add_large(EVENTS_DECISION, 16 * 1024);
	follow(EVENTS_ALL, "b00t-60");
	assert_true(strlen(read_all(4096)) < EVENTS_BYTES_KEPT);
	assert_null(strstr(got, "lost"));
	follow(EVENTS_ALL, "b00t-10");
	assert_non_null(strstr(read_all(4096), "event: lost\n"));
}

TEST(a_comment_is_sent_only_if_nothing_else_is_unread)
{
	follow(EVENTS_ALL, NULL);
	events_reader_comment(&reader); /* no comment is sent while the first lines are unread */
	assert_null(strstr(read_all(4096), "\n:"));
	events_reader_comment(&reader);
	events_reader_comment(&reader);
	assert_int_equal(events_reader_look(&reader), 1);
	assert_string_equal(read_all(4096), ":\n\n");
}
