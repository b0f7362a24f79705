/* SPDX-License-Identifier: MIT */
/* gover-sim simulates a GVT-g or SR-IOV host without a GPU, and compares policies. See
 * gover-sim(1). */
#include <jansson.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "sim/host/command.h"

int main(int argc, char *argv[])
{
	xalloc_init("gover-sim");
	json_set_alloc_funcs(xmalloc, free);
	return command_main(argc, argv);
}
