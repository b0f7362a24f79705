/* SPDX-License-Identifier: MIT */
/* The command line of gover-d. */
#ifndef GOVER_D_OPTIONS_H
#define GOVER_D_OPTIONS_H

/* Returns the exit status: 0 done, 1 refused or failed, 2 usage. */
int options_main(int argc, char *argv[]);

#endif
