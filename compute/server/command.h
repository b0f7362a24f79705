/* SPDX-License-Identifier: MIT */
/* The command line of gover-arbiter. */
#ifndef COMPUTE_SERVER_COMMAND_H
#define COMPUTE_SERVER_COMMAND_H

/*
 * Runs the arbiter. Returns the exit status: 0 success, 1 failure, 2 invalid usage, 3 another
 * arbiter serves the socket.
 */
int command_arbiter(int argc, char *argv[]);

#endif
