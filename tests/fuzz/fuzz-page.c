/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the page of counters that a program shares with the daemon. The input is a program that
 * writes its page between the readings of the daemon, and reconnects. Whatever it writes, the
 * totals of its vGPU never decrease, the counted frames stay below the rate of a page, and the
 * values of each period are finite and within their bounds.
 */

#include "base/clock.h"
#include "monitor/fps/totals.h"
#include "monitor/monitor.h"
#include "tests/fuzz/fuzz.h"

#define BEGIN_NS  (1000 * NS_PER_S)
#define PERIOD_NS NS_PER_S
#define STEPS_MAX 100 /* further steps would only make an input slower */

union page {
	struct fps_page counters;
	uint8_t bytes[FPS_WIRE_PAGE_SIZE];
	uint64_t words[FPS_WIRE_PAGE_SIZE / sizeof(uint64_t)];
};

struct input {
	const uint8_t *at;
	size_t left;
};

/* Returns the next number of @bytes (1 to 8). Returns 0 past the end of the input. */
static uint64_t next(struct input *input, size_t bytes)
{
	uint64_t value = 0;
	size_t n = bytes < input->left ? bytes : input->left;

	if (n > 0)
		memcpy(&value, input->at, n);
	input->at += n;
	input->left -= n;
	return value;
}

struct run {
	union page page;
	struct fps_reading reading;
	struct fps_totals totals;
	struct monitor_track track;
	uint64_t now_ns;
	double allowed; /* upper bound of the frames that may be counted */
};

static void check_row(const struct run *run, const struct monitor_row *row)
{
	/* A frame may have waited for its GPU since before the last reading. */
	double gpu_max_ms = (row->sample.dt_s * 1e9 + (double)FPS_GPU_LATE_NS) / 1e6;

	FUZZ_CHECK(row->sample.fps >= 0 && row->sample.fps <= MONITOR_FPS_MAX);
	FUZZ_CHECK(row->frame_p50_ms >= 0 && row->frame_p50_ms <= row->sample.frame_p99_ms);
	FUZZ_CHECK(row->sample.frame_p99_ms < 10000); /* the last bucket */
	FUZZ_CHECK(row->frame_max_ms >= 0 && row->frame_max_ms <= (double)run->now_ns / 1e6);
	FUZZ_CHECK(row->frame_gpu_ms >= 0 && row->frame_gpu_ms <= gpu_max_ms);
	FUZZ_CHECK(row->present >= FPS_PRESENT_UNKNOWN && row->present <= FPS_PRESENT_WAITS);
	FUZZ_CHECK(!row->sample.busy_valid && !row->reading.cap_valid);
}

/* A tick of the daemon, @elapsed_ns after the last. */
static void tick(struct run *run, uint64_t elapsed_ns)
{
	struct gpu_reading reading;
	struct fps_totals before = run->totals;
	struct monitor_row row;

	run->now_ns += elapsed_ns;
	run->allowed += FPS_PLAUSIBLE * ((double)elapsed_ns / (double)NS_PER_S);
	fps_reading_take(&run->reading, &run->page.counters, run->now_ns, &run->totals);
	FUZZ_CHECK(run->totals.frames >= before.frames);
	FUZZ_CHECK((double)run->totals.frames <= run->allowed + 1);
	FUZZ_CHECK(run->totals.newest_ns >= before.newest_ns);
	FUZZ_CHECK(run->totals.newest_ns <= run->now_ns);
	FUZZ_CHECK(run->totals.longest_gap_ns >= before.longest_gap_ns);
	FUZZ_CHECK(run->totals.longest_gap_ns <= run->now_ns);
	FUZZ_CHECK(run->totals.gpu_frames >= before.gpu_frames);
	FUZZ_CHECK(run->totals.gpu_time_ns >= before.gpu_time_ns);
	for (int b = 0; b < FPS_WIRE_BUCKETS; b++) {
		FUZZ_CHECK(run->totals.frame_time[b] >= before.frame_time[b]);
		FUZZ_CHECK((double)run->totals.frame_time[b] <= run->allowed + 1);
	}
	run->totals.partial_frames = 0;
	run->totals.present_outside = run->totals.present_waits = 0;
	fps_reading_add_state(&run->reading, &run->totals);
	FUZZ_CHECK(run->totals.present_outside + run->totals.present_waits <= run->totals.open);
	reading = (struct gpu_reading){.at_ns = run->now_ns};
	monitor_sample(&run->track, 0, &reading, &run->totals, PERIOD_NS / 1e9, 1, &row);
	check_row(run, &row);
}

static void connect_page(struct run *run)
{
	fps_reading_begin(&run->reading, run->now_ns);
	run->allowed += FPS_PLAUSIBLE;
}

static void step(struct run *run, struct input *input)
{
	size_t words = sizeof(run->page.words) / sizeof(run->page.words[0]), at;
	uint64_t value;

	switch (next(input, 1) % 8) {
	case 0: /* the next period */
		tick(run, PERIOD_NS);
		break;
	case 1: /* a tick of another length: 0 to 655 s */
		tick(run, next(input, 2) * 10 * NS_PER_MS);
		break;
	case 2: /* set a counter */
		at = next(input, 2) % words;
		run->page.words[at] = next(input, 8);
		break;
	case 3: /* increase a counter */
		at = next(input, 2) % words;
		run->page.words[at] += next(input, 4);
		break;
	case 4: /* write bytes anywhere */
		at = next(input, 2) % (sizeof(run->page.bytes) - sizeof(value));
		value = next(input, 8);
		memcpy(&run->page.bytes[at], &value, sizeof(value));
		break;
	case 5: /* fill the page */
		memset(&run->page, (int)next(input, 1), sizeof(run->page));
		break;
	case 6: /* draw as an honest program does */
		value = next(input, 1);
		run->page.counters.lane[0].frames += value;
		run->page.counters.lane[0].frame_time[next(input, 1) % FPS_WIRE_BUCKETS] +=
			(uint32_t)value;
		run->page.counters.lane[0].last_ns = run->now_ns;
		break;
	default: /* connect again */
		connect_page(run);
		if (next(input, 1) % 2)
			fps_reading_skip(&run->reading, &run->page.counters);
	}
}

FUZZ(page)
{
	struct input input = {.at = data, .left = size};
	struct run run = {.now_ns = BEGIN_NS, .totals.open = 1};

	run.page.counters.lanes = 1;
	connect_page(&run);
	for (int i = 0; i < STEPS_MAX && input.left > 0; i++)
		step(&run, &input);
	tick(&run, PERIOD_NS);
	return 0;
}
