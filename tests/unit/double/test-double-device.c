/* SPDX-License-Identifier: MIT */
/*
 * Tests the queue of the device double in virtual time: launches run in submission order and
 * without a gap, only queued launches disappear, and every busy ns is counted exactly once. Tests
 * the parser of kernel heads and the times of kernels: each row of a table is a program and what is
 * found in it, or the error.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "tests/double/device/device.h"
#include "tests/double/device/duration.h"
#include "tests/double/device/source.h"
#include "tests/unit/unit.h"

#define MS 1000000ULL

static struct device_state state;

static int new_device(void)
{
	device_init(&state, 1000);
	for (unsigned i = 0; i < 3; i++)
		device_join(&state, i, 100 + i, i == 0 ? "a" : "b", 0);
	return 0;
}

FIXTURE(new_device, NULL)

static struct device_launch submit(unsigned client, uint64_t ns, uint64_t now_ns)
{
	struct device_launch launch = {0};

	assert_int_equal(device_submit(&state, client, ns, now_ns, &launch), 0);
	return launch;
}

TEST(launches_run_in_submission_order)
{
	struct device_launch a = submit(0, 10 * MS, MS), b = submit(1, MS, 2 * MS);
	struct device_launch c = submit(0, MS, 50 * MS);

	assert_int_equal(a.start_ns, MS);
	assert_int_equal(a.end_ns, 11 * MS);
	assert_int_equal(b.start_ns, a.end_ns);
	assert_int_equal(b.end_ns, 12 * MS);
	/* The device was idle since 12 ms. */
	assert_int_equal(c.start_ns, 50 * MS);
	assert_int_equal(state.total.busy_ns, 11 * MS);
	assert_int_equal(state.clients[0].tally.launches, 1);
}

TEST(a_running_launch_counts_in_part)
{
	submit(1, 10 * MS, 0);
	submit(0, 10 * MS, 0);
	device_settle(&state, 4 * MS);
	assert_int_equal(device_busy_ns(&state), 4 * MS);
	assert_int_equal(device_client_busy_ns(&state, 1), 4 * MS);
	assert_int_equal(device_client_busy_ns(&state, 0), 0);
	assert_int_equal(device_tenant_busy_ns(&state, 1), 4 * MS);
	assert_int_equal(state.total.launches, 0);
	device_settle(&state, 30 * MS);
	assert_int_equal(device_busy_ns(&state), 20 * MS);
}

TEST(queued_launches_of_an_ended_client_disappear)
{
	struct device_launch last;

	submit(0, 10 * MS, 0);
	submit(1, 10 * MS, 0);
	submit(0, 10 * MS, 0);
	last = submit(2, MS, 0);
	assert_int_equal(last.start_ns, 30 * MS);
	/* The first launch of client 0 runs and ends; the second one disappears. */
	device_leave(&state, 0, 5 * MS);
	assert_int_equal(device_find(&state, last.seq)->start_ns, 20 * MS);
	assert_int_equal(device_find(&state, last.seq)->end_ns, 21 * MS);
	device_settle(&state, 100 * MS);
	assert_int_equal(state.clients[0].tally.busy_ns, 10 * MS);
	assert_int_equal(state.clients[0].tally.dropped, 1);
	assert_int_equal(state.total.busy_ns, 21 * MS);
	assert_int_equal(state.queued, 0);
}

TEST(the_next_client_with_the_same_number_inherits_nothing)
{
	submit(0, 10 * MS, 0);
	assert_int_equal(device_allocate(&state, 0, 900), 0);
	device_join(&state, 0, 200, "c", MS);
	assert_int_equal(state.total.bytes, 0);
	submit(0, MS, MS);
	device_settle(&state, 100 * MS);
	assert_int_equal(state.clients[0].tally.busy_ns, MS);
	assert_int_equal(state.clients[0].tally.launches, 1);
	assert_int_equal(state.clients[0].queued, 0);
	assert_int_equal(state.tenants[0].tally.busy_ns, 10 * MS);
	assert_int_equal(state.tenants[0].tally.longest_ns, 10 * MS);
	assert_int_equal(state.total.busy_ns, 11 * MS);
}

TEST(the_queue_is_bounded)
{
	struct device_launch launch;

	for (unsigned i = 0; i < DEVICE_CLIENT_QUEUE; i++)
		submit(0, MS, 0);
	assert_int_equal(device_submit(&state, 0, MS, 0, &launch), DEVICE_E_FULL);
	submit(1, MS, 0);
	/* There is room again after the first launch. */
	assert_int_equal(device_submit(&state, 0, MS, MS, &launch), 0);
	for (unsigned i = 3; state.queued < DEVICE_QUEUE; i++) {
		device_join(&state, i, i, "d", MS);
		while (state.queued < DEVICE_QUEUE &&
		       device_submit(&state, i, MS, MS, &launch) == 0)
			;
	}
	assert_int_equal(device_submit(&state, 2, MS, MS, &launch), DEVICE_E_FULL);
	assert_int_equal(device_state_size(&state), sizeof(state));
}

TEST(time_never_goes_back)
{
	struct device_launch a = submit(0, MS, 10 * MS), b = submit(0, MS, 2 * MS);

	assert_int_equal(a.end_ns, 11 * MS);
	assert_int_equal(b.start_ns, 11 * MS);
	assert_int_equal(b.submit_ns, 10 * MS);
}

TEST(memory_is_limited_and_returned)
{
	assert_int_equal(device_allocate(&state, 0, 600), 0);
	assert_int_equal(device_allocate(&state, 1, 401), DEVICE_E_MEMORY);
	assert_int_equal(device_allocate(&state, 1, 400), 0);
	assert_int_equal(device_allocate(&state, 1, UINT64_MAX), DEVICE_E_MEMORY);
	device_free(&state, 1, 100);
	assert_int_equal(state.tenants[1].tally.bytes, 300);
	assert_int_equal(state.tenants[1].tally.peak_bytes, 400);
	assert_int_equal(state.clients[1].tally.refused, 2);
	device_leave(&state, 0, 0);
	assert_int_equal(state.total.bytes, 300);
}

TEST(injected_faults_occur_once)
{
	struct device_launch launch;

	state.faults = (struct device_faults){
		.allocation = 2, .enqueue = 1, .slow_factor = 10, .slow_count = 1};
	assert_int_equal(device_allocate(&state, 0, 1), 0);
	assert_int_equal(device_allocate(&state, 0, 1), DEVICE_E_FAULT);
	assert_int_equal(device_allocate(&state, 0, 1), 0);
	assert_int_equal(device_enqueue(&state), DEVICE_E_FAULT);
	assert_int_equal(device_enqueue(&state), 0);
	launch = submit(0, MS, 0);
	assert_int_equal(launch.ns, 10 * MS);
	launch = submit(0, MS, 0);
	assert_int_equal(launch.ns, MS);
	launch = submit(0, UINT64_MAX, 0);
	assert_int_equal(launch.ns, DEVICE_LAUNCH_NS);
}

TEST(a_lost_device_runs_nothing)
{
	struct device_launch launch;

	submit(0, 10 * MS, 0);
	submit(1, 10 * MS, 0);
	device_lose(&state, 4 * MS);
	assert_int_equal(state.total.busy_ns, 4 * MS);
	assert_int_equal(state.total.launches, 0);
	assert_int_equal(state.total.dropped, 2);
	assert_int_equal(device_submit(&state, 0, MS, 5 * MS, &launch), DEVICE_E_LOST);
	assert_int_equal(device_enqueue(&state), DEVICE_E_LOST);
	assert_int_equal(device_allocate(&state, 0, 1), DEVICE_E_LOST);
	state.faults.lost = 0;
	assert_int_equal(submit(0, MS, 5 * MS).start_ns, 5 * MS);
}

TEST(tenants_beyond_the_table_share_the_last_one)
{
	char label[8] = "t00";

	for (unsigned i = 0; i < DEVICE_TENANTS + 4; i++) {
		label[1] = (char)('A' + i / 10);
		label[2] = (char)('0' + i % 10);
		device_join(&state, 10 + i % 40, 1, label, 0);
	}
	assert_string_equal(state.tenants[DEVICE_TENANTS - 1].label, "other");
	assert_string_equal(state.tenants[DEVICE_TENANTS - 2].label, "tC8");
	assert_int_equal(state.clients[10 + DEVICE_TENANTS].tenant, DEVICE_TENANTS - 1);
}

/* Closed loops of three clients with one launch in flight: first come, first served. */
TEST(short_kernels_starve_behind_long_ones)
{
	static const uint64_t ns[] = {MS / 5, MS, 10 * MS};
	uint64_t end_ns[3] = {0};

	for (uint64_t now_ns = 0; now_ns < 10000 * MS;) {
		unsigned next = 0;

		for (unsigned i = 1; i < 3; i++)
			next = end_ns[i] < end_ns[next] ? i : next;
		now_ns = end_ns[next];
		end_ns[next] = submit(next, ns[next], now_ns).end_ns;
	}
	/* Shares of 0.2, 1 and 10 of 11.2 ms. */
	assert_in_range(state.clients[0].tally.busy_ns / (10000 * MS / 1000), 17, 18);
	assert_in_range(state.clients[1].tally.busy_ns / (10000 * MS / 1000), 89, 90);
	assert_in_range(state.clients[2].tally.busy_ns / (10000 * MS / 1000), 891, 894);
}

/* --- kernel heads and the times of kernels --- */

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
