/* SPDX-License-Identifier: MIT */
/* intel_gpu_top: its start, end and restart as a child process, and the parser of its output. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "monitor/igt.h"
#include "tests/unit/unit.h"

static pid_t fake_waitpid(pid_t pid, int *status, int options);

#define waitpid fake_waitpid
#include "monitor/igt.c"
#include "tests/unit/unit.h"
#undef waitpid

static bool hangs; /* no child ends, as if the driver of the GPU does not answer */

static pid_t fake_waitpid(pid_t pid, int *status, int options)
{
	assert_true(options & WNOHANG); /* otherwise the caller would wait forever */
	return hangs ? 0 : waitpid(pid, status, options);
}

static char folder[] = "/tmp/gover-igt.XXXXXX";
static char program[64], note[64]; /* the fake program and its output file */
static struct err err;

static int make_folder(void)
{
	signal(SIGPIPE, SIG_IGN); /* signals as in the daemon */
	if (!mkdtemp(folder))
		return -1;
	snprintf(program, sizeof(program), "%s/intel_gpu_top", folder);
	snprintf(note, sizeof(note), "%s/note", folder);
	return 0;
}

static int remove_folder(void)
{
	(void)unlink(program);
	(void)unlink(note);
	return rmdir(folder);
}

FIXTURE_ONCE(make_folder, remove_folder)

/* Writes a fake intel_gpu_top that runs @commands, which may use $NOTE and `sample PCT`. */
static void write_fake(const char *commands)
{
	FILE *file = fopen(program, "w");

	assert_non_null(file);
	fprintf(file,
		"#!/bin/sh\n"
		"# A fake intel_gpu_top for a unit test.\n"
		"NOTE=%s\n"
		"sample() { printf '{\\n\"engines\": { \"Render/3D/0\": { \"busy\": %%s } "
		"}\\n}\\n' $1; }\n"
		"%s\n",
		note, commands);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(program, 0755), 0);
	(void)unlink(note);
}

/* Waits for a complete line in the note file and returns it. */
static char *read_note(void)
{
	for (int i = 0; i < 1000; i++) {
		char *text;
		size_t length;

		if (file_read(note, 4096, &text, &length) == 0) {
			if (length > 0 && text[length - 1] == '\n')
				return text;
			free(text);
		}
		usleep(20000);
	}
	fail_msg("the fake program wrote no note");
	return NULL;
}

/* Starts a fake intel_gpu_top: see write_fake(). */
static struct igt *spawn_fake(const char *commands, const char *device)
{
	struct igt *igt = igt_new(program, device, 100);

	write_fake(commands);
	if (igt_start(igt, &err) < 0)
		fail_msg("%s", err.msg);
	return igt;
}

/* Dispatches at @now_ns until the call returns @wanted or, for 0, until a sample is available. */
static void dispatch_until(struct igt *igt, uint64_t now_ns, int wanted)
{
	struct igt_sample sample;
	double age_s;

	for (int i = 0; i < 1000; i++) {
		if (igt_dispatch(igt, now_ns, &err) == -ECHILD) {
			assert_int_equal(wanted, -ECHILD);
			return;
		}
		if (wanted == 0 && igt_latest(igt, now_ns, &sample, &age_s) == 0)
			return;
		(void)usleep(5000);
	}
	fail_msg("timeout");
}

TEST(a_missing_program_is_named)
{
	char problem[ERR_MSG_MAX];
	struct igt *igt;

	igt = igt_new("/nowhere/intel_gpu_top", NULL, 1000);
	assert_int_equal(igt_start(igt, &err), -ENOENT);
	assert_string_equal(err.msg, "/nowhere/intel_gpu_top: cannot start: "
				     "No such file or directory");
	assert_true(igt_describe_problem(igt, 1, problem));
	assert_string_equal(problem, err.msg);
	igt_free(igt);
}

TEST(a_program_that_appears_is_started)
{
	struct igt *igt;

	(void)unlink(program);
	igt = igt_new(program, NULL, 100);
	assert_int_equal(igt_start(igt, &err), -ENOENT);
	write_fake("sample 99; sample 42.5; exec sleep 60");
	dispatch_until(igt, 1, 0);
	igt_free(igt);
}

TEST(an_old_sample_is_not_returned)
{
	const uint64_t now = 50 * NS_PER_S;
	struct igt_sample sample = {.util_pct = -1};
	double age_s = -1;
	struct igt *igt = spawn_fake("echo \"$*\" >$NOTE; sample 99; sample 42.5; exec sleep 60",
				     "sys:/some/card");
	CLEANUP_FREE char *arguments = read_note();

	assert_string_equal(arguments, "-J -s 100 -d sys:/some/card\n");
	dispatch_until(igt, now, 0);
	assert_int_equal(igt_latest(igt, now + 250 * NS_PER_MS, &sample, &age_s), 0);
	assert_float_equal(sample.util_pct, 42.5, 0);
	assert_float_equal(age_s, 0.25, 1e-9);
	assert_int_equal(igt_latest(igt, now + 250 * NS_PER_MS + 1, &sample, &age_s), -ENODATA);
	igt_free(igt);
}

TEST(without_a_device_there_is_no_option_d)
{
	struct igt *igt = spawn_fake("echo \"$*\" >$NOTE; exec sleep 60", NULL);
	CLEANUP_FREE char *arguments = read_note();

	assert_string_equal(arguments, "-J -s 100\n");
	igt_free(igt);
}

TEST(an_exited_child_is_restarted)
{
	const uint64_t now = 50 * NS_PER_S;
	struct igt_sample sample;
	double age_s;
	char expected[256];
	struct igt *igt = spawn_fake("echo once >>$NOTE; sample 1; sample 2; exit 3", NULL);

	dispatch_until(igt, now, -ECHILD);
	snprintf(expected, sizeof(expected), "%s: exited with status 3; restarting in 1 s",
		 program);
	assert_string_equal(err.msg, expected);
	assert_int_equal(igt_latest(igt, now, &sample, &age_s), -ENODATA);
	assert_int_equal(igt_dispatch(igt, now + NS_PER_S - 1, &err), 0);

	CLEANUP_FREE char *before = read_note();

	assert_string_equal(before, "once\n");
	dispatch_until(igt, now + NS_PER_S, -ECHILD);
	assert_string_equal(err.msg, expected); /* a sample has reset the delay to 1 s */

	CLEANUP_FREE char *after = read_note();

	assert_string_equal(after, "once\nonce\n");
	igt_free(igt);
}

TEST(the_last_line_of_stderr_is_reported)
{
	char expected[256], problem[ERR_MSG_MAX];
	struct igt *igt = spawn_fake("echo first >&2; printf 'no such\\tdevice' >&2; exit 1", NULL);

	dispatch_until(igt, NS_PER_S, -ECHILD);
	snprintf(expected, sizeof(expected),
		 "%s: exited with status 1: no such device; restarting in 1 s", program);
	assert_string_equal(err.msg, expected);
	assert_true(igt_describe_problem(igt, NS_PER_S, problem));
	expected[strlen(problem)] = '\0';
	assert_string_equal(problem, expected);
	igt_free(igt);
}

/* A driver that was unloaded: the program runs and prints nothing any more. */
TEST(a_child_without_samples_is_killed)
{
	const uint64_t now = 50 * NS_PER_S;
	char problem[ERR_MSG_MAX];
	struct igt *igt = spawn_fake(
		"sample 99; sample 42.5; echo 'device lost' >&2; echo >$NOTE; exec sleep 60", NULL);

	free(read_note()); /* waits for the samples */
	dispatch_until(igt, now, 0);
	assert_int_equal(igt_dispatch(igt, now + 10 * NS_PER_S, &err), 0);
	assert_true(igt_describe_problem(igt, now + 10 * NS_PER_S, problem));
	assert_non_null(strstr(problem, "prints no valid samples: device lost"));
	dispatch_until(igt, now + 11 * NS_PER_S, -ECHILD);
	assert_non_null(strstr(err.msg, "killed after 10 s without a valid sample: device lost; "
					"restarting in 1 s"));
	(void)unlink(note);
	assert_int_equal(igt_dispatch(igt, now + 12 * NS_PER_S, &err), 0);
	dispatch_until(igt, now + 12 * NS_PER_S, 0);
	igt_free(igt);
}

TEST(failing_starts_back_off)
{
	static const int waits_s[] = {1, 2, 4, 8, 16, 32, 60, 60};
	uint64_t now = 50 * NS_PER_S;
	struct igt *igt = spawn_fake("kill -9 $$", NULL);

	for (size_t i = 0; i < ARRAY_SIZE(waits_s); i++) {
		char says[64];

		dispatch_until(igt, now, -ECHILD);
		snprintf(says, sizeof(says), "killed by signal 9; restarting in %d s", waits_s[i]);
		assert_non_null(strstr(err.msg, says));
		now += (uint64_t)waits_s[i] * NS_PER_S;
	}
	assert_int_equal(unlink(program), 0);
	assert_int_equal(igt_dispatch(igt, now, &err), -ECHILD);
	assert_non_null(
		strstr(err.msg, "cannot start: No such file or directory; restarting in 60 s"));
	igt_free(igt);
}

/* True if the process does not exist or is a zombie. */
static bool has_ended(int pid)
{
	char path[64], state = 'X';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return true;
	if (fscanf(file, "%*d %*s %c", &state) != 1)
		state = 'X';
	(void)fclose(file);
	return state == 'X' || state == 'Z';
}

static void assert_ends(int pid)
{
	for (int i = 0; i < 1000; i++) {
		if (has_ended(pid))
			return;
		usleep(20000);
	}
	fail_msg("process %d is still running", pid);
}

TEST(freeing_kills_the_child_and_its_children)
{
	int child, grandchild;
	struct igt *igt = spawn_fake("sleep 60 & echo $$ $! >$NOTE; wait", NULL);
	CLEANUP_FREE char *pids = read_note();

	assert_int_equal(sscanf(pids, "%d %d", &child, &grandchild), 2);
	assert_false(has_ended(child));
	igt_free(igt);
	assert_int_equal(kill(child, 0), -1); /* reaped */
	assert_ends(grandchild);
}

static void assert_problem(const struct igt *igt, uint64_t now_ns, const char *part)
{
	char text[ERR_MSG_MAX];

	assert_true(igt_describe_problem(igt, now_ns, text));
	if (!strstr(text, part) || strncmp(text, program, strlen(program)) != 0)
		fail_msg("%s", text);
}

/* A command of a fake program: waits until the test removes the note. */
#define WAIT "echo $$ >>$NOTE; while [ -e $NOTE ]; do sleep 0.02; done; "

TEST(a_child_without_valid_samples_is_a_problem)
{
	uint64_t now = 50 * NS_PER_S;
	char text[ERR_MSG_MAX];
	struct igt *igt = spawn_fake("echo 'no JSON at all'; echo '{\"engines\": 7}'; " WAIT
				     "sample 1; sample 2; exec sleep 60",
				     NULL);
	free(read_note()); /* the program has begun */

	assert_int_equal(igt_dispatch(igt, now, &err), 0);
	assert_problem(igt, now, "prints no valid samples");
	assert_int_equal(unlink(note), 0);
	dispatch_until(igt, now, 0);
	assert_false(igt_describe_problem(igt, now, text));
	assert_problem(igt, now + NS_PER_S, "prints no valid samples");
	igt_free(igt);
}

TEST(an_ended_child_is_a_problem_until_the_next_sample)
{
	uint64_t now = 50 * NS_PER_S;
	char text[ERR_MSG_MAX];
	struct igt *igt = spawn_fake(
		"test -e $NOTE && { sample 1; sample 2; exec sleep 60; }; echo >$NOTE; exit 3",
		NULL);

	dispatch_until(igt, now, -ECHILD);
	assert_problem(igt, now, ": exited with status 3");
	now += NS_PER_S;
	dispatch_until(igt, now, 0);
	assert_false(igt_describe_problem(igt, now, text));
	igt_free(igt);
}

TEST(a_killed_child_that_does_not_end_blocks_nothing)
{
	uint64_t now = 50 * NS_PER_S;
	char text[ERR_MSG_MAX];
	struct igt *igt = spawn_fake("sample 1; sample 2; " WAIT "exit 3", NULL);
	free(read_note()); /* the program has begun */

	dispatch_until(igt, now, 0);
	hangs = true;
	assert_int_equal(unlink(note), 0);
	for (int i = 0; i < 1000 && !igt_describe_problem(igt, now, text); i++) {
		assert_int_equal(igt_dispatch(igt, now, &err), 0);
		usleep(20000);
	}
	for (int i = 0; i < 100; i++, now += NS_PER_S)
		assert_int_equal(igt_dispatch(igt, now, &err), 0);
	assert_problem(igt, now, "was killed and has not ended");
	assert_int_equal(access(note, F_OK), -1); /* no second child was started */
	hangs = false;
	assert_int_equal(igt_dispatch(igt, now, &err), -ECHILD);
	assert_non_null(strstr(err.msg, "exited with status 3; restarting in 1 s"));
	now += NS_PER_S;
	dispatch_until(igt, now, 0);
	assert_false(igt_describe_problem(igt, now, text));
	hangs = true;
	igt_free(igt); /* gives up waiting */
	hangs = false;
}

TEST(a_child_exits_when_its_reader_is_killed)
{
	int child, status;
	pid_t reader;

	write_fake("echo $$ >$NOTE; while :; do sample 1; sleep 0.05; done");
	reader = fork();
	assert_true(reader >= 0);
	if (reader == 0) {
		_exit(igt_start(igt_new(program, NULL, 100), NULL) == 0 && raise(SIGKILL));
	}
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_true(WIFSIGNALED(status));

	CLEANUP_FREE char *pid = read_note();

	assert_int_equal(sscanf(pid, "%d", &child), 1);
	assert_ends(child);
}

/* --- the parser --- */

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
	/* names of clients are of tenants, and intel_gpu_top does not escape them */
	{"a quote in a name", FIRST NEW("50.0", "a\"{b") "\n" OLD("9.0", "2.0"), 2, 9},
	{"a quote in the newest name", FIRST NEW("50.0", "a\"{b"), 1, 50},
	{"no UTF-8 in a name", FIRST NEW("50.0", "a\xff\xc0\x80"), 1, 50},
	{"control characters in a name", FIRST NEW("50.0", "a\x01\x1b[2J\x7f\r"), 1, 50},
	{"a backslash at the end of a name", FIRST NEW("50.0", "a\\") "\n" NEW("8.0", "b"), 2, 8},
	{"a sample in a name", FIRST NEW("50.0", "\n{\"engines\":{\"") "\n" OLD("9.0", "2.0"), 2,
	 9},
	{"the name of the member in a name",
	 FIRST NEW("50.0", "\"clients\"") "\n" OLD("9.0", "2.0"), 2, 9},
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
