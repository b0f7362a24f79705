/* SPDX-License-Identifier: MIT */
/*
 * Loads the state that an earlier daemon left. The contracts are read from the contracts file or
 * from their copy in the database. Live settings, decisions, silences, alerts and offers are read
 * from the database.
 */
#ifndef GOVER_D_CORE_LOAD_H
#define GOVER_D_CORE_LOAD_H

#include "gover-d/store/contracts.h"

struct db_reader;
struct manager;

/*
 * Loads the contracts from the file. If the file is missing, damaged or older than the copy in the
 * database, loads this copy and logs this. @reader may be NULL. Sets *@ret_stale to true if the
 * file exists but was not used. Returns the same errors as contracts_load().
 *
 * If there are no contracts but the cap journal contains vGPUs, logs these vGPUs and sets
 * manager->contracts_lost.
 */
int load_contracts(struct manager *manager, struct db_reader *reader,
		   struct contracts *ret_contracts, bool *ret_stale, struct err *reterr);

/* Loads live settings, decisions, silences, alerts and offers of the last run. */
int load_history(struct manager *manager, struct db_reader *reader, struct err *reterr);

#endif
