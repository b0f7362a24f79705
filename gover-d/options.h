/* SPDX-License-Identifier: MIT */
/* The command line of gover-d. */
#ifndef GOVER_D_OPTIONS_H
#define GOVER_D_OPTIONS_H

/* Returns the exit status: 0 success, 1 failure, 2 wrong usage. */
int options_main(int argc, char *argv[]);

#endif
