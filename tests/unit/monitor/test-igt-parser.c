/* SPDX-License-Identifier: MIT */
/* Parsing of the irregular output of intel_gpu_top. */
#include <string.h>

#include "base/cleanup.h"
#include "monitor/igt.h"
#include "tests/unit/unit.h"

/* Output of version 1.27: single engines, and no separator between two samples. */
#define OLD(render, video)                                                                     \
	"{\n\t\"period\": {\n\t\t\"duration\": 1000.1,\n\t\t\"unit\": \"ms\"\n\t},\n"          \
	"\t\"engines\": {\n\t\t\"Render/3D/0\": {\n\t\t\t\"busy\": " render ",\n"              \
	"\t\t\t\"sema\": 99.0,\n\t\t\t\"unit\": \"%\"\n\t\t},\n"                               \
	"\t\t\"Video/1\": {\n\t\t\t\"busy\": " video ",\n\t\t\t\"unit\": \"%\"\n\t\t}\n\t},\n" \
	"\t\"clients\": {\n\n\t}\n}\n"

#define CLOCKED(busy, mhz)                                                       \
	"{\n\t\"frequency\": {\n\t\t\"requested\": 900.0,\n\t\t\"actual\": " mhz \
	"\n\t},\n\t\"engines\": {\n\t\t\"R\": {\n\t\t\t\"busy\": " busy "\n\t\t}\n\t}\n}\n"

/* Output of later versions: engine classes, and clients whose numbers are strings. */
#define NEW(render, client)                                                                     \
	"{\n\t\"engines\": {\n\t\t\"Render/3D\": {\n\t\t\t\"busy\": " render "\n\t\t}\n\t},\n"  \
	"\t\"clients\": {\n\t\t\"4294\": {\n\t\t\t\"name\": \"" client "\",\n"                  \
	"\t\t\t\"engine-classes\": {\n\t\t\t\t\"Render/3D\": {\n\t\t\t\t\t\"busy\": \"77.7\"\n" \
	"\t\t\t\t}\n\t\t\t}\n\t\t}\n\t}\n}"

#define FIRST OLD("55.0", "66.0")

static const struct stream {
	const char *rule;
	const char *text;
	int samples;
	double util_pct; /* values of the newest sample */
} streams[] = {
	{"nothing", "", 0, 0},
	{"the first sample is dropped", FIRST, 0, 0},
	{"the busiest engine counts", FIRST OLD("12.5", "40.25"), 1, 40.25},
	{"no comma, no bracket", FIRST OLD("1.0", "2.0") OLD("30.0", "4.0"), 2, 30},
	{"brackets and commas", "[\n" NEW("1.0", "a") ",\n" NEW("2.5", "b") ",\n\n]\n", 1, 2.5},
	{"a bracket that is never closed", "[" NEW("1.0", "a") "," NEW("7.0", "b"), 1, 7},
	{"a comma missing in between", "[\n" FIRST FIRST ",\n" NEW("3.0", "a"), 2, 3},
	{"a number in quotes", FIRST OLD("\"20.5\"", "3.0"), 1, 20.5},
	{"a whole number", FIRST OLD("20", "3"), 1, 20},
	{"utilisation is limited to 100 %", FIRST OLD("104.2", "3.0"), 1, 100},
	{"idle is a number", FIRST OLD("0.0", "0.0"), 1, 0},
	{"clients are ignored", FIRST NEW("5.0", "game"), 1, 5},
	{"braces and escapes in a name", FIRST NEW("6.0", "}{\\\"}\\\\"), 1, 6},
	{"truncated at the end", FIRST OLD("8.0", "1.0") "{\n\t\"engines\": {\n\t\t\"Re", 1, 8},
	{"truncated, then complete", "{\n\t\"engines\": {\n" FIRST OLD("9.0", "1.0"), 1, 9},
	{"an unescaped quote invalidates one sample only",
	 FIRST OLD("8.0", "1.0") NEW("50.0", "a\"{b") "\n" OLD("9.0", "2.0"), 2, 9},
	{"NaN invalidates one sample only",
	 FIRST OLD("8.0", "1.0") OLD("-nan", "1.0") OLD("9.0", "2.0"), 2, 9},
	{"a negative engine is ignored", FIRST OLD("-3.0", "4.0"), 1, 4},
	{"text between samples", "Failed to X: } ]\n" FIRST "busy\n" OLD("9.5", "2.0"), 1, 9.5},
	{"an object without engines", FIRST "{\n\t\"period\": {\n\t}\n}\n{}\n", 0, 0},
	{"no engine", FIRST "{\n\t\"engines\": {\n\t}\n}\n", 0, 0},
	{"engines as an array", FIRST "{\n\t\"engines\": [ 1, 2 ]\n}\n", 0, 0},
	{"all on one line", "{\"engines\":{\"R\":{\"busy\":1}}}{\"engines\":{\"R\":{\"busy\":2}}}",
	 1, 2},
};

static struct igt_parser *parser;

static int make_parser(void)
{
	parser = igt_parser_new();
	return 0;
}

static int free_parser(void)
{
	parser = igt_parser_free(parser);
	return 0;
}

FIXTURE(make_parser, free_parser)

TEST(irregular_output_is_parsed_in_any_pieces)
{
	static const size_t cuts[] = {1, 2, 7, 100, 100000};

	for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
		for (size_t c = 0; c < ARRAY_SIZE(cuts); c++) {
			const char *rest = streams[i].text;
			struct igt_sample sample = {.util_pct = 0};
			int samples = 0;

			igt_parser_reset(parser);
			while (*rest) {
				size_t n = strnlen(rest, cuts[c]);

				samples += igt_parser_feed(parser, rest, n, &sample);
				rest += n;
			}
			if (samples != streams[i].samples ||
			    sample.util_pct < streams[i].util_pct ||
			    sample.util_pct > streams[i].util_pct)
				fail_msg("%s (cut by %zu): %d samples, %g %%", streams[i].rule,
					 cuts[c], samples, sample.util_pct);
		}
}

TEST(an_endless_sample_is_dropped)
{
	static char junk[8192];
	struct igt_sample sample = {.util_pct = -1};

	memset(junk, 'x', sizeof(junk));
	assert_int_equal(igt_parser_feed(parser, FIRST, strlen(FIRST), &sample), 0);
	assert_int_equal(igt_parser_feed(parser, "{\"a\": \"", 7, &sample), 0);
	for (size_t fed = 0; fed < 2 * IGT_OBJECT_MAX; fed += sizeof(junk))
		assert_int_equal(igt_parser_feed(parser, junk, sizeof(junk), &sample), 0);
	assert_int_equal(igt_parser_feed(parser, "\n" OLD("7.0", "1.0"),
					 strlen("\n" OLD("7.0", "1.0")), &sample),
			 1);
	assert_float_equal(sample.util_pct, 7, 0);
}

TEST(random_input_gives_no_value_out_of_range)
{
	/* Pieces of random input. < means the beginning of a sample, > the end of a sample. */
	static const char pieces[] = "{}:,[]\n\"\\\xff-9e250<<<<>>>";
	static const char opening[] = "\n{\"engines\":{\"R\":{\"busy\":";
	uint64_t seed = 2463534242;
	int samples = 0;

	for (int i = 0; i < 200000; i++) {
		char piece[32] = "";
		struct igt_sample sample = {.util_pct = -1};

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		piece[0] = pieces[(seed >> 20) % (sizeof(pieces) - 1)];
		if (piece[0] == '<' || piece[0] == '>')
			strcpy(piece, piece[0] == '<' ? opening : "}}}");
		if (igt_parser_feed(parser, piece, strlen(piece), &sample) > 0) {
			samples++;
			assert_in_range((int)(sample.util_pct * 1000), 0, 100000);
		}
	}
	assert_true(samples > 10);
}

TEST(the_clock_is_read_if_reported)
{
	static const struct {
		const char *text;
		double mhz;
	} rows[] = {{FIRST CLOCKED("5", "450.5"), 450.5},
		    {FIRST CLOCKED("5", "\"300.0\""), 300},
		    {FIRST CLOCKED("5", "-nan"), 300},
		    {FIRST CLOCKED("5", "-1"), 0},
		    {FIRST OLD("5.0", "1.0"), 0}};

	struct igt_sample sample = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		igt_parser_reset(parser);
		(void)igt_parser_feed(parser, rows[i].text, strlen(rows[i].text), &sample);
		assert_float_equal(sample.actual_mhz, rows[i].mhz, 0);
	}
}
