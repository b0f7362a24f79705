/* SPDX-License-Identifier: MIT */
/* The operator's program: what it is told, that nobody waits for it, and what becomes of a bad one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "gover-d/util/hook.h"

#define DEADLINE_NS  (30 * NS_PER_S)	  /* generous, for a loaded machine */
#define TELL_SIGNALS "GOVER_TEST_SIGNALS" /* set for the child: where to */
#define OUTPUT_MAX   65536
#define TIMEOUT_S    86400 /* none that a test would see */

static char folder[] = "/tmp/gover-hook.XXXXXX";
static char program[64], note[64], gate[64];
static sd_event *event;
static struct hooks *hooks;
static int stderr_fd; /* the real one, while a test reads what was logged */

static int set_up(void **state)
{
	sigset_t child;

	(void)state;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &child, NULL) < 0 || !mkdtemp(folder))
		return -1;
	snprintf(program, sizeof(program), "%s/migrate", folder);
	snprintf(note, sizeof(note), "%s/note", folder);
	snprintf(gate, sizeof(gate), "%s/gate", folder);
	if (sd_event_new(&event) < 0)
		return -1;
	return hooks_new(event, TIMEOUT_S, &hooks);
}

static int tear_down(void **state)
{
	(void)state;
	hooks = hooks_free(hooks);
	event = sd_event_unref(event);
	(void)unlink(program);
	(void)unlink(note);
	(void)unlink(gate);
	(void)rmdir(folder);
	memcpy(strrchr(folder, '.'), ".XXXXXX", sizeof(".XXXXXX"));
	return 0;
}

/* The program is a shell script; @body is what it does. */
static void write_program(const char *body)
{
	FILE *file = fopen(program, "w");

	assert_non_null(file);
	assert_true(fprintf(file, "#!/bin/sh\n%s\n", body) > 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(program, 0755), 0);
}

static int run_with(const char *path, const char *why, const char *json)
{
	return hooks_run(hooks, &(struct hook_call){.hook = HOOK_MIGRATE,
						    .program = path,
						    .event = "severe_overload",
						    .gpu = "gpu0",
						    .vgpu = "vgpu2",
						    .vm = "vm 2",
						    .why = why,
						    .json = json});
}

static int run(void)
{
	return run_with(program, "u = 99 %", NULL);
}

/* Runs the loop until no child is left, as it would be if nobody waited for one. */
static void reap(void)
{
	uint64_t end_ns = clock_now().mono_ns + DEADLINE_NS;
	siginfo_t info;

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
		assert_true(clock_now().mono_ns < end_ns);
		assert_true(sd_event_run(event, 100000) >= 0);
	}
	assert_int_equal(errno, ECHILD);
}

/* What was written into the note; the caller frees it. */
static char *read_note(void)
{
	char *text = NULL;

	assert_int_equal(file_read(note, OUTPUT_MAX, &text, NULL), 0);
	return text;
}

/* What is logged until end_log() is kept in the note. */
static void begin_log(void)
{
	int fd = open(note, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	assert_true(stderr_fd >= 0);
	assert_true(dup2(fd, STDERR_FILENO) >= 0);
	assert_int_equal(close(fd), 0);
}

static char *end_log(void)
{
	assert_true(dup2(stderr_fd, STDERR_FILENO) >= 0);
	assert_int_equal(close(stderr_fd), 0);
	return read_note();
}

static void its_environment_says_what_happened_and_to_whom(void **state)
{
	static const char *const told[] = {
		"\nGOVER_EVENT=severe_overload\n",
		"\nGOVER_GPU=gpu0\n",
		"\nGOVER_VGPU=vgpu2\n",
		"\nGOVER_VM=vm 2\n",
		"\nGOVER_WHY=u = 99 %\n",
		"\nGOVER_TEST=the daemon's own\n",
	};
	CLEANUP_FREE char *text = NULL;
	char body[128];

	(void)state;
	assert_int_equal(setenv("GOVER_TEST", "the daemon's own", 1), 0);
	snprintf(body, sizeof(body), "{ echo; env; } >%s", note);
	write_program(body);
	assert_int_equal(run(), 0);
	reap();
	text = read_note();
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		if (!strstr(text, told[i]))
			fail_msg("'%s' is not in the environment: %s", told[i], text);
}

static void what_it_is_told_wins_over_what_the_daemon_was_started_with(void **state)
{
	CLEANUP_FREE char *text = NULL;
	char body[128];

	(void)state;
	assert_int_equal(setenv("GOVER_VGPU", "stale", 1), 0);
	/* Of two of a name getenv() takes the first, a shell the last: there must be one. */
	snprintf(body, sizeof(body), "tr '\\0' '\\n' </proc/$$/environ | grep ^GOVER_VGPU= >%s",
		 note);
	write_program(body);
	assert_int_equal(run(), 0);
	assert_int_equal(unsetenv("GOVER_VGPU"), 0);
	reap();
	text = read_note();
	assert_string_equal(text, "GOVER_VGPU=vgpu2\n");
}

static void a_reason_too_long_is_cut_and_told_all_the_same(void **state)
{
	CLEANUP_FREE char *text = NULL;
	static char why[4096];
	char body[128];

	(void)state;
	memset(why, 'w', sizeof(why) - 1);
	snprintf(body, sizeof(body), "printf %%s \"$GOVER_WHY\" >%s", note);
	write_program(body);
	assert_int_equal(run_with(program, why, NULL), 0);
	reap();
	text = read_note();
	assert_in_range(strlen(text), 1024, sizeof(why) - 1);
	assert_int_equal(strspn(text, "w"), strlen(text));
}

static void no_program_is_no_error(void **state)
{
	(void)state;
	assert_int_equal(run_with("", "", NULL), 0);
	reap();
}

static void one_that_cannot_be_run_is_told_and_logged(void **state)
{
	static const struct {
		const char *rule;
		const char *text; /* NULL: there is no file */
		mode_t mode;
		int error;
	} rows[] = {
		{"there is none", NULL, 0, -ENOENT},
		{"not executable", "#!/bin/sh\n", 0600, -EACCES},
		{"no program", "just text", 0755, -ENOEXEC},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *log = NULL;
		int r;

		(void)unlink(program);
		if (rows[i].text) {
			assert_int_equal(file_replace(program, rows[i].text, strlen(rows[i].text)),
					 0);
			assert_int_equal(chmod(program, rows[i].mode), 0);
		}
		begin_log();
		r = run();
		log = end_log();
		if (r != rows[i].error)
			fail_msg("%s: %d", rows[i].rule, r);
		if (!strstr(log, program) || !strstr(log, "vgpu2"))
			fail_msg("%s: logged is '%s'", rows[i].rule, log);
	}
	reap();
}

static void one_that_fails_is_logged_with_how_it_ended(void **state)
{
	static const struct {
		const char *body, *told; /* told NULL: nothing */
	} rows[] = {
		{"exit 0", NULL},
		{"exit 3", "status 3"},
		{"kill -KILL $$", "signal 9"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *log = NULL;

		write_program(rows[i].body);
		begin_log();
		assert_int_equal(run(), 0);
		reap();
		log = end_log();
		if (rows[i].told ? !strstr(log, rows[i].told) : log[0] != '\0')
			fail_msg("'%s': logged is '%s'", rows[i].body, log);
	}
}

/* A program that goes on until the gate is there, and then leaves a line in the note. */
static void write_waiting_program(void)
{
	char body[256];

	snprintf(body, sizeof(body), "until [ -e %s ]; do sleep 0.02; done; echo done >>%s", gate,
		 note);
	write_program(body);
}

static void open_gate(void)
{
	assert_int_equal(file_replace(gate, "", 0), 0);
}

static void nobody_waits_for_it(void **state)
{
	CLEANUP_FREE char *text = NULL;
	struct stat st;

	(void)state;
	write_waiting_program();
	assert_int_equal(run(), 0);
	/* It cannot have ended: the gate is opened only here. */
	assert_int_equal(stat(note, &st), -1);
	open_gate();
	reap();
	text = read_note();
	assert_string_equal(text, "done\n");
}

static struct hook_stats stats_of(enum hook hook)
{
	return hooks_stats(hooks)[hook];
}

static void only_so_many_run_at_a_time_some_wait_and_no_more_are_taken(void **state)
{
	const int all = HOOKS_MAX + HOOKS_WAITING_MAX;
	CLEANUP_FREE char *log = NULL;
	CLEANUP_FREE char *text = NULL;
	int r;

	(void)state;
	write_waiting_program();
	for (int i = 0; i < all; i++)
		assert_int_equal(run(), 0);
	assert_int_equal(stats_of(HOOK_MIGRATE).run, HOOKS_MAX);
	begin_log();
	r = run();
	log = end_log();
	assert_int_equal(r, -EAGAIN);
	assert_non_null(strstr(log, program));
	assert_int_equal(stats_of(HOOK_MIGRATE).dropped, 1);
	assert_int_equal(unlink(note), 0);
	open_gate();
	reap();
	text = read_note();
	assert_int_equal(strlen(text), (size_t)all * strlen("done\n"));
	assert_int_equal(stats_of(HOOK_MIGRATE).run, all);
	assert_int_equal(stats_of(HOOK_MIGRATE).failed, 0);
	assert_int_equal(stats_of(HOOK_ALERT).run, 0);
}

static void those_that_wait_go_with_the_daemon(void **state)
{
	int status;

	(void)state;
	write_waiting_program();
	for (int i = 0; i < HOOKS_MAX + 1; i++)
		assert_int_equal(run(), 0);
	hooks = hooks_free(hooks);
	open_gate();
	for (int i = 0; i < HOOKS_MAX; i++)
		assert_true(wait(&status) > 0);
	assert_int_equal(wait(&status), -1);
}

static void its_input_is_what_it_is_told_as_json(void **state)
{
	static char json[200000]; /* more than a pipe holds: nobody waits for it to be read */
	CLEANUP_FREE char *text = NULL;
	char body[256];

	(void)state;
	memset(json, ' ', sizeof(json) - 1);
	json[0] = '{';
	json[sizeof(json) - 2] = '}';
	snprintf(body, sizeof(body), "wc -c >%s; readlink /proc/self/fd/* | grep -c memfd >>%s",
		 note, note);
	write_program(body);
	assert_int_equal(run_with(program, "", json), 0);
	reap();
	text = read_note();
	assert_string_equal(text, "200000\n1\n");
}

static void without_json_its_input_is_empty(void **state)
{
	CLEANUP_FREE char *text = NULL;
	char body[128];

	(void)state;
	snprintf(body, sizeof(body), "wc -c >%s", note);
	write_program(body);
	assert_int_equal(run(), 0);
	reap();
	text = read_note();
	assert_string_equal(text, "0\n");
}

static void one_that_does_not_end_is_killed_and_counted(void **state)
{
	CLEANUP_FREE char *log = NULL;

	(void)state;
	hooks = hooks_free(hooks);
	assert_int_equal(hooks_new(event, 1, &hooks), 0);
	write_program("sleep 1000 & sleep 1000");
	begin_log();
	assert_int_equal(run(), 0);
	reap();
	log = end_log();
	assert_non_null(strstr(log, "on_migrate program"));
	assert_non_null(strstr(log, "still runs after 1 s: it is killed"));
	assert_null(strstr(log, "signal 9"));
	assert_int_equal(stats_of(HOOK_MIGRATE).killed, 1);
	assert_int_equal(stats_of(HOOK_MIGRATE).failed, 1);
}

static void one_that_still_runs_outlives_the_daemon(void **state)
{
	CLEANUP_FREE char *text = NULL;
	int status;

	(void)state;
	write_waiting_program();
	assert_int_equal(run(), 0);
	hooks = hooks_free(hooks);
	event = sd_event_unref(event);
	open_gate();
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
	text = read_note();
	assert_string_equal(text, "done\n");
	assert_null(hooks_free(NULL));
}

/* This program run as the operator's: a shell would set its signals itself. */
static int tell_signals(const char *path)
{
	sigset_t blocked;
	FILE *file = fopen(path, "w");

	if (!file || sigprocmask(SIG_SETMASK, NULL, &blocked) < 0)
		return 1;
	fprintf(file, "SIGCHLD %s, SIGPIPE %s", sigismember(&blocked, SIGCHLD) ? "blocked" : "open",
		signal(SIGPIPE, SIG_DFL) == SIG_IGN ? "ignored" : "heard");
	return fclose(file) == 0 ? 0 : 1;
}

static void its_signals_are_those_of_a_fresh_program(void **state)
{
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	assert_int_equal(setenv(TELL_SIGNALS, note, 1), 0);
	assert_int_equal(run_with("/proc/self/exe", "", NULL), 0);
	assert_int_equal(unsetenv(TELL_SIGNALS), 0);
	assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	reap();
	text = read_note();
	assert_string_equal(text, "SIGCHLD open, SIGPIPE heard");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(its_environment_says_what_happened_and_to_whom),
		TEST(what_it_is_told_wins_over_what_the_daemon_was_started_with),
		TEST(a_reason_too_long_is_cut_and_told_all_the_same),
		TEST(no_program_is_no_error),
		TEST(one_that_cannot_be_run_is_told_and_logged),
		TEST(one_that_fails_is_logged_with_how_it_ended),
		TEST(nobody_waits_for_it),
		TEST(only_so_many_run_at_a_time_some_wait_and_no_more_are_taken),
		TEST(those_that_wait_go_with_the_daemon),
		TEST(its_input_is_what_it_is_told_as_json),
		TEST(without_json_its_input_is_empty),
		TEST(one_that_does_not_end_is_killed_and_counted),
		TEST(one_that_still_runs_outlives_the_daemon),
		TEST(its_signals_are_those_of_a_fresh_program),
	};

	if (getenv(TELL_SIGNALS))
		return tell_signals(getenv(TELL_SIGNALS));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
