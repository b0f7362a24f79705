/* SPDX-License-Identifier: MIT */
/* Counters of ticks through perf events, or through files, and the times that follow from them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "gpu/xe/pmu.h"
#include "gpu/xe/quanta.h"

#define GTS_PROBED	 4
#define CLASSES_PROBED	 5 /* render, copy, video, video enhancement, compute: xe_drm.h */
#define INSTANCES_PROBED 9
#define TEXT_MAX	 128

/* --- system calls --- */

static int kernel_open(const struct perf_event_attr *attr, int cpu, int group_fd, uint64_t *ret_id)
{
	struct perf_event_attr copy = *attr;
	int fd = (int)syscall(SYS_perf_event_open, &copy, -1, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_ID, ret_id) < 0) {
		int r = -errno;

		(void)close(fd);
		return r;
	}
	return fd;
}

static ssize_t kernel_read(int fd, void *buffer, size_t size)
{
	ssize_t n = read(fd, buffer, size);

	return n < 0 ? -errno : n;
}

static int kernel_close(int fd)
{
	return close(fd) < 0 ? -errno : 0;
}

const struct xe_perf xe_perf_kernel = {
	.open = kernel_open,
	.read = kernel_read,
	.close = kernel_close,
};

/* --- the description in sysfs --- */

/* A field of the event configuration: bits @low to @high. */
struct field {
	int low, high;
};

enum field_name { FIELD_EVENT, FIELD_GT, FIELD_CLASS, FIELD_INSTANCE, FIELD_FUNCTION, FIELDS };
enum event_name { EVENT_ACTIVE, EVENT_TOTAL, EVENTS };

static const char *const field_files[FIELDS] = {
	[FIELD_EVENT] = "format/event",	       [FIELD_GT] = "format/gt",
	[FIELD_CLASS] = "format/engine_class", [FIELD_INSTANCE] = "format/engine_instance",
	[FIELD_FUNCTION] = "format/function",
};

static const char *const event_files[EVENTS] = {
	[EVENT_ACTIVE] = "events/engine-active-ticks",
	[EVENT_TOTAL] = "events/engine-total-ticks",
};

static const char *const counter_files[EVENTS] = {
	[EVENT_ACTIVE] = "engine_active_ticks",
	[EVENT_TOTAL] = "engine_total_ticks",
};

struct engine {
	int gt, class, instance;
};

/* The events of one function. */
struct group {
	bool open;
	int fds[XE_ENGINES_MAX][EVENTS];
	uint64_t ids[XE_ENGINES_MAX][EVENTS];
};

struct xe_pmu {
	const struct xe_perf *perf;
	struct xe_place place;
	bool is_files; /* counters/ instead of a PMU */
	uint32_t type;
	int cpu;
	struct field fields[FIELDS];
	uint64_t events[EVENTS];
	struct engine engines[XE_ENGINES_MAX];
	int n_engines;
	struct group *groups[XE_VFS_MAX + 1];
};

static int read_text(const char *dir, const char *name, char text[TEXT_MAX])
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	if (n >= (int)sizeof(path))
		return -ENAMETOOLONG;
	n = file_read_text(path, text, TEXT_MAX);
	return n < 0 ? n : 0;
}

/* Parses "config:LOW-HIGH" or "config:BIT". */
static int read_field(const char *dir, const char *name, struct field *ret_field)
{
	char text[TEXT_MAX], *dash;
	int64_t low, high;
	int r = read_text(dir, name, text);

	if (r < 0)
		return r;
	if (strncmp(text, "config:", 7) != 0)
		return -EINVAL;
	dash = strchr(text + 7, '-');
	if (dash)
		*dash = '\0';
	r = parse_int(text + 7, 0, 63, &low);
	high = low;
	if (r == 0 && dash)
		r = parse_int(dash + 1, low, 63, &high);
	if (r == 0)
		*ret_field = (struct field){.low = (int)low, .high = (int)high};
	return r < 0 ? -EINVAL : 0;
}

/* Parses "event=0xNN". */
static int read_event(const char *dir, const char *name, uint64_t *ret_event)
{
	char text[TEXT_MAX], *end;
	int r = read_text(dir, name, text);

	if (r < 0)
		return r;
	if (strncmp(text, "event=0x", 8) != 0 || text[8] == '\0')
		return -EINVAL;
	*ret_event = strtoull(text + 8, &end, 16);
	return *end == '\0' ? 0 : -EINVAL;
}

/* Returns the first CPU of the mask; a device without a mask has events on each CPU. */
static int read_cpu(const char *dir)
{
	char text[TEXT_MAX];
	int64_t cpu;

	if (read_text(dir, "cpumask", text) < 0)
		return 0;
	text[strcspn(text, ",-")] = '\0';
	return parse_int(text, 0, INT32_MAX, &cpu) < 0 ? 0 : (int)cpu;
}

static int read_description(struct xe_pmu *pmu, const char *dir)
{
	char text[TEXT_MAX];
	int64_t type;
	int r = read_text(dir, "type", text);

	if (r == 0 && parse_int(text, 0, UINT32_MAX, &type) < 0)
		r = -EINVAL;
	for (int i = 0; i < FIELDS && r == 0; i++)
		r = read_field(dir, field_files[i], &pmu->fields[i]);
	for (int i = 0; i < EVENTS && r == 0; i++)
		r = read_event(dir, event_files[i], &pmu->events[i]);
	if (r < 0)
		return r;
	pmu->type = (uint32_t)type;
	pmu->cpu = read_cpu(dir);
	return 0;
}

/* Adds @value to the configuration. Returns false if the field has not enough bits. */
static bool put(const struct xe_pmu *pmu, enum field_name name, uint64_t value, uint64_t *config)
{
	const struct field *field = &pmu->fields[name];
	int bits = field->high - field->low + 1;

	if (bits < 64 && value >> bits)
		return false;
	*config |= value << field->low;
	return true;
}

static int open_event(const struct xe_pmu *pmu, const struct engine *engine, enum event_name event,
		      int vf, int group_fd, uint64_t *ret_id)
{
	struct perf_event_attr attr = {
		.type = pmu->type,
		.size = sizeof(attr),
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	uint64_t config = 0;

	if (!put(pmu, FIELD_EVENT, pmu->events[event], &config) ||
	    !put(pmu, FIELD_GT, (uint64_t)engine->gt, &config) ||
	    !put(pmu, FIELD_CLASS, (uint64_t)engine->class, &config) ||
	    !put(pmu, FIELD_INSTANCE, (uint64_t)engine->instance, &config) ||
	    !put(pmu, FIELD_FUNCTION, (uint64_t)vf, &config))
		return -ENOENT;
	attr.config = config;
	return pmu->perf->open(&attr, pmu->cpu, group_fd, ret_id);
}

/* Finds the engines of the device: those for which the physical function has an event. */
static int probe_engines(struct xe_pmu *pmu)
{
	for (int at = 0; at < GTS_PROBED * CLASSES_PROBED * INSTANCES_PROBED; at++) {
		struct engine engine = {
			.gt = at / (CLASSES_PROBED * INSTANCES_PROBED),
			.class = at / INSTANCES_PROBED % CLASSES_PROBED,
			.instance = at % INSTANCES_PROBED,
		};
		uint64_t id;
		int fd = open_event(pmu, &engine, EVENT_ACTIVE, 0, -1, &id);

		if (fd == -ENOENT || fd == -EINVAL)
			continue;
		if (fd < 0)
			return fd == -EPERM ? -EACCES : fd;
		(void)pmu->perf->close(fd);
		if (pmu->n_engines < XE_ENGINES_MAX)
			pmu->engines[pmu->n_engines++] = engine;
	}
	return pmu->n_engines > 0 ? 0 : -ENOENT;
}

static int open_pmu(struct xe_pmu *pmu)
{
	char dir[PATH_MAX], name[ID_MAX];
	int r;

	xe_place_id(pmu->place.pci, name);
	r = snprintf(dir, sizeof(dir), "%s/%s_%s", pmu->place.counters, pmu->place.layout->driver,
		     name);
	if (r < 0 || r >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	r = read_description(pmu, dir);
	return r < 0 ? r : probe_engines(pmu);
}

/* --- counters in files --- */

static int open_counter(const struct xe_pmu *pmu, int vf, enum event_name event)
{
	char path[PATH_MAX];
	int n = vf ? snprintf(path, sizeof(path), "%s/vf%d/counters/%s", pmu->place.base, vf,
			      counter_files[event])
		   : snprintf(path, sizeof(path), "%s/pf/counters/%s", pmu->place.base,
			      counter_files[event]);
	int fd;

	if (n < 0 || n >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_files(struct xe_pmu *pmu)
{
	int fd = open_counter(pmu, 0, EVENT_ACTIVE);

	if (fd < 0)
		return fd;
	(void)close(fd);
	pmu->is_files = true;
	pmu->n_engines = 1;
	return 0;
}

int xe_pmu_open(const struct xe_place *place, const struct xe_perf *perf, struct xe_pmu **ret_pmu)
{
	struct xe_pmu *pmu = xcalloc(1, sizeof(*pmu));
	int r;

	pmu->perf = perf;
	pmu->place = *place;
	r = place->layout->has_busy ? open_pmu(pmu) : -ENOENT;
	if (r == -ENOENT && place->layout->links && open_files(pmu) == 0)
		r = 0;
	if (r < 0) {
		free(pmu);
		return r;
	}
	*ret_pmu = pmu;
	return 0;
}

void xe_pmu_close(struct xe_pmu *pmu)
{
	if (!pmu)
		return;
	for (int vf = 0; vf <= XE_VFS_MAX; vf++)
		xe_pmu_remove(pmu, vf);
	free(pmu);
}

/* --- one function --- */

static int close_event(const struct xe_pmu *pmu, int fd)
{
	return pmu->is_files ? close(fd) : pmu->perf->close(fd);
}

int xe_pmu_add(struct xe_pmu *pmu, int vf)
{
	struct group *group;
	int leader = -1, r = 0;

	if (pmu->groups[vf])
		return 0;
	group = xmalloc(sizeof(*group));
	memset(group->fds, -1, sizeof(group->fds));
	pmu->groups[vf] = group;
	for (int e = 0; e < pmu->n_engines && r >= 0; e++)
		for (int event = 0; event < EVENTS && r >= 0; event++) {
			r = pmu->is_files ? open_counter(pmu, vf, event)
					  : open_event(pmu, &pmu->engines[e], event, vf, leader,
						       &group->ids[e][event]);
			group->fds[e][event] = r < 0 ? -1 : r;
			leader = leader < 0 ? r : leader;
		}
	if (r >= 0)
		return 0;
	xe_pmu_remove(pmu, vf);
	return r;
}

/* Closes the leader last, because the other events of a group then become groups of their own. */
void xe_pmu_remove(struct xe_pmu *pmu, int vf)
{
	struct group *group = pmu->groups[vf];

	for (int e = pmu->n_engines - 1; group && e >= 0; e--)
		for (int event = EVENTS - 1; event >= 0; event--)
			if (group->fds[e][event] >= 0)
				(void)close_event(pmu, group->fds[e][event]);
	free(group);
	pmu->groups[vf] = NULL;
}

static int read_files(const struct group *group, struct xe_counts *counts)
{
	int r = file_pread_u64(group->fds[0][EVENT_ACTIVE], &counts->active[0]);

	return r < 0 ? r : file_pread_u64(group->fds[0][EVENT_TOTAL], &counts->total[0]);
}

/* What read() returns for a group, see perf_event_open(2). */
struct group_reading {
	uint64_t n, enabled_ns, running_ns;
	struct {
		uint64_t value, id;
	} of[XE_ENGINES_MAX * EVENTS];
};

static void sort_value(const struct xe_pmu *pmu, const struct group *group, uint64_t id,
		       uint64_t value, struct xe_counts *counts)
{
	for (int e = 0; e < pmu->n_engines; e++) {
		if (group->ids[e][EVENT_ACTIVE] == id)
			counts->active[e] = value;
		if (group->ids[e][EVENT_TOTAL] == id)
			counts->total[e] = value;
	}
}

static int read_group(const struct xe_pmu *pmu, const struct group *group, struct xe_counts *counts)
{
	struct group_reading is;
	uint64_t expected = (uint64_t)pmu->n_engines * EVENTS;
	size_t size = offsetof(struct group_reading, of) + expected * sizeof(is.of[0]);
	ssize_t n = pmu->perf->read(group->fds[0][EVENT_ACTIVE], &is, sizeof(is));

	if (n < 0)
		return (int)n;
	/* 0 bytes: the kernel could not put the group on the CPU */
	if ((size_t)n != size || is.n != expected)
		return -ENODATA;
	for (uint64_t i = 0; i < is.n; i++)
		sort_value(pmu, group, is.of[i].id, is.of[i].value, counts);
	return 0;
}

int xe_pmu_read(struct xe_pmu *pmu, int vf, struct xe_counts *ret_counts)
{
	struct xe_counts counts = {.n_engines = pmu->n_engines};
	const struct group *group = pmu->groups[vf];
	int r;

	ret_counts->n_engines = 0;
	if (!group)
		return -ENOENT;
	r = pmu->is_files ? read_files(group, &counts) : read_group(pmu, group, &counts);
	if (r == 0)
		*ret_counts = counts;
	return r;
}

/* --- busy and allotted time --- */

/* A counter that decreases was reset: the function was disabled meanwhile. */
static double growth(uint64_t last, uint64_t now)
{
	return now > last ? (double)(now - last) : 0;
}

static bool is_comparable(const struct xe_usage *usage, const struct xe_counts *now)
{
	return usage->known && now->n_engines > 0 && now->n_engines == usage->last.n_engines;
}

static double clamp(double share)
{
	return share > 1 ? 1 : share;
}

/* Adds the share of the busiest engine to one function. @whole: ticks of all functions per engine.
 */
static void add(struct xe_usage *usage, const struct xe_counts *now, const double *whole,
		double dt_ns)
{
	double busy = 0, sched = 0;

	for (int e = 0; e < now->n_engines; e++) {
		double active, total;

		if (whole[e] <= 0)
			continue;
		active = growth(usage->last.active[e], now->active[e]) / whole[e];
		total = growth(usage->last.total[e], now->total[e]) / whole[e];
		busy = active > busy ? active : busy;
		sched = total > sched ? total : sched;
	}
	usage->busy_ns += clamp(busy) * dt_ns;
	usage->sched_ns += clamp(sched) * dt_ns;
}

/* Computes the ticks of the whole GPU since the last call, for each engine. */
static void measure(struct xe_usage *const *usages, const struct xe_counts *counts, int n,
		    double dt_ns, struct xe_rate *rate, double whole[XE_ENGINES_MAX])
{
	bool complete = dt_ns > 0;

	for (int i = 0; i < n; i++) {
		complete = complete && usages[i]->valid;
		for (int e = 0; usages[i]->valid && e < counts[i].n_engines; e++)
			whole[e] += growth(usages[i]->last.total[e], counts[i].total[e]);
	}
	for (int e = 0; e < XE_ENGINES_MAX; e++)
		if (complete)
			rate->ticks_per_ns[e] = whole[e] / dt_ns;
		else if (rate->known)
			whole[e] = rate->ticks_per_ns[e] * dt_ns;
	rate->known = rate->known || complete;
}

/* True if the total ticks of a function have grown, or if no function can be compared. */
static bool is_counting(struct xe_usage *const *usages, const struct xe_counts *counts, int n)
{
	bool compared = false, grown = false;

	for (int i = 0; i < n; i++)
		for (int e = 0; usages[i]->valid && e < counts[i].n_engines; e++) {
			compared = true;
			grown = grown || counts[i].total[e] > usages[i]->last.total[e];
		}
	return grown || !compared;
}

bool xe_usage_advance(struct xe_usage *const *usages, const struct xe_counts *counts, int n,
		      double dt_ns, struct xe_rate *rate)
{
	double whole[XE_ENGINES_MAX] = {0};
	bool counting;

	for (int i = 0; i < n; i++)
		usages[i]->valid = is_comparable(usages[i], &counts[i]);
	counting = is_counting(usages, counts, n);
	measure(usages, counts, n, dt_ns, rate, whole);
	for (int i = 0; i < n; i++) {
		if (usages[i]->valid)
			add(usages[i], &counts[i], whole, dt_ns);
		usages[i]->known = counts[i].n_engines > 0;
		usages[i]->last = counts[i];
	}
	return counting;
}
