/* SPDX-License-Identifier: MIT */
/*
 * The only code that changes the machine: order and budget of cap writes, where decreases come
 * first and increases use only freed capacity, and creation and removal of vGPUs, where a failed
 * request leaves no partial state. The fake GPU records every cap write and can inject errors. Any
 * invalid call fails the test, even if real hardware accepts such a call.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "db/db.h"
#include "gover-d/cap/actuate.h"
#include "gover-d/record/history.h"
#include "tests/unit/gover-d/fake-backend.h"
#include "tests/unit/gover-d/full-journal.h"
#include "tests/unit/gover-d/test-cap-journal.h"
#include "tests/unit/unit.h"

#define VGPUS		3
#define NO_LIMIT	0
#define FORCED_NO_LIMIT (-1) /* value of forced_pct: a write removes the limit */

static const struct instant now = {.mono_ns = 7 * NS_PER_S, .wall_ms = 1700000000000};

/* --- the fake --- */

struct gpu_vgpu {
	bool exists, attached;
	int cap_pct;
	int write_errno, read_errno; /* injected errors; 0: none */
	int forced_pct;		     /* cap after any write; 0: the written value */
};

static struct gpu {
	struct gpu_vgpu vgpus[VGPUS]; /* the vGPUs a, b and c */
	int create_errno, attach_errno, destroy_errno;
	int detaches;	  /* number of detach calls */
	int max_sum_pct;  /* largest sum of caps so far */
	char writes[128]; /* all cap writes in order, "a40 b60"; "a40!": failed */
} fake;

static struct gpu_vgpu *fake_find(const char *id)
{
	assert_in_range(id[0], 'a', 'a' + VGPUS - 1);
	return &fake.vgpus[id[0] - 'a'];
}

static void fake_update_max_sum(void)
{
	int sum_pct = 0;

	for (int i = 0; i < VGPUS; i++)
		if (fake.vgpus[i].exists)
			sum_pct += fake.vgpus[i].cap_pct;
	if (sum_pct > fake.max_sum_pct)
		fake.max_sum_pct = sum_pct;
}

static int fake_create(struct gpu *gpu, const char *id, int cap_pct, struct err *reterr)
{
	struct gpu_vgpu *vgpu = fake_find(id);
	int last_pct, intent_pct;
	struct cap_journal *journal;

	/* The journal must contain the intended cap before the vGPU is created. */
	assert_int_equal(cap_journal_open(journal_path, &journal, NULL), 0);
	assert_true(cap_journal_get(journal, id, &last_pct, &intent_pct));
	assert_int_equal(intent_pct, cap_pct);
	cap_journal_close(journal);
	if (gpu->create_errno)
		return err_fail(reterr, gpu->create_errno, "vGPU %s cannot be created", id);
	vgpu->exists = true;
	vgpu->cap_pct = cap_pct;
	return 0;
}

static int fake_destroy(struct gpu *gpu, const char *id, struct err *reterr)
{
	struct gpu_vgpu *vgpu = fake_find(id);

	if (!vgpu->exists)
		return err_fail(reterr, ENOENT, "no vGPU %s", id);
	if (gpu->destroy_errno)
		return err_fail(reterr, gpu->destroy_errno, "vGPU %s: 2 programs use it", id);
	vgpu->exists = false;
	return 0;
}

static int fake_attach(struct gpu *gpu, const char *id, uint64_t now_mono_ns,
		       struct gpu_vgpu **ret_vgpu, struct err *reterr)
{
	struct gpu_vgpu *vgpu = fake_find(id);

	assert_int_equal(now_mono_ns, now.mono_ns);
	assert_false(vgpu->attached);
	if (gpu->attach_errno)
		return err_fail(reterr, gpu->attach_errno, "vGPU %s cannot be opened", id);
	if (!vgpu->exists)
		return err_fail(reterr, ENOENT, "no vGPU %s", id);
	vgpu->attached = true;
	*ret_vgpu = vgpu;
	return 0;
}

static void fake_detach(struct gpu_vgpu *vgpu)
{
	assert_true(vgpu->attached);
	vgpu->attached = false;
	fake.detaches++;
}

static int fake_write_cap(struct gpu_vgpu *vgpu, uint64_t now_mono_ns, int cap_pct)
{
	const char id[] = {(char)('a' + (vgpu - fake.vgpus)), '\0'};
	size_t used = strlen(fake.writes);
	int last_pct, intent_pct;
	struct cap_journal *journal;

	assert_int_equal(now_mono_ns, now.mono_ns);
	assert_int_equal(cap_journal_open(journal_path, &journal, NULL), 0);
	assert_true(cap_journal_get(journal, id, &last_pct, &intent_pct));
	assert_int_equal(last_pct, vgpu->cap_pct);
	assert_int_equal(intent_pct, cap_pct);
	cap_journal_close(journal);
	snprintf(fake.writes + used, sizeof(fake.writes) - used, "%s%s%d%s", used ? " " : "", id,
		 cap_pct, vgpu->write_errno ? "!" : "");
	if (vgpu->forced_pct)
		vgpu->cap_pct = vgpu->forced_pct == FORCED_NO_LIMIT ? NO_LIMIT : vgpu->forced_pct;
	else if (!vgpu->write_errno)
		vgpu->cap_pct = cap_pct;
	fake_update_max_sum();
	return -vgpu->write_errno;
}

static int fake_read_cap(struct gpu_vgpu *vgpu, int *ret_cap_pct)
{
	if (vgpu->read_errno)
		return -vgpu->read_errno;
	*ret_cap_pct = vgpu->cap_pct;
	return 0;
}

static const struct gpu_ops fake_ops = {
	.name = "fake",
	.create = fake_create,
	.destroy = fake_destroy,
	.attach = fake_attach,
	.detach = fake_detach,
	.write_cap = fake_write_cap,
	.read_cap = fake_read_cap,
};

/* --- the fixture --- */

static struct host_gpu gpu;
static struct vgpu vgpus[VGPUS];
static struct settings settings;
static struct actuator actuator = {.settings = &settings};
static struct err err;

static int set_up(void)
{
	memset(&fake, 0, sizeof(fake));
	memset(vgpus, 0, sizeof(vgpus));
	gpu = (struct host_gpu){
		.config = {.name = "gpu0"},

		.traits = {.step_pct = 1, .floor_pct = 1, .creates = true},
	};
	fake_backend_add(&gpu, &fake_ops, &fake);
	settings.dry_run = false;
	err.msg[0] = '\0';
	return cap_journal_open(journal_path, &actuator.journal, NULL);
}

static int tear_down(void)
{
	cap_journal_close(actuator.journal);
	gpu.io = gpu_io_free(gpu.io);
	return unlink(journal_path);
}

static void name_vgpu(int index)
{
	vgpus[index].contract.id[0] = (char)('a' + index);
}

/* Adds vGPU @index to the GPU with the cap @cap_pct. */
static void place_vgpu(int index, int cap_pct)
{
	struct vgpu *vgpu = &vgpus[index];

	name_vgpu(index);
	fake.vgpus[index].exists = fake.vgpus[index].attached = true;
	fake.vgpus[index].cap_pct = vgpu->cap.expected_pct = cap_pct;
	vgpu->cap.pct = cap_pct == NO_LIMIT ? 100 : cap_pct;
	vgpu->device = &fake.vgpus[index];
	host_gpu_insert(&gpu, vgpu);
	fake_update_max_sum();
}

/* Compares the entry of @id in the journal file; -1: no entry. */
static void check_journal(const char *rule, const char *id, int last_pct, int intent_pct)
{
	int last = -1, intent = -1;
	struct cap_journal *journal;

	assert_int_equal(cap_journal_flush(actuator.journal), 0);
	assert_int_equal(cap_journal_open(journal_path, &journal, NULL), 0);
	(void)cap_journal_get(journal, id, &last, &intent);
	cap_journal_close(journal);
	if (last != last_pct || intent != intent_pct)
		fail_msg("%s: the journal contains %d, %d for %s, expected %d, %d", rule, last,
			 intent, id, last_pct, intent_pct);
}

enum { A, B, C };

FIXTURE(set_up, tear_down)

FIXTURE_ONCE(make_folder, remove_folder)

/* --- cap writes --- */

/*
 * before, moves, writes, after: ids of vGPUs and percentages, such as "a50 b50". "a0": no limit.
 * "a40!": this write failed.
 * faults: "aw" (a write to the cap of vGPU a fails), "ar" (the cap of vGPU a cannot be read back),
 * "a46" (any write to the cap of vGPU a sets it to 46), "s5" (caps are multiples of 5).
 * errors: one letter for each move: . none, E device error, S no capacity left (ENOSPC).
 */
static const struct {
	const char *rule, *before, *moves, *faults, *writes, *after, *errors;
} rows[] = {
	{"a steal: the decrease is written first", "a50 b50", "a40 b60", "", "a40 b60", "a40 b60",
	 ".."},
	{"the order of the moves does not matter", "a50 b50", "b60 a40", "", "a40 b60", "a40 b60",
	 ".."},
	{"two givers, one receiver", "a40 b30 c30", "c50 a30 b20", "", "a30 b20 c50", "a30 b20 c50",
	 "..."},
	{"an increase from the free pool needs no decrease", "a30 b30", "b70", "", "b70", "a30 b70",
	 "."},
	{"an increase is limited to the free pool", "a30 b60", "a50", "", "a40", "a40 b60", "S"},
	{"the free pool is allocated in the order of the moves", "a30 b30 c30", "c38 a38", "",
	 "c38 a32", "a32 b30 c38", ".S"},
	{"without a free pool no cap is increased", "a50 b50", "b60", "", "", "a50 b50", "S"},
	{"a failed decrease frees nothing", "a50 b50", "a40 b60", "aw", "a40!", "a50 b50", "ES"},
	{"one of two decreases fails: only the other one frees capacity", "a40 b30 c30",
	 "a30 b20 c50", "aw", "a30! b20 c40", "a40 b20 c40", "E.S"},
	{"a decrease that ends higher than requested frees less", "a50 b50", "a40 b60", "a46",
	 "a40 b54", "a46 b54", "ES"},
	{"an increase is rounded down to whole steps", "a50 b50", "a40 b60", "s5 a43", "a40 b55",
	 "a43 b55", "ES"},
	{"less than one freed step allows no increase", "a50 b50", "a40 b60", "s5 a46", "a40",
	 "a46 b50", "ES"},
	{"a failed decrease that lowered the cap frees the difference", "a50 b50", "a40 b60",
	 "aw a45", "a40! b55", "a45 b55", "ES"},
	{"a decrease that removes the limit frees nothing", "a50 b50", "a40 b60", "a0", "a40",
	 "a0 b50", "ES"},
	{"a decrease that cannot be read back frees nothing", "a50 b50", "a40 b60", "ar", "a40",
	 "a50 b50", "ES"},
	{"a failed increase leaves the cap unchanged", "a50 b50", "a40 b60", "bw", "a40 b60!",
	 "a40 b50", ".E"},
	{"an increase that ends lower leaves the rest for the next", "a40 b30 c20", "a45 b36",
	 "a43", "a45 b36", "a43 b36 c20", "E."},
	{"an increase that cannot be read back uses the free pool", "a40 b30 c20", "a50 b31", "ar",
	 "a50", "a50 b30 c20", "ES"},
	{"an increase that removes the limit leaves no free pool", "a40 b30 c20", "a45 b31", "a0",
	 "a45", "a0 b30 c20", "ES"},
	{"with a sum over 100, freed capacity can be allocated", "a60 b60", "a50 b70", "",
	 "a50 b70", "a50 b70", ".."},
	{"with a sum over 100 the free pool is empty", "a60 b60", "b61", "", "", "a60 b60", "S"},
	{"a sum over 100 can be reduced", "a60 b60", "a50 b50", "", "a50 b50", "a50 b50", ".."},
	{"a move to the current cap writes nothing", "a50 b40", "a50", "", "", "a50 b40", "."},
	{"no limit counts as the whole GPU", "a0 b50", "a50 b60", "", "a50 b60", "a50 b60", ".."},
};

/* Parses the next word of @text, such as "a50". Returns false at the end. */
static bool next_word(const char **text, int *ret_vgpu, const char **ret_rest)
{
	const char *word = *text + strspn(*text, " ");

	*text = word + strcspn(word, " ");
	*ret_vgpu = word[0] - 'a';
	*ret_rest = word + 1;
	return word[0] != '\0';
}

static int parse_cap(const char *digits)
{
	return (int)strtol(digits, NULL, 10);
}

static void apply_row_state(size_t row)
{
	const char *before = rows[row].before, *faults = rows[row].faults, *rest;
	int vgpu;

	while (next_word(&before, &vgpu, &rest))
		place_vgpu(vgpu, parse_cap(rest));
	while (next_word(&faults, &vgpu, &rest)) {
		if (vgpu == 's' - 'a')
			gpu.traits.step_pct = parse_cap(rest);
		else if (*rest == 'w')
			fake.vgpus[vgpu].write_errno = EIO;
		else if (*rest == 'r')
			fake.vgpus[vgpu].read_errno = EIO;
		else
			fake.vgpus[vgpu].forced_pct =
				*rest == '0' ? FORCED_NO_LIMIT : parse_cap(rest);
	}
}

static size_t make_row_moves(size_t row, struct actuate_move moves[VGPUS])
{
	const char *text = rows[row].moves, *rest;
	size_t n = 0;
	int vgpu;

	while (next_word(&text, &vgpu, &rest))
		moves[n++] = (struct actuate_move){
			.vgpu = &vgpus[vgpu],
			.from_pct = vgpus[vgpu].cap.pct,
			.to_pct = parse_cap(rest),
			.read_back_pct = 77, /* any value: actuate_moves() must overwrite it */
			.error = 77,
		};
	return n;
}

/*
 * Checks that the read-back value, the journal entry and the expected cap are the cap of the
 * device.
 */
static void check_move(size_t row, const struct actuate_move *move)
{
	const char *rule = rows[row].rule, *id = move->vgpu->contract.id;
	const struct gpu_vgpu *device = move->vgpu->device;
	bool written = strchr(rows[row].writes, id[0]);
	int in_force = written && !device->read_errno ? device->cap_pct : -1;

	if (move->read_back_pct != in_force)
		fail_msg("%s: %d was read back for %s, not %d", rule, move->read_back_pct, id,
			 in_force);
	/* the actual cap is unknown, so the journal keeps the last and the intended cap */
	if (written && device->read_errno)
		check_journal(rule, id, move->from_pct, move->to_pct);
	else
		check_journal(rule, id, in_force, in_force);
	if (!device->read_errno && move->vgpu->cap.expected_pct != device->cap_pct)
		fail_msg("%s: the expected cap is %d for %s", rule, move->vgpu->cap.expected_pct,
			 id);
}

static void check_after(size_t row)
{
	const char *after = rows[row].after, *rest;
	int vgpu;

	while (next_word(&after, &vgpu, &rest))
		if (vgpus[vgpu].cap.pct != (parse_cap(rest) == NO_LIMIT ? 100 : parse_cap(rest)))
			fail_msg("%s: the cap of %c is %d", rows[row].rule, 'a' + vgpu,
				 vgpus[vgpu].cap.pct);
}

static void check_row(size_t row)
{
	struct actuate_move moves[VGPUS];
	char errors[VGPUS + 1] = "";
	int before_pct, r;
	size_t n;

	apply_row_state(row);
	n = make_row_moves(row, moves);
	before_pct = host_gpu_sum_cap_pct(&gpu);
	r = actuate_moves(&actuator, &gpu, moves, n, "steal", now);
	if (strcmp(fake.writes, rows[row].writes) != 0)
		fail_msg("%s: the cap writes are '%s'", rows[row].rule, fake.writes);
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
	if (fake.max_sum_pct > (before_pct > 100 ? before_pct : 100))
		fail_msg("%s: the sum of caps reached %d", rows[row].rule, fake.max_sum_pct);
}

TEST(increases_follow_decreases_and_use_only_freed_capacity)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tear_down();
		assert_int_equal(set_up(), 0);
		check_row(i);
	}
}

TEST(the_cap_of_a_missing_vgpu_is_reserved)
{
	struct actuate_move move = {.vgpu = &vgpus[B], .from_pct = 30, .to_pct = 60};

	place_vgpu(A, 40);
	place_vgpu(B, 30);
	place_vgpu(C, 30);
	vgpus[C].device = NULL;
	assert_int_equal(actuate_moves(&actuator, &gpu, &move, 1, "pool", now), -EIO);
	assert_int_equal(move.error, ENOSPC);
	assert_int_equal(vgpus[B].cap.pct, 30);
}

TEST(a_failed_first_write_is_not_mistaken_for_an_external_change)
{
	struct actuate_move move = {.vgpu = &vgpus[A], .from_pct = 100, .to_pct = 50};

	place_vgpu(A, NO_LIMIT);
	fake.vgpus[A].write_errno = EIO;
	assert_int_equal(actuate_moves(&actuator, &gpu, &move, 1, "fit", now), -EIO);
	assert_int_equal(vgpus[A].cap.pct, 100);
	assert_int_equal(vgpus[A].cap.expected_pct, NO_LIMIT);
}

TEST(a_cap_is_not_written_if_the_journal_write_fails)
{
	struct actuate_move moves[] = {
		{.vgpu = &vgpus[A], .from_pct = 50, .to_pct = 40},
		{.vgpu = &vgpus[B], .from_pct = 50, .to_pct = 60},
	};
	struct cap_journal *journal = actuator.journal;

	place_vgpu(A, 50);
	place_vgpu(B, 50);
	actuator.journal = open_full_journal();
	assert_int_equal(actuate_moves(&actuator, &gpu, moves, 2, "steal", now), -EIO);
	close_full_journal(actuator.journal);
	actuator.journal = journal;
	assert_string_equal(fake.writes, "");
	assert_int_equal(moves[0].error, EFBIG);
	assert_int_equal(moves[1].error, ENOSPC);
	assert_int_equal(moves[1].read_back_pct, -1);
	assert_int_equal(vgpus[A].cap.pct, 50);
}

static void plan_steal(struct actuate_move moves[3])
{
	moves[0] = (struct actuate_move){.vgpu = &vgpus[A], .from_pct = 50, .to_pct = 40};
	moves[1] = (struct actuate_move){.vgpu = &vgpus[B], .from_pct = 30, .to_pct = 40};
	moves[2] = (struct actuate_move){.vgpu = &vgpus[C], .from_pct = 20, .to_pct = 20};
}

TEST(an_external_change_is_kept_and_stops_all_moves)
{
	struct actuate_move moves[3];

	place_vgpu(A, 50);
	place_vgpu(B, 30);
	place_vgpu(C, 20);
	for (int foreign = A; foreign <= B; foreign++) {
		cap_journal_close(actuator.journal);
		assert_int_equal(unlink(journal_path), 0);
		assert_int_equal(cap_journal_open(journal_path, &actuator.journal, NULL), 0);
		plan_steal(moves);
		fake.vgpus[foreign].cap_pct = 44;
		assert_int_equal(actuate_moves(&actuator, &gpu, moves, 3, "steal", now), -ESTALE);
		assert_string_equal(fake.writes, "");
		for (int i = A; i <= C; i++) {
			assert_int_equal(moves[i].read_back_pct, -1);
			assert_int_equal(moves[i].foreign_pct, i == foreign ? 44 : -1);
			assert_int_equal(moves[i].error, i == foreign ? ESTALE : 0);
			assert_int_equal(vgpus[i].cap_writes, 0);
			assert_int_equal(vgpus[i].write_errno, 0);
		}
		check_journal("external change", "a", -1, -1);
		assert_int_equal(actuate_cap(&actuator, &gpu, &vgpus[foreign], 60, "lease", now),
				 -ESTALE);
		assert_string_equal(fake.writes, "");
		fake.vgpus[foreign].cap_pct = vgpus[foreign].cap.pct;
	}
	/* this vGPU is in no move, so its external change does not matter */
	fake.vgpus[C].cap_pct = 44;
	plan_steal(moves);
	assert_int_equal(actuate_moves(&actuator, &gpu, moves, 3, "steal", now), 0);
	assert_string_equal(fake.writes, "a40 b40");
}

TEST(an_own_write_without_read_back_is_not_an_external_change)
{
	struct actuate_move move = {.vgpu = &vgpus[A], .from_pct = 50, .to_pct = 40};

	place_vgpu(A, 50);
	fake.vgpus[A].read_errno = EIO;
	assert_int_equal(actuate_moves(&actuator, &gpu, &move, 1, "steal", now), -EIO);
	assert_int_equal(fake.vgpus[A].cap_pct, 40);
	check_journal("not read back", "a", 50, 40);
	fake.vgpus[A].read_errno = 0;
	move = (struct actuate_move){.vgpu = &vgpus[A], .from_pct = 50, .to_pct = 30};
	assert_int_equal(actuate_moves(&actuator, &gpu, &move, 1, "steal", now), 0);
	assert_int_equal(fake.vgpus[A].cap_pct, 30);
	check_journal("next write", "a", 30, 30);
}

TEST(actuate_cap_ignores_the_free_pool)
{
	place_vgpu(A, 60);
	place_vgpu(B, 60);
	assert_int_equal(actuate_cap(&actuator, &gpu, &vgpus[A], 90, "lease", now), 0);
	assert_int_equal(fake.vgpus[A].cap_pct, 90);
	assert_int_equal(vgpus[A].cap.pct, 90);
	assert_int_equal(vgpus[A].cap.expected_pct, 90);
	assert_int_equal(vgpus[A].cap_writes, 1);
	check_journal("one cap", "a", 90, 90);

	fake.vgpus[A].write_errno = EACCES;
	assert_int_equal(actuate_cap(&actuator, &gpu, &vgpus[A], 50, "lease", now), -EACCES);
	assert_int_equal(vgpus[A].cap.pct, 90);
	check_journal("one cap that fails", "a", 90, 90);
}

TEST(a_dry_run_changes_nothing_and_reports_it)
{
	struct actuate_move moves[] = {
		{.vgpu = &vgpus[A], .from_pct = 50, .to_pct = 40, .read_back_pct = 3, .error = 3},
		{.vgpu = &vgpus[B], .from_pct = 50, .to_pct = 60, .read_back_pct = 3, .error = 3},
	};

	place_vgpu(A, 50);
	place_vgpu(B, 50);
	name_vgpu(C);
	settings.dry_run = true;
	assert_int_equal(actuate_moves(&actuator, &gpu, moves, 2, "steal", now), 0);
	assert_int_equal(moves[0].read_back_pct, -1);
	assert_int_equal(moves[1].error, 0);
	assert_int_equal(actuate_cap(&actuator, &gpu, &vgpus[A], 90, "lease", now), 0);
	assert_string_equal(fake.writes, "");
	assert_int_equal(vgpus[A].cap.pct, 50);
	assert_int_equal(vgpus[A].cap_writes, 0);

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

static const char *text_of(sqlite3_stmt *statement, int column)
{
	return (const char *)sqlite3_column_text(statement, column);
}

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
		assert_string_equal(text_of(statement, 0), wanted[i].vgpu);
		assert_int_equal(sqlite3_column_int(statement, 1), wanted[i].from_pct);
		assert_int_equal(sqlite3_column_int(statement, 2), wanted[i].to_pct);
		assert_int_equal(sqlite3_column_int(statement, 3), wanted[i].read_back_pct);
		assert_int_equal(sqlite3_column_int(statement, 4), wanted[i].error);
		assert_string_equal(text_of(statement, 5), "gpu0");
		assert_string_equal(text_of(statement, 6), "steal");
		assert_int_equal(sqlite3_column_int64(statement, 7), now.wall_ms);
	}
	assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
	sqlite3_finalize(statement);
	sqlite3_close(db);
}

TEST(each_cap_write_is_appended_to_the_history)
{
	struct actuate_move moves[] = {
		{.vgpu = &vgpus[A], .from_pct = 50, .to_pct = 40},
		{.vgpu = &vgpus[B], .from_pct = 50, .to_pct = 60},
	};
	static const char *const endings[] = {"", "-wal", "-shm"};
	static struct history history;
	const struct db_retention retention = {.raw_hours = 0};
	char path[64], name[80];

	snprintf(path, sizeof(path), "%s/history.db", folder);
	actuator.history = &history;
	assert_int_equal(db_open(path, &retention, &history.db, &err), 0);
	place_vgpu(A, 50);
	place_vgpu(B, 50);
	fake.vgpus[A].forced_pct = 45;
	assert_int_equal(actuate_moves(&actuator, &gpu, moves, 2, "steal", now), -EIO);
	history.db = db_close(history.db);
	actuator.history = NULL;
	check_cap_writes(path);
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		snprintf(name, sizeof(name), "%s%s", path, endings[i]);
		(void)unlink(name);
	}
}

/* --- creation and removal --- */

TEST(a_created_vgpu_has_its_cap_and_a_journal_entry)
{
	name_vgpu(A);
	assert_int_equal(actuate_create(&actuator, &gpu, &vgpus[A], 35, now, &err), 0);
	assert_true(fake.vgpus[A].attached);
	assert_ptr_equal(vgpus[A].device, &fake.vgpus[A]);
	assert_int_equal(fake.vgpus[A].cap_pct, 35);
	assert_int_equal(vgpus[A].cap.pct, 35);
	assert_int_equal(vgpus[A].cap.expected_pct, 35);
	check_journal("created", "a", 35, 35);
}

TEST(a_failed_creation_leaves_nothing)
{
	static const struct {
		const char *rule;
		int create_errno, attach_errno;
	} faults[] = {
		{"creation fails", EACCES, 0},
		{"attaching the new vGPU fails", 0, EMFILE},
	};

	name_vgpu(A);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		int errnum = faults[i].create_errno + faults[i].attach_errno;

		fake.create_errno = faults[i].create_errno;
		fake.attach_errno = faults[i].attach_errno;
		err.msg[0] = '\0';
		if (actuate_create(&actuator, &gpu, &vgpus[A], 35, now, &err) != -errnum)
			fail_msg("%s: wrong return value", faults[i].rule);
		assert_non_null(strstr(err.msg, "vGPU a"));
		if (fake.vgpus[A].exists || vgpus[A].device)
			fail_msg("%s: the vGPU still exists", faults[i].rule);
		check_journal(faults[i].rule, "a", -1, -1);
	}
}

TEST(a_vgpu_is_not_created_if_the_journal_write_fails)
{
	struct cap_journal *journal = actuator.journal;

	name_vgpu(A);
	actuator.journal = open_full_journal();
	assert_int_equal(actuate_create(&actuator, &gpu, &vgpus[A], 35, now, &err),
			 CONTROL_E_NOT_STORED);
	close_full_journal(actuator.journal);
	actuator.journal = journal;
	assert_non_null(strstr(err.msg, "vGPU a"));
	assert_false(fake.vgpus[A].exists);
}

TEST(a_removed_vgpu_has_no_journal_entry)
{
	place_vgpu(A, 50);
	assert_int_equal(cap_journal_set(actuator.journal, "a", 50, 50), 0);
	assert_int_equal(actuate_destroy(&actuator, &gpu, &vgpus[A], &err), 0);
	assert_false(fake.vgpus[A].exists);
	assert_false(fake.vgpus[A].attached);
	assert_null(vgpus[A].device);
	check_journal("removed", "a", -1, -1);
}

TEST(removal_of_a_missing_vgpu_succeeds)
{
	name_vgpu(A);
	assert_int_equal(cap_journal_set(actuator.journal, "a", 50, 50), 0);
	assert_int_equal(actuate_destroy(&actuator, &gpu, &vgpus[A], &err), 0);
	check_journal("missing", "a", -1, -1);
}

TEST(a_vgpu_in_use_stays_attached_with_its_cap)
{
	place_vgpu(A, 50);
	assert_int_equal(cap_journal_set(actuator.journal, "a", 50, 50), 0);
	vgpus[A].monitor.primed = true;
	fake.destroy_errno = EBUSY;
	assert_int_equal(actuate_destroy(&actuator, &gpu, &vgpus[A], &err), CONTROL_E_IN_USE);
	assert_non_null(strstr(err.msg, "2 programs"));
	assert_true(fake.vgpus[A].exists);
	assert_true(fake.vgpus[A].attached);
	assert_ptr_equal(vgpus[A].device, &fake.vgpus[A]);
	assert_int_equal(vgpus[A].cap.pct, 50);
	/* the vGPU stays attached: a detach would close its files */
	assert_int_equal(fake.detaches, 0);
	assert_true(vgpus[A].monitor.primed); /* the monitor keeps its last sample */
	check_journal("in use", "a", 50, 50);
}

TEST(a_removal_succeeds_if_the_journal_write_fails)
{
	struct cap_journal *journal = actuator.journal;

	place_vgpu(A, 50);
	actuator.journal = open_full_journal();
	(void)cap_journal_set(actuator.journal, "a", 50, 50);
	assert_int_equal(actuate_destroy(&actuator, &gpu, &vgpus[A], &err), 0);
	close_full_journal(actuator.journal);
	actuator.journal = journal;
	assert_false(fake.vgpus[A].exists);
}
