/* SPDX-License-Identifier: MIT */
/*
 * The terminal as a screen that is redrawn in place, by ncurses. The terminal is restored however
 * the program ends: by return, exit() or signal.
 */
#ifndef GOVER_CTL_TOP_SCREEN_H
#define GOVER_CTL_TOP_SCREEN_H

#include <stdio.h>

#include "gover-ctl/writer.h"

/*
 * Takes over @terminal, which is open for reading and writing. Only one terminal can be in use.
 * Returns 0, -ENOTTY, or -EINVAL if ncurses cannot use the terminal.
 */
int screen_enter(FILE *terminal);

/* Restores the terminal. Does nothing if no terminal is taken. */
void screen_leave(void);

void screen_size(int *ret_rows, int *ret_columns);

/* Draw a picture: call clear, write lines, call show. */
void screen_clear(void);
void screen_move(int row); /* to its first column */
void screen_put(const char *text, size_t length);
void screen_colour(enum writer_colour colour);
void screen_show(void);

/* Keys that are not characters. Their values are above every byte. */
enum screen_special {
	SCREEN_ESCAPE = 256,
	SCREEN_UP,
	SCREEN_DOWN,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_F1,
	SCREEN_F10,
	SCREEN_UNKNOWN, /* any other key */
};

/*
 * Waits at most @ms for a key; -1: without limit. Returns a byte or a special key. Returns 0 if no
 * key arrived (also after a change of size), -EPIPE if the terminal has disconnected.
 */
int screen_key(int ms);

#endif
