/* SPDX-License-Identifier: MIT */
/*
 * The messages between libgover-fps.so in a virtual machine, where memory cannot be shared, and
 * gover-d. The library sends one message of fixed size per second, over vsock or a virtio-serial
 * port. The counters in a message are cumulative, so that the next message also contains the frames
 * of a lost message.
 *
 * Over vsock the daemon sends a limit message after the first message and whenever the limit
 * changes. Over a virtio-serial port no limit is sent, because a program opens the port only to
 * send one message.
 *
 * There is no checksum, because both channels are reliable. But a program may be killed while it
 * writes a message to a port that other programs use too. An end mark therefore shows that a
 * message is complete.
 */
#ifndef FPS_PRELOAD_MESSAGE_H
#define FPS_PRELOAD_MESSAGE_H

#include <stdint.h>

#include "fps-preload/wire.h"

#define FPS_MESSAGE_MAGIC   0x7370662d72766f67u /* "govr-fps" in little-endian order */
#define FPS_MESSAGE_END	    0x2e646e652d737066u /* "fps-end." */
#define FPS_MESSAGE_VERSION 1u

#define FPS_MESSAGE_LAST 1u /* flag of the last message: the program exits */

/*
 * All numbers are little-endian. Times are CLOCK_MONOTONIC of the guest and are compared only with
 * other times of the same guest.
 */
struct fps_message {
	uint64_t magic;
	uint64_t version;
	uint64_t program;  /* random id, new for each shared page of a process */
	uint64_t sequence; /* increases with each message of a program */
	uint64_t flags;	   /* FPS_MESSAGE_LAST, or 0 */
	uint64_t sent_ns;
	uint64_t first_ns;	 /* time of the first frame */
	uint64_t newest_ns;	 /* time of the newest frame */
	uint64_t longest_gap_ns; /* longest time between two successive frames of one thread */
	uint64_t frames;
	uint64_t gpu_frames; /* number of frames with known GPU time; 0 if not measured */
	uint64_t gpu_time_ns;
	uint64_t frame_time[FPS_WIRE_BUCKETS];
	uint64_t end;
};

#define FPS_MESSAGE_BYTES 616

_Static_assert(sizeof(struct fps_message) == FPS_MESSAGE_BYTES, "a message has no padding");

#define FPS_LIMIT_MAGIC	  0x78616d2d72766f67u /* "govr-max" in little-endian order */
#define FPS_LIMIT_END	  0x2e646e652d78616du /* "max-end." */
#define FPS_LIMIT_VERSION 1u

/* The limit message over vsock. The limit stays in force after the daemon exits. */
struct fps_limit_message {
	uint64_t magic;
	uint64_t version;
	uint64_t period_ns; /* minimum time of a frame, 1 ms to 1 s; 0: no limit */
	uint64_t end;
};

#define FPS_LIMIT_BYTES 32

_Static_assert(sizeof(struct fps_limit_message) == FPS_LIMIT_BYTES,
	       "a limit message has no padding");

#endif
