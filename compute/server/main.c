/* SPDX-License-Identifier: MIT */
/* gover-arbiter gives programs turns on a compute device. See gover-arbiter(8). */
#include "compute/server/command.h"

int main(int argc, char *argv[])
{
	return command_arbiter(argc, argv);
}
