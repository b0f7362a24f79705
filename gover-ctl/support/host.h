/* SPDX-License-Identifier: MIT */
/* Collects information about this host for a bug report. Read-only. The results contain names and
 * secrets: the caller redacts them. */
#ifndef GOVER_CTL_SUPPORT_HOST_H
#define GOVER_CTL_SUPPORT_HOST_H

#include <jansson.h>

#include "base/err.h"

/* All functions return 0, or a negative errno with a reason. The caller frees the result. */

/* Reads the kernel, the operating system, processors, memory and control groups. */
int support_host_system(char **ret_text, struct err *reterr);

/*
 * Reads the last entries of gover-d in the journal: one object per entry, with the fields on an
 * allow-list.
 */
int support_host_journal(json_t **ret_entries, struct err *reterr);

/*
 * Reads the present configuration files, with the defaults for missing keys. The result is an array
 * with one object per section, or with the faults in the files. @pid: the daemon, whose command
 * line names the file; 0: the default file. *ret_state: the readable documents of the state
 * directory that contain names.
 */
int support_host_config(long pid, json_t **ret_sections, json_t **ret_state, struct err *reterr);

#endif
