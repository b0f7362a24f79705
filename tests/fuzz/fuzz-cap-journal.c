/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the cap journal. Every cap read from it must be valid. A cap that was written must be read
 * again with the same value.
 */
#include <errno.h>

#include "gover-d/store/cap-journal.h"
#include "tests/fuzz/fuzz.h"

struct known {
	bool found;
	int last_pct, intent_pct;
};

static struct known look_up(const struct cap_journal *journal, const char *id)
{
	struct known known = {.found = false};

	known.found = cap_journal_get(journal, id, &known.last_pct, &known.intent_pct);
	FUZZ_CHECK(known.last_pct >= 0 && known.last_pct <= 100);
	FUZZ_CHECK(known.intent_pct >= 0 && known.intent_pct <= 100);
	return known;
}

/* On a busy machine, the thread of the journal may get no processor time for long. */
static bool is_done(int r)
{
	FUZZ_CHECK(r == 0 || r == -ETIMEDOUT);
	return r == 0;
}

static void write_and_read_again(struct cap_journal *journal, const char *path)
{
	struct known before = look_up(journal, "a"), known = look_up(journal, "written"), after;

	if (is_done(cap_journal_set(journal, "written", 30, 40)))
		known = (struct known){.found = true, .last_pct = 30, .intent_pct = 40};
	cap_journal_close(journal);

	FUZZ_CHECK(cap_journal_open(path, &journal, NULL) == 0);
	after = look_up(journal, "written");
	FUZZ_CHECK(after.found == known.found && after.last_pct == known.last_pct &&
		   after.intent_pct == known.intent_pct);
	after = look_up(journal, "a");
	FUZZ_CHECK(after.found == before.found && after.last_pct == before.last_pct &&
		   after.intent_pct == before.intent_pct);
	(void)is_done(cap_journal_remove(journal, "written"));
	cap_journal_close(journal);
}

FUZZ(cap_journal)
{
	char path[FUZZ_PATH_MAX];
	int fd = fuzz_file(data, size, path);
	struct cap_journal *journal;

	if (cap_journal_open(path, &journal, NULL) == 0)
		write_and_read_again(journal, path);
	close(fd);
	return 0;
}
