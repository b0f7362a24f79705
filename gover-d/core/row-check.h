/* SPDX-License-Identifier: MIT */
/*
 * Checks rows of the history before a start uses them. A row that gover has written passes. Other
 * rows come from another program or from a damaged disk: the daemon could not answer requests with
 * their values, or would write a contracts file that its next start rejects.
 */
#ifndef GOVER_D_CORE_ROW_CHECK_H
#define GOVER_D_CORE_ROW_CHECK_H

#include "db/rows.h"

/* Return the name of the first column with an invalid value; NULL: the row is valid. */
const char *row_check_decision(const struct db_decision *row);
const char *row_check_alert(const struct db_alert *row);
const char *row_check_silence(const struct db_silence *row);
const char *row_check_offer(const struct db_offer *row);
const char *row_check_setting(const char *key, const char *value);

#endif
