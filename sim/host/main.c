/* SPDX-License-Identifier: MIT */
/* gover-sim: a GVT-g host without a GPU, see gover-sim(1). */
#include "sim/host/command.h"

int main(int argc, char *argv[])
{
	return command_main(argc, argv);
}
