/* SPDX-License-Identifier: MIT */
/* The configuration of GPUs with the backend lib, and keys of several GPUs that conflict. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "compute/arbiter/arbiter.h"
#include "gover-d/config/config.h"
#include "tests/unit/temp-file.h"
#include "tests/unit/unit.h"

static struct config config; /* static: too large for the stack */
static struct err err;

static int load(const char *text)
{
	temp_file_write(text);
	config_default(&config);
	return config_load(&config, temp_file, &err);
}

FIXTURE_ONCE(temp_file_make, temp_file_remove)

TEST(the_socket_has_a_default)
{
	assert_int_equal(load("[gpu a]\nbackend = lib\nsocket = /c\n[gpu b]\nbackend = lib\n"), 0);
	assert_int_equal(config_check(&config, &err), 0);
	assert_string_equal(config.gpus[0].gpu.socket, "/c");
	assert_string_equal(config.gpus[1].gpu.socket, "/run/gover/compute.sock");
}

TEST(the_path_of_the_control_socket_fits)
{
	char text[200];

	assert_int_equal(load("[gpu]\nsocket =\n"), -EINVAL);
	assert_non_null(strstr(err.msg, "allowed: a path (1..99 characters"));
	snprintf(text, sizeof(text), "[gpu]\nsocket = /%098d\n", 0);
	assert_int_equal(load(text), 0);
	snprintf(text, sizeof(text), "[gpu]\nsocket = /%099d\n", 0);
	assert_int_equal(load(text), -EINVAL);
}

TEST(every_discipline_is_allowed)
{
	struct err best;
	char text[64];

	assert_int_equal(load("[gpu]\ndiscipline = best\n"), -EINVAL);
	best = err;
	for (const struct arbiter_discipline *row = arbiter_disciplines; row->name; row++) {
		assert_true(strlen(row->name) < sizeof(config.gpus[0].gpu.discipline));
		assert_non_null(strstr(best.msg, row->name));
		snprintf(text, sizeof(text), "[gpu]\ndiscipline = %s\n", row->name);
		assert_int_equal(load(text), 0);
		assert_string_equal(config.gpus[0].gpu.discipline, row->name);
	}
	config_default(&config);
	assert_string_equal(config.gpus[0].gpu.discipline, "fair");
}

static const struct combination {
	const char *text, *message; /* NULL: allowed */
} combinations[] = {
	{"[gpu]\nbackend = lib\n", NULL},
	{"[gpu]\nbackend = lib\nspeed = 2\n", "above 1 only with backend = sim"},
	{"[gpu]\nbackend = lib\nroot = /x\n", "such as gover or a/b"},
	{"[gpu]\nbackend = lib\nfps_source = bpf\n", "requires backend = softgpu"},
	{"[gpu c]\nbackend = lib\nsharing = guarantee\n",
	 "[gpu c] sharing = guarantee: not possible with backend = lib (allowed with this "
	 "backend: auto or hard)"},
	{"[gpu s]\nbackend = sim\nsharing = guarantee\n[policy]\npaper_mode = on\n",
	 "[gpu s] sharing = guarantee: not possible with [policy] paper_mode = on"},
	{"[gpu s]\nbackend = sim\nsharing = auto\n[policy]\npaper_mode = on\n", NULL},
	{"[gpu c]\nbackend = lib\nsharing = auto\n", NULL},
	{"[gpu a]\nbackend=drm\nparent=nonsense\n", "[gpu a] parent = nonsense: unknown"},
	{"[gpu a]\nbackend=drm\nparent=03:00.0\n[gpu b]\nbackend=drm\nparent=0000:03:00.0\n",
	 "also used by [gpu b]"},
	{"[gpu a]\nbackend=lib\n[gpu b]\nbackend=lib\n", "also used by [gpu b]"},
	{"[gpu a]\nbackend=lib\nsocket = /c\n[gpu b]\nbackend=lib\nsocket = /c.control\n",
	 "[gpu a] socket = /c: also used by [gpu b]"},
	{"[gpu a]\nbackend=lib\nsocket = /c\n[gpu b]\nbackend=lib\nsocket = /c.controls\n", NULL},
	{"[gpu a]\nbackend=lib\nsocket = /c\n[gpu b]\nbackend=sim\nsocket = /c\n", NULL},
	{"[gpu]\nbackend=lib\nsocket = /run/gover/gover.sock\n", "sockets of [daemon] and [fps]"},
	{"[gpu]\nbackend=lib\nsocket = /c\n[fps]\nsocket = /c.control\n", "and [fps]"},
	{"[gpu a]\nbackend=softgpu\n[gpu b]\nbackend=lib\nroot=gover/a\n",
	 "[gpu b] root = gover/a"},
	{"[gpu a]\nbackend=lib\n[gpu b]\nbackend=softgpu\nroot=gover/a\n",
	 "[gpu b] root = gover/a"},
	{"[gpu a]\nbackend=softgpu\n[gpu b]\nbackend=lib\n", NULL},
	{"[gpu a]\nbackend=sim\nroot=x\n[gpu b]\nbackend=lib\nroot=x\n", NULL},
	{"[gpu a]\nbackend=drm\n[gpu b]\nbackend=drm\n", "another root or parent"},
	{"[gpu a]\nbackend=drm\nroot=machine.slice\n[gpu b]\nbackend=drm\n", NULL},
	{"[gpu a]\nbackend=drm\nparent=panfrost\n[gpu b]\nbackend=drm\nparent=v3d\n", NULL},
	{"[gpu x]\nbackend=xe\nlongest_round_ms=10\nleast_slice_ms=6\n",
	 "[gpu x] least_slice_ms = 6: too long (allowed: up to half of longest_round_ms = 10)"},
	{"[gpu x]\nbackend=xe\nlongest_round_ms=10\nleast_slice_ms=5\n", NULL},
};

TEST(combinations_are_checked)
{
	for (size_t i = 0; i < ARRAY_SIZE(combinations); i++) {
		const struct combination *row = &combinations[i];
		int r;

		assert_int_equal(load(row->text), 0);
		r = config_check(&config, &err);
		if (r != (row->message ? -EINVAL : 0) ||
		    (row->message && !strstr(err.msg, row->message)))
			fail_msg("row %zu gave %d \"%s\"", i, r, err.msg);
	}
}
