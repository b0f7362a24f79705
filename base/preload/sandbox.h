/* SPDX-License-Identifier: MIT */
/*
 * Finds out whether a library in a customer's program may make system calls. A seccomp filter can
 * end the program at any call that it does not expect, and no call returns what a filter forbids.
 * A library therefore makes no call of its own in a thread with a filter.
 *
 * The number of filters is in the status file of the thread. When a library is loaded, it opens and
 * reads this file: the loader has just used the same calls for the library itself. Later questions
 * need one pread() of a file that is already open. The loader uses pread() as well, and a filter
 * that allows a program to load drivers and to work with files allows it. No call is safe under all
 * filters: this one is the most harmless, also if the program has closed the descriptor and uses
 * its number for another file, because it does not change the position in that file.
 *
 * A thread or a forked child opens its own status file at its first question, after the inherited
 * one shows no filter.
 */
#ifndef BASE_PRELOAD_SANDBOX_H
#define BASE_PRELOAD_SANDBOX_H

#include <stdbool.h>

/*
 * Call when the library is loaded, before its first system call. Returns false if a filter is in
 * force or its absence is not certain: the library must do nothing. With GOVER_SANDBOX=errno in the
 * environment, the filters that are in force at this time are trusted to end no program. Further
 * calls return the result of the first one. @log_end is called when the library makes no further
 * system calls.
 */
bool sandbox_start(void (*log_end)(const char *why, const char *detail));

/*
 * Call before system calls. Returns false if the calling thread must not make them. After that, it
 * returns false in all threads. Preserves errno.
 */
bool sandbox_allows_calls(void);

#endif
