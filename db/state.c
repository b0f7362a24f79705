/* SPDX-License-Identifier: MIT */
/* Reads the state that a new daemon continues with: ids, settings, events and contracts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "db/reader.h"
#include "db/record.h"

/* The rows that gover can have written. */
#define VALID_ID "id BETWEEN 1 AND " DB_ID_MAX_TEXT

static int read_last_ids(void *userdata, sqlite3_stmt *row)
{
	struct db_last_ids *ids = userdata;

	ids->decision = sqlite3_column_int64(row, 0); /* a NULL column reads as 0 */
	ids->alert = sqlite3_column_int64(row, 1);
	ids->offer = sqlite3_column_int64(row, 2);
	return 0;
}

int db_query_last_ids(struct db_reader *reader, struct db_last_ids *ret_ids)
{
	static const char sql[] = "SELECT (SELECT max(id) FROM decision WHERE " VALID_ID "),"
				  " (SELECT max(id) FROM alert WHERE " VALID_ID "),"
				  " (SELECT max(id) FROM offer WHERE " VALID_ID ")";
	struct db_last_ids ids = {0};
	int r = reader_query(reader, &(struct reader_statement){.sql = sql}, read_last_ids, &ids);

	if (r == 0)
		*ret_ids = ids;
	return r;
}

struct receiver {
	union {
		db_setting_fn setting;
		db_decision_fn decision;
		db_alert_fn alert;
		db_tally_fn tally;
		db_silence_fn silence;
		db_offer_fn offer;
	};
	void *userdata;
};

static int read_setting(void *userdata, sqlite3_stmt *row)
{
	const struct receiver *receiver = userdata;
	struct record_setting setting = {0};

	record_read(RECORD_SETTING, row, &setting);
	return receiver->setting(receiver->userdata, setting.key, setting.value);
}

static int read_decision(void *userdata, sqlite3_stmt *row)
{
	const struct receiver *receiver = userdata;
	struct db_decision decision = {0};

	record_read(RECORD_DECISION, row, &decision);
	return receiver->decision(receiver->userdata, &decision);
}

static int read_alert(void *userdata, sqlite3_stmt *row)
{
	const struct receiver *receiver = userdata;
	struct db_alert alert = {0};

	record_read(RECORD_ALERT, row, &alert);
	return receiver->alert(receiver->userdata, &alert);
}

static int read_tally(void *userdata, sqlite3_stmt *row)
{
	const struct receiver *receiver = userdata;
	struct db_tally tally = {0};

	record_read(RECORD_TALLY, row, &tally);
	return receiver->tally(receiver->userdata, &tally);
}

static int read_silence(void *userdata, sqlite3_stmt *row)
{
	const struct receiver *receiver = userdata;
	struct db_silence silence = {0};

	record_read(RECORD_SILENCE, row, &silence);
	return receiver->silence(receiver->userdata, &silence);
}

static int read_offer(void *userdata, sqlite3_stmt *row)
{
	const struct receiver *receiver = userdata;
	struct db_offer offer = {0};

	record_read(RECORD_OFFER, row, &offer);
	return receiver->offer(receiver->userdata, &offer);
}

int db_query_settings(struct db_reader *reader, db_setting_fn setting, void *userdata)
{
	return reader_query(
		reader,
		&(struct reader_statement){.sql = "SELECT key, value FROM setting ORDER BY key"},
		read_setting, &(struct receiver){.setting = setting, .userdata = userdata});
}

int db_query_decisions(struct db_reader *reader, int limit, db_decision_fn decision, void *userdata)
{
	static const char sql[] = "SELECT * FROM (SELECT * FROM decision WHERE " VALID_ID
				  " ORDER BY id DESC LIMIT max(?1, 0))"
				  " ORDER BY id";

	return reader_query(
		reader,
		&(struct reader_statement){.sql = sql, .numbers = (int64_t[]){limit}, .n = 1},
		read_decision, &(struct receiver){.decision = decision, .userdata = userdata});
}

int db_query_decisions_of(struct db_reader *reader, const char *vgpu, int limit,
			  db_decision_fn decision, void *userdata)
{
	static const char sql[] = "SELECT * FROM (SELECT * FROM decision WHERE vgpu = ?2"
				  " AND " VALID_ID " ORDER BY id DESC LIMIT max(?1, 0))"
				  " ORDER BY id";

	return reader_query(
		reader,
		&(struct reader_statement){
			.sql = sql, .numbers = (int64_t[]){limit}, .n = 1, .text = vgpu},
		read_decision, &(struct receiver){.decision = decision, .userdata = userdata});
}

int db_query_alerts(struct db_reader *reader, int limit, db_alert_fn alert, void *userdata)
{
	static const char sql[] =
		"SELECT * FROM alert WHERE " VALID_ID " AND (cleared_ms IS NULL OR id IN"
		" (SELECT id FROM alert WHERE cleared_ms NOTNULL AND " VALID_ID
		" ORDER BY id DESC LIMIT max(?1, 0))) ORDER BY id";

	return reader_query(
		reader,
		&(struct reader_statement){.sql = sql, .numbers = (int64_t[]){limit}, .n = 1},
		read_alert, &(struct receiver){.alert = alert, .userdata = userdata});
}

int db_query_tallies(struct db_reader *reader, db_tally_fn tally, void *userdata)
{
	return reader_query(reader,
			    &(struct reader_statement){.sql = "SELECT * FROM tally ORDER BY vgpu"},
			    read_tally, &(struct receiver){.tally = tally, .userdata = userdata});
}

int db_query_silences(struct db_reader *reader, db_silence_fn silence, void *userdata)
{
	static const char sql[] =
		"SELECT * FROM silence WHERE " VALID_ID " AND (ended_ms IS NULL"
		" OR id = (SELECT max(id) FROM silence WHERE " VALID_ID ")) ORDER BY id";

	return reader_query(reader, &(struct reader_statement){.sql = sql}, read_silence,
			    &(struct receiver){.silence = silence, .userdata = userdata});
}

int db_query_offers(struct db_reader *reader, int limit, db_offer_fn offer, void *userdata)
{
	static const char sql[] =
		"SELECT * FROM offer WHERE " VALID_ID
		" AND (state IN ('open', 'claimed', 'probation', 'failed') OR id IN"
		" (SELECT id FROM offer WHERE claim_key NOTNULL AND " VALID_ID
		" ORDER BY id DESC LIMIT max(?1, 0))) ORDER BY id";

	return reader_query(
		reader,
		&(struct reader_statement){.sql = sql, .numbers = (int64_t[]){limit}, .n = 1},
		read_offer, &(struct receiver){.offer = offer, .userdata = userdata});
}

struct saved_contracts {
	int64_t revision;
	char *text; /* NULL: no contracts are saved */
};

static int read_contracts(void *userdata, sqlite3_stmt *row)
{
	struct saved_contracts *saved = userdata;
	const char *text = (const char *)sqlite3_column_text(row, 1);

	saved->revision = sqlite3_column_int64(row, 0);
	saved->text = text ? xstrdup(text) : NULL;
	return 0;
}

int db_query_contracts(struct db_reader *reader, int64_t *ret_revision, char **ret_text)
{
	struct saved_contracts saved = {0};
	int r = reader_query(
		reader, &(struct reader_statement){.sql = "SELECT revision, json FROM contracts"},
		read_contracts, &saved);

	if (r == 0 && !saved.text)
		r = -ENOENT;
	if (r < 0) {
		free(saved.text);
		return r;
	}
	*ret_revision = saved.revision;
	*ret_text = saved.text;
	return 0;
}
