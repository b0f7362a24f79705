/* SPDX-License-Identifier: MIT */
/* main() of the unit tests: see unit.h. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

static struct unit_test *first;
static size_t count;
static unit_fixture each_begin, each_end, once_begin, once_end;

/* Compilers may run constructors in another order than that of their definition. */
void unit_add(struct unit_test *test)
{
	struct unit_test **at = &first;

	while (*at && (*at)->order < test->order)
		at = &(*at)->next;
	test->next = *at;
	*at = test;
	count++;
}

void unit_use(unit_fixture set_up, unit_fixture tear_down)
{
	each_begin = set_up;
	each_end = tear_down;
}

void unit_use_once(unit_fixture set_up, unit_fixture tear_down)
{
	once_begin = set_up;
	once_end = tear_down;
}

void unit_skip_all(const char *name, const char *reason)
{
	printf("1..1\nok 1 - %s # SKIP %s\n", name, reason);
	exit(0);
}

static int begin(void **state)
{
	const struct unit_test *test = *state;
	unit_fixture set_up = test->own_fixture ? test->set_up : each_begin;

	return set_up ? set_up() : 0;
}

static int end(void **state)
{
	const struct unit_test *test = *state;
	unit_fixture tear_down = test->own_fixture ? test->tear_down : each_end;

	return tear_down ? tear_down() : 0;
}

static void run(void **state)
{
	const struct unit_test *test = *state;

	test->run();
}

int main(void)
{
	struct CMUnitTest *tests = calloc(count, sizeof(*tests));
	size_t n = 0;
	int failed;

	if (!tests || (once_begin && once_begin() != 0)) {
		printf("1..1\nnot ok 1 - the fixture of all tests\n");
		return 1;
	}
	for (struct unit_test *test = first; test; test = test->next)
		tests[n++] = (struct CMUnitTest){test->name, run, begin, end, test};
	failed = _cmocka_run_group_tests("tests", tests, n, NULL, NULL);
	if (once_end && once_end() != 0)
		failed++;
	free(tests);
	return failed;
}
