/* SPDX-License-Identifier: MIT */
/*
 * The terminal is restored however the program ends. Each case runs in a child process on its own
 * pseudo-terminal, and compares the terminal's settings before and after.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gover-ctl/top/screen.h"
#include "tests/unit/unit.h"

#define DEADLINE_MS 20000
#define TAKEN	    "\033[?1049h" /* escape sequences of the alternate screen of TERM=xterm */
#define RESTORED    "\033[?1049l"

struct pty {
	int master, slave;
	struct termios before;
	char output[8192];
	size_t n_output;
};

static void open_pty(struct pty *pty)
{
	memset(pty, 0, sizeof(*pty));
	pty->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(pty->master >= 0);
	assert_int_equal(grantpt(pty->master), 0);
	assert_int_equal(unlockpt(pty->master), 0);
	pty->slave = open(ptsname(pty->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(pty->slave >= 0);
	assert_int_equal(tcgetattr(pty->slave, &pty->before), 0);
}

static void close_pty(const struct pty *pty)
{
	close(pty->slave);
	close(pty->master);
}

/* Reads the terminal's output until @text appears. */
static bool wait_output(struct pty *pty, const char *text)
{
	struct pollfd wait = {.fd = pty->master, .events = POLLIN};

	while (!strstr(pty->output, text)) {
		ssize_t n;

		if (poll(&wait, 1, DEADLINE_MS) != 1)
			return false;
		n = read(pty->master, pty->output + pty->n_output,
			 sizeof(pty->output) - 1 - pty->n_output);
		if (n <= 0)
			return false;
		pty->n_output += (size_t)n;
		pty->output[pty->n_output] = '\0';
	}
	return true;
}

static bool as_before(const struct pty *pty)
{
	struct termios now;

	assert_int_equal(tcgetattr(pty->slave, &now), 0);
	return now.c_lflag == pty->before.c_lflag && now.c_iflag == pty->before.c_iflag &&
	       now.c_oflag == pty->before.c_oflag &&
	       memcmp(now.c_cc, pty->before.c_cc, sizeof(now.c_cc)) == 0;
}

/* The ways in which the child ends after it has taken over the terminal. */
static void by_leaving(const struct pty *pty)
{
	(void)pty;
	screen_leave();
	_exit(7);
}

static void by_exit(const struct pty *pty)
{
	(void)pty;
	exit(7);
}

static void by_waiting(const struct pty *pty)
{
	(void)pty;
	for (;;)
		pause();
}

static void by_abort(const struct pty *pty)
{
	(void)pty;
	abort();
}

static void by_key(const struct pty *pty)
{
	(void)pty;
	_exit(screen_key(DEADLINE_MS) == 'q' ? (screen_leave(), 7) : 1);
}

/* Starts a child on a new pseudo-terminal; returns when the child has drawn a picture. */
static pid_t start(struct pty *pty, void (*ending)(const struct pty *pty))
{
	pid_t pid;

	open_pty(pty);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit no_core = {0, 0};

		(void)setrlimit(RLIMIT_CORE, &no_core);
		if (screen_enter(fdopen(pty->slave, "r+")) < 0)
			_exit(1);
		screen_clear();
		screen_put("picture", strlen("picture"));
		screen_show();
		ending(pty);
	}
	assert_true(wait_output(pty, "picture"));
	return pid;
}

static void assert_restored(struct pty *pty)
{
	assert_non_null(strstr(pty->output, TAKEN));
	assert_true(wait_output(pty, RESTORED));
	assert_true(as_before(pty));
	close_pty(pty);
}

TEST(the_terminal_is_restored_at_the_end)
{
	static void (*const endings[])(const struct pty *pty) = {by_leaving, by_exit};

	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		struct pty pty;
		pid_t pid = start(&pty, endings[i]);
		int status;

		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(WEXITSTATUS(status), 7);
		assert_restored(&pty);
	}
}

TEST(a_deadly_signal_restores_the_terminal_and_kills)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGPIPE};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		struct pty pty;
		pid_t pid = start(&pty, by_waiting);
		int status;

		assert_false(as_before(&pty));
		assert_int_equal(kill(pid, signals[i]), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
		assert_restored(&pty);
	}
}

TEST(abort_restores_the_terminal)
{
	struct pty pty;
	pid_t pid = start(&pty, by_abort);
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_restored(&pty);
}

TEST(a_key_is_read_without_a_line_end)
{
	struct pty pty;
	pid_t pid = start(&pty, by_key);
	int status;

	assert_int_equal(write(pty.master, "q", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_restored(&pty);
}

TEST(an_escape_sequence_is_one_key)
{
	static const struct {
		const char *sent;
		int key;
	} rows[] = {
		{"\033", SCREEN_ESCAPE},
		{"\033OA", SCREEN_UP},
		{"\033OB", SCREEN_DOWN},
		{"\033[5~", SCREEN_PAGE_UP},
		{"\033[6~", SCREEN_PAGE_DOWN},
		{"\033OH", SCREEN_HOME},
		{"\033OF", SCREEN_END},
		{"\033OP", SCREEN_F1},
		{"\033[21~", SCREEN_F10},
		{"\033[1;5A", SCREEN_UNKNOWN},
		{"\033x", SCREEN_UNKNOWN},
		{"\033[99;99z", SCREEN_UNKNOWN},
		{"x", 'x'},
		{"\x7f", '\b'},
		{"\xc3", 0xc3},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pty pty;
		FILE *terminal;
		int key;

		open_pty(&pty);
		terminal = fdopen(dup(pty.slave), "r+");
		assert_int_equal(screen_enter(terminal), 0);
		assert_int_equal(write(pty.master, rows[i].sent, strlen(rows[i].sent)),
				 (ssize_t)strlen(rows[i].sent));
		key = screen_key(DEADLINE_MS);
		if (key != rows[i].key)
			fail_msg("ESC%s is key %d", rows[i].sent + 1, key);
		screen_leave();
		fclose(terminal);
		close_pty(&pty);
	}
}

TEST(only_a_terminal_is_taken)
{
	FILE *file = fopen("/dev/null", "r+");

	assert_int_equal(screen_enter(file), -ENOTTY);
	screen_leave();
	fclose(file);
}

static int prepare(void)
{
	return setenv("TERM", "xterm", 1);
}

FIXTURE_ONCE(prepare, NULL)
