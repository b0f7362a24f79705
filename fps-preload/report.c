/* SPDX-License-Identifier: MIT */
/*
 * One message a second, and never two under way: the next is made when all of the one before has
 * been taken by the kernel. Must never leave half a message before another on a way that lives on,
 * nor use an fd that is not ours any more.
 *
 * A vsock connection stays open: its end tells the daemon that the program has ended, and the
 * daemon's answers come back over it. A virtio-serial port can be open in one program at a time, so
 * it is opened for each message and closed after it; the kernel takes a message there whole or not
 * at all.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "fps-preload/channel.h"
#include "fps-preload/report.h"
#include "fps-preload/message.h"
#include "fps-preload/limit.h"
#include "fps-preload/debug.h"

#define NS_PER_S	1000000000ull
#define NS_PER_MS	1000000ull
#define SOON_NS		(10 * NS_PER_MS)  /* connecting */
#define FULL_NS		(100 * NS_PER_MS) /* the way is full */
#define LONGEST_DELAY_S 8
#define ANSWERS_AT_ONCE 8 /* the rest a second later */

#define WORDS (FPS_MESSAGE_BYTES / sizeof(uint64_t))

/* Written by the constructor, constant after it. */
static struct setup to;
static uint32_t *limit;

/* Touched only by the one thread that tends, and by a forked child before it has others. */
static const struct fps_page *page;
static struct owned_fd way = {.fd = -1};
static bool ready;	     /* it is connected */
static unsigned int sent;    /* messages over it */
static unsigned int delay_s; /* before the next attempt; 0 while the way is known to be good */
static struct fps_message next;
static union {
	uint64_t word[WORDS];
	char byte[FPS_MESSAGE_BYTES];
} out;		      /* as it travels */
static size_t out_at; /* so much of it has left; 0: nothing, it can still be made anew */
static uint32_t counted[FPS_WIRE_BUCKETS]; /* the page's, which may wrap */
static struct limit_stream heard;

void report_setup(const struct setup *setup, uint32_t *limit_ns)
{
	to = *setup;
	limit = limit_ns;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void way_drop(void)
{
	owned_fd_close(&way);
	ready = false;
	sent = 0;
	out_at = 0;
	heard.n = 0;
}

void report_reset(void)
{
	way_drop();
	page = NULL;
	delay_s = 0;
}

void report_start(const struct fps_page *new_page)
{
	report_reset();
	page = new_page;
	memset(counted, 0, sizeof(counted));
	next = (struct fps_message){
		.magic = FPS_MESSAGE_MAGIC,
		.version = FPS_MESSAGE_VERSION,
		.first_ns = page->first_ns,
		.newest_ns = page->first_ns, /* two threads may have begun at once */
		.end = FPS_MESSAGE_END,
	};
	if (getrandom(&next.program, sizeof(next.program), GRND_NONBLOCK) != sizeof(next.program))
		next.program = now_ns() ^ (uint64_t)getpid() << 32;
}

/* Adds up the lanes while they are written. */
static void counts_read(void)
{
	uint32_t lanes = __atomic_load_n(&page->lanes, __ATOMIC_RELAXED);
	uint32_t times[FPS_WIRE_BUCKETS] = {0};

	next.frames = next.gpu_frames = next.gpu_time_ns = 0;
	for (uint32_t l = 0; l < lanes && l < FPS_WIRE_LANES; l++) {
		const struct fps_lane *lane = &page->lane[l];
		uint64_t last = __atomic_load_n(&lane->last_ns, __ATOMIC_RELAXED);
		uint64_t gap = __atomic_load_n(&lane->longest_gap_ns, __ATOMIC_RELAXED);

		next.frames += __atomic_load_n(&lane->frames, __ATOMIC_RELAXED);
		next.gpu_frames += __atomic_load_n(&lane->gpu_frames, __ATOMIC_RELAXED);
		next.gpu_time_ns += __atomic_load_n(&lane->gpu_time_ns, __ATOMIC_RELAXED);
		if (last > next.newest_ns)
			next.newest_ns = last;
		if (gap > next.longest_gap_ns)
			next.longest_gap_ns = gap;
		for (int b = 0; b < FPS_WIRE_BUCKETS; b++)
			times[b] += __atomic_load_n(&lane->frame_time[b], __ATOMIC_RELAXED);
	}
	for (int b = 0; b < FPS_WIRE_BUCKETS; b++) {
		next.frame_time[b] += (uint32_t)(times[b] - counted[b]);
		counted[b] = times[b];
	}
}

static void message_make(void)
{
	counts_read();
	next.sent_ns = now_ns();
	next.sequence++;
	memcpy(out.byte, &next, sizeof(next));
	for (size_t i = 0; i < WORDS; i++)
		out.word[i] = htole64(out.word[i]);
}

/* 0: all of it has left. -EAGAIN: not yet. Another negative errno: the way is lost. */
static int message_push(void)
{
	while (out_at < sizeof(out)) {
		const char *rest = out.byte + out_at;
		size_t left = sizeof(out) - out_at;
		ssize_t n = to.transport == SETUP_PORT
				    ? write(way.fd, rest, left)
				    : send(way.fd, rest, left, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n <= 0)
			return -EAGAIN;
		out_at += (size_t)n;
	}
	out_at = 0;
	sent++;
	return 0;
}

static int way_open(void)
{
	int r;

	if (way.fd >= 0 && !owned_fd_is_valid(&way))
		way_drop(); /* the program has closed it */
	if (way.fd < 0) {
		r = to.transport == SETUP_PORT ? channel_open_port(to.port, &way)
					       : channel_open_vsock(&to.host, &way);
		if (r < 0)
			return r;
		ready = to.transport == SETUP_PORT;
	}
	r = ready ? 0 : channel_check_connected(&way);
	ready = r == 0;
	return r;
}

/* That the connection has ended is for the next message to find out. */
static void answers_hear(void)
{
	uint8_t bytes[ANSWERS_AT_ONCE * FPS_LIMIT_BYTES];
	ssize_t n = recv(way.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0)
		limit_receive(&heard, bytes, (size_t)n, limit);
}

static uint64_t back_off(int error)
{
	way_drop();
	delay_s = delay_s == 0 ? 1 : delay_s * 2;
	if (delay_s > LONGEST_DELAY_S)
		delay_s = LONGEST_DELAY_S;
	debug_log("no way to the host: %s; again in %u s", strerrordesc_np(-error), delay_s);
	return delay_s * NS_PER_S;
}

uint64_t report_poll(void)
{
	int r = way_open();

	if (r == -EINPROGRESS)
		return SOON_NS;
	if (r < 0)
		return back_off(r);
	if (to.transport == SETUP_VSOCK)
		answers_hear();
	if (out_at == 0)
		message_make();
	r = message_push();
	if (r == -EAGAIN && (out_at > 0 || to.transport == SETUP_VSOCK))
		return FULL_NS;
	if (r < 0)
		return back_off(r); /* of a port: nobody listens, or too few read */
	if (to.transport == SETUP_PORT)
		way_drop();
	else if (sent == 1) {
		debug_log("connected to the host");
		return NS_PER_S; /* good if it takes the next one too */
	}
	delay_s = 0;
	return NS_PER_S;
}

void report_finish(void)
{
	if (!page || way_open() < 0 || (out_at > 0 && message_push() < 0))
		return;
	next.flags = FPS_MESSAGE_LAST;
	message_make();
	(void)message_push();
	way_drop();
}
