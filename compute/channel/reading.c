/* SPDX-License-Identifier: MIT */
/* Bounded readings of a client's page. */
#include "compute/channel/reading.h"

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Adds the growth of a total of the page since the last reading to @total, up to @max. */
static void add_growth(uint64_t now, uint64_t *raw, uint64_t *total, uint64_t max)
{
	uint64_t growth = now > *raw ? now - *raw : 0;

	*raw = now;
	*total += least(growth, max - *total); /* @max never decreases, so it is at least @total */
}

void compute_reading_begin(struct compute_reading *reading, const struct compute_page *page,
			   uint64_t now_ns)
{
	*reading = (struct compute_reading){.begin_ns = now_ns};
	reading->raw.units = load(&page->units);
	reading->raw.submissions = load(&page->submissions);
	reading->raw.sampled = load(&page->sampled);
	reading->raw.busy_ns = load(&page->busy_ns);
	reading->raw.build_ns = load(&page->build_ns);
	reading->raw.refused = load(&page->memory_refused);
	reading->raw.whole = load(&page->kernels_whole);
}

static void take_totals(struct compute_reading *reading, const struct compute_page *page,
			uint64_t age_ns)
{
	uint64_t units_max = COMPUTE_UNITS_PER_US_MAX * (age_ns / 1000 + 1);

	add_growth(load(&page->units), &reading->raw.units, &reading->units, units_max);
	add_growth(load(&page->submissions), &reading->raw.submissions, &reading->submissions,
		   units_max);
	add_growth(load(&page->sampled), &reading->raw.sampled, &reading->sampled, units_max);
	add_growth(load(&page->busy_ns), &reading->raw.busy_ns, &reading->busy_ns, age_ns);
	/* Several threads may build at the same time, so that this total has no natural bound. */
	add_growth(load(&page->build_ns), &reading->raw.build_ns, &reading->build_ns, UINT64_MAX);
	add_growth(load(&page->memory_refused), &reading->raw.refused, &reading->memory_refused,
		   UINT64_MAX);
	add_growth(load(&page->kernels_whole), &reading->raw.whole, &reading->kernels_whole,
		   UINT64_MAX);
}

void compute_reading_take(struct compute_reading *reading, const struct compute_page *page,
			  uint64_t now_ns)
{
	uint32_t request = __atomic_load_n(&page->request, __ATOMIC_SEQ_CST);

	take_totals(reading, page, now_ns - reading->begin_ns);
	reading->wants = request & COMPUTE_REQUEST_WANTS;
	reading->wants_ns = least(load(&page->request_ns), now_ns);
	/* Pairs with the submission of the client: see wire.h. */
	reading->in_flight_ns = least(__atomic_load_n(&page->in_flight_ns, __ATOMIC_SEQ_CST),
				      COMPUTE_IN_FLIGHT_MAX_NS);
	reading->in_flight = load(&page->in_flight) > 0 || reading->in_flight_ns > 0;
	reading->ends_ns = least(load(&page->ends_ns), now_ns + COMPUTE_IN_FLIGHT_MAX_NS);
	if (reading->ends_ns < now_ns)
		reading->ends_ns = now_ns;
	reading->submit_ns = least(load(&page->submit_ns), now_ns);
	reading->finish_ns = least(load(&page->finish_ns), now_ns);
	reading->memory_bytes = least(load(&page->memory_bytes), COMPUTE_MEMORY_MAX_BYTES);
}
