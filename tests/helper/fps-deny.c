/* SPDX-License-Identifier: MIT */
/*
 * fps-deny FILTER COMMAND...: runs COMMAND under a seccomp filter (sandbox.h), as a sandbox does.
 * Exits with 77 if no filter can be set.
 */
#include <unistd.h>

#include "tests/helper/sandbox.h"

int main(int argc, char **argv)
{
	if (argc < 3 || !sandbox_enter(argv[1]))
		return 77;
	execvp(argv[2], argv + 2);
	return 127;
}
