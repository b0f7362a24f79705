/* SPDX-License-Identifier: MIT */
/*
 * Tests the parser of kernel heads and the times of kernels. Each row of a table is a program and
 * what is found in it, or the error.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/double/device/device.h"
#include "tests/double/device/duration.h"
#include "tests/double/device/source.h"
#include "tests/unit/unit.h"

static struct source source;

/* Writes the kernels as "name(KIND type:size name, ...)[X,Y,Z];". */
static void describe(char *text, size_t room)
{
	static const char kinds[] = "vgcl";
	size_t n = 0;

	text[0] = '\0';
	for (unsigned k = 0; k < source.n_kernels; k++) {
		const struct source_kernel *kernel = &source.kernels[k];

		n += (size_t)snprintf(text + n, room - n, "%s(", kernel->name);
		for (unsigned a = 0; a < kernel->n_arguments; a++) {
			const struct source_argument *argument =
				&source.arguments[kernel->first + a];

			n += (size_t)snprintf(text + n, room - n, "%s%c %s:%zu %s", a ? ", " : "",
					      kinds[argument->kind], argument->type, argument->size,
					      argument->name);
		}
		n += (size_t)snprintf(text + n, room - n, ")");
		if (kernel->group[0])
			n += (size_t)snprintf(text + n, room - n, "[%zu,%zu,%zu]", kernel->group[0],
					      kernel->group[1], kernel->group[2]);
		n += (size_t)snprintf(text + n, room - n, ";");
	}
}

TEST(heads_are_found)
{
	static const struct {
		const char *text, *found;
	} rows[] = {
		{"", ""},
		{"__kernel void a(void) { }", "a();"},
		{"kernel void a() { } __kernel void b() {}", "a();b();"},
		{"kernel void a(global const uint *restrict p, ulong ns) { p[0] = ns; }",
		 "a(g uint*:0 p, v ulong:8 ns);"},
		{"kernel void a(__constant float4* c, __local int *l, float3 f, unsigned int u,"
		 " unsigned n, struct s v) {}",
		 "a(c float4*:0 c, l int*:0 l, v float3:16 f, v uint:4 u, v unsigned:4 n, v s:0 "
		 "v);"},
		{"__attribute__((reqd_work_group_size(8, 4, 1))) kernel void a() {}",
		 "a()[8,4,1];"},
		{"kernel __attribute__((vec_type_hint(float4)))"
		 " __attribute__((reqd_work_group_size(0x10, 1, 1))) void a() {} kernel void b(){}",
		 "a()[16,1,1];b();"},
		{"kernel void a();\nkernel void a(int x) {}", "a(v int:4 x);"},
		{"/* kernel void no() {} */ // kernel void no() {}\nkernel void a() {}", "a();"},
		{"#define K kernel void no() {} \\\n kernel void no() {}\nkernel void a() {}",
		 "a();"},
		{"  # if 1 /* a comment\n over lines */\nkernel void a() {}", "a();"},
		{"constant char t[] = \"kernel void no() {} \\\" {\"; kernel void a() {}", "a();"},
		{"int f(int x) { if (x) { return '{'; } return 0; } kernel void a() {}", "a();"},
		{"typedef struct { int x; } t; kernel void a(t v) {}", "a(v t:0 v);"},
	};
	char found[512];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(source_parse(rows[i].text, strlen(rows[i].text), &source), 0);
		describe(found, sizeof(found));
		assert_string_equal(found, rows[i].found);
	}
	assert_non_null(source_find(&source, "a"));
	assert_null(source_find(&source, "b"));
}

TEST(wrong_programs_are_rejected)
{
	static const struct {
		const char *text, *log;
	} rows[] = {
		{"kernel int a() {}", "line 1: kernel that does not return void at int"},
		{"\n\nkernel void 1a() {}", "line 3: kernel without a valid name at 1a"},
		{"kernel void a {}", "line 1: kernel without arguments at {"},
		{"kernel void a(int) {}", "line 1: argument without a type or a name at )"},
		{"kernel void a(int x,) {}", "line 1: argument missing at )"},
		{"kernel void a(int *x) {}",
		 "line 1: pointer argument without an address space at )"},
		{"kernel void a(global int x) {}",
		 "line 1: address space of an argument that is no pointer at )"},
		{"kernel void a(global int **x) {}", "line 1: pointer to a pointer at *"},
		{"kernel void a(int x[2]) {}", "line 1: argument that is not understood at ["},
		{"kernel void a(int x, void) {}", "line 1: argument of type void at )"},
		{"kernel void a(int x", "line 1: argument that is not understood at the end"},
		{"kernel void a()", "line 1: kernel without a body at the end"},
		{"kernel void a() {} kernel void a() {}", "line 1: kernel defined twice at {"},
		{"kernel void a() {", "line 1: } missing at the end"},
		{"kernel void a() {}\n}", "line 2: more } than { at }"},
		{"kernel __attribute__((", "line 1: attribute without an end at the end"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(source_parse(rows[i].text, strlen(rows[i].text), &source) < 0);
		assert_string_equal(source.log, rows[i].log);
	}
}

TEST(the_size_of_a_program_is_bounded)
{
	static char text[SOURCE_KERNELS * 32 + 64];
	size_t n = 0;

	for (int i = 0; i < SOURCE_KERNELS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "kernel void k%d() {}\n", i);
	assert_int_equal(source_parse(text, n, &source), 0);
	assert_int_equal(source.n_kernels, SOURCE_KERNELS);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "kernel void last() {}\n");
	assert_true(source_parse(text, n, &source) < 0);
	/* A name that is too long is rejected, not shortened. */
	memset(text, 'a', sizeof(text));
	memcpy(text, "kernel void ", 12);
	assert_true(source_parse(text, sizeof(text), &source) < 0);
}

/* Every beginning of a program is parsed without a read behind its end. */
TEST(beginnings_are_read_within_their_size)
{
	static const char text[] =
		"/*c*/ #x\\\n__attribute__((a(1,2))) kernel void a(global int *p, "
		"float4 v) { \"s\\\"\" '\\'' // e\n }";

	for (size_t size = 0; size < sizeof(text); size++) {
		char *copy = malloc(size ? size : 1);

		assert_non_null(copy);
		memcpy(copy, text, size);
		(void)source_parse(copy, size, &source);
		free(copy);
	}
}

TEST(times_are_parsed)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t ns;
	} rows[] = {
		{"0ns", 0, 0},
		{"250us", 0, 250000},
		{"2ms", 0, 2000000},
		{"1s", 0, 1000000000},
		{"1000s", 0, DEVICE_LAUNCH_NS},
		{"1001s", -1, 0},
		{"5", -1, 0},
		{"us", -1, 0},
		{"-1us", -1, 0},
		{"1.5ms", -1, 0},
		{"1 ms", -1, 0},
		{"1msx", -1, 0},
	};
	uint64_t ns;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ns = 0;
		assert_int_equal(duration_parse(rows[i].text, &ns) < 0 ? -1 : 0, rows[i].rc);
		assert_int_equal(ns, rows[i].ns);
	}
}

TEST(a_list_names_kernels)
{
	static const struct {
		const char *list;
		int rc;
		struct duration duration;
	} rows[] = {
		{"", 0, {7, 7}},
		{"b=1us", 0, {7, 7}},
		{"a=1us", 1, {1000, 0}},
		{" b=2us  a=1us/group", 1, {0, 1000}},
		{"*=3us a=1us", 1, {1000, 0}},
		{"a=1us *=3us", 1, {1000, 0}},
		{"*=3us", 1, {3000, 0}},
		{"a=1", -1, {7, 7}},
		{"a", -1, {7, 7}},
		{"=1us", -1, {7, 7}},
		{"a=1us/item", -1, {7, 7}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct duration duration = {7, 7};
		int rc = duration_find(rows[i].list, "a", &duration);

		assert_int_equal(rc < 0 ? -1 : rc, rows[i].rc);
		if (rc < 0)
			continue;
		assert_int_equal(duration.ns, rows[i].duration.ns);
		assert_int_equal(duration.ns_per_group, rows[i].duration.ns_per_group);
	}
}

TEST(options_name_times)
{
	static const struct {
		const char *options;
		int rc;
		struct duration duration;
	} rows[] = {
		{"", 0, {7, 7}},	  {"-cl-fast-relaxed-math -DN=5 -D NSX=3", 0, {7, 7}},
		{"-D NS=5", 1, {5, 0}},	  {"-w -DNS_PER_GROUP=6 -D  NS=5 -I x", 1, {5, 6}},
		{"-DNS=5us", -1, {7, 7}}, {"-D NS=", -1, {7, 7}},
		{"-D", 0, {7, 7}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct duration duration = {7, 7};
		int rc = duration_of_options(rows[i].options, &duration);

		assert_int_equal(rc < 0 ? -1 : rc, rows[i].rc);
		assert_int_equal(duration.ns, rows[i].duration.ns);
		assert_int_equal(duration.ns_per_group, rows[i].duration.ns_per_group);
	}
}

TEST(a_launch_has_a_longest_time)
{
	assert_int_equal(duration_of_launch((struct duration){5, 2}, 10), 25);
	assert_int_equal(duration_of_launch((struct duration){0, 2}, UINT64_MAX), DEVICE_LAUNCH_NS);
	assert_int_equal(duration_of_launch((struct duration){UINT64_MAX, 1}, 1), DEVICE_LAUNCH_NS);
}
