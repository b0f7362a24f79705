/* SPDX-License-Identifier: MIT */
/*
 * The files of the tree of an SR-IOV host: their contents, and the effects of writes. Names,
 * permissions, formats and errors are those of
 * Documentation/ABI/testing/sysfs-driver-intel-xe-sriov (Linux 17b95278ae6a), of
 * drivers/gpu/drm/xe/xe_sriov_pf_sysfs.c (17899358f66d), and of drivers/pci/iov.c for the files
 * sriov_*. tests/kernel/gover_xe has the same files.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/host/tree-gpus.h"

/* --- numbers and words, as in the kernel --- */

/* As kstrtobool(). */
static int parse_bool(const char *text, bool *ret_value)
{
	bool on = text[0] == 'o' || text[0] == 'O';
	char c = on ? text[1] : text[0];
	const char *yes = on ? "nN" : "yYtT1", *no = on ? "fF" : "nNfF0";

	if (c == '\0' || (!strchr(yes, c) && !strchr(no, c)))
		return -EINVAL;
	*ret_value = strchr(yes, c);
	return 0;
}

static int find_word(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(text, words[i]) == 0)
			return (int)i;
	return -EINVAL;
}

static void show_number(uint64_t value, char text[TREE_TEXT_MAX])
{
	snprintf(text, TREE_TEXT_MAX, "%" PRIu64, value);
}

static struct quanta_function *function_of(const struct tree_node *node)
{
	return &node->gpu->functions->functions[node->function];
}

/* --- files of a PCI device --- */

/* A Data Center GPU Flex 170. */
static void show_vendor(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	(void)node;
	strcpy(text, "0x8086");
}

static void show_device(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	(void)node;
	strcpy(text, "0x56c0");
}

static void show_class(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	(void)node;
	strcpy(text, "0x038000");
}

static void show_totalvfs(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_number(node->gpu->functions->quanta.n_functions - 1, text);
}

static void show_numvfs(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_number(node->gpu->functions->n_vfs, text);
}

static int store_numvfs(struct tree *tree, const struct tree_node *node, const char *text)
{
	struct quanta_gpu *gpu = node->gpu->functions;
	uint32_t n;
	int r = tree_parse_number(text, 0, UINT16_MAX, &n);

	(void)tree;
	if (r == 0 && n >= gpu->quanta.n_functions)
		r = -ERANGE;
	if (r < 0 || n == gpu->n_vfs)
		return r;
	if (n > 0 && gpu->n_vfs > 0)
		return -EBUSY;
	quanta_gpu_set_vfs(gpu, n);
	node->gpu->vfs_life += n > 0;
	return 0;
}

static void show_autoprobe(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_number(node->gpu->autoprobe, text);
}

static int store_autoprobe(struct tree *tree, const struct tree_node *node, const char *text)
{
	(void)tree;
	return parse_bool(text, &node->gpu->autoprobe);
}

/* --- files of profiles --- */

static const char *const priorities[] = {
	[QUANTA_LOW] = "low",
	[QUANTA_NORMAL] = "normal",
	[QUANTA_HIGH] = "high",
};

static void show_quantum(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_number(function_of(node)->quantum_ms, text);
}

static int store_quantum(struct tree *tree, const struct tree_node *node, const char *text)
{
	uint32_t ms;
	int r = tree_parse_number(text, 0, UINT32_MAX, &ms);

	(void)tree;
	if (r == 0)
		quanta_set_quantum(&node->gpu->functions->quanta, node->function, ms);
	return r;
}

static void show_timeout(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_number(function_of(node)->timeout_us, text);
}

static int store_timeout(struct tree *tree, const struct tree_node *node, const char *text)
{
	uint32_t us;
	int r = tree_parse_number(text, 0, UINT32_MAX, &us);

	(void)tree;
	if (r == 0)
		quanta_set_timeout(&node->gpu->functions->quanta, node->function, us);
	return r;
}

/* Only the PF can have "high". */
static void show_priority(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	size_t n = node->function == QUANTA_PF ? 3 : 2, used = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_set = function_of(node)->priority == i;

		used += (size_t)snprintf(text + used, TREE_TEXT_MAX - used, "%s%s%s%s",
					 i > 0 ? " " : "", is_set ? "[" : "", priorities[i],
					 is_set ? "]" : "");
	}
}

static int store_priority(struct tree *tree, const struct tree_node *node, const char *text)
{
	int i = find_word(text, priorities, 3);

	(void)tree;
	if (i < 0)
		return i;
	quanta_set_priority(&node->gpu->functions->quanta, QUANTA_PF, (enum quanta_priority)i);
	return 0;
}

static int store_stop(struct tree *tree, const struct tree_node *node, const char *text)
{
	bool stop;
	int r = parse_bool(text, &stop);

	(void)tree;
	if (r == 0 && stop)
		quanta_gpu_stop(node->gpu->functions, node->function);
	return r;
}

/* Writes @text to the file of each function. */
static int store_all(struct tree *tree, const struct tree_node *node, const char *text,
		     int (*store)(struct tree *tree, const struct tree_node *node,
				  const char *text))
{
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < node->gpu->functions->quanta.n_functions; i++) {
		struct tree_node function = *node;

		function.function = i;
		r = store(tree, &function, text);
	}
	return r;
}

static int store_all_quanta(struct tree *tree, const struct tree_node *node, const char *text)
{
	return store_all(tree, node, text, store_quantum);
}

static int store_all_timeouts(struct tree *tree, const struct tree_node *node, const char *text)
{
	return store_all(tree, node, text, store_timeout);
}

static int store_all_priorities(struct tree *tree, const struct tree_node *node, const char *text)
{
	int i = find_word(text, priorities, 2);

	(void)tree;
	if (i < 0)
		return i;
	quanta_gpu_set_priorities(node->gpu->functions, (enum quanta_priority)i);
	return 0;
}

/* --- files that no real host has --- */

static void show_active(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	show_number(quanta_gpu_ticks(function_of(node)->active_ns), text);
}

static void show_total(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	struct quanta *quanta = &node->gpu->functions->quanta;

	show_number(quanta_gpu_ticks(quanta_allotted_ns(quanta, node->function)), text);
}

static void show_load(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	unsigned int load_pct = node->gpu->functions->tenants[node->function].load_pct;

	if (load_pct == QUANTA_GPU_ENDLESS)
		strcpy(text, "endless");
	else
		show_number(load_pct, text);
}

static int store_load(struct tree *tree, const struct tree_node *node, const char *text)
{
	uint32_t load_pct = QUANTA_GPU_ENDLESS;
	int r = strcmp(text, "endless") == 0 ? 0 : tree_parse_number(text, 0, UINT8_MAX, &load_pct);

	(void)tree;
	if (!function_of(node)->present)
		return -ENODEV;
	if (r == 0 && load_pct > 100 && strcmp(text, "endless") != 0)
		r = -EINVAL;
	if (r == 0)
		quanta_gpu_set_load(node->gpu->functions, node->function, load_pct);
	return r;
}

static const struct {
	const char *name;
	int error;
} faults[] = {
	{"none", 0}, {"EUCLEAN", -EUCLEAN}, {"EINVAL", -EINVAL}, {"EPERM", -EPERM}, {"EIO", -EIO},
};

static void show_fault(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	size_t i = 0;

	while (faults[i].error != node->gpu->fault)
		i++;
	strcpy(text, faults[i].name);
}

static int store_fault(struct tree *tree, const struct tree_node *node, const char *text)
{
	(void)tree;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strcmp(text, faults[i].name) == 0) {
			node->gpu->fault = faults[i].error;
			return 0;
		}
	}
	return -EINVAL;
}

/* --- tables --- */

/* The files pf, vf1, ... in gover_sim. */
const struct tree_attr tree_xe_load = {TREE_XE_SIM, "pf", 0644, show_load, store_load};

const struct tree_attr tree_xe_attrs[] = {
	{TREE_XE_PF, "sriov_totalvfs", 0444, show_totalvfs, NULL},
	{TREE_XE_PF, "sriov_numvfs", 0644, show_numvfs, store_numvfs},
	{TREE_XE_PF, "sriov_drivers_autoprobe", 0644, show_autoprobe, store_autoprobe},
	{TREE_XE_PF, "vendor", 0444, show_vendor, NULL},
	{TREE_XE_PF, "device", 0444, show_device, NULL},
	{TREE_XE_PF, "class", 0444, show_class, NULL},
	{TREE_XE_VF, "vendor", 0444, show_vendor, NULL},
	{TREE_XE_VF, "device", 0444, show_device, NULL},
	{TREE_XE_VF, "class", 0444, show_class, NULL},
	{TREE_XE_BULK, "exec_quantum_ms", 0200, NULL, store_all_quanta},
	{TREE_XE_BULK, "preempt_timeout_us", 0200, NULL, store_all_timeouts},
	{TREE_XE_BULK, "sched_priority", 0200, NULL, store_all_priorities},
	{TREE_XE_PF_PROFILE, "exec_quantum_ms", 0644, show_quantum, store_quantum},
	{TREE_XE_PF_PROFILE, "preempt_timeout_us", 0644, show_timeout, store_timeout},
	{TREE_XE_PF_PROFILE, "sched_priority", 0644, show_priority, store_priority},
	{TREE_XE_VF_PROFILE, "exec_quantum_ms", 0644, show_quantum, store_quantum},
	{TREE_XE_VF_PROFILE, "preempt_timeout_us", 0644, show_timeout, store_timeout},
	/* The firmware can change only the priority of the PF alone. */
	{TREE_XE_VF_PROFILE, "sched_priority", 0444, show_priority, NULL},
	{TREE_XE_VF_FUNCTION, "stop", 0200, NULL, store_stop},
	{TREE_XE_COUNTERS, "engine_active_ticks", 0444, show_active, NULL},
	{TREE_XE_COUNTERS, "engine_total_ticks", 0444, show_total, NULL},
	{TREE_XE_SIM, "fault", 0644, show_fault, store_fault},
	{.name = NULL},
};

int tree_xe_check(const struct tree_node *attr, bool writes)
{
	enum tree_kind in = attr->attr->in;
	bool profile = in == TREE_XE_BULK || in == TREE_XE_PF_PROFILE || in == TREE_XE_VF_PROFILE;
	int fault = attr->gpu->fault;

	if (in == TREE_XE_VF && !function_of(attr)->present)
		return -ENODEV;
	return profile && (fault == -EUCLEAN) == !writes ? fault : 0;
}
