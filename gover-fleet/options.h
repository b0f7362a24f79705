/* SPDX-License-Identifier: MIT */
/* The command line of gover-fleet. */
#ifndef GOVER_FLEET_OPTIONS_H
#define GOVER_FLEET_OPTIONS_H

/* Returns the exit status. */
int fleet_options_main(int argc, char *argv[]);

#endif
