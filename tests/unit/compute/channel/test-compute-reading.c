/* SPDX-License-Identifier: MIT */
/* The arbiter reads bounded values from a page, whatever the client writes. */
#include <string.h>

#include "base/clock.h"
#include "compute/channel/reading.h"
#include "tests/unit/unit.h"

#define BEGIN_NS (100 * NS_PER_S)

static struct compute_page page;
static struct compute_reading reading;

static int setup(void)
{
	memset(&page, 0, sizeof(page));
	compute_reading_begin(&reading, &page, BEGIN_NS);
	return 0;
}

FIXTURE(setup, NULL)

static void take(uint64_t after_ns)
{
	compute_reading_take(&reading, &page, BEGIN_NS + after_ns);
}

TEST(plausible_values_are_read)
{
	page = (struct compute_page){
		.request = 3,
		.request_ns = BEGIN_NS + 5,
		.in_flight_ns = 6,
		.in_flight = 2,
		.submissions = 7,
		.submit_ns = BEGIN_NS + 8,
		.ends_ns = BEGIN_NS + 2 * NS_PER_S,
		.units = 9,
		.busy_ns = 10,
		.sampled = 4,
		.finish_ns = BEGIN_NS + 11,
		.memory_bytes = 12,
		.memory_refused = 13,
		.build_ns = 14,
		.kernels_whole = 15,
	};
	take(NS_PER_S);
	assert_true(reading.wants && reading.in_flight);
	assert_true(reading.wants_ns == BEGIN_NS + 5);
	assert_true(reading.in_flight_ns == 6);
	assert_true(reading.submissions == 7 && reading.submit_ns == BEGIN_NS + 8);
	assert_true(reading.ends_ns == BEGIN_NS + 2 * NS_PER_S);
	assert_true(reading.units == 9 && reading.busy_ns == 10 && reading.sampled == 4);
	assert_true(reading.finish_ns == BEGIN_NS + 11);
	assert_true(reading.memory_bytes == 12 && reading.memory_refused == 13);
	assert_true(reading.build_ns == 14 && reading.kernels_whole == 15);
	page.request = 4;
	page.in_flight = page.in_flight_ns = 0;
	take(3 * NS_PER_S);
	assert_false(reading.wants || reading.in_flight);
	assert_true(reading.ends_ns == BEGIN_NS + 3 * NS_PER_S);
}

TEST(work_before_the_connection_does_not_count)
{
	page.units = 1000;
	page.busy_ns = NS_PER_S;
	compute_reading_begin(&reading, &page, BEGIN_NS);
	page.units = 1001;
	take(1000);
	assert_int_equal(reading.units, 1);
	assert_int_equal(reading.busy_ns, 0);
}

TEST(no_more_device_time_is_read_than_has_passed)
{
	page.busy_ns = NS_PER_S;
	take(NS_PER_S);
	assert_true(reading.busy_ns == NS_PER_S);
	page.busy_ns = 3 * NS_PER_S;
	take(2 * NS_PER_S);
	assert_true(reading.busy_ns == 2 * NS_PER_S);
}

TEST(a_total_never_decreases)
{
	page.units = 50;
	page.busy_ns = 1000;
	take(NS_PER_S);
	page.units = 10;
	page.busy_ns = 0;
	take(2 * NS_PER_S);
	assert_int_equal(reading.units, 50);
	assert_int_equal(reading.busy_ns, 1000);
	page.units = 11;
	page.busy_ns = 1;
	take(3 * NS_PER_S);
	assert_int_equal(reading.units, 51);
	assert_int_equal(reading.busy_ns, 1001);
}

TEST(a_rate_of_units_is_bounded)
{
	page.units = page.submissions = page.sampled = UINT64_MAX;
	take(1000000);
	assert_int_equal(reading.units, 10010);
	assert_int_equal(reading.submissions, 10010);
	assert_int_equal(reading.sampled, 10010);
}

TEST(absurd_state_is_bounded)
{
	uint64_t now_ns = BEGIN_NS + NS_PER_S;

	memset(&page, 0xff, sizeof(page));
	take(NS_PER_S);
	assert_true(reading.wants_ns == now_ns && reading.submit_ns == now_ns &&
		    reading.finish_ns == now_ns);
	assert_true(reading.in_flight_ns == COMPUTE_IN_FLIGHT_MAX_NS);
	assert_true(reading.ends_ns == now_ns + COMPUTE_IN_FLIGHT_MAX_NS);
	assert_true(reading.memory_bytes == COMPUTE_MEMORY_MAX_BYTES);
}
