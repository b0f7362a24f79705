/* SPDX-License-Identifier: MIT */
/* With a fake GPU: caps are written in the right order, and no more is given than was freed. */
#include <sqlite3.h>

#include "db/db.h"
#include "gover-d/core/history.h"
#include "tests/unit/gover-d/core/test-actuate.h"

/*
 * Caps and moves are words of an id and a percentage, "a50"; 0 is no limit. Faults are "aw"
 * (writing a's cap fails), "ar" (reading it back does) and "a46" (it comes out at 46 whatever is
 * written). Each move's error is a letter: . none, E the device's, S nothing left to give.
 */
static const struct {
	const char *rule, *before, *moves, *faults, *journal, *after, *errors;
} rows[] = {
	{"a steal: the decrease is written first", "a50 b50", "a40 b60", "", "a40 b60", "a40 b60",
	 ".."},
	{"in whatever order the moves are given", "a50 b50", "b60 a40", "", "a40 b60", "a40 b60",
	 ".."},
	{"two givers, one receiver", "a40 b30 c30", "c50 a30 b20", "", "a30 b20 c50", "a30 b20 c50",
	 "..."},
	{"the free pool needs nobody's decrease", "a30 b30", "b70", "", "b70", "a30 b70", "."},
	{"no more than the free pool is given", "a30 b60", "a50", "", "a40", "a40 b60", "S"},
	{"the pool goes to the receivers in the order given", "a30 b30 c30", "c38 a38", "",
	 "c38 a32", "a32 b30 c38", ".S"},
	{"no pool, no increase", "a50 b50", "b60", "", "", "a50 b50", "S"},
	{"a failed decrease frees nothing", "a50 b50", "a40 b60", "aw", "a40!", "a50 b50", "ES"},
	{"one of two decreases fails: only the other's part is given", "a40 b30 c30", "a30 b20 c50",
	 "aw", "a30! b20 c40", "a40 b20 c40", "E.S"},
	{"a decrease that lands higher frees less", "a50 b50", "a40 b60", "a46", "a40 b54",
	 "a46 b54", "ES"},
	{"what is given is whole steps of what was freed", "a50 b50", "a40 b60", "s5 a43",
	 "a40 b55", "a43 b55", "ES"},
	{"less than a step was freed: nothing is given", "a50 b50", "a40 b60", "s5 a46", "a40",
	 "a46 b50", "ES"},
	{"a decrease that fails half way frees what it did", "a50 b50", "a40 b60", "aw a45",
	 "a40! b55", "a45 b55", "ES"},
	{"a decrease after which there is no limit frees nothing", "a50 b50", "a40 b60", "a0",
	 "a40", "a0 b50", "ES"},
	{"a decrease that cannot be read back frees nothing", "a50 b50", "a40 b60", "ar", "a40",
	 "a50 b50", "ES"},
	{"a failed increase leaves the cap as it was", "a50 b50", "a40 b60", "bw", "a40 b60!",
	 "a40 b50", ".E"},
	{"an increase that lands lower leaves the rest to the next", "a40 b30 c20", "a45 b36",
	 "a43", "a45 b36", "a43 b36 c20", "E."},
	{"an increase that cannot be read back counts as had", "a40 b30 c20", "a50 b31", "ar",
	 "a50", "a50 b30 c20", "ES"},
	{"an increase after which there is no limit leaves nothing", "a40 b30 c20", "a45 b31", "a0",
	 "a45", "a0 b30 c20", "ES"},
	{"a sum over 100 stays as it is: given is what was freed", "a60 b60", "a50 b70", "",
	 "a50 b70", "a50 b70", ".."},
	{"a sum over 100 has no pool", "a60 b60", "b61", "", "", "a60 b60", "S"},
	{"a sum over 100 shrinks", "a60 b60", "a50 b50", "", "a50 b50", "a50 b50", ".."},
	{"a move to where it is writes nothing", "a50 b40", "a50", "", "", "a50 b40", "."},
	{"no limit counts as the whole GPU", "a0 b50", "a50 b60", "", "a50 b60", "a50 b60", ".."},
};

/* Takes the next "a50" off @text. False: there is none. */
static bool take_word(const char **text, int *ret_vgpu, const char **ret_rest)
{
	const char *word = *text + strspn(*text, " ");

	*text = word + strcspn(word, " ");
	*ret_vgpu = word[0] - 'a';
	*ret_rest = word + 1;
	return word[0] != '\0';
}

static int cap_of(const char *digits)
{
	return (int)strtol(digits, NULL, 10);
}

static void place_row(size_t row)
{
	const char *before = rows[row].before, *faults = rows[row].faults, *rest;
	int vgpu;

	while (take_word(&before, &vgpu, &rest))
		stand(vgpu, cap_of(rest));
	while (take_word(&faults, &vgpu, &rest)) {
		if (vgpu == 's' - 'a')
			gpu.traits.step_pct = cap_of(rest);
		else if (*rest == 'w')
			fake.vgpus[vgpu].write_errno = EIO;
		else if (*rest == 'r')
			fake.vgpus[vgpu].read_errno = EIO;
		else
			fake.vgpus[vgpu].lands_at = *rest == '0' ? LIFTED : cap_of(rest);
	}
}

static size_t plan_row(size_t row, struct actuate_move moves[VGPUS])
{
	const char *text = rows[row].moves, *rest;
	size_t n = 0;
	int vgpu;

	while (take_word(&text, &vgpu, &rest))
		moves[n++] = (struct actuate_move){
			.vgpu = &vgpus[vgpu],
			.from_pct = vgpus[vgpu].cap_pct,
			.to_pct = cap_of(rest),
			.read_back_pct = 77, /* must be set by the callee */
			.error = 77,
		};
	return n;
}

/* What the move says of itself, its record in the journal, and the daemon expects, are all what is
 * in force.
 */
static void check_move(size_t row, const struct actuate_move *move)
{
	const char *rule = rows[row].rule, *id = move->vgpu->contract.id;
	const struct gpu_vgpu *device = move->vgpu->device;
	bool written = strchr(rows[row].journal, id[0]);
	int in_force = written && !device->read_errno ? device->cap_pct : -1;

	if (move->read_back_pct != in_force)
		fail_msg("%s: %d was read back of %s, not %d", rule, move->read_back_pct, id,
			 in_force);
	if (written && device->read_errno) /* the last cap and the intended one both stay ours */
		check_journal(rule, id, move->from_pct, move->to_pct);
	else
		check_journal(rule, id, in_force, in_force);
	if (!device->read_errno && move->vgpu->expected_cap_pct != device->cap_pct)
		fail_msg("%s: %d is expected of %s", rule, move->vgpu->expected_cap_pct, id);
}

static void check_after(size_t row)
{
	const char *after = rows[row].after, *rest;
	int vgpu;

	while (take_word(&after, &vgpu, &rest))
		if (vgpus[vgpu].cap_pct != (cap_of(rest) == NO_LIMIT ? 100 : cap_of(rest)))
			fail_msg("%s: the cap of %c is %d", rows[row].rule, 'a' + vgpu,
				 vgpus[vgpu].cap_pct);
}

static void check_row(size_t row)
{
	struct actuate_move moves[VGPUS];
	char errors[VGPUS + 1] = "";
	int before_pct, r;
	size_t n;

	place_row(row);
	n = plan_row(row, moves);
	before_pct = host_gpu_sum_cap_pct(&gpu);
	r = actuate_moves(&actuator, &gpu, moves, n, "steal", now);
	if (strcmp(fake.journal, rows[row].journal) != 0)
		fail_msg("%s: written was '%s'", rows[row].rule, fake.journal);
	for (size_t i = 0; i < n; i++) {
		check_move(row, &moves[i]);
		errors[i] = moves[i].error == 0	       ? '.'
			    : moves[i].error == ENOSPC ? 'S'
			    : moves[i].error == EIO    ? 'E'
						       : '?';
	}
	if (strcmp(errors, rows[row].errors) != 0)
		fail_msg("%s: the errors are '%s'", rows[row].rule, errors);
	if (r != (strspn(errors, ".") == n ? 0 : -EIO))
		fail_msg("%s: returned %d", rows[row].rule, r);
	check_after(row);
	if (fake.most_pct > (before_pct > 100 ? before_pct : 100))
		fail_msg("%s: the caps added up to %d at one time", rows[row].rule, fake.most_pct);
}

static void moves_free_before_they_give_and_give_only_what_was_freed(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down(state);
		assert_int_equal(set_up(state), 0);
		check_row(i);
	}
}

static void a_vgpu_that_does_not_exist_now_takes_nothing_of_the_pool(void **state)
{
	struct actuate_move move = {.vgpu = &vgpus[B], .from_pct = 30, .to_pct = 60};

	(void)state;
	stand(A, 40);
	stand(B, 30);
	stand(C, 30);
	vgpus[C].device = NULL;
	assert_int_equal(actuate_moves(&actuator, &gpu, &move, 1, "pool", now), 0);
	assert_int_equal(vgpus[B].cap_pct, 60);
}

static void a_failed_write_over_no_limit_does_not_look_like_a_foreign_one(void **state)
{
	struct actuate_move move = {.vgpu = &vgpus[A], .from_pct = 100, .to_pct = 50};

	(void)state;
	stand(A, NO_LIMIT);
	fake.vgpus[A].write_errno = EIO;
	assert_int_equal(actuate_moves(&actuator, &gpu, &move, 1, "fit", now), -EIO);
	assert_int_equal(vgpus[A].cap_pct, 100);
	assert_int_equal(vgpus[A].expected_cap_pct, NO_LIMIT);
}

static void a_cap_that_cannot_be_noted_is_not_written(void **state)
{
	static const char full[] = "/dev/full";
	struct actuate_move moves[] = {
		{.vgpu = &vgpus[A], .from_pct = 50, .to_pct = 40},
		{.vgpu = &vgpus[B], .from_pct = 50, .to_pct = 60},
	};
	struct cap_journal *journal = actuator.journal;

	(void)state;
	stand(A, 50);
	stand(B, 50);
	assert_int_equal(cap_journal_open(full, &actuator.journal, NULL), 0);
	assert_int_equal(actuate_moves(&actuator, &gpu, moves, 2, "steal", now), -EIO);
	cap_journal_close(actuator.journal);
	actuator.journal = journal;
	assert_string_equal(fake.journal, "");
	assert_int_equal(moves[0].error, ENOSPC);
	assert_int_equal(moves[1].error, ENOSPC);
	assert_int_equal(moves[1].read_back_pct, -1);
	assert_int_equal(vgpus[A].cap_pct, 50);
}

static void plan_steal(struct actuate_move moves[3])
{
	moves[0] = (struct actuate_move){.vgpu = &vgpus[A], .from_pct = 50, .to_pct = 40};
	moves[1] = (struct actuate_move){.vgpu = &vgpus[B], .from_pct = 30, .to_pct = 40};
	moves[2] = (struct actuate_move){.vgpu = &vgpus[C], .from_pct = 20, .to_pct = 20};
}

static void what_somebody_else_wrote_is_not_written_over_and_nothing_else_is_done(void **state)
{
	struct actuate_move moves[3];

	stand(A, 50);
	stand(B, 30);
	stand(C, 20);
	for (int foreign = A; foreign <= B; foreign++) {
		tear_down(state);
		assert_int_equal(cap_journal_open(journal_path, &actuator.journal, NULL), 0);
		plan_steal(moves);
		fake.vgpus[foreign].cap_pct = 44;
		assert_int_equal(actuate_moves(&actuator, &gpu, moves, 3, "steal", now), -ESTALE);
		assert_string_equal(fake.journal, "");
		for (int i = A; i <= C; i++) {
			assert_int_equal(moves[i].read_back_pct, -1);
			assert_int_equal(moves[i].foreign_pct, i == foreign ? 44 : -1);
			assert_int_equal(moves[i].error, i == foreign ? ESTALE : 0);
			assert_int_equal(vgpus[i].tally.cap_writes, 0);
			assert_int_equal(vgpus[i].write_errno, 0);
		}
		check_journal("somebody else's", "a", -1, -1);
		assert_int_equal(actuate_cap(&actuator, &gpu, &vgpus[foreign], 60, "lease", now),
				 -ESTALE);
		assert_string_equal(fake.journal, "");
		fake.vgpus[foreign].cap_pct = vgpus[foreign].cap_pct;
	}
	fake.vgpus[C].cap_pct = 44; /* does not move */
	plan_steal(moves);
	assert_int_equal(actuate_moves(&actuator, &gpu, moves, 3, "steal", now), 0);
	assert_string_equal(fake.journal, "a40 b40");
}

static void our_own_write_that_was_not_read_back_is_gone_on_from(void **state)
{
	struct actuate_move move = {.vgpu = &vgpus[A], .from_pct = 50, .to_pct = 40};

	(void)state;
	stand(A, 50);
	fake.vgpus[A].read_errno = EIO;
	assert_int_equal(actuate_moves(&actuator, &gpu, &move, 1, "steal", now), -EIO);
	assert_int_equal(fake.vgpus[A].cap_pct, 40);
	check_journal("not read back", "a", 50, 40);
	fake.vgpus[A].read_errno = 0;
	move = (struct actuate_move){.vgpu = &vgpus[A], .from_pct = 50, .to_pct = 30};
	assert_int_equal(actuate_moves(&actuator, &gpu, &move, 1, "steal", now), 0);
	assert_int_equal(fake.vgpus[A].cap_pct, 30);
	check_journal("gone on from", "a", 30, 30);
}

static void one_cap_is_written_outside_any_budget(void **state)
{
	(void)state;
	stand(A, 60);
	stand(B, 60);
	assert_int_equal(actuate_cap(&actuator, &gpu, &vgpus[A], 90, "lease", now), 0);
	assert_int_equal(fake.vgpus[A].cap_pct, 90);
	assert_int_equal(vgpus[A].cap_pct, 90);
	assert_int_equal(vgpus[A].expected_cap_pct, 90);
	assert_int_equal(vgpus[A].tally.cap_writes, 1);
	check_journal("one cap", "a", 90, 90);

	fake.vgpus[A].write_errno = EACCES;
	assert_int_equal(actuate_cap(&actuator, &gpu, &vgpus[A], 50, "lease", now), -EACCES);
	assert_int_equal(vgpus[A].cap_pct, 90);
	check_journal("one cap that fails", "a", 90, 90);
}

static void a_dry_run_changes_nothing_and_says_so(void **state)
{
	struct actuate_move moves[] = {
		{.vgpu = &vgpus[A], .from_pct = 50, .to_pct = 40, .read_back_pct = 3, .error = 3},
		{.vgpu = &vgpus[B], .from_pct = 50, .to_pct = 60, .read_back_pct = 3, .error = 3},
	};

	(void)state;
	stand(A, 50);
	stand(B, 50);
	name_vgpu(C);
	actuator.dry_run = true;
	assert_int_equal(actuate_moves(&actuator, &gpu, moves, 2, "steal", now), 0);
	assert_int_equal(moves[0].read_back_pct, -1);
	assert_int_equal(moves[1].error, 0);
	assert_int_equal(actuate_cap(&actuator, &gpu, &vgpus[A], 90, "lease", now), 0);
	assert_string_equal(fake.journal, "");
	assert_int_equal(vgpus[A].cap_pct, 50);
	assert_int_equal(vgpus[A].tally.cap_writes, 0);

	assert_int_equal(actuate_create(&actuator, &gpu, &vgpus[C], 20, now, &err),
			 CONTROL_E_DRY_RUN);
	assert_non_null(strstr(err.msg, "vGPU c"));
	assert_non_null(strstr(err.msg, "dry run"));
	assert_false(fake.vgpus[C].exists);
	assert_int_equal(actuate_destroy(&actuator, &gpu, &vgpus[A], &err), CONTROL_E_DRY_RUN);
	assert_non_null(strstr(err.msg, "vGPU a"));
	assert_true(fake.vgpus[A].exists);
	assert_non_null(vgpus[A].device);
	check_journal("a dry run", "a", -1, -1);
	check_journal("a dry run", "c", -1, -1);
}

/* --- the history --- */

static void check_cap_writes(const char *path)
{
	static const struct {
		const char *vgpu;
		int from_pct, to_pct, read_back_pct, error;
	} wanted[] = {{"a", 50, 40, 45, EIO}, {"b", 50, 55, 55, 0}};
	sqlite3_stmt *statement;
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT vgpu, from_pct, to_pct, read_back_pct, error, "
					    "gpu, cause, ts_ms FROM cap_write ORDER BY id",
					    -1, &statement, NULL),
			 SQLITE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
		assert_string_equal(sqlite3_column_text(statement, 0), wanted[i].vgpu);
		assert_int_equal(sqlite3_column_int(statement, 1), wanted[i].from_pct);
		assert_int_equal(sqlite3_column_int(statement, 2), wanted[i].to_pct);
		assert_int_equal(sqlite3_column_int(statement, 3), wanted[i].read_back_pct);
		assert_int_equal(sqlite3_column_int(statement, 4), wanted[i].error);
		assert_string_equal(sqlite3_column_text(statement, 5), "gpu0");
		assert_string_equal(sqlite3_column_text(statement, 6), "steal");
		assert_int_equal(sqlite3_column_int64(statement, 7), now.wall_ms);
	}
	assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
	sqlite3_finalize(statement);
	sqlite3_close(db);
}

static void every_cap_that_was_written_stands_in_the_history(void **state)
{
	struct actuate_move moves[] = {
		{.vgpu = &vgpus[A], .from_pct = 50, .to_pct = 40},
		{.vgpu = &vgpus[B], .from_pct = 50, .to_pct = 60},
	};
	static const char *const endings[] = {"", "-wal", "-shm"};
	static struct history history;
	const struct db_retention retention = {.raw_hours = 0};
	char path[64], name[80];

	(void)state;
	snprintf(path, sizeof(path), "%s/history.db", folder);
	actuator.history = &history;
	assert_int_equal(db_open(path, &retention, &history.db, &err), 0);
	stand(A, 50);
	stand(B, 50);
	fake.vgpus[A].lands_at = 45;
	assert_int_equal(actuate_moves(&actuator, &gpu, moves, 2, "steal", now), -EIO);
	history.db = db_close(history.db);
	actuator.history = NULL;
	check_cap_writes(path);
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		snprintf(name, sizeof(name), "%s%s", path, endings[i]);
		(void)unlink(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(moves_free_before_they_give_and_give_only_what_was_freed),
		TEST(a_vgpu_that_does_not_exist_now_takes_nothing_of_the_pool),
		TEST(a_failed_write_over_no_limit_does_not_look_like_a_foreign_one),
		TEST(a_cap_that_cannot_be_noted_is_not_written),
		TEST(what_somebody_else_wrote_is_not_written_over_and_nothing_else_is_done),
		TEST(our_own_write_that_was_not_read_back_is_gone_on_from),
		TEST(one_cap_is_written_outside_any_budget),
		TEST(a_dry_run_changes_nothing_and_says_so),
		TEST(every_cap_that_was_written_stands_in_the_history),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
