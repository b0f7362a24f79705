/* SPDX-License-Identifier: MIT */
/* What a bug report tells of this machine, in texts of lines. Looks and asks only; must never tell
 * the machine's name, which the caller learns to take out. */
#ifndef GOVER_CTL_SUPPORT_HOST_H
#define GOVER_CTL_SUPPORT_HOST_H

#include "base/err.h"

/* Each: the caller frees *ret_text. 0, or a negative errno with a sentence that says why there is
 * none. */

/* Kernel, system, processors, memory, control groups. */
int support_host_system(char **ret_text, struct err *reterr);
/* The last lines of gover-d in the journal. */
int support_host_journal(char **ret_text, struct err *reterr);
/* The configuration as its files say it now, with the defaults; of the daemon @pid the file it was
 * started with, 0: that of /etc. What is wrong with it, where it cannot be read. */
int support_host_config(long pid, char **ret_text, struct err *reterr);

#endif
