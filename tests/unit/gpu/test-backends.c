/* SPDX-License-Identifier: MIT */
/* The table of backends in README.md says what the functions of each backend offer. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gpu/gpu.h"
#include "tests/unit/unit.h"

#define HEADER "| backend | caps | guaranteed shares | ceiling"

static const char *word(bool is)
{
	return is ? "yes" : "no";
}

static void print_row(const struct gpu_ops *ops, char *text, size_t size)
{
	snprintf(text, size, "\n| `%s` | %s | %s | %s | %s | %s | %s |\n", ops->name,
		 word(ops->write_cap), word(ops->write_cap && ops->sharing.set),
		 word(ops->sharing.write_ceiling), word(ops->memory.write), word(ops->lease.renew),
		 word(ops->present));
}

TEST(the_readme_has_a_row_for_each_backend)
{
	CLEANUP_FREE char *text = NULL;
	char row[128], *table, *at;
	int rows = 0, backends = 0;

	assert_int_equal(file_read("README.md", 1 << 20, &text, NULL), 0);
	table = strstr(text, HEADER);
	assert_non_null(table);
	for (const struct gpu_ops *ops; (ops = gpu_at((size_t)backends)); backends++) {
		print_row(ops, row, sizeof(row));
		if (!strstr(table, row))
			fail_msg("README.md needs the row%s", row);
	}
	for (at = table; (at = strstr(at, "\n| `")) && at < strstr(table, "\n\n"); at++)
		rows++;
	assert_int_equal(rows, backends);
}
