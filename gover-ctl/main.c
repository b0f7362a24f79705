/* SPDX-License-Identifier: MIT */
/* The door of gover-ctl. Must never hold anything that a test would want to call. */
#include "gover-ctl/ctl.h"

int main(int argc, char *argv[])
{
	return ctl_main(argc, argv);
}
