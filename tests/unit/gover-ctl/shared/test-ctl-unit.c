/* SPDX-License-Identifier: MIT */
/* The configuration file in command lines of the daemon, and the command line of a process. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gover-ctl/shared/unit.h"
#include "tests/unit/unit.h"

static const char *const environment[] = {
	"GOVER_D_OPTIONS=--config /old.conf",
	"GOVER_D_OPTIONS_MORE=--config /more.conf",
	"GOVER_D_OPTIONS=  --listen 127.0.0.1:1  --config /env.conf ",
	"SPLIT=--config",
	"EMPTY=",
	NULL,
};

static const struct {
	const char *words[6];
	const char *path;
} rows[] = {
	{{"/usr/sbin/gover-d"}, ""},
	{{"/usr/sbin/gover-d", "--config", "/a.conf"}, "/a.conf"},
	{{"/usr/sbin/gover-d", "--config=/a.conf", "--dry-run"}, "/a.conf"},
	{{"/usr/sbin/gover-d", "--config", "/a.conf", "--config=b.conf"}, "b.conf"},
	{{"/usr/sbin/gover-d", "--configs", "/a.conf"}, ""},
	{{"/usr/sbin/gover-d", "--config"}, ""},
	{{"/usr/sbin/gover-d", "$GOVER_D_OPTIONS"}, "/env.conf"},
	{{"/usr/sbin/gover-d", "$GOVER_D_OPTIONS", "--config", "/a.conf"}, "/a.conf"},
	{{"/usr/sbin/gover-d", "--config", "/a.conf", "$GOVER_D_OPTIONS"}, "/env.conf"},
	{{"/usr/sbin/gover-d", "$GOVER_D"}, ""},
	{{"/usr/sbin/gover-d", "$EMPTY"}, ""},
	{{"/usr/sbin/gover-d", "$SPLIT", "/a.conf"}, "/a.conf"},
};

TEST(the_last_config_of_a_command_line_counts)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char path[PATH_MAX];
		size_t n = 0;

		while (n < ARRAY_SIZE(rows[i].words) && rows[i].words[n])
			n++;
		unit_find_config(rows[i].words, n, environment, path);
		if (strcmp(path, rows[i].path) != 0)
			fail_msg("row %zu: '%s' instead of '%s'", i, path, rows[i].path);
	}
}

TEST(only_a_process_named_gover_d_has_a_configuration)
{
	char path[PATH_MAX];

	assert_int_equal(unit_config_of_pid(getpid(), path), -ESRCH);
	assert_int_equal(unit_config_of_pid(0x7fffffff, path), -ESRCH);
}
