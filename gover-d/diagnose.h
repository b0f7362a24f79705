/* SPDX-License-Identifier: MIT */
/* What --diagnose and --check-config --json print: findings about this host and its configuration.
 */
#ifndef GOVER_D_DIAGNOSE_H
#define GOVER_D_DIAGNOSE_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Prints the findings of all backends and a part of the configuration in the file @path (NULL: the
 * default) as JSON:
 *   {"config": {"socket", "operate_group", "read_group", "backends"} or null if it is invalid,
 *    "checks": [{"check", "state", "text", "advice"}]}
 * @facts: an object about the running daemon, whose members may be missing: pid; unit (true: its
 * unit is gover-d.service), user and protects_cgroups of the unit; backends in use (default: those
 * of the configuration); steered (true: it has set time slices). NULL: no daemon runs. Returns
 * -EINVAL with a message if @facts is invalid.
 */
int diagnose_print(const char *path, const char *facts, struct err *reterr);

/*
 * Prints all faults of the configuration in the file @path (NULL: the default) as JSON:
 *   {"files": [the files that were read], "faults": [{"file" or null, "line" or null, "text"}]}
 * Returns false if there is a fault.
 */
bool diagnose_print_config(const char *path);

#endif
