/* SPDX-License-Identifier: MIT */
/* Descriptions of replies, and time arguments. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gover-ctl/shared/describe.h"
#include "gover-ctl/shared/time-arg.h"
#include "tests/unit/quoted-json.h"
#include "tests/unit/unit.h"

#define UNTOUCHED 4711

TEST(the_promise_is_reported_or_derived)
{
	static const struct {
		const char *vgpu, *promise, *reasons;
	} rows[] = {
		{"{'promise': 'kept', 'cause': null}", "kept", ""},
		{"{'promise': 'broken', 'cause': 'gpu_overcommitted', 'broken': true, "
		 "'overloaded': true, 'short': true}",
		 "broken", "gpu overcommitted"},
		{"{'promise': 'broken', 'cause': 'held', 'held': true}", "broken", "held"},
		{"{'promise': 'broken', 'cause': 'not_acting', 'held': true}", "broken",
		 "not acting, held"},
		{"{'promise': 'a_new_state', 'cause': 'a_new_cause'}", "a_new_state",
		 "a new cause"},
		/* without the fields of newer daemons */
		{"{'broken': true, 'overloaded': true}", "broken", "overloaded"},
		{"{'target_fps': 60, 'fps': null}", "unknown", ""},
		{"{'target_fps': 60, 'fps': 50, 'short': true}", "kept", "below its target"},
		{"{'target_fps': null, 'target_rate': 5, 'rate': null}", "unknown", ""},
		{"{'target_fps': 0, 'fps': null}", "kept", ""},
		{"{'found': true, 'state': 'active'}", "", "no contract"},
		{"{'state': 'probation'}", "kept", "on probation"},
		{"{'state': 'missing'}", "kept", "missing"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[DESCRIBE_MAX];
		json_t *vgpu = quoted_json(rows[i].vgpu);

		describe_promise(vgpu, text);
		assert_string_equal(text, rows[i].promise);
		describe_reasons(vgpu, text);
		assert_string_equal(text, rows[i].reasons);
		json_decref(vgpu);
	}
}

TEST(a_vgpu_is_described_with_its_numbers)
{
	static const struct {
		const char *vgpu, *text;
	} rows[] = {
		{"{'id': 'web1', 'gpu': 'gpu0', 'vm': 'db-7', 'cap_pct': 34, 'initial_cap_pct': "
		 "50, 'util_pct': 97.3, 'fps': 52.13, 'target_fps': 60, 'frame_p99_ms': 24.13, "
		 "'state': 'active', 'overloaded': true}",
		 "web1 (vm db-7) on gpu0: cap 34 %, sold 50 %, 97 % of the cap used, 52.1 of 60 "
		 "fps (99 % of frames within 24.1 ms), overloaded"},
		{"{'id': 'a', 'gpu': 'g', 'vm': null, 'cap_pct': 50, 'initial_cap_pct': 50, "
		 "'util_pct': null, 'fps': null, 'target_fps': 30, 'state': 'probation'}",
		 "a on g: cap 50 %, sold 50 %, use unknown, no frames seen (target 30 fps), on "
		 "probation"},
		{"{'id': 'a', 'gpu': 'g', 'cap_pct': 50, 'initial_cap_pct': 50, 'util_pct': 7, "
		 "'fps': null, 'target_fps': null, 'rate': 1204.56, 'target_rate': 1500.5, "
		 "'frame_p99_ms': null, 'state': 'active'}",
		 "a on g: cap 50 %, sold 50 %, 7 % of the cap used, 1204.6 of 1500.5 units/s"},
		{"{'id': 'a', 'gpu': 'g', 'cap_pct': 50, 'initial_cap_pct': 50, 'util_pct': 7, "
		 "'rate': null, 'target_rate': 2.5, 'state': 'active'}",
		 "a on g: cap 50 %, sold 50 %, 7 % of the cap used, no work seen (target 2.5 "
		 "units/s)"},
		{"{'id': 'a', 'gpu': 'g', 'cap_pct': null, 'initial_cap_pct': 50, 'util_pct': 0, "
		 "'fps': 12, 'target_fps': 0, 'state': 'missing', 'held': true, 'found': true}",
		 "a on g: cap unknown, sold 50 %, 0 % of the cap used, 12.0 fps, missing, held, "
		 "no contract"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *vgpu = quoted_json(rows[i].vgpu);
		char text[DESCRIBE_MAX];

		describe_vgpu(vgpu, text);
		json_decref(vgpu);
		assert_string_equal(text, rows[i].text);
	}
}

TEST(a_decision_is_described_with_moves_and_numbers)
{
	json_t *decision = quoted_json("{'moves': [{'vgpu': 'a', 'from_pct': 30, 'to_pct': 34, "
				       "'read_back_pct': 34}, {'vgpu': 'b', 'from_pct': 50, "
				       "'to_pct': 46, 'read_back_pct': null}, {'vgpu': 'c', "
				       "'from_pct': 1, 'to_pct': 9, 'read_back_pct': 5}], "
				       "'numbers': {'u_pct': 97.3125, 'unused_pct': 20}}");
	char text[DESCRIBE_MAX];

	describe_moves(decision, text);
	assert_string_equal(text, "a 30 -> 34 %, b 50 -> 46 %, c 1 -> 9 % (read back 5 %)");
	describe_numbers(decision, text);
	assert_string_equal(text, "u_pct 97.31, unused_pct 20");
	json_decref(decision);
}

TEST(a_description_is_cut_at_its_limit)
{
	json_t *moves = json_array(), *decision = json_pack("{s:o}", "moves", moves);
	char text[DESCRIBE_MAX];

	for (int i = 0; i < 256; i++)
		json_array_append_new(moves,
				      json_pack("{s:s, s:i, s:i}", "vgpu", "a-long-name-of-it",
						"from_pct", i, "to_pct", i));
	describe_moves(decision, text);
	json_decref(decision);
	assert_int_equal(strlen(text), DESCRIBE_MAX - 1);
}

TEST(times_have_several_forms)
{
	static const int64_t now = 1795200596123; /* 2026-11-20T18:49:56.123Z */
	static const struct {
		const char *text;
		int result;
		int64_t ms;
	} rows[] = {
		{"now", 0, 1795200596123},
		{"-1h", 0, 1795200596123 - 3600000},
		{"-90", 0, 1795200596123 - 90000},
		{"-1d2h3m4s", 0, 1795200596123 - 93784000},
		{"1795200596", 0, 1795200596000},
		{"0", 0, 0},
		{"2026-11-20T18:49:56Z", 0, 1795200596000},
		{"2026-11-20T18:49:56.123Z", 0, 1795200596123},
		{"2026-11-20t18:49:56.1z", 0, 1795200596100},
		{"2026-11-20T19:49:56+01:00", 0, 1795200596000},
		{"2026-11-20T13:19:56-05:30", 0, 1795200596000},
		{"2024-02-29T00:00:00Z", 0, 1709164800000},
		{"2026-02-29T00:00:00Z", -EINVAL, 0},
		{"2026-11-31T00:00:00Z", -EINVAL, 0},
		{"2026-11-20T24:00:00Z", -EINVAL, 0},
		{"2026-11-20T18:60:00Z", -EINVAL, 0},
		{"2026-11-20T18:49:56", -EINVAL, 0},
		{"2026-11-20T18:49:56.Z", -EINVAL, 0},
		{"2026-11-20T18:49:56+1:00", -EINVAL, 0},
		{"2026-11-20T18:49:56+24:00", -EINVAL, 0},
		{"2026-11-20", -EINVAL, 0},
		{"yesterday", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"-", -EINVAL, 0},
		{"-h", -EINVAL, 0},
		{"-1w", -EINVAL, 0},
		{"-0s", -ERANGE, 0},
		{"-99y", -EINVAL, 0},
		{"-36500d", -ERANGE, 0},
		{"-99999999999999999999s", -ERANGE, 0},
		{"99999999999999", -ERANGE, 0},
		{"2026-11-20 18:49:56Z", 0, 1795200596000},
		{"1969-12-31T23:59:59Z", -EINVAL, 0},
		{" now", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t ms = UNTOUCHED;
		int r = time_arg_parse(rows[i].text, now, &ms);

		if (r != rows[i].result || ms != (r == 0 ? rows[i].ms : UNTOUCHED))
			fail_msg("'%s' gave %d, %lld", rows[i].text, r, (long long)ms);
	}
}

TEST(a_printed_time_can_be_parsed)
{
	static const int64_t times[] = {0, 951782400000, 1795200596123, 4102444799999};

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		char text[CLOCK_TEXT_MAX];
		int64_t ms = UNTOUCHED;

		clock_format(times[i], text);
		assert_int_equal(time_arg_parse(text, 0, &ms), 0);
		assert_int_equal(ms, times[i]);
	}
}

TEST(spans_are_sums_of_units)
{
	static const struct {
		const char *text;
		int result;
		int64_t s;
	} rows[] = {
		{"90", 0, 90},	    {"90s", 0, 90},	  {"5m", 0, 300},
		{"1h30m", 0, 5400}, {"1d", 0, 86400},	  {"0", -ERANGE, 0},
		{"", -EINVAL, 0},   {"m", -EINVAL, 0},	  {"5 m", -EINVAL, 0},
		{"-5", -EINVAL, 0}, {"1.5h", -EINVAL, 0}, {"9999999d", -ERANGE, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t s = UNTOUCHED;
		int r = time_arg_parse_span(rows[i].text, &s);

		if (r != rows[i].result || s != (r == 0 ? rows[i].s : UNTOUCHED))
			fail_msg("'%s' gave %d, %lld", rows[i].text, r, (long long)s);
	}
}
