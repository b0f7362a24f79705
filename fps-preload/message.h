/* SPDX-License-Identifier: MIT */
/*
 * What libgover-fps.so tells gover-d from inside a virtual machine, where no page can be handed
 * over: one message of fixed size a second, over vsock or a virtio-serial port. Its counts are
 * cumulative, so that one that is lost loses nothing but its second. The daemon believes nothing in
 * it that it can do without.
 *
 * Over vsock the daemon answers, by what is of fixed size too: once after the first message, and
 * whenever it has another answer. Nobody need read it. By a port nothing comes back: it is open for
 * a message alone, in a different program each time.
 *
 * There is no checksum: both ways are reliable. But several programs share one virtio-serial port,
 * and one of them may be killed in the middle, so a message says where it ends.
 */
#ifndef FPS_PRELOAD_MESSAGE_H
#define FPS_PRELOAD_MESSAGE_H

#include <stdint.h>

#include "fps-preload/wire.h"

#define FPS_MESSAGE_MAGIC   0x7370662d72766f67u /* "govr-fps" as it travels */
#define FPS_MESSAGE_END	    0x2e646e652d737066u /* "fps-end." */
#define FPS_MESSAGE_VERSION 1u

#define FPS_MESSAGE_LAST 1u /* the program ends */

/* Every number is of 64 bits, and travels little-endian; there is no padding. Times are the
 * guest's CLOCK_MONOTONIC, and only ever compared with each other. */
struct fps_message {
	uint64_t magic;
	uint64_t version;
	uint64_t program;  /* random; of one process, or of one that began anew */
	uint64_t sequence; /* rises with each message of a program */
	uint64_t flags;	   /* FPS_MESSAGE_LAST */
	uint64_t sent_ns;
	uint64_t first_ns;	 /* of its first frame */
	uint64_t newest_ns;	 /* of its newest */
	uint64_t longest_gap_ns; /* between two frames of one thread, ever */
	uint64_t frames;
	uint64_t gpu_frames; /* whose GPU time is known; 0 where it is not measured */
	uint64_t gpu_time_ns;
	uint64_t frame_time[FPS_WIRE_BUCKETS];
	uint64_t end;
};

#define FPS_MESSAGE_BYTES 616

_Static_assert(sizeof(struct fps_message) == FPS_MESSAGE_BYTES, "a message has no padding");

#define FPS_LIMIT_MAGIC	  0x78616d2d72766f67u /* "govr-max" as it travels */
#define FPS_LIMIT_END	  0x2e646e652d78616du /* "max-end." */
#define FPS_LIMIT_VERSION 1u

/* As wire.h's fps_limit: the last one stands, also when the daemon is gone. */
struct fps_limit_message {
	uint64_t magic;
	uint64_t version;
	uint64_t period_ns; /* of a frame, at least; 0: no limit; 1 ms to 1 s */
	uint64_t end;
};

#define FPS_LIMIT_BYTES 32

_Static_assert(sizeof(struct fps_limit_message) == FPS_LIMIT_BYTES, "an answer has no padding");

#endif
