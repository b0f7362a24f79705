/* SPDX-License-Identifier: MIT */
/* Collects information about this host for a bug report. Read-only. The results contain names and
 * secrets: the caller redacts them. */
#ifndef GOVER_CTL_SUPPORT_HOST_H
#define GOVER_CTL_SUPPORT_HOST_H

#include <jansson.h>

#include "base/err.h"

/* All return 0, or a negative errno with a reason; the caller frees the result. */

/* Kernel, operating system, processors, memory and control groups. */
int support_host_system(char **ret_text, struct err *reterr);

/* The last entries of gover-d in the journal: objects of the fields on an allow-list. */
int support_host_journal(json_t **ret_entries, struct err *reterr);

/*
 * The configuration as its files define it now, with the defaults: an array of one object for each
 * section, or of the faults in them. @pid: the daemon, whose command line names the file; 0: the
 * default file. *ret_state: the documents in the state directory that contain names, as far as they
 * are readable.
 */
int support_host_config(long pid, json_t **ret_sections, json_t **ret_state, struct err *reterr);

#endif
