/* SPDX-License-Identifier: MIT */
/*
 * Tests the queue of the device double in virtual time: launches run in submission order and
 * without a gap, only queued launches disappear, and every busy ns is counted exactly once.
 */
#include <string.h>

#include "tests/double/device/device.h"
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
