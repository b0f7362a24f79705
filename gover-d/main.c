/* SPDX-License-Identifier: MIT */
/* The main function of gover-d; everything else is in the library that the tests link. */
#include "gover-d/options.h"

int main(int argc, char *argv[])
{
	return options_main(argc, argv);
}
