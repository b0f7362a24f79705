/* SPDX-License-Identifier: MIT */
/*
 * The interface between libgover-fps.so and gover-d on one host: a page of counters in a memfd. The
 * library creates the memfd, seals it against shrinking and passes it to the daemon in its first
 * message.
 *
 * Only the library writes the page. Each thread that presents has its own counters (a lane), so
 * that a frame costs plain stores and no atomic instruction. If more than FPS_WIRE_LANES - 1
 * threads present, the remaining threads share the last lane and use atomic additions. The daemon
 * maps the page read-only and does not trust its contents.
 */
#ifndef FPS_PRELOAD_WIRE_H
#define FPS_PRELOAD_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define FPS_WIRE_MAGIC	   0x46766f67u /* "govF" */
#define FPS_WIRE_VERSION   2u
#define FPS_WIRE_BUCKETS   64
#define FPS_WIRE_LANES	   12
#define FPS_WIRE_PAGE_SIZE 4096
#define FPS_DEFAULT_SOCKET "/run/gover/fps.sock"

/* Counters of one thread. No two lanes share a cache line. */
struct fps_lane {
	_Alignas(64) uint64_t frames; /* frames presented since the page was created */
	uint64_t last_ns;	      /* CLOCK_MONOTONIC of the last frame */
	uint64_t longest_gap_ns;      /* longest time between two successive frames of one thread */
	uint32_t frame_time[FPS_WIRE_BUCKETS];
	/* total GPU time of @gpu_frames frames; 0 if not measured */
	_Alignas(8) uint64_t gpu_time_ns;
	uint64_t gpu_frames;
	/*
	 * Calls of the real function that presents, modulo 2^32, if FPS_PAGE_PRESENTS is set. More
	 * calls have begun than ended while a thread of the lane is inside such a call. Failed
	 * calls count too.
	 */
	uint32_t presents_begun, presents_ended;
};

/* Feature of a page: its lanes count present calls. Older libraries leave the features 0. */
#define FPS_PAGE_PRESENTS 1u

struct fps_page {
	uint32_t magic;
	uint32_t version;
	uint32_t lanes;	   /* number of threads that claimed a lane; may exceed FPS_WIRE_LANES */
	uint32_t features; /* FPS_PAGE_PRESENTS */
	uint64_t first_ns; /* CLOCK_MONOTONIC of the first frame */
	struct fps_lane lane[FPS_WIRE_LANES];
};

/* The sum of all lanes of a page. */
struct fps_counters {
	uint64_t frames;
	uint64_t last_ns;
	uint64_t longest_gap_ns;
	uint64_t gpu_time_ns, gpu_frames;
	uint32_t frame_time[FPS_WIRE_BUCKETS]; /* number of frames in each bucket, modulo 2^32 */
};

_Static_assert(sizeof(struct fps_page) <= FPS_WIRE_PAGE_SIZE, "the counters fit in the page");
_Static_assert(offsetof(struct fps_page, lane) == 64 && sizeof(struct fps_lane) == 320 &&
		       offsetof(struct fps_lane, gpu_time_ns) == 280 &&
		       offsetof(struct fps_lane, presents_begun) == 296,
	       "32-bit and 64-bit programs use the same layout");

/*
 * The only message that the library sends over the unix socket (SOCK_SEQPACKET). It carries the
 * memfd (SCM_RIGHTS).
 */
struct fps_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t page_bytes; /* always FPS_WIRE_PAGE_SIZE */
	uint32_t pid;	     /* for information only; the daemon gets the pid from SO_PEERCRED */
};

/*
 * The message that the daemon sends when the limit changes. The limit stays in force after the
 * daemon exits.
 */
struct fps_limit {
	uint32_t magic;
	uint32_t version;
	uint64_t period_ns; /* minimum time of a frame, 1 ms to 1 s; 0: no limit */
};

/*
 * The message that the daemon sends when it has looked up the vGPU of the process, and when the
 * result changes. For debug lines only. Its size differs from that of the limit message: older
 * libraries ignore a message of another size.
 */
struct fps_counting {
	uint32_t magic;
	uint32_t version;
	uint32_t counted; /* 1: the process is in a vGPU, and its frames count; 0: they do not */
};

_Static_assert(sizeof(struct fps_counting) != sizeof(struct fps_limit),
	       "the two messages of the daemon differ in size");

/*
 * Frame times are counted in buckets of a quarter octave: bucket b contains the times from
 * 100 us x 2^(b/4) to less than 100 us x 2^((b+1)/4). The first bucket also contains shorter times.
 * The last bucket also contains longer times (from about 5.5 s).
 */
#define FPS_WIRE_BUCKET0_NS 100000u

static inline unsigned int fps_wire_bucket(uint64_t frame_time_ns)
{
	/* in ns, rounded up: 100 us x 2^(1/4), 100 us x 2^(2/4), 100 us x 2^(3/4) */
	static const uint64_t quarter[] = {118921, 141422, 168180};
	uint64_t units = frame_time_ns / FPS_WIRE_BUCKET0_NS;
	unsigned int octave;

	if (units == 0)
		return 0;
	octave = 63u - (unsigned int)__builtin_clzll(units);
	if (octave >= FPS_WIRE_BUCKETS / 4)
		return FPS_WIRE_BUCKETS - 1;
	return 4 * octave + (frame_time_ns >= quarter[0] << octave) +
	       (frame_time_ns >= quarter[1] << octave) + (frame_time_ns >= quarter[2] << octave);
}

/* Sums the lanes of @page, which other threads may write at the same time. */
static inline void fps_wire_sum(const struct fps_page *page, struct fps_counters *ret_counters)
{
	struct fps_counters sum = {0};
	uint32_t lanes = __atomic_load_n(&page->lanes, __ATOMIC_RELAXED);

	for (uint32_t l = 0; l < lanes && l < FPS_WIRE_LANES; l++) {
		const struct fps_lane *lane = &page->lane[l];
		uint64_t last_ns = __atomic_load_n(&lane->last_ns, __ATOMIC_RELAXED);
		uint64_t gap_ns = __atomic_load_n(&lane->longest_gap_ns, __ATOMIC_RELAXED);

		sum.frames += __atomic_load_n(&lane->frames, __ATOMIC_RELAXED);
		if (last_ns > sum.last_ns)
			sum.last_ns = last_ns;
		if (gap_ns > sum.longest_gap_ns)
			sum.longest_gap_ns = gap_ns;
		sum.gpu_time_ns += __atomic_load_n(&lane->gpu_time_ns, __ATOMIC_RELAXED);
		sum.gpu_frames += __atomic_load_n(&lane->gpu_frames, __ATOMIC_RELAXED);
		for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
			sum.frame_time[b] +=
				__atomic_load_n(&lane->frame_time[b], __ATOMIC_RELAXED);
	}
	*ret_counters = sum;
}

#endif
