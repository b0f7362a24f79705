/* SPDX-License-Identifier: MIT */
/* The choice of [gpu] sharing, on a backend in memory whose scheduler the tests define. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gpu/io.h"
#include "tests/unit/unit.h"

#define BUSY "the other discipline stays"

struct gpu {
	bool has_guarantees; /* otherwise the scheduler has only limits */
	bool has_third;	     /* a third discipline is in force; by_default does not change it */
	bool cannot_change;  /* every change fails */
	bool guarantees;
	int calls;
};

static struct gpu fake;
static struct gpu_ops ops;
static struct gpu_io_patience patience;
static struct gpu_io *io;
static struct err err;

static int fake_open(const struct gpu_config *config, struct gpu **ret_gpu, struct err *reterr)
{
	(void)config, (void)reterr;
	*ret_gpu = &fake;
	return 0;
}

static void fake_close(struct gpu *gpu)
{
	(void)gpu;
}

static void fake_traits(const struct gpu *gpu, struct gpu_traits *ret_traits)
{
	*ret_traits = (struct gpu_traits){.step_pct = 1, .guarantees = gpu->guarantees};
}

static int fake_set_sharing(struct gpu *gpu, bool guarantee, bool by_default, struct err *reterr)
{
	gpu->calls++;
	if (gpu->cannot_change)
		return err_fail(reterr, EIO, "sharing = %s: I/O error",
				gpu_sharing_name(guarantee));
	if (gpu->has_third && by_default) {
		gpu->guarantees = false;
		(void)err_fail(reterr, EBUSY, BUSY);
		return 1;
	}
	if (guarantee && !gpu->has_guarantees)
		return err_fail(reterr, EOPNOTSUPP, "sharing = guarantee: only hard caps");
	gpu->guarantees = guarantee;
	return 0;
}

/* These functions replace gpu/gpu.c. */
const struct gpu_ops *gpu_at(size_t index)
{
	return index == 0 ? &ops : NULL;
}

const struct gpu_ops *gpu_find(const char *backend)
{
	return strcmp(backend, "fake") == 0 ? &ops : NULL;
}

const struct gpu_ops *gpu_auto(const struct gpu_config *config)
{
	(void)config;
	return NULL;
}

static int open_fake(const char *sharing, bool paper_mode)
{
	struct gpu_config config = {.name = "gpu0", .backend = "fake", .paper_mode = paper_mode};

	snprintf(config.sharing, sizeof(config.sharing), "%s", sharing);
	assert_int_equal(gpu_io_new(&config, &patience, &io, &err), 0);
	return gpu_io_wait_open(io, 0, &err);
}

static bool guarantees(void)
{
	struct gpu_traits traits;

	gpu_io_traits(io, &traits);
	return traits.guarantees;
}

static int set_up(void)
{
	fake = (struct gpu){.has_guarantees = true};
	ops = (struct gpu_ops){.name = "fake",
			       .in_memory = true,
			       .open = fake_open,
			       .close = fake_close,
			       .traits = fake_traits,
			       .set_sharing = fake_set_sharing};
	err.msg[0] = '\0';
	return 0;
}

static int tear_down(void)
{
	io = gpu_io_free(io);
	return 0;
}

FIXTURE(set_up, tear_down)

static const struct choice {
	const char *name, *sharing;
	struct gpu gpu;
	bool paper_mode, only_limits;
	int result;
	bool guarantees;
	const char *why;
} choices[] = {
	{"auto takes guarantee", "auto", .gpu.has_guarantees = true, .guarantees = true, .why = ""},
	{"auto without it is hard", "auto", .why = "sharing = guarantee: only hard caps"},
	{"auto on a backend without it", "auto", .only_limits = true,
	 .why = "backend fake has only hard caps"},
	{"auto in paper mode", "auto", .gpu.has_guarantees = true, .paper_mode = true,
	 .why = "the caps of the paper are hard limits (paper_mode = on)"},
	{"auto resets guarantee in paper mode", "auto",
	 .gpu = {.has_guarantees = true, .guarantees = true}, .paper_mode = true,
	 .why = "the caps of the paper are hard limits (paper_mode = on)"},
	{"auto does not change a third discipline", "auto",
	 .gpu = {.has_guarantees = true, .has_third = true}, .why = BUSY},
	{"auto does not change it in paper mode", "auto", .gpu.has_third = true, .paper_mode = true,
	 .why = BUSY},
	{"auto fails if neither can be set", "auto", .gpu.cannot_change = true, .result = -EIO},
	{"guarantee", "guarantee", .gpu.has_guarantees = true, .guarantees = true, .why = ""},
	{"guarantee replaces a third discipline", "guarantee",
	 .gpu = {.has_guarantees = true, .has_third = true}, .guarantees = true, .why = ""},
	{"guarantee without it", "guarantee", .result = -EINVAL},
	{"guarantee on a backend without it", "guarantee", .only_limits = true, .result = -EINVAL},
	{"hard", "hard", .gpu = {.has_guarantees = true, .guarantees = true}, .why = ""},
	{"hard replaces a third discipline", "hard", .gpu.has_third = true, .why = ""},
	{"hard on a backend without guarantees", "hard", .only_limits = true, .why = ""},
};

TEST_WITH(the_sharing_is_chosen_at_the_start, set_up, NULL)
{
	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		const struct choice *choice = &choices[i];
		int r;

		(void)set_up();
		fake = choice->gpu;
		if (choice->only_limits)
			ops.set_sharing = NULL;
		r = open_fake(choice->sharing, choice->paper_mode);
		if (r != choice->result || (r == 0 && guarantees() != choice->guarantees))
			fail_msg("%s: %d %s", choice->name, r, err.msg);
		if (r == 0 && strcmp(gpu_io_sharing_why(io), choice->why) != 0)
			fail_msg("%s: reason \"%s\"", choice->name, gpu_io_sharing_why(io));
		(void)tear_down();
	}
}

TEST(paper_mode_changes_an_open_gpu)
{
	assert_int_equal(open_fake("auto", false), 0);
	assert_true(guarantees());
	assert_int_equal(gpu_io_choose_sharing(io, true, &err), 0);
	assert_false(guarantees());
	assert_non_null(strstr(gpu_io_sharing_why(io), "paper_mode = on"));
	assert_int_equal(gpu_io_choose_sharing(io, false, &err), 0);
	assert_true(guarantees());
	assert_string_equal(gpu_io_sharing_why(io), "");
}

TEST(a_failed_change_keeps_the_earlier_reason)
{
	assert_int_equal(open_fake("auto", false), 0);
	fake.cannot_change = true;
	assert_int_equal(gpu_io_choose_sharing(io, true, &err), -EIO);
	assert_string_equal(err.msg, "sharing = hard: I/O error");
	assert_true(guarantees());
	assert_string_equal(gpu_io_sharing_why(io), "");
}
