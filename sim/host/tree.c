/* SPDX-License-Identifier: MIT */
/*
 * The simulated GPUs, the layout of the tree, the contents of the files, and the effects of writes.
 * A write that a kernel rejects also fails here, even for root. Lookup and listing both use
 * tree_each(), so a path exists if and only if its directory lists it.
 *
 * The files of an SR-IOV host have the names, permissions, formats and errors of
 * Documentation/ABI/testing/sysfs-driver-intel-xe-sriov (Linux 17b95278ae6a), of
 * drivers/gpu/drm/xe/xe_sriov_pf_sysfs.c (17899358f66d), and of drivers/pci/iov.c for the files
 * sriov_*. tests/kernel/gover_xe has the same files.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "kernel/sched/quanta-gpu.h"
#include "kernel/sched/sched.h"
#include "sim/host/tree.h"
#include "sim/model/sim.h"

#define TREE_UUID_LENGTH     36
#define TYPES_N		     4
#define TREE_LOW_GM_LEAST_MB 64 /* graphics memory of a vGPU of the smallest type */

/* A vGPU type. i915-GVTg_V5_N is 1/N of a GPU (drivers/gpu/drm/i915/gvt/vgpu.c). */
struct tree_type {
	const char *name;
	int parts;
	/* graphics memory of a vGPU; limits the number of vGPUs on a GPU */
	int low_gm_mb, high_gm_mb;
	const char *resolution;
};

struct tree_vgpu {
	struct tree_vgpu *next; /* next vGPU in the list tree_gpu.vgpus */
	struct tree_gpu *gpu;
	struct sim_vgpu *sim; /* NULL: the vGPU was removed, but some of its files are still open */
	int refs;
	int id, type;
	uint64_t life; /* no other vGPU of the tree has this number */
	char uuid[TREE_UUID_LENGTH + 1];
	char load[WORKLOAD_TEXT_MAX]; /* text last written to the file "load" */
};

struct tree_gpu {
	struct tree *tree;
	char name[TREE_NAME_MAX];
	/* of a GVT-g host */
	struct sim *sim;
	int low_gm_mb; /* free */
	struct tree_vgpu *vgpus;
	/* of an SR-IOV host */
	struct quanta_gpu *functions;
	uint64_t vfs_life; /* how often VFs were enabled */
	int fault; /* an error for the files of profiles: -EUCLEAN for reads, others for writes */
	bool autoprobe; /* the file sriov_drivers_autoprobe, without effect */
};

struct tree {
	enum tree_host host;
	uint64_t now_ns;
	uint64_t lives; /* number of vGPUs that were created */
	int n_gpus;
	struct tree_gpu gpus[TREE_GPUS_MAX];
};

struct tree_attr {
	enum tree_kind in;
	const char *name;
	mode_t mode;
	/* show is NULL if the file is not readable, store is NULL if it is not writable. @text
	 * ends with NUL and has no newline. */
	void (*show)(const struct tree_node *node, char text[TREE_TEXT_MAX]);
	int (*store)(const struct tree_node *node, const char *text);
};

static const struct tree_type types[TYPES_N] = {
	{"i915-GVTg_V5_8", 8, TREE_LOW_GM_LEAST_MB, 384, "1024x768"},
	{"i915-GVTg_V5_4", 4, 128, 512, "1920x1200"},
	{"i915-GVTg_V5_2", 2, 256, 1024, "1920x1200"},
	{"i915-GVTg_V5_1", 1, 512, 2048, "1920x1200"},
};

struct tree *tree_new(enum tree_host host, int gpus, int vgpus)
{
	struct tree *tree = xcalloc(1, sizeof(*tree));

	tree->host = host;
	for (int i = 0; i < gpus; i++) {
		struct tree_gpu *gpu = &tree->gpus[tree->n_gpus++];

		/* The first GPU has the PCI address of integrated graphics. The other GPUs are
		 * on other buses. */
		snprintf(gpu->name, sizeof(gpu->name), "0000:%02x:%02x.0", (unsigned int)i & 0xff,
			 i == 0 ? 2U : 0U);
		gpu->tree = tree;
		gpu->low_gm_mb = vgpus * TREE_LOW_GM_LEAST_MB;
		gpu->autoprobe = true;
		if (host == TREE_XE) {
			gpu->functions = xmalloc(sizeof(*gpu->functions));
			quanta_gpu_start(gpu->functions, (unsigned int)vgpus, 0);
		} else {
			gpu->sim = sim_new();
		}
	}
	return tree;
}

static void unref(struct tree_vgpu *vgpu)
{
	if (--vgpu->refs == 0)
		free(vgpu);
}

static void remove_vgpu(struct tree_vgpu *vgpu)
{
	struct tree_vgpu **at = &vgpu->gpu->vgpus;

	while (*at != vgpu)
		at = &(*at)->next;
	*at = vgpu->next;
	vgpu->gpu->low_gm_mb += types[vgpu->type].low_gm_mb;
	sim_remove(vgpu->gpu->sim, vgpu->sim);
	vgpu->sim = NULL;
	unref(vgpu);
}

struct tree *tree_free(struct tree *tree)
{
	if (!tree)
		return NULL;
	for (int i = 0; i < tree->n_gpus; i++) {
		while (tree->gpus[i].vgpus)
			remove_vgpu(tree->gpus[i].vgpus);
		if (tree->gpus[i].sim)
			sim_free(tree->gpus[i].sim);
		free(tree->gpus[i].functions);
	}
	free(tree);
	return NULL;
}

void tree_set_now(struct tree *tree, uint64_t now_ns)
{
	tree->now_ns = now_ns;
}

/* Simulates @gpu up to the current time. */
static void update(struct tree_gpu *gpu)
{
	if (gpu->functions)
		quanta_gpu_advance(gpu->functions, gpu->tree->now_ns);
	else
		sim_advance(gpu->sim, gpu->tree->now_ns);
}

void tree_advance(struct tree *tree)
{
	for (int i = 0; i < tree->n_gpus; i++)
		update(&tree->gpus[i]);
}

void tree_hold(const struct tree_node *node)
{
	if (node->vgpu)
		node->vgpu->refs++;
}

void tree_release(const struct tree_node *node)
{
	if (node->vgpu)
		unref(node->vgpu);
}

/* Returns the lowest vGPU id from 1 that is not in use on @gpu. */
static int free_id(const struct tree_gpu *gpu)
{
	for (int id = 1;; id++) {
		const struct tree_vgpu *vgpu = gpu->vgpus;

		while (vgpu && vgpu->id != id)
			vgpu = vgpu->next;
		if (!vgpu)
			return id;
	}
}

/* Creates a vGPU. @uuid: a valid UUID in lower case. -EEXIST, -ENOSPC. */
static int add_vgpu(struct tree_gpu *gpu, int type, const char *uuid)
{
	struct tree *tree = gpu->tree;
	struct tree_vgpu *vgpu;
	int r;

	for (int i = 0; i < tree->n_gpus; i++)
		for (vgpu = tree->gpus[i].vgpus; vgpu; vgpu = vgpu->next)
			if (strcmp(vgpu->uuid, uuid) == 0)
				return -EEXIST;
	if (gpu->low_gm_mb < types[type].low_gm_mb)
		return -ENOSPC;
	vgpu = xcalloc(1, sizeof(*vgpu));
	r = sim_add(gpu->sim, uuid, 100 / types[type].parts, &vgpu->sim);
	if (r < 0) {
		free(vgpu);
		return r;
	}
	strcpy(vgpu->uuid, uuid);
	strcpy(vgpu->load, "0");
	vgpu->id = free_id(gpu);
	vgpu->life = ++tree->lives;
	vgpu->type = type;
	vgpu->gpu = gpu;
	vgpu->refs = 1;
	vgpu->next = gpu->vgpus;
	gpu->vgpus = vgpu;
	gpu->low_gm_mb -= types[type].low_gm_mb;
	return 0;
}

/* --- numbers and words, as in the kernel --- */

/*
 * Parses a number as kstrtouint() of the kernel: without a sign with @base 10; with @base 0 also in
 * the forms "+7", "0x7" and "07". -EINVAL; -ERANGE: larger than @max.
 */
static int parse_number(const char *text, int base, uint32_t max, uint32_t *ret_value)
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
	int r = parse_number(text, 10, UINT32_MAX, &value);

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

/* A function that shows one number, or one text. */
#define SHOW_INT(file, value)                                                           \
	static void show_##file(const struct tree_node *node, char text[TREE_TEXT_MAX]) \
	{                                                                               \
		show_int((int64_t)(value), text);                                       \
	}
#define SHOW_TEXT(file, value)                                                          \
	static void show_##file(const struct tree_node *node, char text[TREE_TEXT_MAX]) \
	{                                                                               \
		(void)node;                                                             \
		snprintf(text, TREE_TEXT_MAX, "%s", value);                             \
	}

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

static struct quanta_function *function_of(const struct tree_node *node)
{
	return &node->gpu->functions->functions[node->function];
}

/* --- files of a PCI device --- */

/* A Data Center GPU Flex 170. */
SHOW_TEXT(vendor, "0x8086")
SHOW_TEXT(device, "0x56c0")
SHOW_TEXT(class, "0x038000")
SHOW_INT(totalvfs, node->gpu->functions->quanta.n_functions - 1)
SHOW_INT(numvfs, node->gpu->functions->n_vfs)

static int store_numvfs(const struct tree_node *node, const char *text)
{
	struct quanta_gpu *gpu = node->gpu->functions;
	uint32_t n;
	int r = parse_number(text, 0, UINT16_MAX, &n);

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

SHOW_INT(autoprobe, node->gpu->autoprobe)

static int store_autoprobe(const struct tree_node *node, const char *text)
{
	return parse_bool(text, &node->gpu->autoprobe);
}

/* --- files of profiles --- */

static const char *const priorities[] = {
	[QUANTA_LOW] = "low",
	[QUANTA_NORMAL] = "normal",
	[QUANTA_HIGH] = "high",
};

SHOW_INT(quantum, function_of(node)->quantum_ms)

static int store_number(const struct tree_node *node, const char *text,
			void (*set)(struct quanta *quanta, unsigned int function, uint32_t value))
{
	uint32_t value;
	int r = parse_number(text, 0, UINT32_MAX, &value);

	if (r == 0)
		set(&node->gpu->functions->quanta, node->function, value);
	return r;
}

static int store_quantum(const struct tree_node *node, const char *text)
{
	return store_number(node, text, quanta_set_quantum);
}

SHOW_INT(timeout, function_of(node)->timeout_us)

static int store_timeout(const struct tree_node *node, const char *text)
{
	return store_number(node, text, quanta_set_timeout);
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

static int store_priority(const struct tree_node *node, const char *text)
{
	int i = find_word(text, priorities, 3);

	if (i < 0)
		return i;
	quanta_set_priority(&node->gpu->functions->quanta, QUANTA_PF, (enum quanta_priority)i);
	return 0;
}

static int store_stop(const struct tree_node *node, const char *text)
{
	bool stop;
	int r = parse_bool(text, &stop);

	if (r == 0 && stop)
		quanta_gpu_stop(node->gpu->functions, node->function);
	return r;
}

/* Writes @text to the file of each function. */
static int store_all(const struct tree_node *node, const char *text,
		     int (*store)(const struct tree_node *node, const char *text))
{
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < node->gpu->functions->quanta.n_functions; i++) {
		struct tree_node function = *node;

		function.function = i;
		r = store(&function, text);
	}
	return r;
}

static int store_all_quanta(const struct tree_node *node, const char *text)
{
	return store_all(node, text, store_quantum);
}

static int store_all_timeouts(const struct tree_node *node, const char *text)
{
	return store_all(node, text, store_timeout);
}

static int store_all_priorities(const struct tree_node *node, const char *text)
{
	int i = find_word(text, priorities, 2);

	if (i < 0)
		return i;
	quanta_gpu_set_priorities(node->gpu->functions, (enum quanta_priority)i);
	return 0;
}

/* --- files that no real host has --- */

SHOW_INT(active, quanta_gpu_ticks(function_of(node)->active_ns))

static void show_total(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	struct quanta *quanta = &node->gpu->functions->quanta;

	show_int((int64_t)quanta_gpu_ticks(quanta_allotted_ns(quanta, node->function)), text);
}

static void show_load(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	unsigned int load_pct = node->gpu->functions->tenants[node->function].load_pct;

	if (load_pct == QUANTA_GPU_ENDLESS)
		strcpy(text, "endless");
	else
		show_int(load_pct, text);
}

static int store_load(const struct tree_node *node, const char *text)
{
	uint32_t load_pct = QUANTA_GPU_ENDLESS;
	int r = strcmp(text, "endless") == 0 ? 0 : parse_number(text, 0, UINT8_MAX, &load_pct);

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

static int store_fault(const struct tree_node *node, const char *text)
{
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
static const struct tree_attr xe_load = {TREE_XE_SIM, "pf", 0644, show_load, store_load};

static const struct tree_attr xe_attrs[] = {
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

/* Returns 0, or the error of any reading or writing of @attr, a file of an SR-IOV host. */
static int check_xe(const struct tree_node *attr, bool writes)
{
	enum tree_kind in = attr->attr->in;
	bool profile = in == TREE_XE_BULK || in == TREE_XE_PF_PROFILE || in == TREE_XE_VF_PROFILE;
	int fault = attr->gpu->fault;

	if (in == TREE_XE_VF && !function_of(attr)->present)
		return -ENODEV;
	return profile && (fault == -EUCLEAN) == !writes ? fault : 0;
}

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
			node.attr = &xe_load;
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

/* The layout of an SR-IOV host, except its fixed entries: as tree_each() and tree_link_text(). */
static int each_xe(struct tree *tree, const struct tree_node *dir, tree_found_fn found,
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

static void xe_link_text(const struct tree_node *link, char text[TREE_LINK_MAX])
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

/* --- files of a type --- */

SHOW_TEXT(name, strchr(types[node->type].name, '-') + 1)

static void show_description(const struct tree_node *node, char text[TREE_TEXT_MAX])
{
	const struct tree_type *type = &types[node->type];

	snprintf(text, TREE_TEXT_MAX,
		 "low_gm_size: %dMB\nhigh_gm_size: %dMB\nfence: 4\nresolution: %s\nweight: %d",
		 type->low_gm_mb, type->high_gm_mb, type->resolution, 16 / type->parts);
}

SHOW_INT(available, node->gpu->low_gm_mb / types[node->type].low_gm_mb)
SHOW_TEXT(api, "vfio-pci")

static int store_create(const struct tree_node *node, const char *text)
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
	return add_vgpu(node->gpu, node->type, uuid);
}

/* --- files of a GPU --- */

SHOW_TEXT(sharing, sched_sharing_name(sim_discipline(node->gpu->sim)))

static int store_sharing(const struct tree_node *node, const char *text)
{
	const struct sched_discipline *discipline = sched_sharing_find(text);

	if (!discipline)
		return -EINVAL;
	sim_set_discipline(node->gpu->sim, discipline);
	return 0;
}

/* --- files of a vGPU --- */

static int store_remove(const struct tree_node *node, const char *text)
{
	uint32_t value;
	int r = parse_number(text, 10, UINT32_MAX, &value);

	if (r == 0 && value > 0)
		remove_vgpu(node->vgpu);
	return r;
}

SHOW_TEXT(demand, node->vgpu->load)

/* A load of 100 percent means unlimited demand. */
static int store_demand(const struct tree_node *node, const char *text)
{
	char words[WORKLOAD_TEXT_MAX];
	struct workload workload;
	int pct = 0, r = parse_pct(text, &pct);

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

/* A function that stores the percentage @pct. */
#define STORE_PCT(file, result)                                                 \
	static int store_##file(const struct tree_node *node, const char *text) \
	{                                                                       \
		int pct = 0, r = parse_pct(text, &pct);                         \
                                                                                \
		return r < 0 ? r : (result);                                    \
	}

SHOW_INT(id, node->vgpu->id)
SHOW_INT(cap, sim_cap(node->vgpu->sim))
STORE_PCT(cap, sim_set_cap(node->gpu->sim, node->vgpu->sim, pct))
SHOW_INT(initial_cap, sim_initial_cap(node->vgpu->sim))
STORE_PCT(initial_cap, sim_set_initial_cap(node->vgpu->sim, pct))
SHOW_INT(busy, sim_vgpu_busy_ns(node->vgpu->sim))
SHOW_INT(sched, sim_vgpu_sched_ns(node->gpu->sim, node->vgpu->sim))
SHOW_INT(lease, sim_lease_ms(node->vgpu->sim))

static int store_lease(const struct tree_node *node, const char *text)
{
	uint32_t lease_ms;
	int r = parse_number(text, 10, UINT32_MAX, &lease_ms);

	if (r == 0)
		sim_set_lease(node->gpu->sim, node->vgpu->sim, lease_ms);
	return r;
}

SHOW_INT(ceiling, sim_ceiling(node->vgpu->sim))
STORE_PCT(ceiling, sim_set_ceiling(node->vgpu->sim, pct))

static const struct tree_attr gvt_attrs[] = {
	{TREE_GPU, "gover_sharing", 0644, show_sharing, store_sharing},
	{TREE_TYPE, "name", 0444, show_name, NULL},
	{TREE_TYPE, "description", 0444, show_description, NULL},
	{TREE_TYPE, "available_instances", 0444, show_available, NULL},
	{TREE_TYPE, "device_api", 0444, show_api, NULL},
	{TREE_TYPE, "create", 0200, NULL, store_create},
	{TREE_VGPU, "remove", 0200, NULL, store_remove},
	{TREE_VGPU, "load", 0644, show_demand, store_demand},
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
		return check_xe(attr, writes);
	return attr->vgpu && !attr->vgpu->sim ? -ENODEV : 0;
}

int tree_read(const struct tree_node *attr, char text[TREE_TEXT_MAX])
{
	size_t length;
	int r;

	if (!attr->attr->show)
		return -EACCES;
	r = check(attr, /* writes= */ false);
	if (r < 0)
		return r;
	update(attr->gpu);
	attr->attr->show(attr, text);
	length = strlen(text);
	text[length++] = '\n';
	return (int)length;
}

int tree_write(const struct tree_node *attr, const char *text, size_t length)
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
	update(attr->gpu);
	return attr->attr->store(attr, line);
}

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
	for (int i = 0; i < TYPES_N; i++) {
		struct tree_node node = {.kind = TREE_TYPE, .gpu = dir->gpu, .type = i};
		int r = found(userdata, types[i].name, &node);

		if (r != 0)
			return r;
	}
	return 0;
}

int tree_each(struct tree *tree, const struct tree_node *dir, tree_found_fn found, void *userdata)
{
	int r = each_fixed(dir, found, userdata);

	if (r == 0)
		r = each_attr(dir, tree->host == TREE_XE ? xe_attrs : gvt_attrs, found, userdata);
	if (r != 0)
		return r;
	if (tree->host == TREE_XE)
		return each_xe(tree, dir, found, userdata);
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
		xe_link_text(link, text);
	else if (link->from == TREE_VGPU)
		snprintf(text, TREE_LINK_MAX, "../mdev_supported_types/%s", types[link->type].name);
	else if (link->from == TREE_TYPE_DEVICES)
		snprintf(text, TREE_LINK_MAX, "../../../%s", link->vgpu->uuid);
	else if (link->from == TREE_BUS_DEVICES)
		snprintf(text, TREE_LINK_MAX, "../../../devices/pci0000:00/%s/%s", gpu,
			 link->vgpu->uuid);
	else /* link->from is TREE_CLASS_MDEV */
		snprintf(text, TREE_LINK_MAX, "../../devices/pci0000:00/%s", gpu);
}
