/* SPDX-License-Identifier: MIT */
/* The connection table: limits per client, which connection is evicted, and time limits. */
#include <stdio.h>

#include "base/clock.h"
#include "gover-d/http/connection-table.h"
#include "tests/unit/unit.h"

static struct connection_table *table;

static int begin(void)
{
	table = connection_table_new();
	assert_non_null(table);
	return 0;
}

static int end(void)
{
	table = connection_table_free(table);
	assert_null(connection_table_free(NULL));
	return 0;
}

FIXTURE(begin, end)

/*
 * Adds @n connections with the fds @from, @from + 1 and so on, one per second from @at_s on. Checks
 * that no connection is evicted.
 */
static void add(const char *client, int from, int n, uint64_t at_s)
{
	int evicted;

	for (int i = 0; i < n; i++)
		assert_int_equal(connection_table_add(table, from + i, client,
						      (at_s + (uint64_t)i) * NS_PER_S, &evicted),
				 0);
}

static void assert_evicts(const char *client, int fd, uint64_t at_s, int wanted)
{
	int evicted = -1;

	assert_int_equal(connection_table_add(table, fd, client, at_s * NS_PER_S, &evicted), 1);
	assert_int_equal(evicted, wanted);
}

TEST(a_client_at_its_limit_loses_its_own_oldest_connection)
{
	add("user 1", 5000, 1, 0);
	add("user 7", 1, CONNECTION_SLOTS_PER_CLIENT, 1);
	assert_evicts("user 7", 5500, 400, 1);
	assert_evicts("user 7", 5501, 401, 2);
	assert_int_equal(connection_table_count(table), CONNECTION_SLOTS_PER_CLIENT + 1);
	/* connection 1 was evicted above, so the count does not change */
	connection_table_remove(table, 1);
	assert_int_equal(connection_table_count(table), CONNECTION_SLOTS_PER_CLIENT + 1);
	connection_table_remove(table, 3);
	assert_int_equal(connection_table_count(table), CONNECTION_SLOTS_PER_CLIENT);
	add("user 7", 5502, 1, 402);
}

TEST(idle_connections_are_evicted_before_replying_ones)
{
	add("a", 1, CONNECTION_SLOTS_PER_CLIENT, 0);
	connection_table_begin_request(table, 1, 0);
	connection_table_begin_request(table, 2, 0);
	/* connection 2 is idle again, but for a shorter time than the other idle connections */
	connection_table_end_request(table, 2, 300 * NS_PER_S);
	assert_evicts("a", 5000, 400, 3);
	for (int fd = 4; fd <= CONNECTION_SLOTS_PER_CLIENT; fd++)
		connection_table_begin_request(table, fd, 400 * NS_PER_S);
	assert_evicts("a", 5001, 401, 2);
	connection_table_begin_request(table, 5000, 401 * NS_PER_S);
	connection_table_begin_request(table, 5001, 401 * NS_PER_S);
	/* all connections are replying: the oldest one is evicted */
	assert_evicts("a", 5002, 402, 1);
}

TEST(a_full_table_evicts_from_the_client_with_most_connections)
{
	char client[32];

	add("large", 1, CONNECTION_SLOTS_PER_CLIENT, 0);
	for (int i = 0; i < CONNECTION_SLOTS - CONNECTION_SLOTS_PER_CLIENT; i++) {
		snprintf(client, sizeof(client), "10.0.%d.%d", i / 100, i % 100);
		add(client, 5000 + i, 1, 1);
	}
	assert_int_equal(connection_table_count(table), CONNECTION_SLOTS);
	assert_evicts("newcomer", 8000, 300, 1);
	assert_evicts("10.0.0.1", 8001, 300, 2);
	assert_evicts("large", 8002, 300, 3);
	assert_int_equal(connection_table_count(table), CONNECTION_SLOTS);
}

TEST(streams_are_not_evicted_and_are_limited)
{
	int evicted;

	add("a", 1, CONNECTION_SLOTS_PER_CLIENT, 0);
	for (int fd = 1; fd <= CONNECTION_SLOTS_PER_CLIENT; fd++) {
		connection_table_begin_request(table, fd, 0);
		assert_int_equal(connection_table_begin_stream(table, fd),
				 fd <= CONNECTION_STREAMS_PER_CLIENT);
	}
	/* connection 1 is already a stream */
	assert_false(connection_table_begin_stream(table, 1));
	assert_evicts("a", 5000, 1, CONNECTION_STREAMS_PER_CLIENT + 1);
	add("b", 8000, 1, 1);
	connection_table_begin_request(table, 8000, 1);
	assert_true(connection_table_begin_stream(table, 8000));
	connection_table_remove(table, 1);
	connection_table_begin_request(table, 5000, 1);
	assert_true(connection_table_begin_stream(table, 5000));
	assert_false(connection_table_begin_stream(table, CONNECTION_SLOTS_PER_CLIENT));
	assert_int_equal(connection_table_add(table, 9000, "a", 1, &evicted), 0);
	assert_int_equal(connection_table_evict_overdue(table, 9 * NS_PER_S), -1);
}

TEST(overdue_connections_are_evicted)
{
	add("a", 1, 4, 0); /* the four connections are added at 0, 1, 2 and 3 s */
	connection_table_begin_request(table, 2, 5 * NS_PER_S);
	connection_table_end_request(table, 2, 5 * NS_PER_S);
	connection_table_begin_request(table, 3, 5 * NS_PER_S);
	connection_table_begin_request(table, 4, 5 * NS_PER_S);
	assert_true(connection_table_begin_stream(table, 4));
	assert_int_equal(
		connection_table_evict_overdue(table, CONNECTION_FIRST_REQUEST_S * NS_PER_S), -1);
	assert_int_equal(
		connection_table_evict_overdue(table, CONNECTION_FIRST_REQUEST_S * NS_PER_S + 1),
		1);
	assert_int_equal(
		connection_table_evict_overdue(table, CONNECTION_FIRST_REQUEST_S * NS_PER_S + 1),
		-1);
	assert_int_equal(connection_table_evict_overdue(
				 table, (5 + CONNECTION_NEXT_REQUEST_S) * NS_PER_S + 1),
			 2);
	assert_int_equal(connection_table_evict_overdue(
				 table, (5 + CONNECTION_NEXT_REQUEST_S) * NS_PER_S + 1),
			 -1);
	assert_int_equal(
		connection_table_evict_overdue(table, (5 + CONNECTION_SEND_S) * NS_PER_S + 1), 3);
	assert_int_equal(connection_table_evict_overdue(table, UINT64_MAX / 2), -1);
	assert_int_equal(connection_table_count(table), 1);
}

TEST(unknown_fds_are_ignored)
{
	connection_table_remove(table, 5);
	connection_table_begin_request(table, 5, 0);
	connection_table_end_request(table, 5, 0);
	assert_false(connection_table_begin_stream(table, 5));
	assert_int_equal(connection_table_count(table), 0);
}
