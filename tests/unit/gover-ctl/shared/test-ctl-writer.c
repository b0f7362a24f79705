/* SPDX-License-Identifier: MIT */
/*
 * The output of gover-ctl: tables, records, JSON, masked control characters, and times relative to
 * now.
 */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/http/client.h"
#include "base/terminal/writer.h"
#include "base/text.h"
#include "gover-ctl/shared/tables.h"
#include "tests/unit/quoted-json.h"
#include "tests/unit/unit.h"

#define NOW_MS INT64_C(1795200608123) /* 2026-11-20T18:50:08.123Z */

/* A writer that writes to memory; done() returns the text. */
struct sink {
	struct writer writer;
	char *text;
	size_t length;
};

static struct sink sink;

static int begin(void)
{
	FILE *out = open_memstream(&sink.text, &sink.length);

	assert_non_null(out);
	writer_init(&sink.writer, out, false);
	sink.writer.now_ms = NOW_MS;
	return 0;
}

static const char *done(void)
{
	fclose(sink.writer.out);
	sink.writer.out = NULL;
	return sink.text;
}

static int end(void)
{
	if (sink.writer.out)
		(void)done();
	free(sink.text);
	memset(&sink, 0, sizeof(sink));
	return 0;
}

FIXTURE(begin, end)

/* A test that prints more than once begins again with an empty text. */
static void restart(void)
{
	(void)end();
	(void)begin();
}

static void print(const struct table *table, const char *answer)
{
	json_t *json = quoted_json(answer);

	tables_print_rows(&sink.writer, table, json);
	json_decref(json);
}

TEST(without_a_terminal_there_are_no_escapes_and_no_wrapping)
{
	assert_false(sink.writer.tty);
	assert_false(sink.writer.colours);
	assert_string_equal(writer_colour(&sink.writer, WRITER_RED), "");
	print(&table_alerts,
	      "{'alerts': [{'id': 1, 'name': 'severe_overload', 'severity': 'critical', 'gpu': "
	      "'gpu0', 'vgpu': 'web1', 'vm': null, 'raised_at': '2026-11-20T18:49:56.123Z', "
	      "'cleared_at': null, 'acked_at': null, 'text': 'a long sentence that goes on and "
	      "on, far beyond the eighty columns of a terminal of old, and on, and is not cut'}]}");
	assert_string_equal(
		done(),
		"ALERT SEVERITY NAME            VGPU STATE AGE TEXT\n"
		"    1 critical severe_overload web1 open  12s a long "
		"sentence "
		"that goes on and on, far beyond the eighty columns of a terminal of old, and on, "
		"and is "
		"not cut\n");
}

TEST(a_missing_value_is_a_dash)
{
	print(&table_vgpus,
	      "{'vgpus': [{'id': 'a', 'gpu': 'gpu0', 'vm': null, 'initial_cap_pct': 50, "
	      "'cap_pct': 34, 'util_pct': 97.26, 'load_pct': 33.1, 'fps': 52.13, 'target_fps': "
	      "60, 'frame_p99_ms': 24.13, 'overloaded': true, 'short': true}, {'id': 'b2', "
	      "'gpu': 'gpu0', 'vm': 'db-7', 'initial_cap_pct': 50, 'cap_pct': null, 'util_pct': "
	      "null, 'fps': null, 'target_fps': 0, 'frame_p99_ms': null, 'state': 'missing', "
	      "'held': true}]}");
	assert_string_equal(
		done(),
		"VGPU PROMISE SOLD% CAP% USED% LOAD%  FPS TARGET AGE NOTE\n"
		"a    kept       50   34  97.3  33.1 52.1   60.0 -   overloaded, below its target\n"
		"b2   kept       50    -     -     -    -      - -   missing, held\n");
}

TEST(a_table_with_units_of_work_has_rates)
{
	print(&table_vgpus,
	      "{'vgpus': [{'id': 'a', 'gpu': 'g', 'fps': 30, 'target_fps': 60, 'rate': null, "
	      "'target_rate': null}, {'id': 'b', 'gpu': 'g', 'fps': null, 'target_fps': null, "
	      "'rate': 1204.56, 'target_rate': 2.5}]}");
	assert_string_equal(done(), "VGPU PROMISE SOLD% CAP% USED% LOAD%   RATE TARGET AGE NOTE\n"
				    "a    kept        -    -     -     -   30.0   60.0 -   -\n"
				    "b    kept        -    -     -     - 1204.6    2.5 -   -\n");
}

TEST(an_empty_table_prints_one_line)
{
	static const struct table *const tables[] = {
		&table_gpus,	  &table_vgpus,	  &table_alerts, &table_offers,
		&table_decisions, &table_history, &table_policy,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		restart();
		print(tables[i], "{}");
		done();
		assert_string_equal(strchr(sink.text, '\n'), "\n");
		assert_true(strlen(sink.text) > 5);
	}
}

TEST(long_text_wraps_at_the_width_of_the_terminal)
{
	int column = 0;

	sink.writer.tty = true;
	sink.writer.width = 100;
	print(&table_decisions,
	      "{'decisions': [{'id': 7, 'time': '2026-11-20T18:49:56.123Z', 'gpu': 'gpu0', "
	      "'kind': 'steal', 'vgpu': 'a', 'result': 'written', 'moves': [], 'why': 'one fifth "
	      "of what the lightest vGPU does not use goes to the one that wants it most, in "
	      "whole steps, never below the floor'}]}");
	for (const char *c = done(); *c; c++) {
		column = *c == '\n' ? 0 : column + 1;
		assert_true(column <= 100);
	}
	assert_non_null(strstr(sink.text, "floor"));
}

TEST(a_paragraph_wraps_between_words)
{
	static const struct {
		int width, indent;
		const char *first, *text, *printed;
	} rows[] = {
		{0, 2, "fix: ", "one two three", "fix: one two three\n"},
		{12, 2, "fix: ", "one two three", "fix: one two\n  three\n"},
		{12, 2, "", "alongerwordthanaline one two", "alongerwordthanaline\n  one two\n"},
		{12, 4, "", "\303\274\303\274\303\274 \303\274\303\274\303\274\303\274 b cd",
		 "\303\274\303\274\303\274 \303\274\303\274\303\274\303\274 b\n    cd\n"},
		{12, 2, "", "web1 has 48 % (45 %), c", "web1 has\n  48 %\n  (45 %), c\n"},
		{12, 0, "", "a\033[2Jb", "a?[2Jb\n"},
		{12, 0, "", "", "\n"},
	};

	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		restart();
		sink.writer.width = rows[i].width;
		writer_paragraph(&sink.writer, rows[i].first, rows[i].indent, rows[i].text);
		assert_string_equal(done(), rows[i].printed);
	}
	(void)setlocale(LC_CTYPE, "C");
}

/*
 * Without headings, libsmartcols 2.38 makes columns as wide as their headings, and 2.41 does not.
 */
static void squeeze_spaces(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (*from != ' ' || (to > text && to[-1] != ' ' && to[-1] != '\n'))
			*to++ = *from;
	*to = '\0';
}

TEST(columns_appear_when_they_are_needed)
{
	static const struct {
		bool wide, no_head;
		const char *rows, *printed;
	} rows[] = {
		{false, false,
		 "{'id': 1, 'gpu': 'g0', 'state': 'open'}, "
		 "{'id': 2, 'gpu': 'g0', 'state': 'open'}",
		 "OFFER STATE SELLS% TARGET FUNDED% VGPU AGE EXPIRES REASON\n"
		 "    1 open       -      -       - -    -   -       -\n"
		 "    2 open       -      -       - -    -   -       -\n"},
		{false, true,
		 "{'id': 1, 'gpu': 'g0', 'state': 'open', 'created_at': "
		 "'2026-11-20T18:45:08.123Z'}, {'id': 2, 'gpu': 'g1', 'state': "
		 "'open', 'expires_at': '2026-11-20T18:50:38.500Z'}",
		 "1 g0 open - - - - 5m - -\n"
		 "2 g1 open - - - - - in 30s -\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char answer[512];

		snprintf(answer, sizeof(answer), "{'offers': [%s]}", rows[i].rows);
		restart();
		sink.writer.no_head = rows[i].no_head;
		print(&table_offers, answer);
		done();
		if (rows[i].no_head)
			squeeze_spaces(sink.text);
		assert_string_equal(sink.text, rows[i].printed);
	}
	restart();
	sink.writer.wide = true;
	print(&table_offers, "{'offers': [{'id': 1, 'gpu': 'g0'}]}");
	assert_non_null(strstr(done(), "OFFER GPU STATE"));
	assert_non_null(strstr(sink.text, "CREATED UNTIL"));
	restart();
	sink.writer.no_head = true;
	print(&table_offers, "{'offers': []}");
	assert_string_equal(done(), "");
}

/* Rows of a terminal, with the long texts below each row. No word is cut. */
TEST(long_texts_are_below_their_row_and_wrap_between_words)
{
	sink.writer.tty = true;
	sink.writer.width = 60;
	print(&table_alerts,
	      "{'alerts': [{'id': 1, 'name': 'promise_broken', 'severity': "
	      "'critical', 'vgpu': 'web1', 'raised_at': '2026-11-20T18:38:08.123Z', "
	      "'cause': 'held', 'text': 'web1 gets 45.0 of 60 FPS: an operator holds it "
	      "at 20 %', 'next': 'gover-ctl why web1'}]}");
	assert_string_equal(done(), "ALERT SEVERITY NAME           VGPU CAUSE STATE AGE\n"
				    "    1 critical promise_broken web1 held  open  12m\n"
				    "    web1 gets 45.0 of 60 FPS: an operator holds it at 20 %\n"
				    "    gover-ctl why web1\n");
}

/* The default list of vGPUs fits a terminal of 80 columns, without a cut or wrapped line. */
TEST(the_list_of_vgpus_fits_80_columns)
{
	int lines = 0, column = 0;

	sink.writer.tty = true;
	sink.writer.width = 80;
	print(&table_vgpus,
	      "{'vgpus': [{'id': 'customer-17', 'gpu': 'gpu0', 'vm': 'a-long-name-of-a-vm', "
	      "'initial_cap_pct': 50, 'cap_pct': 34, 'util_pct': 100, 'load_pct': 33.1, 'fps': "
	      "145.2, 'target_fps': 160, 'frame_p99_ms': 24.13, 'promise': 'broken', 'cause': "
	      "'gpu_overcommitted', 'overloaded': true, 'short': true, 'broken': true, "
	      "'created_at': '2026-11-17T14:50:08.123Z'}]}");
	for (const char *c = done(); *c; c++) {
		lines += *c == '\n';
		column = *c == '\n' ? 0 : column + 1;
		assert_in_range(column, 0, 80);
	}
	assert_int_equal(lines, 2);
	assert_non_null(strstr(sink.text, "3d4h gpu overcommitted"));
}

TEST(colours_need_a_terminal)
{
	sink.writer.tty = true;
	sink.writer.width = 120;
	sink.writer.colours = true;
	print(&table_vgpus, "{'vgpus': [{'id': 'a', 'overloaded': true}]}");
	assert_non_null(strstr(done(), "\033[31moverloaded\033[0m"));
}

TEST(control_characters_are_masked)
{
	char text[] = "a\033[31mb\nc\x7f\xc2\x9bz \xc3\xa9";

	text_mask_controls(text);
	assert_string_equal(text, "a?[31mb?c???z \xc3\xa9");

	print(&table_vgpus, "{'vgpus': [{'id': 'a', 'vm': 'x\\u001b]0;y\\u0007'}]}");
	writer_line(&sink.writer, "%s", "line\rwith\033[2J");
	assert_null(strchr(done(), '\033'));
	assert_null(strchr(sink.text, '\r'));
}

TEST(json_is_printed_unchanged)
{
	char body[] = "{ \"b\":1.50,\"a\" : [1,  2]}";
	struct reply reply = {.text = body, .length = strlen(body)};

	writer_reply(&sink.writer, &reply);
	assert_string_equal(done(), "{ \"b\":1.50,\"a\" : [1,  2]}\n");
}

TEST(json_on_a_terminal_is_indented)
{
	char body[] = "{\"b\":0.1,\"a\":[1]}";
	struct reply reply = {.text = body, .length = strlen(body), .json = quoted_json(body)};

	sink.writer.tty = true;
	writer_reply(&sink.writer, &reply);
	assert_string_equal(done(), "{\n  \"b\": 0.1,\n  \"a\": [\n    1\n  ]\n}\n");
	json_decref(reply.json);
}

TEST(a_reply_without_a_body_prints_nothing)
{
	struct reply reply = {.status = 204};

	writer_reply(&sink.writer, &reply);
	assert_string_equal(done(), "");
}

TEST(spans_have_at_most_two_units)
{
	static const struct {
		double seconds;
		const char *text;
	} rows[] = {
		{0.31, "0.3 s"},      {59.94, "59.9 s"},    {60, "1 min"},
		{3599, "59 min"},     {7980, "2 h 13 min"}, {86400, "1 d 0 h"},
		{1e9, "11574 d 1 h"}, {NAN, "-"},	    {INFINITY, "-"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[WRITER_SPAN_MAX];

		writer_format_span(rows[i].seconds, text);
		assert_string_equal(text, rows[i].text);
	}
}

TEST(a_record_has_a_line_per_column)
{
	json_t *vgpu =
		quoted_json("{'id': 'a', 'held': true, 'labels': {'x': '1', 'y': '2'}, "
			    "'attach': {'cgroup_procs': ['/p/1', '/p/2'], 'fps_socket': null}}");
	size_t lines = 0;

	writer_record(&sink.writer, table_vgpu.columns, table_vgpu.n_columns, vgpu);
	json_decref(vgpu);
	done();
	assert_non_null(strstr(sink.text, "labels               x=1, y=2\n"));
	assert_non_null(strstr(sink.text, "cgroup.procs         /p/1, /p/2\n"));
	assert_non_null(strstr(sink.text, "fps socket           -\n"));
	for (const char *c = sink.text; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, table_vgpu.n_columns);
}

/* --- times relative to now --- */

#define DAY_MS INT64_C(86400000)

TEST(an_age_has_at_most_two_units)
{
	static const struct {
		int64_t ms;
		const char *age, *when;
	} rows[] = {
		{0, "0s", "0s ago"},
		{999, "0s", "0s ago"},
		{59999, "59s", "59s ago"},
		{60000, "1m", "1m ago"},
		{3599999, "59m", "59m ago"},
		{7980000, "2h13m", "2h13m ago"},
		{DAY_MS - 1, "23h59m", "23h59m ago"},
		{3 * DAY_MS + 4 * 3600000, "3d4h", "3d4h ago"},
		{10 * DAY_MS - 1, "9d23h", "9d23h ago"},
		{412 * DAY_MS + 4 * 3600000, "412d", "412d ago"},
		{-500, "0s", "0s ago"},
		{-12000, "0s", "in 12s"},
		{-89 * DAY_MS, "0s", "in 89d"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[AGE_MAX];

		age_format(rows[i].ms, text);
		assert_string_equal(text, rows[i].age);
		age_format_when(rows[i].ms, text);
		assert_string_equal(text, rows[i].when);
	}
}

TEST(an_age_in_a_sentence_has_spaces)
{
	static const struct {
		const char *time, *text;
	} rows[] = {
		{"2026-11-20T18:49:56.123Z", "12 s ago"},
		{"2026-11-20T16:37:08.123Z", "2 h 13 min ago"},
		{"2026-11-17T14:50:08.123Z", "3 d 4 h ago"},
		{"2026-11-20T18:50:20.123Z", "in 12 s"},
		{"2026-11-20T18:50:08.623Z", "0 s ago"},
		{"yesterday", "at an unknown time"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[AGE_MAX];

		age_tell(rows[i].time, NOW_MS, text);
		assert_string_equal(text, rows[i].text);
	}
}
