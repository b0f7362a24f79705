/* SPDX-License-Identifier: MIT */
/* gover-sim simulates a GVT-g host without a GPU, and compares policies. See gover-sim(1). */
#include "sim/host/command.h"

int main(int argc, char *argv[])
{
	return command_main(argc, argv);
}
