/* SPDX-License-Identifier: MIT */
/* The rows of the history: one struct for each kind of record. */
#ifndef DB_ROWS_H
#define DB_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"

/* The sample of one vGPU in one period. A double that is not valid is NAN here and NULL in the
 * database. */
struct db_sample {
	int64_t ts_ms;
	char vgpu[ID_MAX];
	char gpu[ID_MAX];
	double dt_s;
	int cap_pct, initial_cap_pct;
	double load_pct, util_pct;
	double fps, target_fps, frame_p99_ms;
	bool short_of_target, broken, gap;
};

struct db_gpu_sample {
	int64_t ts_ms;
	char gpu[ID_MAX];
	double util_pct; /* physical */
	double load_pct; /* sum of the vGPUs' loads */
	int sum_cap_pct, sum_initial_cap_pct, vgpus;
	bool gap;
};

#define DB_TEXT_MAX 1024

struct db_decision {
	int64_t id; /* ids increase, also across restarts of the daemon */
	int64_t ts_ms;
	char gpu[ID_MAX], kind[24], vgpu[ID_MAX], donor[ID_MAX], result[32];
	char why[DB_TEXT_MAX];
	/* numbers and cap moves of the decision; always valid JSON */
	char detail_json[2 * DB_TEXT_MAX];
};

/* A new row replaces the row with the same id. */
struct db_alert {
	int64_t id;
	int64_t raised_ms;
	int64_t cleared_ms; /* 0: not cleared */
	int64_t acked_ms;   /* 0: not acknowledged */
	char name[48], gpu[ID_MAX], vgpu[ID_MAX], severity[16];
	char text[DB_TEXT_MAX];
	char vm[128], cause[24];
	char acked_by[80]; /* principal that acknowledged the alert */
};

/* The sums of a vGPU since @since_ms. A new row replaces the row of the same vGPU. */
struct db_tally {
	char vgpu[ID_MAX];
	int64_t ts_ms;	     /* time of the row */
	int64_t contract_ms; /* creation of the contract: a later contract of this id counts anew */
	int64_t since_ms;
	double seen_s, broken_s;
	double fps_sum_s, fps_s;
	double cap_error_pct_s, cap_error_s;
	int64_t steals_in, steals_out, cap_writes;
	double slow_bad_s; /* bad seconds in the slow window of the promise */
	bool slow_burns;   /* the alarm of this window holds */
};

/* A new row replaces the row with the same id. */
struct db_offer {
	int64_t id;
	int64_t created_ms, changed_ms;
	char gpu[ID_MAX], state[16], vgpu[ID_MAX];
	int cap_pct, funded_pct;
	double target_fps;
	char reason[DB_TEXT_MAX];
	char claim_key[128]; /* idempotency key of the claim; "": no key */
	char flavor[ID_MAX]; /* "": an earlier release made the offer */
};

/* A new row replaces the row with the same id. */
struct db_silence {
	int64_t id;
	int64_t created_ms, until_ms;
	int64_t ended_ms; /* 0: not ended */
	char alert[48], gpu[ID_MAX], vgpu[ID_MAX];
	char reason[256];
};

/* A changed parameter of the policy. */
struct db_setting {
	char key[64];
	char value[DB_TEXT_MAX];
};

struct db_cap_write {
	int64_t ts_ms;
	char vgpu[ID_MAX], gpu[ID_MAX], cause[24];
	int from_pct, to_pct, read_back_pct;
	int error; /* errno of the write; 0: written */
};

/* Amounts of the ledger (db/db.h). */
struct db_money {
	double cap_s;	 /* integral of the sold cap, in seconds of the whole GPU */
	double broken_s; /* broken time, in vGPU-seconds */
	double revenue, penalty;
};

/* Amounts of the ledger for one vGPU since the previous row of this vGPU. */
struct db_ledger {
	int64_t ts_ms; /* any time in the minute to which the amounts are added */
	char vgpu[ID_MAX], gpu[ID_MAX], flavor[ID_MAX];
	struct db_money sold;
	struct db_money kept; /* amounts on a host without overselling, for comparison */
};

/* Amounts of the ledger for one GPU since the previous row of this GPU. */
struct db_ledger_gpu {
	int64_t ts_ms;
	char gpu[ID_MAX];
	double watched_s; /* time during which a daemon ran */
};

/*
 * A price that is in force from ts_ms on; negative: the operator has set no price. An unchanged
 * price creates no row.
 */
struct db_price {
	int64_t ts_ms;
	char flavor[ID_MAX];
	double price_per_cap_hour, penalty_per_broken_s;
};

#define DB_AUDIT_JSON_MAX 4096

/* A change of a resource, with the principal and the origin of the request. */
struct db_audit {
	int64_t id; /* assigned by the database; ids increase */
	int64_t ts_ms;
	char who[80];	 /* principal of the request */
	char origin[64]; /* origin of the request: "pid 4321" or an IP address */
	char method[8], path[256];
	int status; /* HTTP status; 0: the client had disconnected */
	/* JSON object: the changed members before the change; "": the resource did not exist */
	char before_json[DB_AUDIT_JSON_MAX];
	/* JSON object: the changed members after the change; "": the resource was removed */
	char after_json[DB_AUDIT_JSON_MAX];
};

#endif
