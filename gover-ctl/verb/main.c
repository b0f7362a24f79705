/* SPDX-License-Identifier: MIT */
/* main() of gover-ctl. Everything else is in the archive that tests link. */
#include "gover-ctl/verb/verbs.h"

int main(int argc, char *argv[])
{
	return dispatch_main(argc, argv);
}
