/* SPDX-License-Identifier: MIT */
/*
 * Busy time is divided by the number of engines of the class. Cycles are a share of the cycles that
 * have passed (xe) or, without these, of the maximum frequency.
 */
#include <string.h>

#include "monitor/truth/meter.h"

/* Returns the entry of a class, and writes whether it is new. The table cannot be full for long:
 * a driver has a fixed set of classes. NULL: it is full. */
static struct meter_engine *find_class(struct meter *meter, const char *name, bool *ret_new)
{
	struct meter_engine *engine = meter->engines;

	*ret_new = false;
	for (int i = 0; i < meter->n_engines; i++, engine++)
		if (strcmp(engine->name, name) == 0)
			return engine;
	if (meter->n_engines == FDINFO_ENGINES_MAX)
		return NULL;
	meter->n_engines++;
	*ret_new = true;
	*engine = (struct meter_engine){.busy_ns = 0};
	strcpy(engine->name, name);
	return engine;
}

/* Raises *@largest to @value. Returns the difference; 0: the value has decreased. */
static uint64_t raise_to(uint64_t *largest, uint64_t value)
{
	uint64_t grown = value > *largest ? value - *largest : 0;

	*largest += grown;
	return grown;
}

static double grown_ns(struct meter_engine *last, const struct fdinfo_engine *now,
		       uint64_t passed_ns)
{
	uint64_t busy_ns = now->busy_valid ? raise_to(&last->busy_ns, now->busy_ns) : 0,
		 cycles = now->cycles_valid ? raise_to(&last->cycles, now->cycles) : 0,
		 total = now->total_valid ? raise_to(&last->total_cycles, now->total_cycles) : 0;
	double capacity = (double)now->capacity;

	if (now->busy_valid)
		return (double)busy_ns / capacity;
	if (now->total_valid)
		return total ? (double)cycles / (double)total / capacity * (double)passed_ns : 0;
	return now->max_hz ? (double)cycles / (double)now->max_hz / capacity * 1e9 : 0;
}

/* Busy time of a client that has just been created; its cycles have no earlier total. */
static double first_ns(const struct fdinfo_engine *now, uint64_t passed_ns)
{
	double ns = now->busy_valid ? (double)now->busy_ns / (double)now->capacity : 0;

	return ns < (double)passed_ns ? ns : (double)passed_ns;
}

void meter_advance(struct meter *meter, const struct fdinfo *info, uint64_t passed_ns, bool is_new,
		   struct meter_growth *ret_growth)
{
	bool first = !meter->primed;

	*ret_growth = (struct meter_growth){.n_engines = 0};
	for (int i = 0; i < info->n_engines; i++) {
		const struct fdinfo_engine *now = &info->engines[i];
		bool new_class;
		struct meter_engine *last = find_class(meter, now->name, &new_class);
		double ns;

		if (!last)
			continue;
		ns = grown_ns(last, now, passed_ns);
		if (first)
			ns = is_new ? first_ns(now, passed_ns) : 0;
		else if (new_class)
			/* amdgpu prints an engine only after its first use */
			ns = first_ns(now, passed_ns);
		ret_growth->engines[ret_growth->n_engines].name = now->name;
		ret_growth->engines[ret_growth->n_engines++].ns = ns;
	}
	meter->primed = true;
}
