/* SPDX-License-Identifier: MIT */
/* The main function of gover-d. All other code is in a library, so that tests can link it. */
#include "gover-d/options.h"

int main(int argc, char *argv[])
{
	return options_main(argc, argv);
}
