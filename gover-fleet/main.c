/* SPDX-License-Identifier: MIT */
/* The main function of gover-fleet. All other code is in a library, so that tests can link it. */
#include <jansson.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "gover-fleet/options.h"

int main(int argc, char *argv[])
{
	xalloc_init("gover-fleet");
	json_set_alloc_funcs(xmalloc, free);
	return fleet_options_main(argc, argv);
}
