/* SPDX-License-Identifier: MIT */
/* The main function of gover-fleet. All other code is in a library, so that tests can link it. */
#include "gover-fleet/options.h"

int main(int argc, char *argv[])
{
	return fleet_options_main(argc, argv);
}
