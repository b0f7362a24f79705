/* SPDX-License-Identifier: MIT */
/* Rounds of functions with a quantum each. Calls no external function. */
#include "kernel/sched/quanta.h"

#define RATIO_BITS 31

/* --- allotted time --- */

static void settle(const struct quanta *quanta, struct quanta_function *function)
{
	uint64_t ns = quanta->elapsed_ns - function->allotted_at_ns;

	while (ns > 0) {
		uint32_t part_ns = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
		uint64_t sum = (uint64_t)part_ns * function->ratio + function->rest;

		function->allotted_ns += sum >> RATIO_BITS;
		function->rest = (uint32_t)sum & ((1U << RATIO_BITS) - 1);
		ns -= part_ns;
	}
	function->allotted_at_ns = quanta->elapsed_ns;
}

/* Returns part / whole in units of 2^-31. Long division, for kernels without 64-bit division. */
static uint32_t ratio_of(uint32_t part, uint32_t whole)
{
	uint64_t rest = part;
	uint32_t ratio = 0;
	int bit;

	if (rest >= whole)
		return 1U << RATIO_BITS;
	for (bit = 0; bit < RATIO_BITS; bit++) {
		rest <<= 1;
		ratio <<= 1;
		if (rest >= whole) {
			rest -= whole;
			ratio |= 1;
		}
	}
	return ratio;
}

/* Call after each change of the quanta or of the present functions. */
static void divide(struct quanta *quanta)
{
	uint32_t sum = 0, n_present = 0;
	unsigned int i;

	for (i = 0; i < quanta->n_functions; i++) {
		const struct quanta_function *function = &quanta->functions[i];

		sum += function->present ? function->quantum_ms : 0;
		n_present += function->present;
	}
	for (i = 0; i < quanta->n_functions; i++) {
		struct quanta_function *function = &quanta->functions[i];

		settle(quanta, function);
		if (!function->present)
			function->ratio = 0;
		else if (sum == 0)
			function->ratio = ratio_of(1, n_present);
		else
			function->ratio = ratio_of(function->quantum_ms, sum);
	}
}

uint64_t quanta_allotted_ns(struct quanta *quanta, unsigned int function)
{
	settle(quanta, &quanta->functions[function]);
	return quanta->functions[function].allotted_ns;
}

/* --- settings --- */

static void clear_function(struct quanta_function *function, bool present)
{
	function->present = present;
	function->pending = false;
	function->endless = false;
	function->priority = QUANTA_LOW;
	function->quantum_ms = 0;
	function->timeout_us = 0;
	function->active_ns = 0;
	function->allotted_ns = 0;
	function->allotted_at_ns = 0;
	function->ratio = 0;
	function->rest = 0;
}

void quanta_start(struct quanta *quanta, struct quanta_function *functions,
		  unsigned int n_functions)
{
	unsigned int i;

	quanta->functions = functions;
	quanta->n_functions = n_functions;
	quanta->turn = QUANTA_PF;
	quanta->place = QUANTA_PF;
	quanta->has_turn = false;
	quanta->must_yield = false;
	quanta->turn_ns = 0;
	quanta->elapsed_ns = 0;
	for (i = 0; i < n_functions; i++)
		clear_function(&functions[i], i == QUANTA_PF);
	divide(quanta);
}

void quanta_set_present(struct quanta *quanta, unsigned int function, bool present)
{
	quanta->functions[function].present = present;
	divide(quanta);
}

static uint64_t quantum_ns(const struct quanta_function *function)
{
	return function->quantum_ms == 0 ? UINT64_MAX : function->quantum_ms * 1000000ULL;
}

void quanta_set_quantum(struct quanta *quanta, unsigned int function, uint32_t ms)
{
	struct quanta_function *changed = &quanta->functions[function];
	bool unlimited = quanta->has_turn && quanta->turn == function && !quanta->must_yield &&
			 quanta->turn_ns == UINT64_MAX;

	changed->quantum_ms = ms < QUANTA_QUANTUM_MAX_MS ? ms : QUANTA_QUANTUM_MAX_MS;
	if (unlimited && !changed->endless)
		quanta->turn_ns = quantum_ns(changed);
	divide(quanta);
}

void quanta_set_timeout(struct quanta *quanta, unsigned int function, uint32_t us)
{
	quanta->functions[function].timeout_us =
		us < QUANTA_TIMEOUT_MAX_US ? us : QUANTA_TIMEOUT_MAX_US;
}

void quanta_set_priority(struct quanta *quanta, unsigned int function,
			 enum quanta_priority priority)
{
	quanta->functions[function].priority = (uint8_t)priority;
}

void quanta_set_work(struct quanta *quanta, unsigned int function, bool pending, bool endless)
{
	quanta->functions[function].pending = pending;
	quanta->functions[function].endless = endless;
}

/* --- turns --- */

static bool idles_through(const struct quanta_function *function)
{
	return function->priority == QUANTA_NORMAL && function->quantum_ms > 0;
}

static bool wants_turn(const struct quanta_function *function)
{
	return function->present && (function->pending || idles_through(function));
}

static bool is_high(const struct quanta *quanta, unsigned int function)
{
	return quanta->functions[function].priority == QUANTA_HIGH;
}

/* Returns the number of the next function, or n_functions if no function wants a turn. */
static unsigned int next_turn(const struct quanta *quanta)
{
	bool high = is_high(quanta, QUANTA_PF) && wants_turn(&quanta->functions[QUANTA_PF]);
	unsigned int i = quanta->place, tried;

	if (high && !(quanta->has_turn && quanta->turn == QUANTA_PF))
		return QUANTA_PF;
	for (tried = 0; tried < quanta->n_functions; tried++) {
		i = i + 1 < quanta->n_functions ? i + 1 : 0;
		if (!is_high(quanta, i) && wants_turn(&quanta->functions[i]))
			return i;
	}
	return high ? QUANTA_PF : quanta->n_functions;
}

static bool turn_lasts(const struct quanta *quanta)
{
	const struct quanta_function *function = &quanta->functions[quanta->turn];

	if (!quanta->has_turn || !function->present || quanta->turn_ns == 0)
		return false;
	if (function->pending)
		return !quanta->must_yield || function->endless;
	return !quanta->must_yield && quanta->turn_ns != UINT64_MAX && idles_through(function);
}

/* Returns true if the last turn is over, but its work must first be stopped for another function.
 */
static bool must_wait(const struct quanta *quanta, unsigned int next)
{
	const struct quanta_function *function = &quanta->functions[quanta->turn];

	return quanta->has_turn && !quanta->must_yield && function->present && function->pending &&
	       function->endless && next != quanta->turn;
}

static void begin_turn(struct quanta *quanta)
{
	unsigned int next = next_turn(quanta);

	if (must_wait(quanta, next)) {
		uint32_t us = quanta->functions[quanta->turn].timeout_us;

		quanta->must_yield = true;
		quanta->turn_ns = us == 0 ? UINT64_MAX : us * 1000ULL;
		return;
	}
	quanta->must_yield = false;
	quanta->has_turn = next < quanta->n_functions;
	if (!quanta->has_turn)
		return;
	quanta->turn = next;
	if (!is_high(quanta, next))
		quanta->place = next;
	quanta->turn_ns = quantum_ns(&quanta->functions[next]);
}

struct quanta_function *quanta_pick(struct quanta *quanta, uint64_t *ret_run_ns)
{
	if (!turn_lasts(quanta))
		begin_turn(quanta);
	if (!quanta->has_turn)
		return NULL;
	*ret_run_ns = quanta->turn_ns;
	return &quanta->functions[quanta->turn];
}

bool quanta_pass(struct quanta *quanta, uint64_t ns)
{
	struct quanta_function *function = &quanta->functions[quanta->turn];

	quanta->elapsed_ns += ns;
	if (!quanta->has_turn)
		return false;
	if (function->pending)
		function->active_ns += ns;
	if (quanta->turn_ns != UINT64_MAX)
		quanta->turn_ns -= ns < quanta->turn_ns ? ns : quanta->turn_ns;
	return quanta->must_yield && quanta->turn_ns == 0;
}
