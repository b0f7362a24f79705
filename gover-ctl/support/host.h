/* SPDX-License-Identifier: MIT */
/*
 * Collects information about this host for a bug report, and changes nothing. The results contain
 * names and secrets, which the caller must redact.
 */
#ifndef GOVER_CTL_SUPPORT_HOST_H
#define GOVER_CTL_SUPPORT_HOST_H

#include <jansson.h>

#include "base/err.h"

/*
 * All functions return 0, or a negative errno with a message in @reterr. The caller frees the
 * result.
 */

/* Reads the kernel, the operating system, processors, memory and control groups. */
int support_host_system(char **ret_text, struct err *reterr);

/* Reads the last journal entries of gover-d: one object per entry, with a fixed list of fields. */
int support_host_journal(json_t **ret_entries, struct err *reterr);

/*
 * Reads the configuration files as they are now; the daemon may have read an older version. @pid is
 * the process id of the daemon, whose command line names the file; 0 means the default file.
 *
 * *ret_sections has one object per section, with defaults for missing keys. *ret_state has the
 * contents of contracts.json and tokens.json, which contain names to be redacted. If the
 * configuration has faults, *ret_sections has one object per fault, and *ret_state is not set.
 */
int support_host_config(long pid, json_t **ret_sections, json_t **ret_state, struct err *reterr);

#endif
