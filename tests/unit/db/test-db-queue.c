/* SPDX-License-Identifier: MIT */
/* Compares the ring of records with a plain list of the same records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "db/queue.h"

#define HEAD 8 /* size of a record without its bytes */

static void push_filled(struct queue *queue, int kind, size_t size)
{
	uint8_t *bytes = queue_push(queue, kind, size);

	assert_non_null(bytes);
	memset(bytes, kind, size);
}

static void pop_filled(struct queue *queue, int kind, size_t size)
{
	int found_kind;
	const uint8_t *bytes = queue_front(queue, &found_kind);

	assert_non_null(bytes);
	assert_int_equal(found_kind, kind);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(bytes[i], (uint8_t)kind);
	queue_pop(queue);
}

static void test_an_empty_queue_has_no_front(void **state)
{
	struct queue queue;
	int kind;

	(void)state;
	assert_int_equal(queue_init(&queue, 256), 0);
	assert_null(queue_front(&queue, &kind));
	assert_int_equal(queue_used(&queue), 0);
	queue_fini(&queue);
}

static void test_a_record_larger_than_the_ring_is_rejected(void **state)
{
	struct queue queue;

	(void)state;
	assert_int_equal(queue_init(&queue, 256), 0);
	assert_null(queue_push(&queue, 1, 256 - HEAD + 1));
	push_filled(&queue, 2, 256 - HEAD); /* the record fills the queue to the last byte */
	assert_null(queue_push(&queue, 3, 0));
	assert_int_equal(queue_used(&queue), 256);
	pop_filled(&queue, 2, 256 - HEAD);
	assert_int_equal(queue_used(&queue), 0);
	queue_fini(&queue);
}

static void test_a_wrapped_tail_never_reaches_the_head(void **state)
{
	struct queue queue;
	int kind;

	(void)state;
	assert_int_equal(queue_init(&queue, 256), 0);
	push_filled(&queue, 1, 120); /* two records fill the queue */
	push_filled(&queue, 2, 120);
	pop_filled(&queue, 1, 120);
	assert_null(queue_push(&queue, 3, 120)); /* the tail would reach the head */
	push_filled(&queue, 4, 119);
	pop_filled(&queue, 2, 120);
	pop_filled(&queue, 4, 119);
	assert_null(queue_front(&queue, &kind));
	queue_fini(&queue);
}

static void test_an_empty_ring_restarts_at_its_first_byte(void **state)
{
	struct queue queue;

	(void)state;
	assert_int_equal(queue_init(&queue, 256), 0);
	for (int i = 0; i < 10; i++) {
		push_filled(&queue, i, 40);
		push_filled(&queue, i, 10);
		assert_int_equal(queue.tail, 40 + 10 + 2 * HEAD);
		pop_filled(&queue, i, 40);
		pop_filled(&queue, i, 10);
	}
	queue_fini(&queue);
}

static void test_random_records_are_returned_unchanged_and_in_order(void **state)
{
	static struct {
		int kind;
		size_t size;
	} list[200000];
	size_t in = 0, out = 0, refused = 0;
	struct queue queue;
	int kind;

	(void)state;
	srand(7);
	assert_int_equal(queue_init(&queue, 1000), 0);
	while (in < sizeof(list) / sizeof(list[0])) {
		size_t size = (size_t)(rand() % 150);
		/* Phases of filling and emptying, so that the queue is often full and often empty.
		 */
		bool fill = rand() % 8 < (in / 500 % 2 ? 5 : 3);

		if (fill) {
			uint8_t *bytes = queue_push(&queue, (int)(in % 251), size);

			if (!bytes) {
				/* A record is rejected only if the free space is too small,
				 * wherever the free space is. */
				assert_true(queue_used(&queue) + 2 * (150 + HEAD) > 1000);
				refused++;
				assert_true(out < in);
				pop_filled(&queue, list[out].kind, list[out].size);
				out++;
				continue;
			}
			memset(bytes, (int)(in % 251), size);
			list[in].kind = (int)(in % 251);
			list[in++].size = size;
		} else if (out < in) {
			pop_filled(&queue, list[out].kind, list[out].size);
			out++;
		} else {
			assert_null(queue_front(&queue, &kind));
			assert_int_equal(queue_used(&queue), 0);
		}
	}
	assert_true(refused > 100);
	for (; out < in; out++)
		pop_filled(&queue, list[out].kind, list[out].size);
	assert_null(queue_front(&queue, &kind));
	queue_fini(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_queue_has_no_front),
		cmocka_unit_test(test_a_record_larger_than_the_ring_is_rejected),
		cmocka_unit_test(test_a_wrapped_tail_never_reaches_the_head),
		cmocka_unit_test(test_an_empty_ring_restarts_at_its_first_byte),
		cmocka_unit_test(test_random_records_are_returned_unchanged_and_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
