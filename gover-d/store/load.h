/* SPDX-License-Identifier: MIT */
/*
 * Loads the state that an earlier daemon left. The contracts and the operator's state are read from
 * the contracts file or from its copy in the database. Decisions, alerts and offers are read from
 * the database.
 */
#ifndef GOVER_D_STORE_LOAD_H
#define GOVER_D_STORE_LOAD_H

#include "db/db.h"
#include "gover-d/store/cap-journal.h"
#include "gover-d/store/save.h"

struct loaded_contracts {
	struct contracts contracts;
	bool stale; /* the file exists but was not used */
	bool lost;  /* there are no contracts, but the cap journal contains vGPUs */
};

/*
 * Loads the contracts from the file. If the file is missing, damaged or older than the copy in the
 * database, loads this copy and logs this. @reader may be NULL. Logs the vGPUs in @journal whose
 * contracts are lost. Moves the idempotency keys to @store. Returns the same errors as
 * contracts_load().
 */
int load_contracts(struct store *store, const struct cap_journal *journal, struct db_reader *reader,
		   struct loaded_contracts *ret_loaded, struct err *reterr);

/* Puts live settings and silences in force. Call it before load_history(). @state may be NULL. */
void load_operator_state(struct store *store, const struct operator_state *state);
/*
 * Loads decisions, alerts and offers of the last run. If @state is NULL, also loads the live
 * settings and silences, which an earlier release stored in the database only.
 */
int load_history(struct store *store, struct db_reader *reader, const struct operator_state *state,
		 struct err *reterr);
/*
 * Restores the holds in @state, and the held offers that are missing in the history. Call it after
 * load_history(). @state may be NULL.
 */
void load_holds(struct store *store, const struct operator_state *state, struct instant now);

/* Return the name of the first column with an invalid value; NULL: the row is valid. */
const char *row_check_decision(const struct db_decision *row);
const char *row_check_alert(const struct db_alert *row);
const char *row_check_silence(const struct db_silence *row);
const char *row_check_offer(const struct db_offer *row);
const char *row_check_setting(const char *key, const char *value);

#endif
