/* SPDX-License-Identifier: MIT */
/*
 * Reads the PMU of an xe device, for the tests of gover_xe. Independent of gover's own reader.
 *
 *   xe-pmu open TYPE CONFIG [sample|task]: opens an event, prints "ok" or the name of the error
 *   xe-pmu read TYPE CONFIG MS: prints the count of an event over MS milliseconds
 *   xe-pmu shares TYPE MS FUNCTION...: prints for each function over MS milliseconds its number,
 * and its active and its total ticks in 1/10000 of the sum of total ticks xe-pmu change TYPE
 * FUNCTION FILE VALUE: waits for the end of a turn of FUNCTION, writes VALUE to FILE, and prints
 * the length in us of the two next turns and of the time before the first
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ACTIVE_TICKS	2u
#define TOTAL_TICKS	3u
#define FUNCTION_SHIFT	44
#define FUNCTIONS_MAX	64
#define TICKS_PER_10_MS 192000

static int open_event(uint32_t type, uint64_t config, int leader, const char *mode)
{
	struct perf_event_attr attr = {.type = type,
				       .size = sizeof(attr),
				       .config = config,
				       .read_format = PERF_FORMAT_GROUP};
	bool task = mode && strcmp(mode, "task") == 0;

	if (mode && strcmp(mode, "sample") == 0)
		attr.sample_period = 1000;
	return (int)syscall(SYS_perf_event_open, &attr, task ? 0 : -1, task ? -1 : 0, leader,
			    PERF_FLAG_FD_CLOEXEC);
}

static int must_open(uint32_t type, uint64_t config, int leader)
{
	int fd = open_event(type, config, leader, NULL);

	if (fd < 0) {
		printf("%#" PRIx64 ": %s\n", config, strerrorname_np(errno));
		exit(1);
	}
	return fd;
}

/* Opens a group of both counters of a function's render engine. */
static int open_function(uint32_t type, unsigned int function)
{
	uint64_t config = (uint64_t)function << FUNCTION_SHIFT;
	int leader = must_open(type, config | ACTIVE_TICKS, -1);

	must_open(type, config | TOTAL_TICKS, leader);
	return leader;
}

/* Reads a group of up to two counters. */
static void read_group(int fd, uint64_t counts[2])
{
	uint64_t values[3] = {0};

	if (read(fd, values, sizeof(values)) <= 0) {
		puts("cannot read");
		exit(1);
	}
	counts[0] = values[1];
	counts[1] = values[2];
}

static void sleep_us(long us)
{
	nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int print_shares(uint32_t type, long ms, int n, char *argv[])
{
	uint64_t before[FUNCTIONS_MAX][2], after[FUNCTIONS_MAX][2], sum = 0;
	int fds[FUNCTIONS_MAX];

	if (n > FUNCTIONS_MAX)
		return 2;
	for (int i = 0; i < n; i++)
		fds[i] = open_function(type, (unsigned int)atoi(argv[i]));
	for (int i = 0; i < n; i++)
		read_group(fds[i], before[i]);
	sleep_us(ms * 1000);
	for (int i = 0; i < n; i++) {
		read_group(fds[i], after[i]);
		sum += after[i][1] - before[i][1];
	}
	for (int i = 0; i < n; i++)
		printf("%s %" PRIu64 " %" PRIu64 "\n", argv[i],
		       (after[i][0] - before[i][0]) * 10000 / (sum ? sum : 1),
		       (after[i][1] - before[i][1]) * 10000 / (sum ? sum : 1));
	return 0;
}

/*
 * Waits until the function begins a turn, and returns its length in ticks. A turn ends when the
 * counter does not change between two readings.
 */
static uint64_t next_turn(int fd)
{
	uint64_t counts[2], first, last;

	read_group(fd, counts);
	first = counts[0];
	for (last = first; last == first; read_group(fd, counts), last = counts[0])
		sleep_us(500);
	for (uint64_t before = first; before != last;) {
		before = last;
		sleep_us(500);
		read_group(fd, counts);
		last = counts[0];
	}
	return last - first;
}

static int print_change(uint32_t type, const char *function, const char *path, const char *value)
{
	int fd = open_function(type, (unsigned int)atoi(function)), file = open(path, O_WRONLY);
	uint64_t start_us, turn, wait_us;

	next_turn(fd);
	start_us = now_us();
	if (file < 0 || write(file, value, strlen(value)) < 0)
		return 1;
	turn = next_turn(fd);
	wait_us = now_us() - start_us;
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", turn * 10000 / TICKS_PER_10_MS,
	       next_turn(fd) * 10000 / TICKS_PER_10_MS, wait_us - turn * 10000 / TICKS_PER_10_MS);
	return 0;
}

int main(int argc, char *argv[])
{
	uint32_t type = argc > 3 ? (uint32_t)strtoul(argv[2], NULL, 0) : 0;
	uint64_t config = argc > 3 ? strtoull(argv[3], NULL, 0) : 0, counts[2];
	int fd;

	if (argc > 3 && strcmp(argv[1], "open") == 0) {
		fd = open_event(type, config, -1, argc > 4 ? argv[4] : NULL);
		puts(fd < 0 ? strerrorname_np(errno) : "ok");
		return 0;
	}
	if (argc > 4 && strcmp(argv[1], "read") == 0) {
		fd = must_open(type, config, -1);
		sleep_us(atol(argv[4]) * 1000);
		read_group(fd, counts);
		printf("%" PRIu64 "\n", counts[0]);
		return 0;
	}
	if (argc > 4 && strcmp(argv[1], "shares") == 0)
		return print_shares(type, atol(argv[3]), argc - 4, argv + 4);
	if (argc > 5 && strcmp(argv[1], "change") == 0)
		return print_change(type, argv[3], argv[4], argv[5]);
	return 2;
}
