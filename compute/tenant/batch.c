/* SPDX-License-Identifier: MIT */
/*
 * Batches of submissions and their device time. The estimates are a hash table with open
 * addressing. Entries are claimed with a compare-and-swap, never freed.
 */
#include "compute/tenant/batch.h"

#define ENTRIES 4096u /* a power of two */
#define PROBES	16u

static struct estimate table[ENTRIES];
static struct estimate shared = {.key = 1}; /* of all kinds that find no entry */

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ (x >> 32);
}

struct estimate *estimate_find(const void *object, uint64_t size)
{
	uint64_t class = size ? 64u - (uint64_t)__builtin_clzll(size) : 0;
	uint64_t key = mix((uint64_t)(uintptr_t)object + (class << 56));

	if (key == 0)
		key = 1;
	for (uint64_t i = 0; i < PROBES; i++) {
		struct estimate *entry = &table[(key + i) & (ENTRIES - 1)];
		uint64_t known = __atomic_load_n(&entry->key, __ATOMIC_RELAXED);

		if (known == key)
			return entry;
		if (known == 0 &&
		    (__atomic_compare_exchange_n(&entry->key, &known, key, false, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED) ||
		     known == key))
			return entry;
	}
	return &shared;
}

uint64_t estimate_predict(const struct estimate *estimate)
{
	uint64_t ns = __atomic_load_n(&estimate->ns, __ATOMIC_RELAXED);

	return ns ? ns : ESTIMATE_FIRST_NS;
}

bool estimate_begin_sample(struct estimate *estimate, uint32_t turn)
{
	if (__atomic_load_n(&estimate->samples, __ATOMIC_RELAXED) < ESTIMATE_SAMPLES)
		return true;
	if (__atomic_load_n(&estimate->turn, __ATOMIC_RELAXED) == turn)
		return false;
	__atomic_store_n(&estimate->turn, turn, __ATOMIC_RELAXED);
	return true;
}

bool estimate_is_new(const struct estimate *estimate)
{
	return __atomic_load_n(&estimate->ns, __ATOMIC_RELAXED) == 0;
}

void estimate_learn(struct estimate *estimate, uint64_t ns)
{
	uint64_t before = __atomic_load_n(&estimate->ns, __ATOMIC_RELAXED), after;
	uint32_t samples = __atomic_load_n(&estimate->samples, __ATOMIC_RELAXED);

	if (ns > ESTIMATE_MAX_NS)
		ns = ESTIMATE_MAX_NS;
	if (ns == 0)
		ns = 1;
	/* The mean of the first measurements, then a moving mean over about eight. */
	if (samples < 8)
		samples++;
	after = before == 0 ? ns
			    : (uint64_t)((int64_t)before +
					 ((int64_t)ns - (int64_t)before) / (int64_t)samples);
	__atomic_store_n(&estimate->ns, after ? after : 1, __ATOMIC_RELAXED);
	__atomic_store_n(&estimate->samples, samples, __ATOMIC_RELAXED);
}

/* --- batches --- */

bool batch_add(struct batch *batch, const struct batch_item *item, unsigned int tracked,
	       bool out_of_order, uint32_t turn)
{
	bool sample = estimate_begin_sample(item->estimate, turn);

	if (batch->n == 0)
		batch->first_host_ns = item->host_ns;
	else
		batch->estimated_ns += estimate_predict(batch->last.estimate);
	batch->n++;
	batch->units += item->is_unit;
	batch->unmeasured += item->is_unmeasured;
	batch->predicted_ns += item->predicted_ns;
	batch->last = *item;
	return sample || out_of_order || tracked == 0 || batch->n >= BATCH_COUNT_MAX ||
	       batch->estimated_ns + item->predicted_ns >= BATCH_LENGTH_NS;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * The device time of a batch with several submissions. If the last one waited in the queue, the
 * device worked without a gap, and the time since the end of earlier work is exact. Otherwise there
 * may have been gaps, which the estimates do not contain. The same holds if the device may have
 * compiled in between.
 */
static uint64_t batch_time(const struct batch *batch, const struct batch_times *times,
			   uint64_t mark)
{
	uint64_t own = times->end - times->start;
	uint64_t age = batch->last.host_ns - batch->first_host_ns;
	uint64_t first_queued = times->queued > age ? times->queued - age : 0;
	uint64_t begin = mark > first_queued ? mark : first_queued;
	uint64_t window = times->end > begin ? times->end - begin : 0;
	uint64_t estimated = batch->estimated_ns + own;

	if (times->start - times->queued > 2 * batch->estimated_ns / batch->n + own &&
	    !batch->last.is_new && mark >= first_queued)
		return window;
	return least(estimated, window > own ? window : own);
}

void batch_finish(const struct batch *batch, const struct batch_times *times, bool failed,
		  struct batch_mark *mark, struct gate_work *ret_work)
{
	uint64_t end = __atomic_load_n(&mark->end, __ATOMIC_RELAXED), begin;
	bool measured = times->valid && times->end >= times->start && times->start >= times->queued;
	struct gate_work work = {
		.submissions = batch->n,
		.units = batch->units - (failed && batch->last.is_unit),
		.predicted_ns = batch->predicted_ns,
		.unmeasured = batch->unmeasured,
	};

	if (!measured) {
		work.busy_ns = batch->estimated_ns + estimate_predict(batch->last.estimate);
	} else {
		begin = end > times->start ? end : times->start;
		if (batch->n > 1)
			work.busy_ns = batch_time(batch, times, end);
		else if (times->end > begin)
			work.busy_ns = times->end - begin;
		if (!failed)
			estimate_learn(batch->last.estimate, times->end - times->start);
		work.sampled = 1;
		while (end < times->end &&
		       !__atomic_compare_exchange_n(&mark->end, &end, times->end, true,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
	}
	*ret_work = work;
}
