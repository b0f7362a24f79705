/* SPDX-License-Identifier: MIT */
/*
 * A full-screen view on the terminal, with ncurses. The terminal is restored however the program
 * ends: by return, exit() or signal.
 */
#ifndef GOVER_CTL_TOP_SCREEN_H
#define GOVER_CTL_TOP_SCREEN_H

#include <stdio.h>

#include "base/terminal/writer.h"

/*
 * Takes over @terminal, which is open for reading and writing. Only one terminal can be in use.
 * Returns 0, -ENOTTY, or -EINVAL if ncurses cannot use the terminal.
 */
int screen_enter(FILE *terminal);

/* Restores the terminal. Does nothing unless screen_enter() has taken a terminal. */
void screen_leave(void);

void screen_size(int *ret_rows, int *ret_columns);

/* To draw a picture, clear the screen, move to each line and put its text, and show the screen. */
void screen_clear(void);
void screen_move(int row); /* moves to the first column of @row */
void screen_put(const char *text, size_t length);
void screen_colour(enum writer_colour colour);
void screen_show(void);

/* Keys that are not characters. Their values are above 255, so that they differ from all bytes. */
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
 * Waits at most @ms milliseconds for a key; -1: no limit. Returns a byte or a special key. Returns
 * 0 if no key arrived or the size changed, -EPIPE if the terminal has disconnected.
 */
int screen_key(int ms);

#endif
