/* SPDX-License-Identifier: MIT */
/* Starts gover-arbiter as a daemon of its own, which outlives this process. */
#ifndef GPU_LIB_START_H
#define GPU_LIB_START_H

#include "base/err.h"

/*
 * Starts the program gover-arbiter beside the running program, or else the one in $PATH, and waits
 * until it serves @socket, at most five seconds. @name is the name of the device,
 * @discipline how it gives turns. Returns 0 if an
 * arbiter serves the socket, also if another process has started it. Errors have a message that
 * names the socket: -ENOENT: the program is missing; -ETIMEDOUT; -ECHILD: the program has failed.
 */
int lib_start(const char *socket, const char *name, const char *discipline, struct err *reterr);

#endif
