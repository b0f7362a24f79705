/* SPDX-License-Identifier: MIT */
/*
 * Loads the state that an earlier daemon left: the contracts, from the contracts file or the
 * database; and live settings, decisions, silences, alerts and offers, from the history.
 */
#ifndef GOVER_D_CORE_LOAD_H
#define GOVER_D_CORE_LOAD_H

#include "gover-d/store/contracts.h"

struct db_reader;
struct manager;

/*
 * Loads the contracts from the file. If the file is missing, damaged or older, loads them from the
 * database (@reader, may be NULL) and logs this. If neither contains contracts but the cap journal
 * contains vGPUs, logs these vGPUs and sets manager->contracts_lost. *@ret_stale: the file exists
 * but was not used. Errors: as contracts_load().
 */
int load_contracts(struct manager *manager, struct db_reader *reader,
		   struct contracts *ret_contracts, bool *ret_stale, struct err *reterr);

/* Loads live settings, decisions, silences, alerts and offers of the last run. */
int load_history(struct manager *manager, struct db_reader *reader, struct err *reterr);

#endif
