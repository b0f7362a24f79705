/* SPDX-License-Identifier: MIT */
/*
 * What operators have set besides contracts and modes of GPUs: live settings, silences,
 * acknowledged alerts and withdrawn offers. The contracts file contains it, so that it survives the
 * loss of the history.
 */
#ifndef GOVER_D_STORE_OPERATOR_STATE_H
#define GOVER_D_STORE_OPERATOR_STATE_H

#include <jansson.h>

#include "gover-d/alert/alerts.h"
#include "gover-d/model/contract.h"

#define OPERATOR_SETTINGS_MAX  128
#define OPERATOR_HOLDS_MAX     64
#define OPERATOR_HOLDS_SINCE   9   /* first version of the file with "held_offers" */
#define OPERATOR_SMALLER_SINCE 10  /* first version with "smaller_flavors" of such an offer */
#define OPERATOR_TEXT_MAX      256 /* size of the key or the value of a setting, with its NUL */
#define OPERATOR_ACKS_MAX      65536
#define OPERATOR_WITHDRAWN_MAX 256

struct operator_ack {
	int64_t alert, acked_ms;
};

/* A flavour of a held offer. */
struct operator_hold_flavor {
	char flavor[ID_MAX];
	int initial_cap_pct;
	double target; /* frames or units of work per second, as the GPU counts */
};

/* A held offer, with all that is needed to restore it if the history is lost. */
struct operator_hold {
	int64_t offer;
	char gpu[ID_MAX];
	char holder[CLAIM_MAX];
	int64_t created_ms, expires_ms, until_ms;
	struct operator_hold_flavor flavors[POLICY_FLAVORS_MAX]; /* the largest first */
	int n_flavors;						 /* at least 1 */
};

struct operator_state {
	/* owned object of texts: the keys of [policy] and [offer] that were changed, with values */
	json_t *settings;
	struct silences silences;
	struct operator_ack *acks; /* owned */
	size_t n_acks;
	int64_t withdrawn[OPERATOR_WITHDRAWN_MAX]; /* ids of offers */
	size_t n_withdrawn;
	struct operator_hold holds[OPERATOR_HOLDS_MAX];
	size_t n_holds;
};

/* Returns an empty state. */
struct operator_state *operator_state_new(void);
struct operator_state *operator_state_free(struct operator_state *state); /* NULL is allowed */

/* Add an entry. -ENOSPC: the limit is reached. */
int operator_state_add_ack(struct operator_state *state, int64_t alert, int64_t acked_ms);
int operator_state_add_withdrawn(struct operator_state *state, int64_t offer);
/* Adds a hold, or replaces the hold of the same offer. */
int operator_state_set_hold(struct operator_state *state, const struct operator_hold *hold);
void operator_state_remove_hold(struct operator_state *state, int64_t offer);

/* Returns the time in ms at which @alert was acknowledged; 0: it is not acknowledged. */
int64_t operator_state_acked_ms(const struct operator_state *state, int64_t alert);
bool operator_state_is_withdrawn(const struct operator_state *state, int64_t offer);

/* Adds the members "settings", "silences", "acks", "withdrawn" and "held_offers" to @root. */
void operator_state_encode(const struct operator_state *state, json_t *root);
/*
 * Decodes these members, which @root must contain; files of versions below OPERATOR_HOLDS_SINCE
 * have no "held_offers". -EINVAL with a message.
 */
int operator_state_decode(const json_t *root, int version, struct operator_state **ret_state,
			  struct err *reterr);

#endif
