/* SPDX-License-Identifier: MIT */
/* Loading, checking and printing the configuration. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "compute/arbiter/arbiter.h"
#include "gover-d/config/config.h"
#include "gover-d/config/flavor.h"
#include "gpu/gpu.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/gover-config.XXXXXX";
static char path[64];
static struct config config; /* static: too large for the stack */
static struct err err;

static int make_folder(void)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/gover.conf", folder);
	return 0;
}

static int remove_folder(void)
{
	(void)remove(path);
	return rmdir(folder);
}

FIXTURE_ONCE(make_folder, remove_folder)

static int load_bytes(const char *text, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
	config_default(&config);
	err.msg[0] = '\0';
	return config_load(&config, path, &err);
}

static int load(const char *text)
{
	return load_bytes(text, strlen(text));
}

static char *print_to_text(const struct config *of)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	config_print(of, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

TEST(defaults_are_those_of_the_design)
{
	config_default(&config);
	assert_int_equal(config_check(&config, &err), 0);
	assert_string_equal(config.socket, "/run/gover/gover.sock");
	assert_string_equal(config.fps_socket, "/run/gover/tenant/fps.sock");
	assert_int_equal(config.fps_vsock_port, 0);
	assert_string_equal(config.state_dir, "/var/lib/gover");
	assert_string_equal(config.listen, "");
	assert_int_equal(config.period_ms, 1000);
	assert_int_equal(config.n_gpus, 1);
	assert_string_equal(config.gpus[0].gpu.name, "gpu0");
	assert_string_equal(config.gpus[0].gpu.backend, "auto");
	assert_string_equal(config.policy, "gover");
	assert_float_equal(config.params.overload_pct, 95, 0);
	assert_float_equal(config.params.lowload_pct, 60, 0);
	assert_float_equal(config.params.steal_fraction, 0.2, 0);
	assert_int_equal(config_policy_params(&config).fund_window_periods, 30);
	assert_int_equal(config.offer.flavor_cap_pct, 50);
	assert_string_equal(config.offer.flavor, "default");
	assert_float_equal(config_policy_params(&config).price_per_cap_hour, 1, 0);
	assert_float_equal(config_policy_params(&config).penalty_per_broken_s, 0.01, 0);
	assert_int_equal(config.n_flavors, 0);
	assert_int_equal(config.retention.hour_days, 730);
}

TEST(every_key_sets_its_member)
{
	assert_int_equal(load("[daemon]\nsocket = /s\nlisten = [::1]:80\nstate_dir = rel/dir\n"
			      "period_ms = 250\non_migrate = /bin/hook\n"
			      "[gpu a]\nbackend = softgpu\nroot = one\ncapacity_cores = 1.5\n"
			      "intel_gpu_top = off\nfps_source = bpf\n[gpu b]\nbackend=sim\n"
			      "[policy]\nname=gover\noverload_pct=90.5\npaper_mode=yes\n"
			      "use_ignores_met_target: false\nfund_window_s=20\ncap_floor_pct=2\n"
			      "[offer]\nflavor_cap_pct=40\nprobation_broken_pct=5\nttl_s=7\n"
			      "flavor=half\nprice_per_cap_hour=2.5\npenalty_per_broken_s=0.125\n"
			      "[flavor s]\ncap_pct=20\ntarget_fps=30\nprice_per_cap_hour=3\n"
			      "penalty_per_broken_s=0\n[flavor t]\n[fps]\nsocket = f.sock\n"
			      "vsock_port = 7007\nports = /run/p\n[history]\nraw_hours=0\n"
			      "minute_days=1\nhour_days=2\nquery_limit_s=60\n"),
			 0);
	assert_int_equal(config_check(&config, &err), 0);
	assert_string_equal(config.socket, "/s");
	assert_string_equal(config.listen, "[::1]:80");
	assert_string_equal(config.state_dir, "rel/dir");
	assert_int_equal(config.period_ms, 250);
	assert_string_equal(config.on_migrate, "/bin/hook");
	assert_int_equal(config.n_gpus, 2);
	assert_string_equal(config.gpus[0].gpu.name, "a");
	assert_string_equal(config.gpus[0].gpu.root, "one");
	assert_float_equal(config.gpus[0].gpu.capacity_cores, 1.5, 0);
	assert_string_equal(config.gpus[0].intel_gpu_top, "off");
	assert_string_equal(config.gpus[0].fps_source, "bpf");
	assert_string_equal(config.gpus[1].gpu.name, "b");
	assert_string_equal(config.gpus[1].gpu.backend, "sim");
	assert_string_equal(config.gpus[1].intel_gpu_top, "auto");
	assert_float_equal(config.params.overload_pct, 90.5, 0);
	assert_true(config.params.paper_mode);
	assert_false(config.params.use_ignores_met_target);
	assert_int_equal(config.params.cap_floor_pct, 2);
	assert_int_equal(config_policy_params(&config).fund_window_periods, 80);
	assert_int_equal(config.offer.flavor_cap_pct, 40);
	assert_float_equal(config.offer.probation_broken_pct, 5, 0);
	assert_int_equal(config.offer.ttl_s, 7);
	assert_string_equal(config.offer.flavor, "half");
	assert_float_equal(config_policy_params(&config).price_per_cap_hour, 2.5, 0);
	assert_float_equal(config_policy_params(&config).penalty_per_broken_s, 0.125, 0);
	assert_int_equal(config.n_flavors, 2);
	assert_string_equal(config.flavors[0].name, "s");
	assert_int_equal(config.flavors[0].cap_pct, 20);
	assert_float_equal(config.flavors[0].target_fps, 30, 0);
	assert_float_equal(config.flavors[0].price_per_cap_hour, 3, 0);
	assert_float_equal(config.flavors[0].penalty_per_broken_s, 0, 0);
	assert_string_equal(config.flavors[1].name, "t");
	assert_int_equal(config.flavors[1].cap_pct, 50);
	assert_float_equal(config.flavors[1].penalty_per_broken_s, PRICE_UNSET, 0);
	assert_string_equal(config.fps_socket, "f.sock");
	assert_int_equal(config.fps_vsock_port, 7007);
	assert_string_equal(config.fps_ports, "/run/p");
	assert_int_equal(config.retention.raw_hours, 0);
	assert_int_equal(config.query_limit_s, 60);
	assert_int_equal(config.retention.hour_days, 2);
}

TEST(unusual_syntax_is_accepted)
{
	static const char *const files[] = {
		"",
		"\n\n# a comment\n; another\n",
		"\xEF\xBB\xBF[gpu]\r\nbackend = sim\r\n",
		"   [gpu]   # after\n\t backend = sim ; said\n",
		"[ gpu ]\nbackend:sim",
		"[gpu   gpu0]\n  \nbackend = sim\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_int_equal(load(files[i]), 0);
		assert_int_equal(config.n_gpus, 1);
		assert_string_equal(config.gpus[0].gpu.name, "gpu0");
		assert_string_equal(config.gpus[0].gpu.backend, i < 2 ? "auto" : "sim");
	}
}

TEST(an_empty_section_adds_a_gpu)
{
	assert_int_equal(load("[gpu a]\n[gpu b]\n"), 0);
	assert_int_equal(config.n_gpus, 2);
	assert_string_equal(config.gpus[1].gpu.name, "b");
	assert_string_equal(config.gpus[1].gpu.backend, "auto");
}

static const struct bad_file {
	const char *text;
	int line;
	const char *message; /* text that the error must contain */
} bad_files[] = {
	{"period_ms = 1\n", 1, "key \"period_ms\" before the first section"},
	{"\n[polcy]\n", 2, "unknown section [polcy] (did you mean \"policy\"?"},
	{"[x]\n", 1, "allowed: daemon, access, alerts, gpu NAME, policy, offer, flavor NAME"},
	{"[history]\nraw_hour = 3\n", 2, "did you mean \"raw_hours\"?"},
	{"[fps]\n\nfoo = 3\n", 3, "[fps] has no key \"foo\" (allowed: socket, vsock_port, ports"},
	{"[daemon]\noverload_pct = 3\n", 2, "[daemon] has no key"},
	{"[daemon]\nPERIOD_MS = 300\n", 2, "[daemon] has no key"},
	{"[daemon]\n = 3\n", 2, "[daemon] has no key \"\""},
	{"[daemon]\nnonsense\nperiod_ms = 0\n", 2, "not a line of an INI file"},
	{"[daemon]\nperiod_ms = 0\nnonsense\n", 2, "\"0\" is not allowed"},
	{"[daemon\n", 1, "is not a section"},
	{"[daemon] period_ms = 3\n", 1, "alone on its line"},
	{"[daemon]\n[fps]\n[daemon]\n", 3, "[daemon] is given twice"},
	{"[gpu a]\n[gpu a]\n", 2, "[gpu a] is given twice"},
	{"[gpu]\n[gpu gpu0]\n", 2, "[gpu gpu0] is given twice"},
	{"[gpu .a]\n", 1, "not a valid name of a GPU"},
	{"[gpu a b]\n", 1, "not a valid name of a GPU"},
	{"[gpu a234567890123456789012345678901234567890123456789012345678901234]\n", 1, "1 to 63"},
	{"[fps]\nsocket = /a\nsocket = /a\n", 3, "[fps] socket is given twice"},
	{"[fps]\nsocket = /a\n  /b\n", 3, "not a line of an INI file"},
	{"[daemon]\nperiod_ms = ten\n", 2, "\"ten\" is not allowed (allowed: 1..10000 ms)"},
	{"[daemon]\nperiod_ms = 0\n", 2, "allowed: 1..10000 ms"},
	{"[daemon]\nperiod_ms = 10001\n", 2, "allowed: 1..10000 ms"},
	{"[daemon]\nperiod_ms = 1000.5\n", 2, "allowed: 1..10000 ms"},
	{"[daemon]\nperiod_ms = 99999999999999999999\n", 2, "allowed: 1..10000 ms"},
	{"[daemon]\nperiod_ms = 500 # fast\n", 2, "\"500 # fast\" is not allowed"},
	{"[daemon]\nperiod_ms =\n", 2, "\"\" is not allowed"},
	{"[daemon]\nlisten = localhost:80\n", 2, "numeric address"},
	{"[daemon]\nlisten = 127.0.0.1\n", 2, "numeric address"},
	{"[daemon]\nlisten = 127.0.0.1:0\n", 2, "numeric address"},
	{"[daemon]\nlisten = ::1:80\n", 2, "numeric address"},
	{"[daemon]\nlisten = [::1:80\n", 2, "numeric address"},
	{"[daemon]\nlisten = :80\n", 2, "numeric address"},
	{"[daemon]\nstate_dir =\n", 2, "allowed: a path"},
	{"[daemon]\nstate_dir = /a\tb\n", 2, "allowed: a path"},
	{"[daemon]\nstate_dir = /a;b\n", 2, "no ';'"},
	{"[daemon]\nsocket =\n", 2, "allowed: a path (1..107 characters"},
	{"[gpu]\nbackend = igvtg\n", 2, "allowed: auto, gvt, xe, softgpu, lib, drm or sim"},
	{"[gpu]\nroot = ../x\n", 2, "without '..'"},
	{"[gpu]\ncapacity_cores = 0\n", 2, "allowed: 0.1..1024 cores"},
	{"[gpu]\ncapacity_cores = nan\n", 2, "allowed: 0.1..1024 cores"},
	{"[gpu]\nintel_gpu_top = maybe\n", 2, "auto, off, or an absolute path"},
	{"[gpu]\nfps_source = vsock\n", 2, "allowed: preload or bpf"},
	{"[policy]\nname = best\n", 2, "\"best\" is not allowed (allowed: gover"},
	{"[policy]\noverload_pct = 101\n", 2, "allowed: 1..100 percent"},
	{"[policy]\noverload_pct = inf\n", 2, "allowed: 1..100 percent"},
	{"[policy]\npaper_mode = 1\n", 2, "allowed: on or off"},
	{"[offer]\nflavor_cap_pct = 0\n", 2, "allowed: 1..100 percent"},
	{"[history]\nraw_hours = -1\n", 2, "0 to keep for ever"},
	{"[flavor]\n", 1, "not a valid name of a flavour"},
	{"[flavor a b]\n", 1, "not a valid name of a flavour"},
	{"[flavor a]\n[flavor a]\n", 2, "[flavor a] is given twice"},
	{"[flavor a]\nflavor_cap_pct = 5\n", 2, "[flavor NAME] has no key \"flavor_cap_pct\""},
	{"[flavor a]\ncap_pct = 101\n", 2, "[flavor NAME] cap_pct = \"101\" is not allowed"},
	{"[flavor a]\nprice_per_cap_hour = -1\n", 2, "allowed: unset, or 0..1000000000"},
	{"[offer]\npenalty_per_broken_s = nan\n", 2, "allowed: unset, or 0..1000000000"},
	{"[offer]\nprice_per_move = -1\n", 2, "allowed: unset, or 0..1000000000"},
	{"[offer]\nflavor = a b\n", 2, "allowed: a name of A-Z"},
	{"[offer]\nflavor =\n", 2, "allowed: a name of A-Z"},
	{"[gpu]\nsocket =\n", 2, "allowed: a path (1..99 characters"},
};

TEST(errors_name_file_and_line)
{
	static struct config before;

	config_default(&before);
	for (size_t i = 0; i < ARRAY_SIZE(bad_files); i++) {
		const struct bad_file *bad = &bad_files[i];
		char where[96];

		snprintf(where, sizeof(where), "%s:%d: ", path, bad->line);
		if (load(bad->text) != -EINVAL || !strstr(err.msg, bad->message) ||
		    strncmp(err.msg, where, strlen(where)) != 0)
			fail_msg("row %zu: \"%s\" does not contain \"%s\" and \"%s\"", i, err.msg,
				 where, bad->message);
		assert_memory_equal(&config, &before, sizeof(config));
	}
}

TEST(long_lines_are_rejected)
{
	char text[256] = "[gpu]\nroot = ";
	size_t at = strlen(text);

	memset(text + at, 'r', 160);
	assert_int_equal(load(text), 0);
	assert_int_equal(strlen(config.gpus[0].gpu.root), 160);
	memset(text + at, 'r', 161);
	assert_int_equal(load(text), -EINVAL);
	assert_non_null(strstr(err.msg, "0..160 characters"));
	memset(text + at, 'r', 192);
	assert_int_equal(load(text), -EINVAL);
	assert_non_null(strstr(err.msg, ":2: line of 199 characters (allowed: at most 198)"));
	memset(text, '#', 199);
	assert_int_equal(load(text), -EINVAL);
	assert_non_null(strstr(err.msg, ":1: line of"));
}

TEST(other_files_are_rejected)
{
	char *large = malloc(300 * 1024);

	assert_non_null(large);
	memset(large, '\n', 300 * 1024);
	assert_int_equal(load_bytes(large, 300 * 1024), -EFBIG);
	free(large);
	assert_int_equal(load_bytes("[gpu]\n\0backend = sim\n", 21), -EINVAL);
	assert_non_null(strstr(err.msg, "zero byte"));
	assert_int_equal(config_load(&config, "/no/gover.conf", &err), -ENOENT);
	assert_string_equal(err.msg, "/no/gover.conf: cannot be read: No such file or directory");
	assert_int_equal(config_load(&config, folder, &err), -EISDIR);
}

TEST(too_many_sections_are_rejected)
{
	static const struct {
		const char *word;
		int max, *n;
		const char *message;
	} rows[] = {
		{"gpu", GPUS_MAX, &config.n_gpus, "too many sections (allowed: up to 64)"},
		{"flavor", FLAVORS_MAX, &config.n_flavors, "up to 32"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[32 * (GPUS_MAX + 1)] = "";

		for (int n = 0; n < rows[i].max; n++)
			sprintf(text + strlen(text), "[%s f%d]\n", rows[i].word, n);
		assert_int_equal(load(text), 0);
		assert_int_equal(*rows[i].n, rows[i].max);
		sprintf(text + strlen(text), "[%s more]\n", rows[i].word);
		assert_int_equal(load(text), -EINVAL);
		assert_non_null(strstr(err.msg, rows[i].message));
	}
}

/* Checks the configuration of row @row. @message: text that the error must contain; NULL: valid. */
static void assert_valid(size_t row, const char *message)
{
	int r = config_check(&config, &err);

	if (r != (message ? -EINVAL : 0) || (message && !strstr(err.msg, message)))
		fail_msg("row %zu gave %d \"%s\"", row, r, err.msg);
}

static const struct {
	const char *text;
	const char *message; /* see assert_valid() */
} combinations[] = {
	{"[daemon]\nperiod_ms = 100\n[policy]\nfund_window_s = 30\n", NULL},
	{"[daemon]\nperiod_ms = 99\n", "period_ms = 99: too short (allowed: 100..10000 ms"},
	{"[daemon]\nperiod_ms = 99\n[gpu]\nbackend = sim\n", "period_ms = 99"},
	{"[daemon]\nperiod_ms = 1\n[gpu]\nbackend = sim\nspeed = 1000\n", NULL},
	{"[daemon]\nperiod_ms = 1\n[gpu]\nbackend = sim\nspeed = 1.5\n", "20000 periods"},
	{"[gpu]\nspeed = 2\n", "above 1 only with backend = sim"},
	{"[gpu a]\nbackend = sim\nspeed = 2\n[gpu b]\nbackend = sim\n",
	 "all GPUs must have the same speed"},
	{"[gpu a]\nbackend = sim\nspeed = 2\n[gpu b]\nbackend = softgpu\n",
	 "all GPUs must have the same speed"},
	{"[policy]\nfund_window_s = 300\n", NULL},
	{"[policy]\nfund_window_s = 301\n", "fund_window_s = 301: too long, contains 301 periods"},
	{"[fps]\nsocket = /run/gover/gover.sock\n", "must differ from the socket of [daemon]"},
	{"[policy]\nmin_newcomer_pct = 30\n[offer]\nflavor_cap_pct = 29\n", "newcomer_pct = 30"},
	{"[policy]\nmin_newcomer_pct = 30\n[offer]\nflavor_cap_pct = 30\n", NULL},
	{"[policy]\ncap_floor_pct = 60\n", "cap_floor_pct = 60"},
	{"[gpu a]\nbackend=softgpu\nroot=x\n[gpu b]\nbackend=softgpu\nroot=x\n", NULL},
	{"[gpu a]\nbackend=softgpu\n[gpu b]\nbackend=softgpu\n", NULL},
	{"[gpu a]\nbackend=softgpu\n[gpu b]\nbackend=softgpu\nroot=gover/a\n",
	 "[gpu b] root = gover/a"},
	{"[gpu a]\nbackend=softgpu\nroot=x/b\n[gpu b]\nbackend=softgpu\nroot=x\n",
	 "[gpu a] root = x/b"},
	{"[gpu a]\nbackend=softgpu\nroot=x/bb\n[gpu b]\nbackend=softgpu\nroot=x\n", NULL},
	{"[gpu a]\nbackend=softgpu\nroot=/x\n", "such as gover or a/b"},
	{"[gpu a]\nbackend=sim\nroot=/x\n[gpu b]\nbackend=sim\nroot=/x\n", "[gpu a] root = /x"},
	{"[gpu a]\nbackend=sim\nroot=/x\n[gpu b]\nbackend=sim\nroot=/x/y\n", NULL},
	{"[gpu a]\nbackend=sim\n[gpu b]\nbackend=sim\n", NULL},
	{"[gpu a]\nbackend=softgpu\nroot=x\n[gpu b]\nbackend=sim\nroot=x\n", NULL},
	{"[gpu a]\nbackend=gvt\n[gpu b]\nbackend=xe\n", NULL},
	{"[gpu a]\nbackend=gvt\nparent=p\n[gpu b]\nbackend=gvt\n", "another root or parent"},
	{"[gpu a]\nbackend=gvt\nparent=p\n[gpu b]\nparent=p\n", "another root or parent"},
	{"[gpu a]\nbackend=gvt\nparent=p\n[gpu b]\nbackend=gvt\nparent=q\n", NULL},
	{"[gpu a]\nbackend=gvt\nroot=/x\n[gpu b]\nbackend=gvt\n", NULL},
	{"[gpu]\nbackend=gvt\nspeed=10\n", "a root created by gover-sim"},
	{"[gpu]\nbackend=gvt\nspeed=10\nroot=/x\n", NULL},
	{"[gpu]\nlease_ms = 1999\n", "0, or at least two periods of 1000 ms"},
	{"[gpu]\nlease_ms = 2000\n", NULL},
	{"[gpu]\nlease_ms = 0\n", NULL},
	{"[gpu]\nbackend = sim\nfps_source = bpf\n", "requires backend = softgpu"},
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
	{"[gpu]\nbackend=lib\nsocket = /tenant/c\n[fps]\nsocket = /c.control\n", "and [fps]"},
	{"[gpu]\nbackend=lib\nsocket = /run/gover/fps.sock\n", "and [fps]"},
	{"[daemon]\nsocket = /run/gover/fps.sock\n", "must differ from the socket of [daemon]"},
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
	{"[flavor default]\n", "is the flavour of [offer]"},
	{"[flavor tiny]\ncap_pct = 9\n", NULL},
};

TEST(rules_about_several_keys_are_checked)
{
	for (size_t i = 0; i < ARRAY_SIZE(combinations); i++) {
		assert_int_equal(load(combinations[i].text), 0);
		assert_valid(i, combinations[i].message);
	}
}

TEST(values_of_the_command_line_are_checked)
{
	config_default(&config);
	strcpy(config.listen, "everywhere:80");
	assert_int_equal(config_check(&config, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "[daemon] listen = \"everywhere:80\" is not allowed"));
	config_default(&config);
	memset(config.socket, 's', 108);
	assert_int_equal(config_check(&config, &err), -EINVAL);
	config_default(&config);
	strcpy(config.state_dir, " /blank");
	assert_int_equal(config_check(&config, &err), -EINVAL);
	config_default(&config);
	config.n_gpus = 2;
	config.gpus[1] = config.gpus[0];
	assert_int_equal(config_check(&config, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "[gpu gpu0] is given twice"));
	strcpy(config.gpus[1].gpu.name, "..");
	assert_int_equal(config_check(&config, &err), -EINVAL);
}

TEST(fund_window_is_converted_to_periods)
{
	static const struct {
		const char *text;
		int periods;
	} rows[] = {
		{"", 30},
		{"[daemon]\nperiod_ms = 200\n", 150},
		{"[daemon]\nperiod_ms = 10000\n[policy]\nfund_window_s = 1\n", 1},
		{"[daemon]\nperiod_ms = 10\n[gpu]\nbackend = sim\nspeed = 100\n", 30},
		{"[gpu]\nbackend = sim\nspeed = 15\n", 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(load(rows[i].text), 0);
		assert_int_equal(config_check(&config, &err), 0);
		assert_int_equal(config_policy_params(&config).fund_window_periods,
				 rows[i].periods);
	}
}

/* --- printing --- */

static uint64_t seed = 88172645463325252ULL;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Draws a random value of the right type. The configuration may reject the value. */
static void draw_value(const struct setting *info, char *text, size_t size)
{
	if (isdigit((unsigned char)info->allowed[0])) {
		double low = strtod(info->allowed, NULL);
		double high = strtod(strstr(info->allowed, "..") + 2, NULL);
		double value = low + (high - low) * ((double)(draw() >> 11) * 0x1p-53);

		if (draw() % 2)
			snprintf(text, size, "%.0f", value);
		else
			snprintf(text, size, "%.17g", value);
	} else if (strcmp(info->allowed, "on or off") == 0) {
		snprintf(text, size, "%s", draw() % 2 ? "on" : "off");
	} else {
		snprintf(text, size, "/p%llu q=[%llu]:#", (unsigned long long)draw(),
			 (unsigned long long)draw());
	}
}

/* Writes a valid file of random values, without rejected keys. Returns the number of keys. */
static unsigned int draw_file(char *file, size_t size)
{
	const struct setting *info;
	const char *section = "";
	unsigned int accepted = 0;

	file[0] = '\0';
	for (size_t i = 0; (info = config_key_at(i)); i++) {
		size_t before;
		char value[160];

		if (strcmp(section, info->section) != 0)
			snprintf(file + strlen(file), size - strlen(file), "[%s]\n",
				 strcmp(info->section, "gpu NAME") == 0 ? "gpu a-1"
									: info->section);
		section = info->section;
		draw_value(info, value, sizeof(value));
		before = strlen(file);
		snprintf(file + before, size - before, "%s = %s\n", info->key, value);
		if (load(file) == 0)
			accepted++;
		else
			file[before] = '\0';
	}
	return accepted;
}

TEST(printed_text_loads_to_the_same_values)
{
	static struct config first;
	unsigned int accepted = 0;

	for (int round = 0; round < 30; round++) {
		char file[8192];

		accepted += draw_file(file, sizeof(file));
		assert_int_equal(load(file), 0);
		first = config;

		CLEANUP_FREE char *text = print_to_text(&first);

		assert_int_equal(load(text), 0);
		assert_memory_equal(&config, &first, sizeof(config));

		CLEANUP_FREE char *again = print_to_text(&config);

		assert_string_equal(again, text);
	}
	assert_true(accepted > 30 * 20);
}

TEST(numbers_are_printed_in_the_shortest_form)
{
	static const char *const values[] = {"95", "0.1", "100000", "33.333333333333336", "1e-05"};
	char text[64];

	config_default(&config);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		config.params.weight_qos = strtod(values[i], NULL);
		assert_int_equal(config_get_live(&config, "weight_qos", text, sizeof(text)), 0);
		assert_string_equal(text, values[i]);
	}
}

/* --- live changes --- */

TEST(policy_and_offer_can_change_live)
{
	const struct setting *info;
	char text[64];
	int live = 0;

	config_default(&config);
	for (size_t i = 0; (info = config_key_at(i)); i++) {
		bool expected =
			strcmp(info->section, "policy") == 0 || strcmp(info->section, "offer") == 0;

		assert_int_equal(info->live, expected);
		if (!info->live)
			continue;
		live++;
		assert_int_equal(config_get_live(&config, info->key, text, sizeof(text)), 0);
		assert_int_equal(config_set_live(&config, info->key, text, &err), 0);
	}
	assert_int_equal(live, 36);
	assert_int_equal(config_get_live(&config, "period_ms", text, sizeof(text)), -ENOENT);
	assert_int_equal(config_set_live(&config, "period_ms", "1000", &err), -ENOENT);
	assert_non_null(strstr(err.msg, "period_ms: not a key of [policy]"));
}

TEST(a_live_change_is_checked_as_in_the_file)
{
	config_default(&config);
	assert_int_equal(config_set_live(&config, "overload_pct", "88.5", &err), 0);
	assert_float_equal(config.params.overload_pct, 88.5, 0);
	assert_int_equal(config_set_live(&config, "overload_pct", "ten", &err), -EINVAL);
	assert_string_equal(err.msg, "[policy] overload_pct = \"ten\" is not allowed (allowed: "
				     "1..100 percent)");
	assert_float_equal(config.params.overload_pct, 88.5, 0);
	assert_int_equal(config_set_live(&config, "max_vgpus", "3", &err), 0);
	assert_int_equal(config.offer.max_vgpus, 3);
}

TEST(allowed_words_name_all_backends_and_policies)
{
	const struct setting *info;
	const char *backends = NULL, *policies = NULL;

	for (size_t i = 0; (info = config_key_at(i)); i++) {
		if (strcmp(info->key, "backend") == 0)
			backends = info->allowed;
		if (strcmp(info->key, "name") == 0)
			policies = info->allowed;
	}
	assert_non_null(backends);
	assert_non_null(policies);
	for (size_t i = 0; gpu_at(i); i++)
		assert_non_null(strstr(backends, gpu_at(i)->name));
	for (size_t i = 0; policy_at(i); i++)
		assert_non_null(strstr(policies, policy_at(i)->name));
}

TEST(the_example_file_is_valid)
{
	config_default(&config);
	assert_int_equal(config_load(&config, "dist/gover.conf.example", &err), 0);
	assert_int_equal(config_check(&config, &err), 0);
}

/* --- the configuration of access: TLS for addresses other than loopback, and the defaults --- */

static const struct {
	const char *listen, *certificate, *key;
	const char *message; /* text that the error must contain; NULL: valid */
} cases[] = {
	{"", "", "", NULL},
	{"127.0.0.1:80", "", "", NULL},
	{"127.3.2.1:80", "", "", NULL},
	{"[::1]:80", "", "", NULL},
	{"0.0.0.0:80", "", "", "listen = 0.0.0.0:80: an address other than loopback requires TLS"},
	{"[::]:80", "", "", "an address other than loopback requires TLS"},
	{"[::2]:80", "", "", "set tls_certificate and tls_key, or"},
	{"128.0.0.1:80", "", "", "or listen on 127.0.0.1 or [::1]"},
	{"0.0.0.0:80", "c", "k", NULL},
	{"127.0.0.1:80", "c", "k", NULL},
	{"127.0.0.1:80", "c", "", "tls_certificate is set without tls_key"},
	{"", "", "k", "tls_key is set without tls_certificate"},
};

TEST(addresses_other_than_loopback_require_tls)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		config_default(&config);
		strcpy(config.listen, cases[i].listen);
		strcpy(config.tls_certificate, cases[i].certificate);
		strcpy(config.tls_key, cases[i].key);
		assert_valid(i, cases[i].message);
	}
}

TEST(client_certificates_require_tls_cas_and_subjects)
{
	static const struct {
		const char *certificate, *ca;
		const char *subjects[3]; /* of the sections [client NAME], up to the first NULL */
		const char *message;	 /* text that the error must contain; NULL: valid */
	} rows[] = {
		{"c", "ca", {"CN=a"}, NULL},
		{"c", "ca", {"CN=a", "CN=b"}, NULL},
		{"c", "", {NULL}, NULL},
		{"", "ca", {"CN=a"}, "[daemon] tls_client_ca = ca: requires TLS"},
		{"c", "ca", {NULL}, "tls_client_ca = ca: no certificate has rights"},
		{"c", "", {"CN=a"}, "[client c0]: requires tls_client_ca of [daemon]"},
		{"c", "ca", {"CN=a", ""}, "[client c1] subject: required (allowed: a name such"},
		{"c", "ca", {"/CN=a"}, "subject = \"/CN=a\" is not allowed"},
		{"c", "ca", {"a"}, "subject = \"a\" is not allowed"},
		{"c", "ca", .subjects = {"CN=a", "CN=a"},
		 "[client c1] subject = CN=a: also used by [client c0]"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		config_default(&config);
		strcpy(config.tls_certificate, rows[i].certificate);
		strcpy(config.tls_key, rows[i].certificate);
		strcpy(config.tls_client_ca, rows[i].ca);
		for (int n = 0; n < 3 && rows[i].subjects[n]; n++) {
			struct client_section *client = &config.clients[config.n_clients++];

			snprintf(client->name, sizeof(client->name), "c%d", n);
			strcpy(client->subject, rows[i].subjects[n]);
			strcpy(client->scope, "read");
		}
		assert_valid(i, rows[i].message);
	}
}

TEST(anonymous_access_is_off_by_default)
{
	config_default(&config);
	assert_string_equal(config.anonymous, "off");
	assert_string_equal(config.operate_group, "gover");
	assert_string_equal(config.read_group, "gover-read");
	assert_string_equal(config.listen, "");
	strcpy(config.anonymous, "operate");
	assert_int_equal(config_check(&config, NULL), -EINVAL);
}

/* --- the configuration of GPUs with the backend lib, and keys of several GPUs that conflict --- */

TEST(the_socket_has_a_default)
{
	assert_int_equal(load("[gpu a]\nbackend = lib\nsocket = /c\n[gpu b]\nbackend = lib\n"), 0);
	assert_int_equal(config_check(&config, &err), 0);
	assert_string_equal(config.gpus[0].gpu.socket, "/c");
	assert_string_equal(config.gpus[1].gpu.socket, "/run/gover/tenant/compute.sock");
}

TEST(the_path_of_the_control_socket_fits)
{
	char text[200];

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

/* --- flavours: loading, lookup by name, and the price of a contract --- */

TEST(offered_flavours_are_sorted_by_cap)
{
	static const char *const names[] = {"most", "default", "same", "small"};
	struct flavor flavors[OFFERED_MAX];

	assert_int_equal(load("[offer]\nflavor_cap_pct = 25\n"
			      "[flavor small]\noffered = on\ncap_pct = 12\n"
			      "[flavor hidden]\ncap_pct = 40\n"
			      "[flavor same]\noffered = on\ncap_pct = 25\n"
			      "[flavor most]\noffered = on\ncap_pct = 60\n"),
			 0);
	assert_int_equal(config_check(&config, &err), 0);
	assert_int_equal(flavor_list_offered(&config, flavors), ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(flavors[i].name, names[i]);
	config_default(&config);
	assert_int_equal(flavor_list_offered(&config, flavors), 1);
	assert_string_equal(flavors[0].name, "default");
}

TEST(offered_flavours_are_limited)
{
	char text[64 * OFFERED_MAX] = "";

	for (int i = 1; i < OFFERED_MAX; i++)
		sprintf(text + strlen(text), "[flavor f%d]\noffered = on\n", i);
	assert_int_equal(load(text), 0);
	assert_int_equal(config_check(&config, &err), 0);
	strcat(text, "[flavor more]\noffered = on\n");
	assert_int_equal(load(text), 0);
	assert_int_equal(config_check(&config, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "[flavor more] offered: too many flavours"));
	assert_int_equal(load("[flavor tiny]\ncap_pct = 9\noffered = on\n"), 0);
	assert_int_equal(config_check(&config, &err), -EINVAL);
	assert_string_equal(err.msg, "[policy] min_newcomer_pct = 10: too large (allowed: up to "
				     "[flavor tiny] cap_pct = 9, which is offered)");
}

TEST(names_are_unique)
{
	assert_int_equal(load("[offer]\nflavor = x\n[flavor default]\n"), 0);
	assert_int_equal(config_check(&config, &err), 0);
	assert_int_equal(config_set_live(&config, "flavor", "default", &err), 0);
	assert_int_equal(config_check(&config, &err), -EINVAL);
}

TEST(a_flavour_is_found_by_name)
{
	static const struct {
		const char *name, *found; /* NULL: none */
		const char *priced_as;
	} rows[] = {
		{"", "half", "half"}, {"half", "half", "half"}, {"s", "s", "s"},
		{"t", "t", "t"},      {"u", NULL, "half"},	{"default", NULL, "half"},
	};
	struct flavor flavor;

	assert_int_equal(load("[offer]\nflavor = half\nprice_per_cap_hour = 5\n"
			      "[flavor s]\n[flavor t]\n"),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(flavor_find(&config, rows[i].name, &flavor),
				 rows[i].found != NULL);
		if (rows[i].found)
			assert_string_equal(flavor.name, rows[i].found);
		flavor = flavor_of(&config, rows[i].name);
		assert_string_equal(flavor.name, rows[i].priced_as);
		assert_float_equal(flavor.price_per_cap_hour,
				   rows[i].priced_as[0] == 'h' ? 5 : PRICE_UNSET, 0);
	}
	assert_int_equal(flavor_refuse(&config, "u", &err), -EINVAL);
	assert_string_equal(err.msg, "flavor: u is not allowed (allowed: half, s, t)");
}

static void note_key(void *userdata, const char *section, const char *key)
{
	char *text = userdata;

	sprintf(text + strlen(text), "[%s] %s, ", section, key);
}

TEST(keys_that_differ_are_found)
{
	struct config before;
	char text[400] = "";

	assert_int_equal(load("[gpu a]\nbackend = sim\n[gpu b]\nbackend = sim\n[flavor s]\n"
			      "cap_pct = 10\n"),
			 0);
	before = config;
	config_compare(&before, &config, note_key, text);
	assert_string_equal(text, "");
	/* The order of sections is no difference, and keys of [policy] and [offer] are not listed.
	 */
	assert_int_equal(load("[gpu c]\nbackend = sim\n[gpu a]\nbackend = sim\nspeed = 2\n"
			      "[flavor s]\ncap_pct = 11\n[flavor t]\ncap_pct = 12\n[policy]\n"
			      "lowload_pct = 12\n[alerts]\nupdate_s = 1\n"),
			 0);
	config_compare(&before, &config, note_key, text);
	assert_string_equal(text, "[alerts] update_s, [gpu b] , [gpu c] , [gpu a] speed, "
				  "[flavor s] cap_pct, [flavor t] , ");
}

TEST(the_policy_uses_the_prices_of_the_offer)
{
	assert_int_equal(load("[offer]\nprice_per_cap_hour = 5\nprice_per_move = 3\n"
			      "[flavor s]\npenalty_per_broken_s = 7\n"),
			 0);
	assert_float_equal(config_policy_params(&config).price_per_cap_hour, 5, 0);
	assert_float_equal(config_policy_params(&config).penalty_per_broken_s, 0.01, 0);
	assert_int_equal(config_set_live(&config, "penalty_per_broken_s", "0.5", &err), 0);
	assert_float_equal(config_policy_params(&config).penalty_per_broken_s, 0.5, 0);
	assert_int_equal(config_set_live(&config, "penalty_per_broken_s", "unset", &err), 0);
	assert_float_equal(config_policy_params(&config).penalty_per_broken_s, 0.01, 0);
	assert_float_equal(config.offer.penalty_per_broken_s, PRICE_UNSET, 0);
	assert_float_equal(config_policy_params(&config).price_per_move, 3, 0);
	assert_int_equal(config_set_live(&config, "price_per_move", "0.6", &err), 0);
	assert_float_equal(config_policy_params(&config).price_per_move, 0.6, 0);
	assert_int_equal(config_set_live(&config, "price_per_move", "unset", &err), 0);
	assert_float_equal(config_policy_params(&config).price_per_move, 0, 0);
}
