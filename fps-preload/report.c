/* SPDX-License-Identifier: MIT */
/*
 * Sends one message a second. The library creates a message only after the kernel has accepted the
 * whole previous message. Therefore no message ever follows an incomplete message on the same
 * channel.
 *
 * A vsock connection stays open, so that the daemon can send the limit and detect the exit of the
 * program. A virtio-serial port can be open in only one program at a time, so it is opened for each
 * message and closed afterwards. The kernel accepts a message on a port completely or not at all.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/preload/debug.h"
#include "fps-preload/channel.h"
#include "fps-preload/limit.h"
#include "fps-preload/message.h"
#include "fps-preload/report.h"

#define NS_PER_S	1000000000ull
#define NS_PER_MS	1000000ull
#define CONNECTING_NS	(10 * NS_PER_MS)  /* time until the next call while connecting */
#define FULL_NS		(100 * NS_PER_MS) /* time until the next call while the channel is full */
#define FIRST_DELAY_MS	1000
#define BUSY_DELAY_MS	10 /* first delay if another program has the port open */
#define MAX_DELAY_MS	8000
#define EXIT_TRIES	10 /* attempts to open a busy port at exit, 1 ms apart */
#define LIMITS_PER_POLL 8  /* maximum limit messages read per call */

#define WORDS (FPS_MESSAGE_BYTES / sizeof(uint64_t))

/* Written by the constructor, constant afterwards. */
static struct setup config;
static uint32_t *limit;

/* No lock is needed: only one thread at a time polls, and a forked child starts with one thread. */
static const struct fps_page *page;
static struct owned_fd channel = {.fd = -1};
static bool connected;
static unsigned int sent; /* number of messages sent on this channel */
/* time from the last failure to the next attempt, doubled at each failure; 0: the channel works */
static unsigned int delay_ms;
static struct fps_message next;
static union {
	uint64_t word[WORDS];
	char byte[FPS_MESSAGE_BYTES];
} out;		      /* the current message, little-endian */
static size_t out_at; /* number of bytes of @out that were sent; 0: @out may be overwritten */
/*
 * The bucket counters at the last reading of the page. They may wrap, so only differences are used.
 */
static uint32_t counted[FPS_WIRE_BUCKETS];
static struct limit_stream received;

void report_setup(const struct setup *setup, uint32_t *limit_ns)
{
	config = *setup;
	limit = limit_ns;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void channel_drop(void)
{
	owned_fd_close(&channel);
	connected = false;
	sent = 0;
	out_at = 0;
	received.n = 0;
}

void report_reset(void)
{
	channel_drop();
	page = NULL;
	delay_ms = 0;
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
		.newest_ns = page->first_ns, /* replaced when the page contains a later time */
		.end = FPS_MESSAGE_END,
	};
	if (getrandom(&next.program, sizeof(next.program), GRND_NONBLOCK) != sizeof(next.program))
		next.program = now_ns() ^ (uint64_t)getpid() << 32;
}

static void counters_read(void)
{
	struct fps_counters sum;

	fps_wire_sum(page, &sum);
	next.frames = sum.frames;
	next.gpu_frames = sum.gpu_frames;
	next.gpu_time_ns = sum.gpu_time_ns;
	if (sum.last_ns > next.newest_ns)
		next.newest_ns = sum.last_ns;
	if (sum.longest_gap_ns > next.longest_gap_ns)
		next.longest_gap_ns = sum.longest_gap_ns;
	for (int b = 0; b < FPS_WIRE_BUCKETS; b++) {
		next.frame_time[b] += (uint32_t)(sum.frame_time[b] - counted[b]);
		counted[b] = sum.frame_time[b];
	}
}

static void message_make(void)
{
	counters_read();
	next.sent_ns = now_ns();
	next.sequence++;
	memcpy(out.byte, &next, sizeof(next));
	for (size_t i = 0; i < WORDS; i++)
		out.word[i] = htole64(out.word[i]);
}

/*
 * Returns 0 if the whole message was sent, -EAGAIN if a part is still unsent, another negative
 * errno if the channel failed.
 */
static int message_send(void)
{
	while (out_at < sizeof(out)) {
		const char *rest = out.byte + out_at;
		size_t left = sizeof(out) - out_at;
		ssize_t n = config.transport == SETUP_PORT
				    ? write(channel.fd, rest, left)
				    : send(channel.fd, rest, left, MSG_DONTWAIT | MSG_NOSIGNAL);

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

static int channel_open(void)
{
	int r;

	if (channel.fd >= 0 && !owned_fd_is_valid(&channel))
		channel_drop(); /* the host program closed the fd */
	if (channel.fd < 0) {
		r = config.transport == SETUP_PORT ? channel_open_port(config.port, &channel)
						   : channel_open_vsock(&config.host, &channel);
		if (r < 0)
			return r;
		connected = config.transport == SETUP_PORT;
	}
	r = connected ? 0 : channel_check_connected(&channel);
	connected = r == 0;
	return r;
}

/*
 * Receives the limit. Ignores errors and the end of the connection, because the next send detects
 * them.
 */
static void limit_poll(void)
{
	uint8_t bytes[LIMITS_PER_POLL * FPS_LIMIT_BYTES];
	ssize_t n = recv(channel.fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0)
		limit_receive(&received, bytes, (size_t)n, limit);
}

/*
 * Another program has a port open only for one message, so a busy port is tried again soon. If it
 * stays busy, the delay grows as for other errors.
 */
static uint64_t back_off(int error)
{
	unsigned int first_ms = error == -EBUSY ? BUSY_DELAY_MS : FIRST_DELAY_MS;

	channel_drop();
	delay_ms = delay_ms * 2 < first_ms ? first_ms : delay_ms * 2;
	if (delay_ms > MAX_DELAY_MS)
		delay_ms = MAX_DELAY_MS;
	debug_log("cannot reach the host: %s; next attempt in %u ms", strerrordesc_np(-error),
		  delay_ms);
	return delay_ms * NS_PER_MS;
}

uint64_t report_poll(void)
{
	int r = channel_open();

	if (r == -EINPROGRESS)
		return CONNECTING_NS;
	if (r < 0)
		return back_off(r);
	if (config.transport == SETUP_VSOCK)
		limit_poll();
	if (out_at == 0)
		message_make();
	r = message_send();
	if (r == -EAGAIN && (out_at > 0 || config.transport == SETUP_VSOCK))
		return FULL_NS;
	if (r < 0)
		return back_off(r); /* -EAGAIN here means that the daemon does not read the port */
	if (config.transport == SETUP_PORT)
		channel_drop();
	else if (sent == 1) {
		debug_log("connected to the host");
		/*
		 * Keep delay_ms: the first message may be lost, so that the channel is not yet
		 * known to work.
		 */
		return NS_PER_S;
	}
	delay_ms = 0;
	return NS_PER_S;
}

static int channel_open_at_exit(void)
{
	const struct timespec pause = {.tv_nsec = NS_PER_MS};
	int r = channel_open();

	for (int tries = 1; r == -EBUSY && tries < EXIT_TRIES; tries++) {
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		r = channel_open();
	}
	return r;
}

void report_finish(void)
{
	if (!page || channel_open_at_exit() < 0 || (out_at > 0 && message_send() < 0))
		return;
	next.flags = FPS_MESSAGE_LAST;
	message_make();
	(void)message_send();
	channel_drop();
}
