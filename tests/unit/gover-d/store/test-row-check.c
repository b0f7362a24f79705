/* SPDX-License-Identifier: MIT */
/* Each column that a start uses has bounds, and the check names the column that is outside. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/store/load.h"
#include "tests/unit/unit.h"

#define TOO_LATE ((INT64_C(1) << 53) + 1)

static void expect(const char *column, const char *expected)
{
	if (expected)
		assert_non_null(column);
	if (column && !expected)
		fail_msg("%s: not valid", column);
	if (expected)
		assert_string_equal(column, expected);
}

static const struct db_offer valid_offer = {.id = 1,
					    .created_ms = 1763664596123,
					    .changed_ms = 1763664596123,
					    .gpu = "gpu0",
					    .state = "open",
					    .cap_pct = 100,
					    .target_fps = 60};

TEST(offers)
{
	static const struct {
		struct db_offer row; /* zero: the value of valid_offer */
		const char *column;
	} cases[] = {
		{{.vgpu = "vm-1"}, NULL},
		{{.created_ms = -1}, "created_ms"},
		{{.changed_ms = TOO_LATE}, "changed_ms"},
		{{.gpu = "\xff"}, "gpu"},
		{{.gpu = "../x"}, "gpu"},
		{{.vgpu = "a b"}, "vgpu"},
		{{.cap_pct = -1}, "cap_pct"},
		{{.cap_pct = 101}, "cap_pct"},
		{{.funded_pct = 101}, "funded_pct"},
		{{.target_fps = INFINITY}, "target_fps"},
		{{.target_fps = -INFINITY}, "target_fps"},
		{{.target_fps = NAN}, "target_fps"},
		{{.target_fps = -1}, "target_fps"},
		{{.target_fps = 1e6}, NULL},
		{{.target_fps = 1e6 + 1}, "target_fps"},
	};

	expect(row_check_offer(&valid_offer), NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct db_offer *c = &cases[i].row;
		struct db_offer row = valid_offer;

		if (c->created_ms)
			row.created_ms = c->created_ms;
		if (c->changed_ms)
			row.changed_ms = c->changed_ms;
		if (c->gpu[0])
			memcpy(row.gpu, c->gpu, sizeof(row.gpu));
		memcpy(row.vgpu, c->vgpu, sizeof(row.vgpu));
		if (c->cap_pct)
			row.cap_pct = c->cap_pct;
		row.funded_pct = c->funded_pct;
		if (c->target_fps != 0)
			row.target_fps = c->target_fps;
		expect(row_check_offer(&row), cases[i].column);
	}
}

TEST(an_offer_without_a_gpu_is_invalid)
{
	struct db_offer row = valid_offer;

	row.gpu[0] = '\0';
	expect(row_check_offer(&row), "gpu");
}

TEST(decisions)
{
	static const struct {
		struct db_decision row;
		const char *column;
	} cases[] = {
		{{.ts_ms = 0}, NULL},
		{{.gpu = "gpu0", .vgpu = "a", .donor = "b", .why = "\xff"}, NULL},
		{{.ts_ms = INT64_MIN}, "ts_ms"},
		{{.gpu = "\x80"}, "gpu"},
		{{.vgpu = "\n"}, "vgpu"},
		{{.donor = "."}, "donor"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect(row_check_decision(&cases[i].row), cases[i].column);
}

TEST(alerts)
{
	static const struct {
		struct db_alert row;
		const char *column;
	} cases[] = {
		{{.raised_ms = 1, .acked_ms = 2, .gpu = "gpu0", .text = "\xff"}, NULL},
		{{.raised_ms = -1}, "raised_ms"},
		{{.acked_ms = -1}, "acked_ms"},
		{{.acked_ms = TOO_LATE}, "acked_ms"},
		{{.gpu = "\xc3\xa4"}, "gpu"},
		{{.vgpu = "-a"}, "vgpu"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect(row_check_alert(&cases[i].row), cases[i].column);
}

TEST(silences)
{
	static const struct {
		struct db_silence row;
		const char *column;
	} cases[] = {
		{{.alert = "contract_limit", .reason = "maintenance \xc3\xa4"}, NULL},
		{{.gpu = "gpu0", .until_ms = TOO_LATE - 1}, NULL},
		{{.vgpu = "a"}, NULL},
		{{.vgpu = "a", .created_ms = -1}, "created_ms"},
		{{.vgpu = "a", .until_ms = TOO_LATE}, "until_ms"},
		{{.alert = "\x01"}, "alert"},
		{{.gpu = "\xff"}, "gpu"},
		{{.vgpu = "a/b"}, "vgpu"},
		{{.vgpu = "a", .reason = "one\ntwo"}, "reason"},
		{{.reason = "no selector"}, "alert, gpu or vgpu"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect(row_check_silence(&cases[i].row), cases[i].column);
}

TEST(settings)
{
	char text[257];

	memset(text, 'x', sizeof(text));
	text[256] = '\0';
	expect(row_check_setting("overload_pct", "90"), NULL);
	expect(row_check_setting("overload_pct", text + 1), NULL);
	expect(row_check_setting("overload_pct", text), "value");
	expect(row_check_setting(text, "90"), "key");
	expect(row_check_setting("overload_pct", "90\n"), "value");
	expect(row_check_setting("\xff", "90"), "key");
}
