/* SPDX-License-Identifier: MIT */
/*
 * Hooks: input and environment of programs, limits and failures. The daemon does not wait for
 * programs.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "gover-d/util/hook.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

#define DEADLINE_NS (30 * NS_PER_S) /* long enough for a machine under load */
/* environment variable with the path of the file that the child writes */
#define SIGNALS_FILE "GOVER_TEST_SIGNALS"
#define OUTPUT_MAX   65536
#define TIMEOUT_S    86400 /* longer than any test */

static char program[64], note[64], gate[64];
static sd_event *event;
static struct hooks *hooks;
static int stderr_fd; /* copy of the standard error while a test reads the log */

static int set_up(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &child, NULL) < 0 || temp_folder_make() < 0)
		return -1;
	snprintf(program, sizeof(program), "%s/migrate", temp_folder);
	snprintf(note, sizeof(note), "%s/note", temp_folder);
	snprintf(gate, sizeof(gate), "%s/gate", temp_folder);
	if (sd_event_new(&event) < 0)
		return -1;
	hooks = hooks_new(event, TIMEOUT_S);
	return 0;
}

static int tear_down(void)
{
	hooks = hooks_free(hooks);
	event = sd_event_unref(event);
	return temp_folder_remove();
}

FIXTURE(set_up, tear_down)

/* Writes the program: a shell script with the commands @format. */
__attribute__((format(printf, 1, 2))) static void write_program(const char *format, ...)
{
	FILE *file = fopen(program, "w");
	va_list ap;

	assert_non_null(file);
	fputs("#!/bin/sh\n", file);
	va_start(ap, format);
	assert_true(vfprintf(file, format, ap) > 0);
	va_end(ap);
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

/* Runs the loop until no child process is left. */
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

/* Returns the content of the file @note; the caller frees it. */
static char *read_note(void)
{
	char *text = NULL;

	assert_int_equal(file_read(note, OUTPUT_MAX, &text, NULL), 0);
	return text;
}

static void expect_note(const char *wanted)
{
	CLEANUP_FREE char *text = read_note();

	assert_string_equal(text, wanted);
}

/* Redirects log lines to the file @note until end_log(). */
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

TEST(the_environment_describes_the_event)
{
	static const char *const wanted[] = {
		"\nGOVER_EVENT=severe_overload\n",
		"\nGOVER_GPU=gpu0\n",
		"\nGOVER_VGPU=vgpu2\n",
		"\nGOVER_VM=vm 2\n",
		"\nGOVER_WHY=u = 99 %\n",
		"\nGOVER_TEST=the daemon's own\n",
	};
	CLEANUP_FREE char *text = NULL;

	assert_int_equal(setenv("GOVER_TEST", "the daemon's own", 1), 0);
	write_program("{ echo; env; } >%s", note);
	assert_int_equal(run(), 0);
	reap();
	text = read_note();
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!strstr(text, wanted[i]))
			fail_msg("'%s' is not in the environment: %s", wanted[i], text);
}

TEST(the_event_overrides_variables_of_the_daemon)
{
	assert_int_equal(setenv("GOVER_VGPU", "stale", 1), 0);
	/*
	 * The environment must not contain a name twice: getenv() uses the first value, a shell the
	 * last.
	 */
	write_program("tr '\\0' '\\n' </proc/$$/environ | grep ^GOVER_VGPU= >%s", note);
	assert_int_equal(run(), 0);
	assert_int_equal(unsetenv("GOVER_VGPU"), 0);
	reap();
	expect_note("GOVER_VGPU=vgpu2\n");
}

TEST(a_long_reason_is_truncated)
{
	CLEANUP_FREE char *text = NULL;
	static char why[4096];

	memset(why, 'w', sizeof(why) - 1);
	write_program("printf %%s \"$GOVER_WHY\" >%s", note);
	assert_int_equal(run_with(program, why, NULL), 0);
	reap();
	text = read_note();
	assert_in_range(strlen(text), 1024, sizeof(why) - 1);
	assert_int_equal(strspn(text, "w"), strlen(text));
}

TEST(an_empty_program_is_ignored)
{
	assert_int_equal(run_with("", "", NULL), 0);
	reap();
}

/* With qemu-user, a program that cannot run is one that ended with status 127. */
static bool are_spawn_errors_reported(void)
{
	char *arguments[] = {program, NULL};
	pid_t pid;

	(void)unlink(program);
	if (posix_spawn(&pid, program, NULL, NULL, arguments, NULL) != 0)
		return true;
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return false;
}

TEST(a_program_that_cannot_run_is_logged)
{
	static const struct {
		const char *rule;
		const char *text; /* text of the program file; NULL: the file does not exist */
		mode_t mode;
		int error;
	} rows[] = {
		{"missing file", NULL, 0, -ENOENT},
		{"not executable", "#!/bin/sh\n", 0600, -EACCES},
		{"no program", "just text", 0755, -ENOEXEC},
	};

	if (!are_spawn_errors_reported()) {
		print_message("# this system does not report that a program cannot run\n");
		skip();
	}
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

TEST(a_failure_is_logged_with_its_status)
{
	static const struct {
		/* @logged: part of the log line; NULL: no line */
		const char *body, *logged;
	} rows[] = {
		{"exit 0", NULL},
		{"exit 3", "status 3"},
		{"kill -KILL $$", "signal 9"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *log = NULL;

		write_program("%s", rows[i].body);
		begin_log();
		assert_int_equal(run(), 0);
		reap();
		log = end_log();
		if (rows[i].logged ? !strstr(log, rows[i].logged) : log[0] != '\0')
			fail_msg("'%s': logged is '%s'", rows[i].body, log);
	}
}

/*
 * Writes a program that runs until the file @gate exists, and then appends a line to the file
 * @note.
 */
static void write_waiting_program(void)
{
	write_program("until [ -e %s ]; do sleep 0.02; done; echo done >>%s", gate, note);
}

static void open_gate(void)
{
	assert_int_equal(file_replace(gate, "", 0), 0);
}

TEST(the_daemon_does_not_wait_for_it)
{
	struct stat st;

	write_waiting_program();
	assert_int_equal(run(), 0);
	/* The program is still running, because the file @gate does not exist yet. */
	assert_int_equal(stat(note, &st), -1);
	open_gate();
	reap();
	expect_note("done\n");
}

static struct hook_stats stats_of(enum hook hook)
{
	return hooks_stats(hooks)[hook];
}

TEST(running_and_waiting_programs_are_limited)
{
	const int all = HOOKS_MAX + HOOKS_WAITING_MAX;
	CLEANUP_FREE char *log = NULL;
	CLEANUP_FREE char *text = NULL;
	int r;

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

TEST(waiting_programs_are_dropped_at_the_end)
{
	int status;

	write_waiting_program();
	for (int i = 0; i < HOOKS_MAX + 1; i++)
		assert_int_equal(run(), 0);
	hooks = hooks_free(hooks);
	open_gate();
	for (int i = 0; i < HOOKS_MAX; i++)
		assert_true(wait(&status) > 0);
	assert_int_equal(wait(&status), -1);
}

TEST(the_event_is_on_standard_input_as_json)
{
	static char json[200000]; /* larger than the buffer of a pipe */

	memset(json, ' ', sizeof(json) - 1);
	json[0] = '{';
	json[sizeof(json) - 2] = '}';
	write_program("wc -c >%s; readlink /proc/self/fd/* | grep -c memfd >>%s", note, note);
	assert_int_equal(run_with(program, "", json), 0);
	reap();
	expect_note("200000\n1\n");
}

TEST(without_json_standard_input_is_empty)
{
	write_program("wc -c >%s", note);
	assert_int_equal(run(), 0);
	reap();
	expect_note("0\n");
}

TEST(a_program_is_killed_after_the_timeout)
{
	CLEANUP_FREE char *log = NULL;

	hooks = hooks_free(hooks);
	hooks = hooks_new(event, 1);
	write_program("sleep 1000 & sleep 1000");
	begin_log();
	assert_int_equal(run(), 0);
	reap();
	log = end_log();
	assert_non_null(strstr(log, "on_migrate program"));
	assert_non_null(strstr(log, "killed: still running after 1 s (hook_timeout_s)"));
	assert_null(strstr(log, "signal 9"));
	assert_int_equal(stats_of(HOOK_MIGRATE).killed, 1);
	assert_int_equal(stats_of(HOOK_MIGRATE).failed, 1);
}

TEST(a_running_program_outlives_the_daemon)
{
	int status;

	write_waiting_program();
	assert_int_equal(run(), 0);
	hooks = hooks_free(hooks);
	event = sd_event_unref(event);
	open_gate();
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
	expect_note("done\n");
	assert_null(hooks_free(NULL));
}

/*
 * Runs in the hook program, which here is this test program: a shell would change the signals.
 */
static int write_signals(const char *path)
{
	sigset_t blocked;
	FILE *file = fopen(path, "w");

	if (!file || sigprocmask(SIG_SETMASK, NULL, &blocked) < 0)
		return 1;
	fprintf(file, "SIGCHLD %s, SIGPIPE %s", sigismember(&blocked, SIGCHLD) ? "blocked" : "open",
		signal(SIGPIPE, SIG_DFL) == SIG_IGN ? "ignored" : "default");
	return fclose(file) == 0 ? 0 : 1;
}

TEST(a_program_starts_with_default_signals)
{
	if (getenv("TEST_RUNNER")) {
		print_message("# this machine cannot run the test itself without TEST_RUNNER\n");
		skip();
	}
	assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	assert_int_equal(setenv(SIGNALS_FILE, note, 1), 0);
	assert_int_equal(run_with("/proc/self/exe", "", NULL), 0);
	assert_int_equal(unsetenv(SIGNALS_FILE), 0);
	assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	reap();
	expect_note("SIGCHLD open, SIGPIPE default");
}

static int prepare(void)
{
	if (getenv(SIGNALS_FILE))
		exit(write_signals(getenv(SIGNALS_FILE)));
	return 0;
}

FIXTURE_ONCE(prepare, NULL)
