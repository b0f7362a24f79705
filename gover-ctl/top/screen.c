/* SPDX-License-Identifier: MIT */
/*
 * The terminal taken over. Everything that gives it back is async-signal-safe (write, tcsetattr),
 * so that one function serves the orderly end and every signal. Must never keep it after a death
 * that can be caught.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gover-ctl/top/screen.h"

#define TAKE	  "\033[?1049h\033[?25l" /* alternate screen, no cursor */
#define GIVE	  "\033[?25h\033[?1049l\033[0m"
#define ESCAPE_MS 50 /* over a slow line too */
#define HOME	  "\033[H"
#define REST	  "\033[J" /* clear what is below */

/* Written by screen_enter() and screen_leave() only. A process has one terminal and signal handlers
 * take no argument: the reason for file scope. */
static int screen_fd = -1;
static struct termios saved;
static volatile sig_atomic_t taken;

static const int deadly[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM,
			     SIGSEGV, SIGBUS,  SIGFPE, SIGILL,	SIGABRT};

static void put(const char *text, size_t length)
{
	while (length > 0) {
		ssize_t n = write(screen_fd, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		length -= (size_t)n;
	}
}

void screen_leave(void)
{
	int saved_errno = errno;

	if (taken) {
		taken = 0;
		put(GIVE, strlen(GIVE));
		(void)tcsetattr(screen_fd, TCSANOW, &saved);
	}
	errno = saved_errno;
}

/* The signal's own effect follows: the handler is gone by then (SA_RESETHAND). */
static void die_tidily(int sig)
{
	screen_leave();
	(void)raise(sig);
}

static int take(void)
{
	struct termios raw = saved;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(screen_fd, TCSANOW, &raw) < 0)
		return -errno;
	taken = 1;
	put(TAKE, strlen(TAKE));
	return 0;
}

/* Ctrl-Z: the shell gets its terminal, we take it again when called back. */
static void stop_tidily(int sig)
{
	int saved_errno = errno;
	bool ours = taken;

	(void)sig;
	screen_leave();
	(void)raise(SIGSTOP);
	if (ours)
		(void)take();
	errno = saved_errno;
}

/* Only there so that poll() wakes. */
static void note_size(int sig)
{
	(void)sig;
}

static int catch (int sig, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigemptyset(&action.sa_mask);
	return sigaction(sig, &action, NULL) < 0 ? -errno : 0;
}

int screen_enter(int fd)
{
	int r = 0;

	if (tcgetattr(fd, &saved) < 0)
		return -errno;
	screen_fd = fd;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(deadly); i++)
		r = catch (deadly[i], die_tidily, (int)SA_RESETHAND);
	if (r == 0)
		r = catch (SIGTSTP, stop_tidily, 0);
	if (r == 0)
		r = catch (SIGWINCH, note_size, 0);
	if (r == 0 && atexit(screen_leave) != 0)
		r = -ENOMEM;
	return r < 0 ? r : take();
}

int screen_draw(const char *text, size_t length)
{
	char *picture = malloc(strlen(HOME) + length + strlen(REST));

	if (!picture)
		return -ENOMEM;
	memcpy(picture, HOME, strlen(HOME));
	memcpy(picture + strlen(HOME), text, length);
	memcpy(picture + strlen(HOME) + length, REST, strlen(REST));
	put(picture, strlen(HOME) + length + strlen(REST));
	free(picture);
	return 0;
}

void screen_size(int *ret_rows, int *ret_columns)
{
	struct winsize size;
	bool known = ioctl(screen_fd, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col;

	*ret_rows = known ? size.ws_row : 24;
	*ret_columns = known ? size.ws_col : 80;
}

/* The next byte within @ms, 0: none, or a negative errno. */
static int next_byte(int ms)
{
	struct pollfd wait = {.fd = screen_fd, .events = POLLIN};
	unsigned char byte;
	int r = poll(&wait, 1, ms);

	if (r < 0)
		return errno == EINTR ? 0 : -errno;
	if (r == 0)
		return 0;
	if (!(wait.revents & POLLIN))
		return -EPIPE;
	return read(screen_fd, &byte, 1) == 1 ? byte : -EPIPE;
}

/* What stands behind ESC, of xterm, the Linux console and those like them (tmux, screen, VTE). */
static const struct {
	const char *text;
	int key;
} sequences[] = {
	{"[A", SCREEN_UP},    {"OA", SCREEN_UP},       {"[B", SCREEN_DOWN},
	{"OB", SCREEN_DOWN},  {"[5~", SCREEN_PAGE_UP}, {"[6~", SCREEN_PAGE_DOWN},
	{"[H", SCREEN_HOME},  {"OH", SCREEN_HOME},     {"[1~", SCREEN_HOME},
	{"[7~", SCREEN_HOME}, {"[F", SCREEN_END},      {"OF", SCREEN_END},
	{"[4~", SCREEN_END},  {"[8~", SCREEN_END},     {"OP", SCREEN_F1},
	{"[11~", SCREEN_F1},  {"[[A", SCREEN_F1},      {"[21~", SCREEN_F10},
};

/* An ESC has come. What a terminal sends for one key comes at once; what a finger sends does not.
 */
static int read_sequence(void)
{
	char text[16] = "";
	size_t n = 0;

	for (;;) {
		int byte = next_byte(ESCAPE_MS);

		if (byte <= 0)
			return n == 0 ? SCREEN_ESCAPE : SCREEN_UNKNOWN;
		if (n + 1 < sizeof(text))
			text[n++] = (char)byte;
		for (size_t i = 0; i < ARRAY_SIZE(sequences); i++)
			if (strcmp(text, sequences[i].text) == 0)
				return sequences[i].key;
		if (n == 1 ? byte != '[' && byte != 'O' : byte >= '@' && byte != '[')
			return SCREEN_UNKNOWN;
	}
}

int screen_key(int ms)
{
	int byte = next_byte(ms);

	return byte == '\033' ? read_sequence() : byte;
}
