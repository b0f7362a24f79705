/* SPDX-License-Identifier: MIT */
/*
 * The terminal of `top` is given back however the program ends. Each case runs in a child on a
 * pseudo-terminal of its own; the settings before and after, and what the terminal was told, are
 * compared.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "gover-ctl/top/screen.h"

#define DEADLINE_MS 20000
#define TAKEN	    "\033[?1049h"
#define GIVEN_BACK  "\033[?25h\033[?1049l"

struct pty {
	int master, slave;
	struct termios before;
	char told[8192]; /* to the terminal */
	size_t n_told;
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

/* Reads until the terminal was told @text. */
static bool wait_told(struct pty *pty, const char *text)
{
	struct pollfd wait = {.fd = pty->master, .events = POLLIN};

	while (!strstr(pty->told, text)) {
		ssize_t n;

		if (poll(&wait, 1, DEADLINE_MS) != 1)
			return false;
		n = read(pty->master, pty->told + pty->n_told, sizeof(pty->told) - 1 - pty->n_told);
		if (n <= 0)
			return false;
		pty->n_told += (size_t)n;
		pty->told[pty->n_told] = '\0';
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

/* How the child goes on once it has the terminal. */
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

/* A child on the pseudo-terminal; returns when it has taken it. */
static pid_t start(struct pty *pty, void (*ending)(const struct pty *pty))
{
	pid_t pid;

	open_pty(pty);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit no_core = {0, 0};

		(void)setrlimit(RLIMIT_CORE, &no_core);
		if (screen_enter(pty->slave) < 0 || screen_draw("picture", 7) < 0)
			_exit(1);
		ending(pty);
	}
	assert_true(wait_told(pty, "picture"));
	return pid;
}

static void assert_given_back(struct pty *pty)
{
	assert_non_null(strstr(pty->told, TAKEN));
	assert_true(wait_told(pty, GIVEN_BACK));
	assert_true(as_before(pty));
	close_pty(pty);
}

static void an_orderly_end_gives_the_terminal_back(void **state)
{
	static void (*const endings[])(const struct pty *pty) = {by_leaving, by_exit};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		struct pty pty;
		pid_t pid = start(&pty, endings[i]);
		int status;

		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(WEXITSTATUS(status), 7);
		assert_given_back(&pty);
	}
}

static void every_deadly_signal_gives_the_terminal_back_and_kills(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGPIPE};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		struct pty pty;
		pid_t pid = start(&pty, by_waiting);
		int status;

		assert_false(as_before(&pty));
		assert_int_equal(kill(pid, signals[i]), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
		assert_given_back(&pty);
	}
}

static void a_failed_assertion_gives_the_terminal_back(void **state)
{
	struct pty pty;
	pid_t pid = start(&pty, by_abort);
	int status;

	(void)state;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_given_back(&pty);
}

static void a_stop_lends_the_terminal_out_and_takes_it_again(void **state)
{
	struct pty pty;
	pid_t pid = start(&pty, by_waiting);
	int status;

	(void)state;
	assert_int_equal(kill(pid, SIGTSTP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	assert_true(wait_told(&pty, GIVEN_BACK));
	assert_true(as_before(&pty));

	pty.n_told = 0;
	pty.told[0] = '\0';
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_true(wait_told(&pty, TAKEN));
	assert_false(as_before(&pty));
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_given_back(&pty);
}

static void a_key_is_read_as_it_is_pressed(void **state)
{
	struct pty pty;
	pid_t pid = start(&pty, by_key);
	int status;

	(void)state;
	assert_int_equal(write(pty.master, "q", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_given_back(&pty);
}

static void a_sequence_is_one_key(void **state)
{
	static const struct {
		const char *sent;
		int key;
	} rows[] = {
		{"\033", SCREEN_ESCAPE},
		{"\033[A", SCREEN_UP},
		{"\033OB", SCREEN_DOWN},
		{"\033[5~", SCREEN_PAGE_UP},
		{"\033[6~", SCREEN_PAGE_DOWN},
		{"\033[H", SCREEN_HOME},
		{"\033[4~", SCREEN_END},
		{"\033OP", SCREEN_F1},
		{"\033[[A", SCREEN_F1},
		{"\033[21~", SCREEN_F10},
		{"\033[1;5A", SCREEN_UNKNOWN},
		{"\033x", SCREEN_UNKNOWN},
		{"x", 'x'},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pty pty;
		int key;

		open_pty(&pty);
		assert_int_equal(screen_enter(pty.slave), 0);
		assert_int_equal(write(pty.master, rows[i].sent, strlen(rows[i].sent)),
				 (ssize_t)strlen(rows[i].sent));
		key = screen_key(DEADLINE_MS);
		if (key != rows[i].key)
			fail_msg("ESC%s is key %d", rows[i].sent + 1, key);
		screen_leave();
		close_pty(&pty);
	}
}

static void what_is_no_terminal_is_not_taken(void **state)
{
	CLEANUP_CLOSE int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_int_equal(screen_enter(fd), -ENOTTY);
	screen_leave();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_orderly_end_gives_the_terminal_back),
		cmocka_unit_test(every_deadly_signal_gives_the_terminal_back_and_kills),
		cmocka_unit_test(a_failed_assertion_gives_the_terminal_back),
		cmocka_unit_test(a_stop_lends_the_terminal_out_and_takes_it_again),
		cmocka_unit_test(a_key_is_read_as_it_is_pressed),
		cmocka_unit_test(a_sequence_is_one_key),
		cmocka_unit_test(what_is_no_terminal_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
