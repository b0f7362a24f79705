/* SPDX-License-Identifier: MIT */
/* Reads the names of the vGPUs of a GPU, and their raw samples, ordered by time and vGPU. */
#include <errno.h>

#include "db/reader.h"

/* CROSS JOIN makes sqlite read the samples in the order of their key. */
static const char samples_sql[] =
	"SELECT ts_ms, id, gpu, dt_s, cap_pct, initial_cap_pct, load_pct, util_pct, fps,"
	" target_fps, frame_p99_ms, short_of_target, broken, gap"
	" FROM sample s CROSS JOIN vgpu v ON v.num = s.vgpu"
	" WHERE ts_ms >= ?1 AND ts_ms < ?2 AND gpu = ?3 ORDER BY ts_ms, s.vgpu";

struct name_receiver {
	db_name_fn name;
	void *userdata;
};

static int take_name(void *userdata, sqlite3_stmt *row)
{
	const struct name_receiver *receiver = userdata;
	const char *name = (const char *)sqlite3_column_text(row, 0);

	return name ? receiver->name(receiver->userdata, name) : 0;
}

int db_query_names(struct db_reader *reader, const char *gpu, db_name_fn name, void *userdata)
{
	return reader_query(
		reader,
		&(struct reader_statement){.sql = "SELECT id FROM vgpu WHERE gpu = ?1 ORDER BY num",
					   .text = gpu},
		take_name, &(struct name_receiver){.name = name, .userdata = userdata});
}

int db_query_samples(struct db_reader *reader, const char *gpu, int64_t from_ms, int64_t to_ms,
		     db_row_fn sample, void *userdata, int64_t *ret_kept_from_ms)
{
	int64_t kept_from_ms = 0;
	int r;

	if (to_ms <= from_ms)
		return -EINVAL;
	r = reader_begin(reader);
	if (r < 0)
		return r;
	r = reader_run(reader,
		       &(struct reader_statement){.sql = "SELECT raw_from_ms FROM progress"},
		       reader_take_int, &kept_from_ms);
	if (r == 0)
		r = reader_run_records(reader,
				       &(struct reader_statement){
					       .sql = samples_sql,
					       .numbers = (int64_t[]){from_ms, to_ms},
					       .n = 2,
					       .text = gpu,
				       },
				       RECORD_SAMPLE, sample, userdata);
	if (r >= 0)
		*ret_kept_from_ms = kept_from_ms;
	return reader_end(reader, r);
}
