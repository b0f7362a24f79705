/* SPDX-License-Identifier: MIT */
/* The command line of gover-sim. */
#ifndef SIM_HOST_COMMAND_H
#define SIM_HOST_COMMAND_H

/* Returns the exit status: 0 done, 1 refused or failed, 2 usage. */
int command_main(int argc, char *argv[]);

#endif
