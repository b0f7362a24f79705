/* SPDX-License-Identifier: MIT */
/* `support`: runs sos with gover's plug-in (dist/sos/gover.py). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "gover-ctl/verb/verbs.h"

#define PACKAGE "sosreport"

enum ctl_exit verb_support(struct ctl *ctl, const struct args *args)
{
	static const char *const first[] = {"sos", "report", "--batch", "-o", "gover"};
	char **argv = xcalloc(ARRAY_SIZE(first) + (size_t)args->n_words + 1, sizeof(*argv));

	memcpy(argv, first, sizeof(first));
	memcpy(argv + ARRAY_SIZE(first), args->words, (size_t)args->n_words * sizeof(*argv));
	if (ctl->socket && setenv("GOVER_SOCKET", ctl->socket, 1) < 0)
		return ctl_fail(CTL_FAILED, "support: GOVER_SOCKET: %s", strerror(errno));
	execvp(argv[0], argv);
	free(argv);
	if (errno != ENOENT)
		return ctl_fail(CTL_FAILED, "support: sos: %s", strerror(errno));
	return ctl_fail(CTL_FAILED, "support: sos is not installed (install the package " PACKAGE
				    ", then run as root: sos report -o gover)");
}
