/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The PMU of the GPU: names, formats, events and errors as in drivers/gpu/drm/xe/xe_pmu.c (drm-tip
 * 8b866a89208e). The GPU has two GTs and five engines. Only the render engine is ever busy. The
 * total ticks of a function are its part of the round, whether it used the time or not, and so
 * they are the same for all engines.
 */
#include <linux/bitfield.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "pmu.h"

#define EVENT_ID       GENMASK_ULL(11, 0)
#define EVENT_INSTANCE GENMASK_ULL(19, 12)
#define EVENT_CLASS    GENMASK_ULL(27, 20)
#define EVENT_FUNCTION GENMASK_ULL(59, 44)
#define EVENT_GT       GENMASK_ULL(63, 60)

#define N_GTS 2
#define MHZ   1300

enum event_id {
	GT_C6_RESIDENCY = 1,
	ENGINE_ACTIVE_TICKS,
	ENGINE_TOTAL_TICKS,
	GT_ACTUAL_FREQUENCY,
	GT_REQUESTED_FREQUENCY,
};

static const struct engine {
	u8 gt, class, instance;
} engines[] = {
	{0, 0, 0}, /* render */
	{0, 1, 0}, /* copy */
	{0, 4, 0}, /* compute */
	{1, 2, 0}, /* video decoding */
	{1, 3, 0}, /* video enhancement */
};

/* The PMU. An open event has a reference, because it can outlive the device. */
struct counters {
	struct kref kref;
	struct pmu pmu;
	struct gpu *gpu; /* a reference */
	bool registered;
	char name[32];
};

static struct counters *counters_of(struct perf_event *event)
{
	return container_of(event->pmu, struct counters, pmu);
}

static const struct engine *find_engine(u64 config)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(engines); i++)
		if (engines[i].gt == FIELD_GET(EVENT_GT, config) &&
		    engines[i].class == FIELD_GET(EVENT_CLASS, config) &&
		    engines[i].instance == FIELD_GET(EVENT_INSTANCE, config))
			return &engines[i];
	return NULL;
}

static bool is_frequency(u64 config)
{
	u64 id = FIELD_GET(EVENT_ID, config);

	return id == GT_ACTUAL_FREQUENCY || id == GT_REQUESTED_FREQUENCY;
}

static bool is_valid(const struct counters *counters, u64 config)
{
	if (FIELD_GET(EVENT_GT, config) >= N_GTS)
		return false;
	switch (FIELD_GET(EVENT_ID, config)) {
	case GT_C6_RESIDENCY:
	case GT_ACTUAL_FREQUENCY:
	case GT_REQUESTED_FREQUENCY:
		return !(config & (EVENT_INSTANCE | EVENT_CLASS | EVENT_FUNCTION));
	case ENGINE_ACTIVE_TICKS:
	case ENGINE_TOTAL_TICKS:
		return find_engine(config) &&
		       FIELD_GET(EVENT_FUNCTION, config) < counters->gpu->sim.quanta.n_functions;
	}
	return false;
}

static u64 read_counter(struct gpu *gpu, u64 config)
{
	struct gpu_state state;

	gpu_read(gpu, FIELD_GET(EVENT_FUNCTION, config), &state);
	switch (FIELD_GET(EVENT_ID, config)) {
	case GT_C6_RESIDENCY:
		return state.idle_ms;
	case ENGINE_ACTIVE_TICKS:
		return find_engine(config) == &engines[0] ? state.active_ticks : 0;
	case ENGINE_TOTAL_TICKS:
		return state.total_ticks;
	}
	return MHZ;
}

/* --- the interface of perf --- */

static void release(struct kref *kref)
{
	struct counters *counters = container_of(kref, struct counters, kref);

	gpu_put(counters->gpu);
	kfree(counters);
}

static void destroy_event(struct perf_event *event)
{
	kref_put(&counters_of(event)->kref, release);
}

static int init_event(struct perf_event *event)
{
	struct counters *counters = counters_of(event);

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (!counters->registered)
		return -ENODEV;
	if (event->attr.sample_period || event->cpu < 0)
		return -EINVAL;
	if (!is_valid(counters, event->attr.config))
		return -ENOENT;
	if (has_branch_stack(event))
		return -EOPNOTSUPP;
	if (!event->parent) {
		kref_get(&counters->kref);
		event->destroy = destroy_event;
	}
	return 0;
}

static u64 read_now(struct perf_event *event)
{
	return read_counter(counters_of(event)->gpu, event->attr.config);
}

/* A frequency is added at each reading, as in the driver. */
static void read_event(struct perf_event *event)
{
	u64 now = read_now(event), before = local64_xchg(&event->hw.prev_count, now);

	local64_add(is_frequency(event->attr.config) ? now : now - before, &event->count);
}

static void start_event(struct perf_event *event, int flags)
{
	local64_set(&event->hw.prev_count, read_now(event));
	event->hw.state = 0;
}

static void stop_event(struct perf_event *event, int flags)
{
	if (flags & PERF_EF_UPDATE)
		read_event(event);
	event->hw.state = PERF_HES_STOPPED;
}

static int add_event(struct perf_event *event, int flags)
{
	if (flags & PERF_EF_START)
		start_event(event, flags);
	return 0;
}

static void del_event(struct perf_event *event, int flags)
{
	stop_event(event, PERF_EF_UPDATE);
}

/* --- files --- */

PMU_FORMAT_ATTR(event, "config:0-11");
PMU_FORMAT_ATTR(engine_instance, "config:12-19");
PMU_FORMAT_ATTR(engine_class, "config:20-27");
PMU_FORMAT_ATTR(function, "config:44-59");
PMU_FORMAT_ATTR(gt, "config:60-63");

static struct attribute *format_attrs[] = {
	&format_attr_event.attr,
	&format_attr_engine_class.attr,
	&format_attr_engine_instance.attr,
	&format_attr_function.attr,
	&format_attr_gt.attr,
	NULL,
};

static const struct attribute_group format_group = {
	.name = "format",
	.attrs = format_attrs,
};

/* checkpatch rejects the names with "-" in the macros of perf_event.h. */
struct event_attr {
	struct device_attribute attr;
	const char *text;
};

static ssize_t show_event(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct event_attr *event = container_of(attr, struct event_attr, attr);

	return sysfs_emit(buf, "%s\n", event->text);
}

#define EVENT_ATTR(title, content)                                                        \
	{                                                                                 \
		.attr.attr.name = title, .attr.attr.mode = 0444, .attr.show = show_event, \
		.text = content                                                           \
	}

static struct event_attr events[] = {
	EVENT_ATTR("gt-c6-residency", "event=0x01"),
	EVENT_ATTR("gt-c6-residency.unit", "ms"),
	EVENT_ATTR("engine-active-ticks", "event=0x02"),
	EVENT_ATTR("engine-total-ticks", "event=0x03"),
	EVENT_ATTR("gt-actual-frequency", "event=0x04"),
	EVENT_ATTR("gt-actual-frequency.unit", "MHz"),
	EVENT_ATTR("gt-requested-frequency", "event=0x05"),
	EVENT_ATTR("gt-requested-frequency.unit", "MHz"),
};

static struct attribute *event_attrs[] = {
	&events[0].attr.attr, &events[1].attr.attr, &events[2].attr.attr,
	&events[3].attr.attr, &events[4].attr.attr, &events[5].attr.attr,
	&events[6].attr.attr, &events[7].attr.attr, NULL,
};

static const struct attribute_group event_group = {
	.name = "events",
	.attrs = event_attrs,
};

/* Newer kernels add this file for every PMU of a whole system. */
static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return cpumap_print_to_pagebuf(true, buf, cpumask_of(0));
}
static DEVICE_ATTR_RO(cpumask);

static struct attribute *cpumask_attrs[] = {
	&dev_attr_cpumask.attr,
	NULL,
};

static const struct attribute_group cpumask_group = {
	.attrs = cpumask_attrs,
};

static const struct attribute_group *groups[] = {
	&format_group,
	&event_group,
	&cpumask_group,
	NULL,
};

struct counters *pmu_add(struct gpu *gpu, struct pci_dev *pdev)
{
	struct counters *counters = kzalloc(sizeof(*counters), GFP_KERNEL);
	int r;

	if (!counters)
		return ERR_PTR(-ENOMEM);
	kref_init(&counters->kref);
	gpu_get(gpu);
	counters->gpu = gpu;
	snprintf(counters->name, sizeof(counters->name), "xe_%s", pci_name(pdev));
	strreplace(counters->name, ':', '_'); /* perf reserves colons */
	counters->pmu = (struct pmu){
		.module = THIS_MODULE,
		.attr_groups = groups,
		.task_ctx_nr = perf_invalid_context,
		.event_init = init_event,
		.add = add_event,
		.del = del_event,
		.start = start_event,
		.stop = stop_event,
		.read = read_event,
	};
	counters->registered = true;
	r = perf_pmu_register(&counters->pmu, counters->name, -1);
	if (r < 0) {
		kref_put(&counters->kref, release);
		return ERR_PTR(r);
	}
	return counters;
}

void pmu_remove(struct counters *counters)
{
	counters->registered = false;
	perf_pmu_unregister(&counters->pmu);
	kref_put(&counters->kref, release);
}
