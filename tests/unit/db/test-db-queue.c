/* SPDX-License-Identifier: MIT */
/* Compares the lists of records with one plain list of the same records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "db/writer.c"
#include "tests/unit/unit.h"

static const enum record_kind kinds[] = {RECORD_PRICE, RECORD_SETTING, RECORD_SILENCE};

static union record {
	struct db_price price;
	struct db_setting setting;
	struct db_silence silence;
} record;

static struct {
	enum record_kind kind;
	char text[16];
} pushed[200000];

static char *text_of(void *any, enum record_kind kind)
{
	union record *r = any;

	return kind == RECORD_PRICE	? r->price.flavor
	       : kind == RECORD_SETTING ? r->setting.key
					: r->silence.reason;
}

/* Pops the records that the queue returns together. Returns their number. */
static size_t pop_run(struct queue *queue, size_t out, size_t in)
{
	enum record_kind kind;
	size_t n;
	const char *records = queue_front(queue, &kind, &n);

	assert_non_null(records);
	assert_true(n > 0 && n <= in - out);
	for (size_t i = 0; i < n; i++) {
		memcpy(&record, records + i * record_types[kind].size, record_types[kind].size);
		assert_int_equal(kind, pushed[out + i].kind);
		assert_string_equal(text_of(&record, kind), pushed[out + i].text);
	}
	queue_pop(queue, kind, n);
	return n;
}

TEST(test_random_records_are_returned_unchanged_and_in_order)
{
	size_t in = 0, out = 0, refused = 0, runs = 0;
	enum record_kind kind = RECORD_PRICE;
	struct queue queue = {0};
	size_t n;

	srand(7);
	queue_init(&queue);
	while (in < ARRAY_SIZE(pushed)) {
		/* phases of filling and emptying, so that lists are often full and often empty */
		if (rand() % 100 < (in / 5000 % 2 ? 90 : 40)) {
			if (rand() % 3 == 0)
				kind = kinds[(size_t)rand() % ARRAY_SIZE(kinds)];
			pushed[in].kind = kind;
			snprintf(pushed[in].text, sizeof(pushed[in].text), "%zu", in);
			strcpy(text_of(&record, kind), pushed[in].text);
			if (queue_push(&queue, kind, &record)) {
				in++;
				continue;
			}
			refused++; /* only a list that is full rejects a record */
			assert_int_equal(queue.lists[kind].n, record_types[kind].queued_max);
			assert_true(queue_presses(&queue));
		} else if (out < in) {
			out += pop_run(&queue, out, in);
			runs++;
		} else {
			assert_null(queue_front(&queue, &kind, &n));
			assert_false(queue_presses(&queue));
		}
	}
	assert_true(refused > 100 && runs < in * 3 / 4);
	while (out < in)
		out += pop_run(&queue, out, in);
	assert_null(queue_front(&queue, &kind, &n));
	queue_fini(&queue);
}
