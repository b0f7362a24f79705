/* SPDX-License-Identifier: MIT */
/* The main function of gover-d. All other code is in a library, so that tests can link it. */
#include <jansson.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "gover-d/options.h"

int main(int argc, char *argv[])
{
	xalloc_init("gover-d");
	json_set_alloc_funcs(xmalloc, free);
	return options_main(argc, argv);
}
