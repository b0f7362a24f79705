/* SPDX-License-Identifier: MIT */
/*
 * fps-report SOCKET FPS [HOW]: replaces QEMU with a virtio-serial port, and a program in the
 * virtual machine that reports FPS. Accepts connections of daemons, one after the other, until
 * a signal ends it. HOW: "honest" (one message a second, the default), "flood" (messages at full
 * speed), "back" (counters increase and decrease), "new-ids" (each message has another program id),
 * "noise" (no valid messages).
 */
#include <endian.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "fps-preload/message.h"

#define NS_PER_S 1000000000ull

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	(void)unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 1) < 0)
		return -1;
	return fd;
}

/* Sends all bytes. Returns false if the connection has ended. */
static bool send_all(int sock, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = send(sock, bytes, size, MSG_NOSIGNAL);

		if (n < 0)
			return false;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

static bool send_message(int sock, const struct fps_message *message)
{
	uint64_t words[FPS_MESSAGE_BYTES / sizeof(uint64_t)];

	memcpy(words, message, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		words[i] = htole64(words[i]);
	return send_all(sock, (const char *)words, sizeof(words));
}

static struct fps_message message = {
	.magic = FPS_MESSAGE_MAGIC,
	.version = FPS_MESSAGE_VERSION,
	.end = FPS_MESSAGE_END,
};

/*
 * Fills the next message. The frame count grows by @fps frames a second from the first message on.
 */
static void fill_message(double fps, const char *how)
{
	message.sequence++;
	message.sent_ns = message.newest_ns = now_ns();
	message.frames = (uint64_t)((double)(message.sent_ns - message.first_ns) / 1e9 * fps);
	if (strcmp(how, "back") == 0 && message.sequence % 2)
		message.frames += 1000000000;
	if (strcmp(how, "new-ids") == 0)
		message.program++;
	memset(message.frame_time, 0, sizeof(message.frame_time));
	message.frame_time[28] = message.frames;
}

static void serve(int sock, double fps, const char *how)
{
	bool noise = strcmp(how, "noise") == 0, flood = noise || strcmp(how, "flood") == 0;
	char garbage[4096];

	memset(garbage, 'g', sizeof(garbage));
	for (;;) {
		fill_message(fps, how);
		if (!(noise ? send_all(sock, garbage, sizeof(garbage))
			    : send_message(sock, &message)))
			return;
		if (!flood)
			(void)usleep(strcmp(how, "honest") == 0 ? 1000000 : 20000);
	}
}

int main(int argc, char **argv)
{
	int listener = argc > 2 ? listen_at(argv[1]) : -1;

	if (listener < 0) {
		fprintf(stderr, "usage: fps-report SOCKET FPS [HOW]\n");
		return 2;
	}
	message.program = message.first_ns = now_ns();
	for (;;) {
		int sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (sock < 0)
			return 1;
		serve(sock, strtod(argv[2], NULL), argc > 3 ? argv[3] : "honest");
		(void)close(sock);
	}
}
