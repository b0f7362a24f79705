/* SPDX-License-Identifier: MIT */
/* The PMU of the driver xe, with a kernel that is a table of events. */
#include "tests/unit/gpu/xe/test-xe.h"

#include "gpu/xe/pmu.h"
#include "gpu/xe/quanta.h"

#define PMU	   "bus/event_source/devices/xe_0000_03_00.0"
#define EVENTS_MAX 256

/* An event of the fake kernel: its number, and its group. */
static struct {
	bool open;
	uint64_t config;
	int group_fd;
} events[EVENTS_MAX];
static int n_events, refuse, cpu_is;
static uint32_t type_is;

/* The engines of the fake device: render 0 and copy 0 of GT 0, video 1 of GT 1. */
static bool has_engine(uint64_t of)
{
	uint64_t gt = of >> 60, class = of >> 20 & 0xff, instance = of >> 12 & 0xff;

	return (gt == 0 && class < 2 && instance == 0) || (gt == 1 && class == 2 && instance == 1);
}

static int fake_open(const struct perf_event_attr *attr, int cpu, int group_fd, uint64_t *ret_id)
{
	type_is = attr->type;
	cpu_is = cpu;
	if (refuse)
		return -refuse;
	if (attr->sample_period || (attr->config >> 44 & 0xffff) > 2 || !has_engine(attr->config))
		return -ENOENT;
	assert_true(n_events < EVENTS_MAX);
	events[n_events].open = true;
	events[n_events].config = attr->config;
	events[n_events].group_fd = group_fd;
	*ret_id = 1000 + (uint64_t)n_events;
	return n_events++;
}

/* An active tick counts 1, a total tick 100; the engine and the function add to it. */
static uint64_t value_of(uint64_t of)
{
	uint64_t function = of >> 44 & 0xffff, class = of >> 20 & 0xff;

	return ((of & 0xfff) == 2 ? 1 : 100) + 10 * class + 1000 * function;
}

static ssize_t fake_read(int fd, void *buffer, size_t size)
{
	uint64_t *out = buffer;
	size_t at = 3;

	assert_true(events[fd].open);
	assert_int_equal(events[fd].group_fd, -1);
	for (int i = n_events - 1; i >= 0; i--) /* not in the order of opening */
		if (events[i].open && (i == fd || events[i].group_fd == fd)) {
			assert_true((at + 2) * sizeof(*out) <= size);
			out[at++] = value_of(events[i].config);
			out[at++] = 1000 + (uint64_t)i;
		}
	out[0] = (at - 3) / 2;
	out[1] = out[2] = 1;
	return (ssize_t)(at * sizeof(*out));
}

static int fake_close(int fd)
{
	assert_true(events[fd].open);
	events[fd].open = false;
	return 0;
}

static const struct xe_perf fake = {.open = fake_open, .read = fake_read, .close = fake_close};

static int n_open(void)
{
	int n = 0;

	for (int i = 0; i < n_events; i++)
		n += events[i].open;
	return n;
}

static struct xe_place *make_pmu(const char *function_bits)
{
	struct xe_place *place = calloc(1, sizeof(*place));

	n_events = refuse = 0;
	make_device(2, 2);
	make_dir(PMU "/format");
	make_dir(PMU "/events");
	write_file("17\n", PMU "/type");
	write_file("3,5\n", PMU "/cpumask");
	write_file("config:0-11\n", PMU "/format/event");
	write_file("config:12-19\n", PMU "/format/engine_instance");
	write_file("config:20-27\n", PMU "/format/engine_class");
	write_file(function_bits, PMU "/format/function");
	write_file("config:60-63\n", PMU "/format/gt");
	write_file("event=0x02\n", PMU "/events/engine-active-ticks");
	write_file("event=0x03\n", PMU "/events/engine-total-ticks");
	assert_non_null(place);
	assert_int_equal(xe_place_find(root, "", place, &err), 0);
	return place;
}

FIXTURE(set_up, tear_down)

TEST(a_function_has_one_group_of_all_engines)
{
	struct xe_place *place = make_pmu("config:44-59\n");
	struct xe_counts counts;
	struct xe_pmu *pmu;

	assert_int_equal(xe_pmu_open(place, &fake, &pmu), 0);
	assert_int_equal(type_is, 17);
	assert_int_equal(cpu_is, 3);
	assert_int_equal(n_open(), 0);
	assert_int_equal(xe_pmu_add(pmu, 1), 0);
	assert_int_equal(xe_pmu_add(pmu, 2), 0);
	assert_int_equal(n_open(), 12); /* three engines, two events, two functions */
	assert_int_equal(xe_pmu_read(pmu, 2, &counts), 0);
	assert_int_equal(counts.n_engines, 3);
	assert_int_equal(counts.active[0], 2001);
	assert_int_equal(counts.total[0], 2100);
	assert_int_equal(counts.active[1], 2011);
	assert_int_equal(counts.total[2], 2120);
	assert_int_equal(xe_pmu_add(pmu, 3), -ENOENT); /* more than the device has */
	assert_int_equal(xe_pmu_read(pmu, 3, &counts), -ENOENT);
	assert_int_equal(counts.n_engines, 0);
	xe_pmu_remove(pmu, 1);
	assert_int_equal(n_open(), 6);
	xe_pmu_close(pmu);
	assert_int_equal(n_open(), 0);
	free(place);
}

TEST(a_pmu_that_cannot_count_is_none)
{
	static const struct {
		const char *bits;
		int refuse, result;
	} rows[] = {
		{"config:44-59\n", EACCES, -EACCES}, {"config:44-59\n", EPERM, -EACCES},
		{"config1:0-15\n", 0, -EINVAL},	     {"config:44\n", ENOENT, -ENOENT},
		{"config:44-64\n", 0, -EINVAL},	     {"config:9-3\n", 0, -EINVAL},
	};
	struct xe_place *place;
	struct xe_pmu *pmu;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		place = make_pmu(rows[i].bits);
		refuse = rows[i].refuse;
		assert_int_equal(xe_pmu_open(place, &fake, &pmu), rows[i].result);
		free(place);
		remove_tree(root);
		make_dir("again");
	}
}

TEST(a_kernel_without_functions_is_none)
{
	struct xe_place *place = make_pmu("config:44-59\n");
	struct xe_pmu *pmu;

	remove_file(PMU "/format/function"); /* before Linux 6.16 */
	assert_int_equal(xe_pmu_open(place, &fake, &pmu), -ENOENT);
	free(place);
}
