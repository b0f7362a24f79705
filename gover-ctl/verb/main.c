/* SPDX-License-Identifier: MIT */
/*
 * main() of gover-ctl. All other code is in the static library that tests link.
 */
#include <jansson.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "gover-ctl/verb/verbs.h"

int main(int argc, char *argv[])
{
	xalloc_init("gover-ctl");
	json_set_alloc_funcs(xmalloc, free);
	return dispatch_main(argc, argv);
}
