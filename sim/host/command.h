/* SPDX-License-Identifier: MIT */
/* The command line of gover-sim. */
#ifndef SIM_HOST_COMMAND_H
#define SIM_HOST_COMMAND_H

/* Returns the exit status: 0 success, 1 failure, 2 invalid usage. */
int command_main(int argc, char *argv[]);

#endif
