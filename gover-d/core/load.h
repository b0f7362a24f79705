/* SPDX-License-Identifier: MIT */
/*
 * Loads what an earlier daemon left: the contracts, from their file or the database, and the
 * history: live settings, decisions, silences, alerts and offers.
 */
#ifndef GOVER_D_CORE_LOAD_H
#define GOVER_D_CORE_LOAD_H

#include "gover-d/store/contracts.h"

struct db_reader;
struct manager;

/*
 * Loads the newest contracts of the file and of the database (@reader, may be NULL). The database
 * replaces a file that is missing, damaged or older, which is logged. If neither has contracts but
 * the caps file lists vGPUs, they are logged and manager->contracts_lost is set. Errors: as
 * contracts_load(). *@ret_stale: the file exists and its contracts were not used.
 */
int load_contracts(struct manager *manager, struct db_reader *reader,
		   struct contracts *ret_contracts, bool *ret_stale, struct err *reterr);

/* Loads live settings, decisions, silences, alerts and offers of the last run. */
int load_history(struct manager *manager, struct db_reader *reader, struct err *reterr);

#endif
