/* SPDX-License-Identifier: MIT */
/* gover-d: its options, and nothing else. */
#include "gover-d/options.h"

int main(int argc, char *argv[])
{
	return options_main(argc, argv);
}
