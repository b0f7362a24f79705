/* SPDX-License-Identifier: MIT */
/*
 * The pure part of kernel slicing: which sources and launches can be sliced, the rectified source,
 * and the parts of a launch, which contain each work-group once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "compute/cl/slice-plan.h"
#include "compute/cl/slice-text.h"
#include "tests/unit/unit.h"

#define KERNEL "__kernel void k(__global int *a) { a[get_global_id(0)] = 1; }"

TEST(sources_are_checked)
{
	static const struct {
		const char *text;
		enum slice_text result;
	} rows[] = {
		{"", SLICE_TEXT_OK},
		{KERNEL, SLICE_TEXT_OK},
		{"int f() { return get_work_dim(); }", SLICE_TEXT_OK},
		{"int f() { if (a) b = 1; else get_group_id (0); }", SLICE_TEXT_OK},
		{"int f() { return get_group_id /* of */\n (0); }", SLICE_TEXT_OK},
		{"#define GID get_global_id\n#define ID(d) get_group_id(d)\n" KERNEL,
		 SLICE_TEXT_OK},
		{"#ifdef get_global_id\n#endif\n" KERNEL, SLICE_TEXT_OK},
		{"/* size_t get_global_id(uint d); enqueue_kernel */" KERNEL, SLICE_TEXT_OK},
		{"// pipe get_global_id\n" KERNEL, SLICE_TEXT_OK},
		{"__constant char t[] = \"pipe \\\" get_global_id\";", SLICE_TEXT_OK},
		{"int pipes(int get_global_ids, int my_get_global_id);", SLICE_TEXT_OK},
		{"#pragma OPENCL EXTENSION pipe : enable\n", SLICE_TEXT_OK},
		{"/* no end", SLICE_TEXT_OK},
		{"\"no end", SLICE_TEXT_OK},
		{"#define get_global_id(d) 0\n" KERNEL, SLICE_TEXT_REDEFINED},
		{"  #  undef get_num_groups\n", SLICE_TEXT_REDEFINED},
		{"#\\\ndefine get_num_groups\n", SLICE_TEXT_REDEFINED},
		{"size_t get_global_linear_id(void) { return 0; }", SLICE_TEXT_REDEFINED},
		{"int get_group_id;", SLICE_TEXT_REDEFINED},
		{"size_t (*f)(uint) = get_global_size;", SLICE_TEXT_REFERENCED},
		{"int f() { g(&get_local_id, get_global_offset); }", SLICE_TEXT_REFERENCED},
		{"int f() { enqueue_kernel(q, flags, range, block); }", SLICE_TEXT_ENQUEUES},
		{"#define RUN enqueue_kernel\n", SLICE_TEXT_ENQUEUES},
		{"__kernel void k(pipe int p) {}", SLICE_TEXT_PIPE},
		{"int gover_slice_groups;", SLICE_TEXT_RESERVED},
		{"#define GOVER_SLICE_TEXT 1\n", SLICE_TEXT_RESERVED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(slice_text_check(rows[i].text, strlen(rows[i].text)),
				 rows[i].result);
	assert_int_equal(slice_text_check("a\0b", 3), SLICE_TEXT_INVALID);
	assert_int_equal(slice_text_check(NULL, 0), SLICE_TEXT_OK);
}

TEST(variables_outside_of_functions_are_found)
{
	static const struct {
		const char *text;
		enum slice_text result;
	} rows[] = {
		{KERNEL, SLICE_TEXT_OK},
		{"__constant int a[2] = { 1, 2 }, b = 3; const int c = 4;", SLICE_TEXT_OK},
		{"struct s { int a; }; typedef struct { int b; } t; enum { A, B };", SLICE_TEXT_OK},
		{"static int f(__global int *a); void f(global int *a, int b) { int c = 1; }",
		 SLICE_TEXT_OK},
		{"void f(void) { for (int i = 0; i < 2; i++) { int j = i; } } int g(int a);",
		 SLICE_TEXT_OK},
		{"int count;", SLICE_TEXT_VARIABLE},
		{"int count = 0;", SLICE_TEXT_VARIABLE},
		{"int a[2] = { 1, 2 };", SLICE_TEXT_VARIABLE},
		{KERNEL " __global int count;", SLICE_TEXT_VARIABLE},
		{"global atomic_int count = ATOMIC_VAR_INIT(0);", SLICE_TEXT_VARIABLE},
		{"void f(void) { static int calls; }", SLICE_TEXT_VARIABLE},
		/* The stronger reason. */
		{"int count; int get_group_id(int d);", SLICE_TEXT_REDEFINED},
		{"int f(void); int count; void g(pipe int p);", SLICE_TEXT_PIPE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t size = strlen(rows[i].text);

		assert_int_equal(slice_text_check(rows[i].text, size), rows[i].result);
	}
}

/* Each beginning of a source is read within its size. */
TEST(beginnings_are_read_within_their_size)
{
	static const char text[] = "#define A \\\n1 /* a */\n\"b\\\"\" // c\n" KERNEL "'d\\'' /* e";

	for (size_t size = 0; size <= strlen(text); size++) {
		char *copy = malloc(size ? size : 1);

		assert_non_null(copy);
		memcpy(copy, text, size);
		(void)slice_text_check(copy, size);
		free(copy);
	}
}

TEST(the_source_follows_the_preamble_with_its_line_numbers)
{
	char *text = slice_text_rectify(KERNEL, strlen(KERNEL), SLICE_TEXT_OK), *at;

	assert_non_null(text);
	at = strstr(text, KERNEL);
	assert_non_null(at);
	assert_memory_equal(at - strlen("#line 1\n"), "#line 1\n", strlen("#line 1\n"));
	/* Directives of the postamble begin a line, whatever the source ends with. */
	assert_int_equal(at[strlen(KERNEL)], '\n');
	assert_non_null(strstr(text, "#define get_group_id(d) gover_slice_group_id(d)\n"));
	assert_null(strstr(text, "#error"));
	free(text);
	text = slice_text_rectify(KERNEL, strlen(KERNEL), SLICE_TEXT_VARIABLE);
	assert_non_null(text);
	assert_non_null(strstr(text, "#error"));
	assert_non_null(strstr(text, KERNEL));
	free(text);
	text = slice_text_rectify(NULL, 0, SLICE_TEXT_OK);
	assert_non_null(text);
	free(text);
}

/* What the preamble computes from the word. */
TEST(the_word_describes_the_launch)
{
	uint32_t word = slice_text_word(1, SLICE_GROUPS_MAX, 1);

	assert_int_equal(word & 0x40000000u, 0);
	assert_int_equal(word, SLICE_GROUPS_MAX);
	word = slice_text_word(2, SLICE_SIDE_MAX, 5);
	assert_true(word & 0x40000000u);
	assert_int_equal(word & 0x7fffu, SLICE_SIDE_MAX);
	assert_int_equal(word >> 15 & 0x7fffu, 5);
	word = slice_text_word(2, 7, SLICE_SIDE_MAX);
	assert_int_equal(word & 0x7fffu, 7);
	assert_int_equal(word >> 15 & 0x7fffu, SLICE_SIDE_MAX);
	assert_true(word < 0x80000000u);
}

TEST(launches_are_checked)
{
	static const size_t zero[3] = {0, 0, 0}, offset[3] = {0, 4, 0};
	static const struct {
		unsigned int dimensions;
		const size_t *offset;
		size_t global[3], local[3];
		enum slice_shape shape;
	} rows[] = {
		{1, NULL, {64}, {16}, SLICE_SHAPE_OK},
		{1, offset, {64}, {16}, SLICE_SHAPE_OK}, /* of a dimension that it has not */
		{2, zero, {64, 32}, {16, 4}, SLICE_SHAPE_OK},
		{0, NULL, {64}, {16}, SLICE_SHAPE_DIMENSIONS},
		{3, NULL, {64, 1, 1}, {16, 1, 1}, SLICE_SHAPE_DIMENSIONS},
		{2, offset, {64, 32}, {16, 4}, SLICE_SHAPE_OFFSET},
		{1, NULL, {64}, {0}, SLICE_SHAPE_UNEVEN},
		{1, NULL, {65}, {16}, SLICE_SHAPE_UNEVEN},
		{2, NULL, {64, 0}, {16, 1}, SLICE_SHAPE_UNEVEN},
		{1, NULL, {SLICE_GROUPS_MAX}, {1}, SLICE_SHAPE_OK},
		{1, NULL, {SLICE_GROUPS_MAX + 1ul}, {1}, SLICE_SHAPE_LARGE},
		{1, NULL, {1ul << 31}, {1024}, SLICE_SHAPE_LARGE},
		{2, NULL, {SLICE_SIDE_MAX, SLICE_SIDE_MAX}, {1, 1}, SLICE_SHAPE_OK},
		{2, NULL, {1, SLICE_SIDE_MAX + 1ul}, {1, 1}, SLICE_SHAPE_LARGE},
	};
	struct slice_launch launch;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(slice_plan_check(rows[i].dimensions, rows[i].offset,
						  rows[i].global, rows[i].local, &launch),
				 rows[i].shape);
		assert_non_null(slice_plan_reason(rows[i].shape));
	}
	assert_int_equal(slice_plan_check(1, NULL, rows[0].global, NULL, &launch),
			 SLICE_SHAPE_LOCAL);
	assert_int_equal(slice_plan_check(1, NULL, NULL, rows[0].local, &launch),
			 SLICE_SHAPE_UNEVEN);
	assert_int_equal(slice_plan_check(2, NULL, rows[2].global, rows[2].local, &launch),
			 SLICE_SHAPE_OK);
	assert_true(launch.groups[0] == 4 && launch.groups[1] == 8);
	assert_true(launch.local[0] == 16 && launch.local[1] == 4);
}

/*
 * Checks that the parts contain each work-group once, in order, and at most @groups each. With a
 * @resize, the number of groups becomes another one after each part.
 */
static void check_parts(uint32_t groups0, uint32_t groups1, uint64_t groups, unsigned int resize)
{
	const struct slice_launch launch = {
		.dimensions = 2, .groups = {groups0, groups1}, .local = {1, 1}};
	CLEANUP_FREE uint8_t *seen = calloc(groups0, groups1);
	struct slice_part part = {.is_last = false};
	uint64_t n = 0, most = groups ? groups : 1;
	struct slice_plan plan;

	assert_non_null(seen);
	slice_plan_begin(&plan, &launch, groups);
	while (slice_plan_next(&plan, &part)) {
		/* In rows that were begun, a part is at least one group wide. */
		assert_true((uint64_t)part.groups[0] * part.groups[1] <= most ||
			    (part.first[0] > 0 && part.groups[0] == 1));
		for (uint32_t y = part.first[1]; y < part.first[1] + part.groups[1]; y++)
			for (uint32_t x = part.first[0]; x < part.first[0] + part.groups[0]; x++) {
				assert_true(x < groups0 && y < groups1);
				assert_int_equal(seen[y * groups0 + x]++, 0);
				n++;
			}
		assert_int_equal(part.is_last, n == (uint64_t)groups0 * groups1);
		if (resize && !part.is_last) {
			most = (most * resize + 1) % 41 + 1;
			slice_plan_resize(&plan, most);
		}
	}
	assert_true(part.is_last);
}

TEST(parts_contain_each_group_once)
{
	static const uint32_t sides[] = {1, 2, 3, 7, 16, 33};

	for (size_t x = 0; x < ARRAY_SIZE(sides); x++)
		for (size_t y = 0; y < ARRAY_SIZE(sides); y++)
			for (uint64_t groups = 0; groups < 40; groups++)
				for (unsigned int resize = 0; resize < 5; resize++)
					check_parts(sides[x], sides[y], groups, resize);
	check_parts(SLICE_SIDE_MAX, 1, UINT64_MAX, 0);
	check_parts(1, SLICE_SIDE_MAX, 1000, 0);
}

/* One estimate is used for all parts but the last. */
TEST(parts_are_even)
{
	const struct slice_launch launch = {.dimensions = 1, .groups = {1001, 1}, .local = {64, 1}};
	struct slice_plan plan;

	slice_plan_begin(&plan, &launch, 1000);
	assert_int_equal(plan.part[0], 501);
}

TEST(the_size_of_a_part_follows_from_the_measured_time)
{
	static const struct {
		uint64_t groups, groups_ns, part_ns, least, wanted;
	} rows[] = {
		{100, 1000, 1000, 1, 100}, {100, 1000, 100, 1, 10},
		{100, 1000, 1, 1, 1},	   {100, 1000, 1, 8, 8},
		{4, 1000, 1, 8, 4},	   {SLICE_GROUPS_MAX, 10000000000, 1500000, 1, 161061},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(slice_plan_groups(rows[i].groups, rows[i].groups_ns,
						   rows[i].part_ns, rows[i].least),
				 rows[i].wanted);
}
