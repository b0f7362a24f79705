/* SPDX-License-Identifier: MIT */
/*
 * Loads the state that an earlier daemon left. The contracts and the operator's state are read from
 * the contracts file or from its copy in the database. Decisions, alerts and offers are read from
 * the database.
 */
#ifndef GOVER_D_CORE_LOAD_H
#define GOVER_D_CORE_LOAD_H

#include "db/db.h"
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

/* Puts live settings and silences in force. Call it before load_history(). @state may be NULL. */
void load_operator_state(struct manager *manager, const struct operator_state *state);
/*
 * Loads decisions, alerts and offers of the last run. If @state is NULL, also loads the live
 * settings and silences, which an earlier release stored in the database only.
 */
int load_history(struct manager *manager, struct db_reader *reader,
		 const struct operator_state *state, struct err *reterr);
/*
 * Restores the holds in @state, and the held offers that are missing in the history. Call it after
 * load_history(). @state may be NULL.
 */
void load_holds(struct manager *manager, const struct operator_state *state, struct instant now);

/* Return the name of the first column with an invalid value; NULL: the row is valid. */
const char *row_check_decision(const struct db_decision *row);
const char *row_check_alert(const struct db_alert *row);
const char *row_check_silence(const struct db_silence *row);
const char *row_check_offer(const struct db_offer *row);
const char *row_check_setting(const char *key, const char *value);

#endif
