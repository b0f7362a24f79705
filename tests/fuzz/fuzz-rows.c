/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the rows of a history database that another program has written: the input fills the
 * tables that a start reads, in a database in memory, with values of any type. Loading must not
 * crash. REST must be able to show the loaded values, and the next start must accept the contracts
 * file with them.
 *
 * The input is a list of rows: a byte that selects the table, and for each column a byte that
 * selects the type of the value, followed by the value.
 */
#include <inttypes.h>
#include <sqlite3.h>

#include "db/schema.h"
#include "gover-d/api/resource.h"
#include "gover-d/manager/parts.h"
#include "gover-d/record/encode.h"
#include "gover-d/store/load.h"
#include "gover-d/store/operator-state.h"
#include "tests/fuzz/fuzz.h"

#define DATABASE  "file:/gover-fuzz?vfs=memdb"
#define ROWS_MAX  64
#define TABLES	  6
#define WORDS_MAX 64
/* 2^53: JSON can represent every whole number up to this value. */
#define ID_LARGEST INT64_C(9007199254740992)

struct table {
	const char *name;
	sqlite3_stmt *clear, *insert;
	int columns;
};

static struct table tables[TABLES] = {
	{.name = "setting"}, {.name = "decision"}, {.name = "alert"},
	{.name = "silence"}, {.name = "offer"},	   {.name = "contracts"},
};

/* Values with a meaning, so that the fuzzer does not have to find them. */
static const char *words[WORDS_MAX];
static size_t n_words;

static void add_word(const char *word)
{
	FUZZ_CHECK(n_words < WORDS_MAX);
	words[n_words++] = word;
}

static void add_words(void)
{
	static const char *const others[] = {
		"{\"numbers\":{\"u\":0.97},\"moves\":[{\"vgpu\":\"a\",\"from_pct\":50}]}",
		"{\"numbers\":[1],\"moves\":\"x\"}",
		"{\"version\":1,\"gpus\":[],\"vgpus\":[]}",
		"overload_pct",
		"policy",
		"name",
		"flavor_cap_pct",
		"min_newcomer_pct",
		"qos",
		"static",
		"100",
		"nan",
		"on",
		"gpu0",
	};

	for (int i = 0; i < OFFER_STATES; i++)
		add_word(offer_state_name((enum offer_state)i));
	add_word(decision_kind_name(DECISION_SET));
	add_word(decision_result_name(DECISION_WRITTEN));
	add_word("foreign_write");
	add_word("severe_overload");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		add_word(others[i]);
}

static void prepare_table(sqlite3 *db, struct table *table)
{
	char sql[160];
	size_t n;

	snprintf(sql, sizeof(sql), "DELETE FROM %s", table->name);
	FUZZ_CHECK(sqlite3_prepare_v2(db, sql, -1, &table->clear, NULL) == SQLITE_OK);
	snprintf(sql, sizeof(sql), "SELECT * FROM %s", table->name);
	FUZZ_CHECK(sqlite3_prepare_v2(db, sql, -1, &table->insert, NULL) == SQLITE_OK);
	table->columns = sqlite3_column_count(table->insert);
	sqlite3_finalize(table->insert);
	n = (size_t)snprintf(sql, sizeof(sql), "INSERT OR REPLACE INTO %s VALUES (?", table->name);
	for (int i = 1; i < table->columns; i++)
		n += (size_t)snprintf(sql + n, sizeof(sql) - n, ",?");
	snprintf(sql + n, sizeof(sql) - n, ")");
	FUZZ_CHECK(sqlite3_prepare_v2(db, sql, -1, &table->insert, NULL) == SQLITE_OK);
}

/* Opens the database with the schema of the daemon, and a reader of the daemon, once. */
static sqlite3 *open_database(struct db_reader **ret_reader)
{
	static struct db_reader *reader;
	static sqlite3 *db;
	struct err err = {""};

	if (!db) {
		/* only possible before the first use of sqlite */
		FUZZ_CHECK(sqlite3_config(SQLITE_CONFIG_URI, 1) == SQLITE_OK);
		FUZZ_CHECK(sqlite3_open_v2(DATABASE, &db,
					   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
						   SQLITE_OPEN_URI,
					   NULL) == SQLITE_OK);
		FUZZ_CHECK(schema_migrate(db, "fuzz", schema_steps, schema_version, &err) == 0);
		for (size_t i = 0; i < TABLES; i++)
			prepare_table(db, &tables[i]);
		FUZZ_CHECK(db_reader_open(DATABASE, &reader, &err) == 0);
		add_words();
	}
	*ret_reader = reader;
	return db;
}

/* --- the rows of the input --- */

struct bytes {
	const uint8_t *data;
	size_t size;
};

static uint8_t take_byte(struct bytes *in)
{
	if (in->size == 0)
		return 0;
	in->size--;
	return *in->data++;
}

static const uint8_t *take_bytes(struct bytes *in, size_t n)
{
	const uint8_t *bytes = in->data;

	in->data += n;
	in->size -= n;
	return bytes;
}

static void bind_text(struct bytes *in, sqlite3_stmt *insert, int column, bool blob)
{
	size_t n = take_byte(in) * 8U + 1;

	n = n < in->size ? n : in->size;
	if (blob)
		(void)sqlite3_bind_blob(insert, column, take_bytes(in, n), (int)n, SQLITE_STATIC);
	else
		(void)sqlite3_bind_text(insert, column, (const char *)take_bytes(in, n), (int)n,
					SQLITE_STATIC);
}

static void bind_number(struct bytes *in, sqlite3_stmt *insert, int column, bool real)
{
	int64_t whole = 0;
	double number;
	size_t n = in->size < sizeof(whole) ? in->size : sizeof(whole);

	memcpy(&whole, take_bytes(in, n), n);
	memcpy(&number, &whole, sizeof(number));
	if (real)
		(void)sqlite3_bind_double(insert, column, number);
	else
		(void)sqlite3_bind_int64(insert, column, whole);
}

static void bind_value(struct bytes *in, sqlite3_stmt *insert, int column)
{
	switch (take_byte(in) % 7) {
	case 0:
		(void)sqlite3_bind_null(insert, column);
		break;
	case 1:
		(void)sqlite3_bind_int64(insert, column, (int8_t)take_byte(in));
		break;
	case 2:
		bind_number(in, insert, column, false);
		break;
	case 3:
		bind_number(in, insert, column, true);
		break;
	case 4:
		bind_text(in, insert, column, false);
		break;
	case 5:
		bind_text(in, insert, column, true);
		break;
	default:
		(void)sqlite3_bind_text(insert, column, words[take_byte(in) % n_words], -1,
					SQLITE_STATIC);
		break;
	}
}

static void run(sqlite3_stmt *statement)
{
	(void)sqlite3_step(statement); /* a row that violates a constraint is not stored */
	(void)sqlite3_reset(statement);
}

static void fill_tables(sqlite3 *db, struct bytes *in)
{
	FUZZ_CHECK(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK);
	for (size_t i = 0; i < TABLES; i++)
		run(tables[i].clear);
	for (int n = 0; in->size > 0 && n < ROWS_MAX; n++) {
		const struct table *table = &tables[take_byte(in) % TABLES];

		for (int i = 1; i <= table->columns; i++)
			bind_value(in, table->insert, i);
		run(table->insert);
	}
	FUZZ_CHECK(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
}

/* --- loading --- */

static void ignore_alert(void *userdata, const struct alert *alert, enum alert_event event)
{
	(void)userdata, (void)alert, (void)event;
}

static void ignore_offer(void *userdata, const struct offer *offer)
{
	(void)userdata, (void)offer;
}

static void check_json(json_t *document)
{
	char *text = document ? json_dumps(document, JSON_COMPACT) : NULL;

	FUZZ_CHECK(text);
	free(text);
	json_decref(document);
}

static void check_decisions(const struct decisions *decisions)
{
	const struct decision *d;
	int64_t id = 0;

	while ((d = decisions_after(decisions, id))) {
		FUZZ_CHECK(d->id > id && d->id <= ID_LARGEST);
		(void)decision_concerns(d, "a");
		check_json(encode_decision(d));
		id = d->id;
	}
}

static void check_offers(struct offers *offers, struct instant now)
{
	int64_t id = INT64_MIN;

	for (size_t i = 0; i < offers_count(offers); i++) {
		const struct offer *offer = offers_at(offers, i);

		FUZZ_CHECK(offer->id >= id && offer->life.state < OFFER_STATES);
		id = offer->id;
		check_json(encode_offer(offer, now));
	}
}

/* The next start must accept what save.c stores of the loaded values. */
static void check_stored(const struct manager *m)
{
	struct operator_state *state = operator_state_new(), *decoded;
	json_t *root = json_object();
	struct err err = {""};

	FUZZ_CHECK(state && root);
	json_decref(state->settings);
	state->settings = json_incref(m->store.settings.live);
	state->silences = m->recorder.silences;
	for (size_t i = 0; i < alerts_count(m->recorder.alerts); i++) {
		const struct alert *alert = alerts_at(m->recorder.alerts, i);

		if (alert->acked_ms)
			FUZZ_CHECK(operator_state_add_ack(state, alert->id, alert->acked_ms) == 0);
	}
	operator_state_encode(state, root);
	if (operator_state_decode(root, OPERATOR_SMALLER_SINCE, &decoded, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		FUZZ_CHECK(false);
	}
	operator_state_free(decoded);
	operator_state_free(state);
	json_decref(root);
}

static void check_state(struct manager *m, struct instant now)
{
	struct view view = {.host = &m->host,
			    .config = &m->store.settings.config,
			    .silences = &m->recorder.silences,
			    .alerts = m->recorder.alerts,
			    .offers = m->sales.offers};

	FUZZ_CHECK(config_check(&m->store.settings.config, NULL) == 0);
	check_decisions(m->recorder.decisions);
	check_offers(m->sales.offers, now);
	check_json(resource_encode_alerts(&view, true));
	check_json(resource_encode_offers(&view, true, now));
	for (int i = 0; i < m->recorder.silences.n; i++)
		check_json(encode_silence(&m->recorder.silences.list[i]));
	check_stored(m);
	/* The next ids are valid, too. */
	FUZZ_CHECK(decisions_last_id(m->recorder.decisions) < ID_LARGEST);
	FUZZ_CHECK(alerts_last_id(m->recorder.alerts) < ID_LARGEST);
	FUZZ_CHECK(offers_last_id(m->sales.offers) < ID_LARGEST);
	FUZZ_CHECK(m->recorder.silences.last_id < ID_LARGEST);
	FUZZ_CHECK(m->store.audit.last_id < ID_LARGEST);
}

static void load(struct manager *m, struct db_reader *reader)
{
	struct instant now = {.wall_ms = INT64_C(1763664596123), .mono_ns = NS_PER_S};
	struct db_last_ids last = {0};
	struct loaded_contracts loaded;
	struct err err = {""};

	(void)db_query_last_ids(reader, &last);
	m->recorder.decisions = decisions_new(0);
	m->recorder.alerts = alerts_new(last.alert, ignore_alert, m);
	m->sales.offers = offers_new(last.offer, ignore_offer, m);
	FUZZ_CHECK(m->recorder.decisions && m->recorder.alerts && m->sales.offers);
	if (load_contracts(&m->store, m->caps.actuator.journal, reader, &loaded, &err) == 0)
		contracts_fini(&loaded.contracts);
	load_operator_state(&m->store, NULL);
	(void)load_history(&m->store, reader, NULL, &err);
	decisions_continue_after(m->recorder.decisions, last.decision);
	if (m->store.audit.last_id < last.audit)
		m->store.audit.last_id = last.audit;
	check_state(m, now);
	decisions_free(m->recorder.decisions);
	alerts_free(m->recorder.alerts);
	offers_free(m->sales.offers);
	json_decref(m->store.settings.live);
	sale_keys_fini(&m->store.keys);
	audit_rows_fini(&m->store.audit);
}

/* Opens an empty cap journal, which has no vGPU whose contract can be missing. */
static void open_journal(struct manager *m)
{
	char path[FUZZ_PATH_MAX];
	int fd = fuzz_file("", 0, path);

	FUZZ_CHECK(cap_journal_open(path, &m->caps.actuator.journal, NULL) == 0);
	close(fd);
}

FUZZ(rows)
{
	static struct config config; /* static: too large for the stack */
	static struct manager m;
	struct bytes in = {.data = data, .size = size};
	struct db_reader *reader;
	sqlite3 *db = open_database(&reader);

	if (config.n_gpus == 0) {
		config_default(&config);
		open_journal(&m);
		manager_wire(&m);
	}
	fill_tables(db, &in);
	m.store.settings.config = m.store.settings.file_config = config;
	memset(&m.recorder.silences, 0, sizeof(m.recorder.silences));
	m.store.revision = 0;
	snprintf(m.store.contracts_path, sizeof(m.store.contracts_path),
		 "/nonexistent/contracts.json");
	load(&m, reader);
	return 0;
}
