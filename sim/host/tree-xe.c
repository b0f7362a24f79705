/* SPDX-License-Identifier: MIT */
/*
 * The layout of the tree of an SR-IOV host: PFs, VFs and their links. The contents of the files are
 * in tree-xe-files.c.
 */
#include <stdio.h>

#include "sim/host/tree-gpus.h"

/*
 * Writes the PCI address of a function of @gpu. The addresses of VFs follow that of the PF, also
 * across device numbers, as with a VF offset of 1 and a stride of 1.
 */
static void write_address(const struct tree_gpu *gpu, unsigned int function,
			  char text[TREE_NAME_MAX])
{
	unsigned int bus = 0, device = 0;

	(void)sscanf(gpu->name, "0000:%2x:%2x", &bus, &device); /* the format of tree_new() */
	snprintf(text, TREE_NAME_MAX, "0000:%02x:%02x.%u", bus & 0xff,
		 (device * 8 + function) / 8 & 0x1f, function % 8);
}

static int each_link_of_vfs(struct tree_gpu *gpu, tree_found_fn found, void *userdata)
{
	int r = 0;

	for (unsigned int i = 1; r == 0 && i <= gpu->functions->n_vfs; i++) {
		struct tree_node node = {
			.kind = TREE_LINK, .gpu = gpu, .function = i, .from = TREE_XE_PF};
		char name[TREE_NAME_MAX];

		snprintf(name, sizeof(name), "virtfn%u", i - 1); /* VF 1 is virtfn0 */
		r = found(userdata, name, &node);
	}
	return r;
}

/* The PF and the enabled VFs of each GPU: directories in @dir, or links to them. */
static int each_device(struct tree *tree, const struct tree_node *dir, tree_found_fn found,
		       void *userdata)
{
	int r = 0;

	for (int g = 0; r == 0 && g < tree->n_gpus; g++) {
		struct tree_gpu *gpu = &tree->gpus[g];
		unsigned int n_vfs = dir->kind == TREE_XE_DRIVER ? 0 : gpu->functions->n_vfs;

		for (unsigned int i = 0; r == 0 && i <= n_vfs; i++) {
			struct tree_node node = {.gpu = gpu, .function = i, .from = dir->kind};
			char name[TREE_NAME_MAX];

			node.kind = i == 0 ? TREE_XE_PF : TREE_XE_VF;
			if (dir->kind != TREE_XE_PCI)
				node.kind = TREE_LINK;
			write_address(gpu, i, name);
			r = found(userdata, name, &node);
		}
	}
	return r;
}

/* The folders pf, vf1, ... of sriov_admin, for all VFs; or the files pf, vf1, ... of gover_sim. */
static int each_function(const struct tree_node *dir, tree_found_fn found, void *userdata)
{
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < dir->gpu->functions->quanta.n_functions; i++) {
		struct tree_node node = *dir;
		char name[TREE_NAME_MAX];

		node.function = i;
		node.kind = i == 0 ? TREE_XE_PF_FUNCTION : TREE_XE_VF_FUNCTION;
		if (dir->kind == TREE_XE_SIM) {
			node.kind = TREE_ATTR;
			node.attr = &tree_xe_load;
		}
		snprintf(name, sizeof(name), i == 0 ? "pf" : "vf%u", i);
		r = found(userdata, name, &node);
	}
	return r;
}

/* The link to the PCI device exists only for the PF and for enabled VFs. */
static int each_link_to_device(const struct tree_node *dir, tree_found_fn found, void *userdata)
{
	struct tree_node node = *dir;

	if (!dir->gpu->functions->functions[dir->function].present)
		return 0;
	node.kind = TREE_LINK;
	node.from = dir->kind;
	return found(userdata, "device", &node);
}

int tree_xe_each(struct tree *tree, const struct tree_node *dir, tree_found_fn found,
		 void *userdata)
{
	enum tree_kind kind = dir->kind;

	if (kind == TREE_XE_BUS_DEVICES || kind == TREE_XE_DRIVER || kind == TREE_XE_PCI)
		return each_device(tree, dir, found, userdata);
	if (kind == TREE_XE_PF)
		return each_link_of_vfs(dir->gpu, found, userdata);
	if (kind == TREE_XE_ADMIN || kind == TREE_XE_SIM)
		return each_function(dir, found, userdata);
	if (kind == TREE_XE_PF_FUNCTION || kind == TREE_XE_VF_FUNCTION)
		return each_link_to_device(dir, found, userdata);
	return 0;
}

void tree_xe_link_text(const struct tree_node *link, char text[TREE_LINK_MAX])
{
	char address[TREE_NAME_MAX];

	write_address(link->gpu, link->from == TREE_XE_VF ? 0 : link->function, address);
	if (link->from == TREE_XE_PF && link->function == 0)
		snprintf(text, TREE_LINK_MAX, "../../../bus/pci/drivers/xe");
	else if (link->from == TREE_XE_PF || link->from == TREE_XE_VF)
		snprintf(text, TREE_LINK_MAX, "../%s", address);
	else if (link->from == TREE_XE_BUS_DEVICES)
		snprintf(text, TREE_LINK_MAX, "../../../devices/pci0000:00/%s", address);
	else if (link->from == TREE_XE_DRIVER)
		snprintf(text, TREE_LINK_MAX, "../../../../devices/pci0000:00/%s", address);
	else /* link->from is TREE_XE_PF_FUNCTION or TREE_XE_VF_FUNCTION */
		snprintf(text, TREE_LINK_MAX, "../../../%s", address);
}
