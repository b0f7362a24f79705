/* SPDX-License-Identifier: MIT */
/* Equality of two wanted states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "gover-fleet/model/wanted.h"

static const struct wanted example = {
	.gpus = {{.name = "gpu0",
		  .classes = {{"CUSTOM_GOVER_SLOT_25", 1, 2}, {"CUSTOM_GOVER_SLOT_50", 0, 1}},
		  .n_classes = 2,
		  .policy = "qos"},
		 {.name = "gpu1", .overloaded = true}},
	.n_gpus = 2,
};

static void set_gpus(struct wanted *w)
{
	w->n_gpus = 1;
}
static void set_name(struct wanted *w)
{
	strcpy(w->gpus[1].name, "gpu2");
}
static void set_policy(struct wanted *w)
{
	strcpy(w->gpus[0].policy, "none");
}
static void set_overloaded(struct wanted *w)
{
	w->gpus[1].overloaded = false;
}
static void set_draining(struct wanted *w)
{
	w->gpus[1].draining = true;
}
static void set_classes(struct wanted *w)
{
	w->gpus[0].n_classes = 1;
}
static void set_class(struct wanted *w)
{
	w->gpus[0].classes[1].name[18] = '6';
}
static void set_contracts(struct wanted *w)
{
	w->gpus[0].classes[1].contracts = 1;
}
static void set_offers(struct wanted *w)
{
	w->gpus[0].classes[1].offers = 0;
}

static void each_difference_is_seen(void **state)
{
	static void (*const changes[])(struct wanted *) = {
		set_gpus,    set_name,	set_policy,    set_overloaded, set_draining,
		set_classes, set_class, set_contracts, set_offers,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct wanted changed = example;

		changes[i](&changed);
		if (wanted_equal(&example, &changed) || wanted_equal(&changed, &example))
			fail_msg("change %zu was not seen", i);
	}
}

static void bytes_that_no_member_uses_make_no_difference(void **state)
{
	struct wanted changed = example;

	(void)state;
	assert_true(wanted_equal(&example, &example));
	memcpy(changed.gpus[0].name, "gpu0\0left", 10);
	changed.gpus[0].classes[2].offers = 9;
	changed.gpus[2].draining = true;
	assert_true(wanted_equal(&example, &changed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_difference_is_seen),
		cmocka_unit_test(bytes_that_no_member_uses_make_no_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
