/* SPDX-License-Identifier: MIT */
/*
 * The terminal taken over for a picture that is redrawn in place: alternate screen, no echo, keys
 * as they come. However the program ends, by return, exit() or signal, the terminal is given back
 * as it was.
 */
#ifndef GOVER_CTL_TOP_SCREEN_H
#define GOVER_CTL_TOP_SCREEN_H

#include <stddef.h>

/* Takes over the terminal @fd; one at a time. 0 or a negative errno (-ENOTTY). */
int screen_enter(int fd);

/* Gives it back. May be called again, from a signal handler too, and where nothing was taken. */
void screen_leave(void);

/* Puts a picture on it, from the top left corner. 0 or a negative errno. */
int screen_draw(const char *text, size_t length);

/* Its size now; 24 x 80 where it says none. */
void screen_size(int *ret_rows, int *ret_columns);

/* Keys that are no character: above every byte. */
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
	SCREEN_UNKNOWN, /* a sequence we do not know: one key, and not its characters */
};

/* Waits for a key, at most @ms. Returns the byte or a special key, 0: none, the size has changed or
 * we were stopped and go on; -EPIPE: the terminal is gone. */
int screen_key(int ms);

#endif
