/* SPDX-License-Identifier: MIT */
/*
 * The files of the simulated sysfs tree: their contents, and the effects of writes. A write that a
 * kernel rejects also fails here, even for root.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"
#include "sim/host/tree-gpus.h"

int tree_parse_number(const char *text, int base, uint32_t max, uint32_t *ret_value)
{
	unsigned long long value;
	char *end;

	if (base == 0) {
		text += *text == '+';
		base = text[0] != '0' ? 10 : text[1] == 'x' || text[1] == 'X' ? 16 : 8;
	}
	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	value = strtoull(text, &end, base);
	if (*end != '\0')
		return -EINVAL;
	if (value > max)
		return -ERANGE;
	*ret_value = (uint32_t)value;
	return 0;
}

static int parse_pct(const char *text, int *ret_pct)
{
	uint32_t value;
	int r = tree_parse_number(text, 10, UINT32_MAX, &value);

	if (r == 0 && value > 100)
		r = -EINVAL;
	if (r == 0)
		*ret_pct = (int)value;
	return r;
}

static void show_int(int64_t value, char text[TREE_TEXT_MAX])
{
	snprintf(text, TREE_TEXT_MAX, "%" PRId64, value);
}

/* --- files of a type --- */

static void show_name(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	snprintf(text, TREE_TEXT_MAX, "%s", strchr(tree_types[node->type].name, '-') + 1);
}

static void show_description(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	const struct tree_type *type = &tree_types[node->type];

	snprintf(text, TREE_TEXT_MAX,
		 "low_gm_size: %dMB\nhigh_gm_size: %dMB\nfence: 4\nresolution: %s\nweight: %d",
		 type->low_gm_mb, type->high_gm_mb, type->resolution, 16 / type->parts);
}

static void show_available(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_int(node->gpu->low_gm_mb / tree_types[node->type].low_gm_mb, text);
}

static void show_api(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	(void)node;
	strcpy(text, "vfio-pci");
}

static int store_create(struct tree *tree, const struct tree_node *node, const char *text)
{
	char uuid[TREE_UUID_LENGTH + 1];

	if (strlen(text) != TREE_UUID_LENGTH)
		return -EINVAL;
	for (size_t i = 0; i <= TREE_UUID_LENGTH; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (i < TREE_UUID_LENGTH &&
		    (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i])))
			return -EINVAL;
		uuid[i] = (char)tolower((unsigned char)text[i]);
	}
	return tree_add_vgpu(tree, node->gpu, node->type, uuid);
}

/* --- files of a GPU --- */

static void show_sharing(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	snprintf(text, TREE_TEXT_MAX, "%s", sched_sharing_name(sim_discipline(node->gpu->sim)));
}

static int store_sharing(struct tree *tree, const struct tree_node *node, const char *text)
{
	const struct sched_discipline *discipline = sched_sharing_find(text);

	(void)tree;
	if (!discipline)
		return -EINVAL;
	sim_set_discipline(node->gpu->sim, discipline);
	return 0;
}

/* --- files of a vGPU --- */

static int store_remove(struct tree *tree, const struct tree_node *node, const char *text)
{
	uint32_t value;
	int r = tree_parse_number(text, 10, UINT32_MAX, &value);

	(void)tree;
	if (r == 0 && value > 0)
		tree_remove_vgpu(node->vgpu);
	return r;
}

static void show_load(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	snprintf(text, TREE_TEXT_MAX, "%s", node->vgpu->load);
}

/* A load of 100 percent means unlimited demand. */
static int store_load(struct tree *tree, const struct tree_node *node, const char *text)
{
	char words[WORKLOAD_TEXT_MAX];
	struct workload workload;
	int pct = 0, r = parse_pct(text, &pct);

	(void)tree;
	if (strlen(text) >= sizeof(words))
		return -EINVAL;
	if (r == 0 && pct > 0 && pct < 100)
		snprintf(words, sizeof(words), "load:pct=%d", pct);
	else if (r == 0)
		strcpy(words, pct == 0 ? "idle" : "busy");
	else
		strcpy(words, text);
	if (workload_parse(words, &workload, NULL) < 0)
		return r < 0 ? r : -EINVAL;
	strcpy(node->vgpu->load, text);
	sim_set_workload(node->gpu->sim, node->vgpu->sim, &workload);
	return 0;
}

static void show_id(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_int(node->vgpu->id, text);
}

static void show_cap(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_int(sim_cap(node->vgpu->sim), text);
}

static int store_cap(struct tree *tree, const struct tree_node *node, const char *text)
{
	int pct = 0, r = parse_pct(text, &pct);

	(void)tree;
	return r < 0 ? r : sim_set_cap(node->gpu->sim, node->vgpu->sim, pct);
}

static void show_initial_cap(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_int(sim_initial_cap(node->vgpu->sim), text);
}

static int store_initial_cap(struct tree *tree, const struct tree_node *node, const char *text)
{
	int pct = 0, r = parse_pct(text, &pct);

	(void)tree;
	return r < 0 ? r : sim_set_initial_cap(node->vgpu->sim, pct);
}

static void show_busy(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_int((int64_t)sim_vgpu_busy_ns(node->vgpu->sim), text);
}

static void show_sched(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_int((int64_t)sim_vgpu_sched_ns(node->gpu->sim, node->vgpu->sim), text);
}

static void show_lease(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_int(sim_lease_ms(node->vgpu->sim), text);
}

static int store_lease(struct tree *tree, const struct tree_node *node, const char *text)
{
	uint32_t lease_ms;
	int r = tree_parse_number(text, 10, UINT32_MAX, &lease_ms);

	(void)tree;
	if (r == 0)
		sim_set_lease(node->gpu->sim, node->vgpu->sim, lease_ms);
	return r;
}

static void show_ceiling(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_int(sim_ceiling(node->vgpu->sim), text);
}

static int store_ceiling(struct tree *tree, const struct tree_node *node, const char *text)
{
	int pct = 0, r = parse_pct(text, &pct);

	(void)tree;
	return r < 0 ? r : sim_set_ceiling(node->vgpu->sim, pct);
}

const struct tree_attr tree_attrs[] = {
	{TREE_GPU, "gover_sharing", 0644, show_sharing, store_sharing},
	{TREE_TYPE, "name", 0444, show_name, NULL},
	{TREE_TYPE, "description", 0444, show_description, NULL},
	{TREE_TYPE, "available_instances", 0444, show_available, NULL},
	{TREE_TYPE, "device_api", 0444, show_api, NULL},
	{TREE_TYPE, "create", 0200, NULL, store_create},
	{TREE_VGPU, "remove", 0200, NULL, store_remove},
	{TREE_VGPU, "load", 0644, show_load, store_load},
	{TREE_VGPU_GROUP, "vgpu_id", 0444, show_id, NULL},
	{TREE_VGPU_GROUP, "cap", 0644, show_cap, store_cap},
	{TREE_VGPU_GROUP, "initial_cap", 0644, show_initial_cap, store_initial_cap},
	{TREE_VGPU_GROUP, "busy_time", 0444, show_busy, NULL},
	{TREE_VGPU_GROUP, "sched_time", 0444, show_sched, NULL},
	{TREE_VGPU_GROUP, "cap_lease_ms", 0644, show_lease, store_lease},
	{TREE_VGPU_GROUP, "cap_ceiling", 0644, show_ceiling, store_ceiling},
	{.name = NULL},
};

/* --- access --- */

int tree_check_access(const struct tree_node *attr, bool reads, bool writes)
{
	if ((reads && !attr->attr->show) || (writes && !attr->attr->store))
		return -EACCES;
	return 0;
}

/* Returns 0, or the error of any reading or writing of @attr. */
static int check(const struct tree_node *attr, bool writes)
{
	if (attr->gpu->functions)
		return tree_xe_check(attr, writes);
	return attr->vgpu && !attr->vgpu->sim ? -ENODEV : 0;
}

int tree_read(struct tree *tree, const struct tree_node *attr, char text[TREE_TEXT_MAX])
{
	size_t length;
	int r;

	if (!attr->attr->show)
		return -EACCES;
	r = check(attr, /* writes= */ false);
	if (r < 0)
		return r;
	tree_update(tree, attr->gpu);
	attr->attr->show(attr, text);
	length = strlen(text);
	text[length++] = '\n';
	return (int)length;
}

int tree_write(struct tree *tree, const struct tree_node *attr, const char *text, size_t length)
{
	char line[TREE_TEXT_MAX];
	int r;

	if (!attr->attr->store)
		return -EACCES;
	r = check(attr, /* writes= */ true);
	if (r < 0)
		return r;
	if (length >= sizeof(line) || memchr(text, '\0', length))
		return -EINVAL;
	memcpy(line, text, length);
	if (length > 0 && line[length - 1] == '\n')
		length--;
	line[length] = '\0';
	tree_update(tree, attr->gpu);
	return attr->attr->store(tree, attr, line);
}
