/* SPDX-License-Identifier: MIT */
/*
 * The layout of the simulated sysfs tree. The contents of the files are in tree-files.c. Lookup and
 * listing both use tree_each(), so a path exists if and only if its directory lists it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "sim/host/tree-gpus.h"

/* The entries that always exist: directories and the link mdev_type. */
static const struct {
	enum tree_kind in;
	const char *name;
	enum tree_kind kind;
} fixed[] = {
	{TREE_ROOT, "bus", TREE_BUS},
	{TREE_ROOT, "class", TREE_CLASS},
	{TREE_ROOT, "devices", TREE_DEVICES},
	{TREE_BUS, "mdev", TREE_BUS_MDEV},
	{TREE_BUS_MDEV, "devices", TREE_BUS_DEVICES},
	{TREE_CLASS, "mdev_bus", TREE_CLASS_MDEV},
	{TREE_DEVICES, "pci0000:00", TREE_PCI},
	{TREE_GPU, "mdev_supported_types", TREE_TYPES},
	{TREE_TYPE, "devices", TREE_TYPE_DEVICES},
	{TREE_VGPU, "intel_vgpu", TREE_VGPU_GROUP},
	{TREE_VGPU, "mdev_type", TREE_LINK},
	{TREE_XE_ROOT, "bus", TREE_XE_BUS},
	{TREE_XE_ROOT, "devices", TREE_XE_DEVICES},
	{TREE_XE_BUS, "pci", TREE_XE_BUS_PCI},
	{TREE_XE_BUS_PCI, "devices", TREE_XE_BUS_DEVICES},
	{TREE_XE_BUS_PCI, "drivers", TREE_XE_DRIVERS},
	{TREE_XE_DRIVERS, "xe", TREE_XE_DRIVER},
	{TREE_XE_DEVICES, "pci0000:00", TREE_XE_PCI},
	{TREE_XE_PF, "driver", TREE_LINK},
	{TREE_XE_PF, "gover_sim", TREE_XE_SIM},
	{TREE_XE_PF, "sriov_admin", TREE_XE_ADMIN},
	{TREE_XE_VF, "physfn", TREE_LINK},
	{TREE_XE_ADMIN, ".bulk_profile", TREE_XE_BULK},
	{TREE_XE_PF_FUNCTION, "profile", TREE_XE_PF_PROFILE},
	{TREE_XE_VF_FUNCTION, "profile", TREE_XE_VF_PROFILE},
	{TREE_XE_PF_FUNCTION, "counters", TREE_XE_COUNTERS},
	{TREE_XE_VF_FUNCTION, "counters", TREE_XE_COUNTERS},
};

static int each_fixed(const struct tree_node *dir, tree_found_fn found, void *userdata)
{
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		struct tree_node node = *dir;
		int r;

		if (fixed[i].in != dir->kind)
			continue;
		node.kind = fixed[i].kind;
		node.from = dir->kind;
		r = found(userdata, fixed[i].name, &node);
		if (r != 0)
			return r;
	}
	return 0;
}

static int each_attr(const struct tree_node *dir, const struct tree_attr *attrs,
		     tree_found_fn found, void *userdata)
{
	for (const struct tree_attr *attr = attrs; attr->name; attr++) {
		struct tree_node node = *dir;
		int r;

		if (attr->in != dir->kind)
			continue;
		node.kind = TREE_ATTR;
		node.attr = attr;
		r = found(userdata, attr->name, &node);
		if (r != 0)
			return r;
	}
	return 0;
}

/*
 * Calls @found for each vGPU of @gpu with type @type (-1: any type). The vGPU is a directory in the
 * directory of the GPU, and a link in other directories.
 */
static int each_vgpu(struct tree_gpu *gpu, int type, const struct tree_node *dir,
		     tree_found_fn found, void *userdata)
{
	for (struct tree_vgpu *vgpu = gpu->vgpus; vgpu; vgpu = vgpu->next) {
		struct tree_node node = {
			.kind = dir->kind == TREE_GPU ? TREE_VGPU : TREE_LINK,
			.gpu = gpu,
			.type = vgpu->type,
			.vgpu = vgpu,
			.from = dir->kind,
		};
		int r;

		if (type >= 0 && vgpu->type != type)
			continue;
		r = found(userdata, vgpu->uuid, &node);
		if (r != 0)
			return r;
	}
	return 0;
}

static int each_gpu(struct tree *tree, const struct tree_node *dir, tree_found_fn found,
		    void *userdata)
{
	int r = 0;

	for (int i = 0; r == 0 && i < tree->n_gpus; i++) {
		struct tree_node node = {
			.kind = dir->kind == TREE_PCI ? TREE_GPU : TREE_LINK,
			.gpu = &tree->gpus[i],
			.from = dir->kind,
		};

		if (dir->kind == TREE_BUS_DEVICES)
			r = each_vgpu(node.gpu, -1, dir, found, userdata);
		else
			r = found(userdata, node.gpu->name, &node);
	}
	return r;
}

static int each_type(const struct tree_node *dir, tree_found_fn found, void *userdata)
{
	for (int i = 0; i < TREE_TYPES_N; i++) {
		struct tree_node node = {.kind = TREE_TYPE, .gpu = dir->gpu, .type = i};
		int r = found(userdata, tree_types[i].name, &node);

		if (r != 0)
			return r;
	}
	return 0;
}

int tree_each(struct tree *tree, const struct tree_node *dir, tree_found_fn found, void *userdata)
{
	int r = each_fixed(dir, found, userdata);

	if (r == 0)
		r = each_attr(dir, tree->host == TREE_XE ? tree_xe_attrs : tree_attrs, found,
			      userdata);
	if (r != 0)
		return r;
	if (tree->host == TREE_XE)
		return tree_xe_each(tree, dir, found, userdata);
	if (dir->kind == TREE_BUS_DEVICES || dir->kind == TREE_CLASS_MDEV || dir->kind == TREE_PCI)
		return each_gpu(tree, dir, found, userdata);
	if (dir->kind == TREE_GPU)
		return each_vgpu(dir->gpu, -1, dir, found, userdata);
	if (dir->kind == TREE_TYPES)
		return each_type(dir, found, userdata);
	if (dir->kind == TREE_TYPE_DEVICES)
		return each_vgpu(dir->gpu, dir->type, dir, found, userdata);
	return 0;
}

struct wanted {
	const char *name;
	size_t length;
	struct tree_node node;
};

static int is_wanted(void *userdata, const char *name, const struct tree_node *node)
{
	struct wanted *wanted = userdata;

	if (strncmp(name, wanted->name, wanted->length) != 0 || name[wanted->length] != '\0')
		return 0;
	wanted->node = *node;
	return 1;
}

int tree_find(struct tree *tree, const char *path, struct tree_node *ret_node)
{
	struct wanted wanted = {.node.kind = tree->host == TREE_XE ? TREE_XE_ROOT : TREE_ROOT};

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		struct tree_node dir = wanted.node;

		if (dir.kind >= TREE_LINK)
			return -ENOTDIR;
		wanted.name = path;
		wanted.length = strcspn(path, "/");
		if (tree_each(tree, &dir, is_wanted, &wanted) != 1)
			return -ENOENT;
		path += wanted.length;
	}
	*ret_node = wanted.node;
	return 0;
}

mode_t tree_mode(const struct tree_node *node)
{
	if (node->kind == TREE_LINK)
		return S_IFLNK | 0777;
	if (node->kind == TREE_ATTR)
		return S_IFREG | node->attr->mode;
	return S_IFDIR | 0755;
}

/* Distinguishes the entries of a vGPU or VF from those of an earlier one with the same name. */
static uint64_t life_of(const struct tree_node *node)
{
	bool pci = node->kind == TREE_XE_VF || node->kind == TREE_LINK ||
		   (node->attr && node->attr->in == TREE_XE_VF);

	if (node->vgpu)
		return node->vgpu->life;
	return pci && node->function > 0 ? node->gpu->vfs_life : 0;
}

uint64_t tree_inode(const struct tree_node *node)
{
	uint64_t hash = 0xcbf29ce484222325;
	char text[256];

	snprintf(text, sizeof(text), "%d/%d/%s/%d/%u/%s/%" PRIu64, node->kind, node->from,
		 node->gpu ? node->gpu->name : "", node->type, node->function,
		 node->attr ? node->attr->name : "", life_of(node));
	for (const char *c = text; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3; /* FNV-1a */
	return hash;
}

void tree_link_text(const struct tree_node *link, char text[TREE_LINK_MAX])
{
	const char *gpu = link->gpu->name;

	if (link->gpu->functions)
		tree_xe_link_text(link, text);
	else if (link->from == TREE_VGPU)
		snprintf(text, TREE_LINK_MAX, "../mdev_supported_types/%s",
			 tree_types[link->type].name);
	else if (link->from == TREE_TYPE_DEVICES)
		snprintf(text, TREE_LINK_MAX, "../../../%s", link->vgpu->uuid);
	else if (link->from == TREE_BUS_DEVICES)
		snprintf(text, TREE_LINK_MAX, "../../../devices/pci0000:00/%s/%s", gpu,
			 link->vgpu->uuid);
	else /* link->from is TREE_CLASS_MDEV */
		snprintf(text, TREE_LINK_MAX, "../../devices/pci0000:00/%s", gpu);
}
