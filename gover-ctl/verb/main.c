/* SPDX-License-Identifier: MIT */
/*
 * main() of gover-ctl. All other code is in the static library that tests link.
 */
#include "gover-ctl/verb/verbs.h"

int main(int argc, char *argv[])
{
	return dispatch_main(argc, argv);
}
