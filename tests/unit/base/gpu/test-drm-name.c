/* SPDX-License-Identifier: MIT */
/* The notations of [gpu] parent of backend drm. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/gpu/drm-name.h"
#include "tests/unit/unit.h"

TEST(a_name_has_several_notations)
{
	static const struct {
		const char *text, *name; /* NULL: refused */
	} rows[] = {
		{"0000:03:00.0", "0000:03:00.0"},
		{"03:00.0", "0000:03:00.0"},
		{"00000000:03:00.0", "0000:03:00.0"},
		{"0000:AF:1F.7", "0000:af:1f.7"},
		{"10000:e1:00.0", "10000:e1:00.0"},
		{"panfrost", "panfrost"},
		{"nonsense", NULL},
		{"amdgpu", NULL}, /* a PCI GPU is named by its address */
		{"3:0.0", NULL},
		{"0000:03:00", NULL},
		{"0000:03:00.0 ", NULL},
		{"0000:03:00.8", NULL},
		{"0000:03:20.0", NULL},
		{"000000000:03:00.0", NULL},
		{"0x00:03:00.0", NULL},
		{":03:00.0", NULL},
		{"GPU-5a6b7c8d", NULL},
		{"", NULL},
	};
	char name[GPU_PARENT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = drm_name_parse(rows[i].text, name);

		if (rows[i].name ? r != 0 || strcmp(name, rows[i].name) != 0 : r != -EINVAL)
			fail_msg("\"%s\": %d", rows[i].text, r);
	}
}
