/* SPDX-License-Identifier: MIT */
/*
 * Unit tests on cmocka. A test is TEST(name) { ... }. It registers itself, and main() in unit.c
 * runs the tests of a program in the order of their definition.
 *
 *	FIXTURE(set_up, tear_down)		around each TEST() of the program
 *	TEST_WITH(name, set_up, tear_down)	a test with other functions, NULL for none
 *	ALSO_WITH(name, set_up, tear_down)	runs a test once more, with other functions
 *	FIXTURE_ONCE(set_up, tear_down)		around all tests of the program
 *
 * Such a function has no parameters and returns 0 on success. FIXTURE_ONCE runs outside of cmocka,
 * so its functions assert nothing.
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef int (*unit_fixture)(void);

struct unit_test {
	const char *name;
	int order;
	void (*run)(void);
	bool own_fixture; /* else that of FIXTURE() */
	unit_fixture set_up, tear_down;
	struct unit_test *next;
};

/* Adds a test, which must exist until the program ends. */
void unit_add(struct unit_test *test);
void unit_use(unit_fixture set_up, unit_fixture tear_down);
void unit_use_once(unit_fixture set_up, unit_fixture tear_down);

/* Ends the program in set_up of FIXTURE_ONCE(), because its tests cannot run on this machine. */
_Noreturn void unit_skip_all(const char *name, const char *reason);

#define UNIT_BEGIN(id, call)                              \
	__attribute__((constructor)) static void id(void) \
	{                                                 \
		call;                                     \
	}
#define UNIT_ADD(id, ...)                           \
	static struct unit_test id = {__VA_ARGS__}; \
	UNIT_BEGIN(id##_begin, unit_add(&id))

#define TEST(test)                                                              \
	static void test(void);                                                 \
	UNIT_ADD(test##_row, #test, __COUNTER__, test, false, NULL, NULL, NULL) \
	static void test(void)
#define TEST_WITH(test, set_up, tear_down)                                            \
	static void test(void);                                                       \
	UNIT_ADD(test##_row, #test, __COUNTER__, test, true, set_up, tear_down, NULL) \
	static void test(void)
#define ALSO_WITH(test, set_up, tear_down) \
	UNIT_ADD(test##_##set_up, #test, __COUNTER__, test, true, set_up, tear_down, NULL)
#define FIXTURE(set_up, tear_down) UNIT_BEGIN(unit_fixture_begin, unit_use(set_up, tear_down))
#define FIXTURE_ONCE(set_up, tear_down) \
	UNIT_BEGIN(unit_once_begin, unit_use_once(set_up, tear_down))

#endif
