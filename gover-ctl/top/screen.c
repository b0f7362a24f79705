/* SPDX-License-Identifier: MIT */
/* Draws on the terminal and reads keys, with ncurses. */
#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gover-ctl/top/screen.h"

#define ESCAPE_MS 50 /* maximum time between the bytes of one key */

/*
 * This state is at file scope because a signal handler takes no argument. Only screen_enter(),
 * screen_leave() and the handler write it.
 */
static SCREEN *screen;
static int screen_fd = -1;
static volatile sig_atomic_t taken;

/* Signals that end the program. ncurses handles SIGTSTP and SIGWINCH. */
static const int deadly[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM,
			     SIGSEGV, SIGBUS,  SIGFPE, SIGILL,	SIGABRT};

static const short pair_colours[] = {
	[WRITER_RED] = COLOR_RED,
	[WRITER_YELLOW] = COLOR_YELLOW,
	[WRITER_GREEN] = COLOR_GREEN,
};

static const struct {
	int curses, key;
} special_keys[] = {
	{KEY_UP, SCREEN_UP},	     {KEY_DOWN, SCREEN_DOWN},
	{KEY_PPAGE, SCREEN_PAGE_UP}, {KEY_NPAGE, SCREEN_PAGE_DOWN},
	{KEY_HOME, SCREEN_HOME},     {KEY_END, SCREEN_END},
	{KEY_F(1), SCREEN_F1},	     {KEY_F(10), SCREEN_F10},
	{KEY_BACKSPACE, '\b'},	     {KEY_ENTER, '\n'},
};

/* Restores the terminal. SA_RESETHAND has removed this handler, so raise() ends the program. */
static void restore_and_die(int sig)
{
	if (taken) {
		taken = 0;
		(void)endwin();
	}
	(void)raise(sig);
}

static int catch_signals(void)
{
	struct sigaction action = {.sa_handler = restore_and_die, .sa_flags = (int)SA_RESETHAND};

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(deadly); i++)
		if (sigaction(deadly[i], &action, NULL) < 0)
			return -errno;
	return atexit(screen_leave) == 0 ? 0 : -ENOMEM;
}

static void prepare_colours(void)
{
	if (start_color() == ERR || use_default_colors() == ERR)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(pair_colours); i++)
		if (pair_colours[i])
			(void)init_pair((short)i, pair_colours[i], -1);
}

int screen_enter(FILE *terminal)
{
	int r;

	if (!isatty(fileno(terminal)))
		return -ENOTTY;
	r = catch_signals();
	if (r < 0)
		return r;
	/* If LINES or COLUMNS is set, ncurses uses it instead of the size of the terminal. */
	(void)unsetenv("LINES");
	(void)unsetenv("COLUMNS");
	screen = newterm(NULL, terminal, terminal);
	/*
	 * If this host has no description of the terminal, xterm is tried: most terminals
	 * understand its sequences.
	 */
	if (!screen)
		screen = newterm("xterm", terminal, terminal);
	if (!screen)
		return -EINVAL;
	screen_fd = fileno(terminal);
	taken = 1;
	set_escdelay(ESCAPE_MS);
	(void)cbreak();
	(void)noecho();
	(void)nonl();
	(void)keypad(stdscr, TRUE);
	(void)curs_set(0);
	prepare_colours();
	return 0;
}

void screen_leave(void)
{
	if (taken) {
		taken = 0;
		(void)endwin();
	}
	if (screen)
		delscreen(screen);
	screen = NULL;
}

void screen_size(int *ret_rows, int *ret_columns)
{
	getmaxyx(stdscr, *ret_rows, *ret_columns);
}

void screen_clear(void)
{
	(void)erase();
}

void screen_move(int row)
{
	(void)move(row, 0);
}

void screen_put(const char *text, size_t length)
{
	(void)addnstr(text, (int)length);
}

void screen_colour(enum writer_colour colour)
{
	(void)attrset(colour == WRITER_PLAIN  ? A_NORMAL
		      : colour == WRITER_BOLD ? A_BOLD
		      : colour == WRITER_DIM  ? A_DIM
					      : (int)COLOR_PAIR(colour));
}

/* Blocks signals, because a handler must not call endwin() while refresh() writes. */
void screen_show(void)
{
	sigset_t all, before;

	sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	(void)refresh();
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/*
 * Called if getch() returned ERR. Returns 0 if no key arrived in time, -EPIPE if the terminal has
 * disconnected.
 */
static int check_terminal(void)
{
	struct pollfd terminal = {.fd = screen_fd, .events = POLLIN};

	return poll(&terminal, 1, 0) > 0 && terminal.revents & (POLLHUP | POLLERR | POLLNVAL)
		       ? -EPIPE
		       : 0;
}

/*
 * Called after an ESC byte that does not begin a key known to ncurses. If more bytes follow, an
 * unknown key was pressed. Otherwise the Escape key was pressed.
 */
static int read_escape(void)
{
	bool more = false;

	timeout(0);
	while (getch() != ERR)
		more = true;
	return more ? SCREEN_UNKNOWN : SCREEN_ESCAPE;
}

int screen_key(int ms)
{
	int key;

	timeout(ms);
	key = getch();
	if (key == ERR)
		return check_terminal();
	/* A terminal may move its text when its size changes, so the whole screen is redrawn. */
	if (key == KEY_RESIZE || key == 'L' - '@')
		(void)clearok(curscr, TRUE);
	if (key == KEY_RESIZE)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(special_keys); i++)
		if (key == special_keys[i].curses)
			return special_keys[i].key;
	if (key == '\033')
		return read_escape();
	return key > 0 && key < 256 ? key : SCREEN_UNKNOWN;
}
