/* SPDX-License-Identifier: MIT */
/* Tests the names of backend drm: ids of control groups, and notations of a GPU. */
#include "tests/unit/monitor/truth/test-truth.h"

#include "gpu/drm-groups.h"
#include "gpu/drm-device.h"

#define CONTAINER "docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope"

FIXTURE(make_host, remove_host)

TEST(names_of_groups_become_ids)
{
	static const struct {
		const char *name, *id;
	} rows[] = {
		{"a", "a"},
		{"game.service", "game"},
		{CONTAINER, "docker-0123456789ab"},
		{"libpod-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		 "libpod-0123456789ab"},
		{"machine-qemu\\x2d3\\x2dvm1.scope", "machine-qemu-3-vm1"},
		{"kubepods-burstable-pod1b8e6b52_2d2f_4f2c_9d5e_0a6d8c1f9b3a.slice",
		 "kubepods-burstable-pod1b8e6b52_2d2f_4f2c_9d5e_0a6d8c1f9b3a"},
		{"0123456789012345678901234567890123456789x01234567890123456789xyz-0123456",
		 "012345678901x01234567890123456789xyz-0123456"},
		/* with the id of another group: the type of the unit, or a hash */
		{"game.scope", "game.scope"},
		{"game.slice", "game.slice"},
		{"game.scope.service", "game.scope-"},
		{"a b@c", "a_b_c-"},
		{"a_b_c", "a_b_c"},
		{"a\\x2db.service", "a-b-"},
		{"machine-a\\x2db-c.scope", "machine-a-b-c.scope-"},
		/* without a valid id */
		{".hidden", "hidden-"},
		{".scope", "scope-"},
		{"-", ""},
		{"y23456789-123456789-123456789-123456789-123456789-123456789-1234",
		 "y23456789-123456789-123456789-123456789-123456789-1234-"},
		{"y23456789-123456789-123456789-123456789-123456789-123456789-123",
		 "y23456789-123456789-123456789-123456789-123456789-123456789-123"},
	};
	char id[ID_MAX], again[ID_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = strlen(rows[i].id);
		bool hashed = n == 0 || rows[i].id[n - 1] == '-';

		drm_groups_id("system.slice", rows[i].name, id);
		if (hashed ? strncmp(id, rows[i].id, n) != 0 || strlen(id) != n + 8
			   : strcmp(id, rows[i].id) != 0)
			fail_msg("%s: %s", rows[i].name, id);
		assert_true(id_valid(id));
		drm_groups_id("machine.slice", rows[i].name, again);
		assert_int_equal(strcmp(id, again) != 0, hashed);
	}
}

TEST(groups_beyond_the_limit_are_listed_and_refused)
{
	const struct drm_refused *refused = NULL;
	struct gpu_config config = {.name = "gpu0"};
	static struct drm_groups groups;
	struct err err;

	strcpy(config.proc, top_proc);
	assert_int_equal(drm_groups_init(&config, &groups, &err), 0);
	for (int i = 0; i <= DRM_TENANTS_MAX; i++) {
		char group[64];

		snprintf(group, sizeof(group), "system.slice/g%d", i);
		add_process(1000 + i, group);
		assert_int_equal(drm_groups_tenant(&groups, 1000 + i),
				 i < DRM_TENANTS_MAX ? i : -ENOENT);
	}
	for (int i = 0; i < DRM_REFUSED_MAX; i++)
		if (groups.refused[i].id[0])
			refused = &groups.refused[i];
	assert_non_null(refused);
	assert_string_equal(refused->name, "g256");
	assert_true(refused->full);
	assert_ptr_equal(drm_groups_refused(&groups, refused->id), refused);
}

TEST(a_parent_has_several_notations)
{
	static const struct {
		const char *text, *parent; /* NULL: refused */
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
	char parent[GPU_PARENT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = drm_device_parse(rows[i].text, parent);

		if (rows[i].parent ? r != 0 || strcmp(parent, rows[i].parent) != 0 : r != -EINVAL)
			fail_msg("\"%s\": %d", rows[i].text, r);
	}
}
