/* SPDX-License-Identifier: MIT */
/* gover-sim simulates a GVT-g or SR-IOV host without a GPU, and compares policies. See
 * gover-sim(1). */
#include "sim/host/command.h"

int main(int argc, char *argv[])
{
	return command_main(argc, argv);
}
