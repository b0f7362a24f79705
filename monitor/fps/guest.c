/* SPDX-License-Identifier: MIT */
/*
 * Connections of virtual machines. By vsock each program has one, and the kernel says of which
 * machine it is; by virtio-serial a machine has one for all its programs, and the name of its
 * socket says. Must never block, follow what a guest says of itself, or read faster than a program
 * may speak: who writes more waits in the guest's own pipe. Nor may it matter whether a program
 * reads what it is answered: one answer at most waits here to be sent.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <linux/vm_sockets.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "monitor/fps/guest.h"
#include "monitor/fps/reporter.h"

#define BACKLOG		128
#define EVENTS_AT_ONCE	64
#define ACCEPTS_AT_ONCE 64
#define ENTRIES_MAX	4096 /* of the folder */

/* Messages that are read from one connection in a second; what is more stays where it is. */
#define VSOCK_A_SECOND 16
#define PORT_A_SECOND  (4 * FPS_TELLERS_MAX)

#define SPEAK_WITHIN_NS (5 * NS_PER_S) /* who connects by vsock has something to say */

#define ASK_EVERY_NS  (5 * NS_PER_S)
#define SCAN_EVERY_NS (2 * NS_PER_S)
#define KEEP_NS	      (90 * NS_PER_S) /* a machine without a connection: its programs may come back */

#define VSOCK_BUFFER 8192 /* what a guest may have in our memory, for each connection */

#define NAME_BYTES 128

/* One virtual machine, as it is known on one way. */
struct guest {
	struct guest *next;
	uint32_t cid;	       /* 0: by name */
	char name[NAME_BYTES]; /* of its socket, without what follows the last ".sock" */
	struct fps_vgpu *vgpu; /* of that; NULL: it has none */
	struct fps_tellers tellers;
	int sources;
	uint64_t seen_ns;
	uint64_t ask_ns; /* not before this */
};

struct source {
	struct source *next;
	struct guest *guest;
	int fd;
	uint64_t since_ns;
	bool spoke;  /* a message has come */
	bool muted;  /* it has been read enough until the next tick */
	bool gone;   /* to be freed */
	size_t room; /* bytes that are read until then */
	struct fps_stream stream;
	uint64_t told_ns; /* the limit in @answer, FPS_NOT_TOLD: none yet */
	uint8_t answer[FPS_ANSWER_BYTES];
	size_t unsent; /* the last bytes of that */
};

struct fps_guests {
	struct fps_guests_config config;
	char ports[PATH_MAX];
	int epoll;
	int listener; /* -1: no vsock */
	bool deaf;    /* no fd was left: not before the next tick */
	struct guest *guests;
	struct source *sources;
	int n_sources;
	int telling;
	uint64_t collect_ns, scan_ns, tick_ns;
	uint64_t refused, dropped;
};

static void watch(const struct fps_guests *g, int op, int fd, void *what, bool on)
{
	struct epoll_event event = {.events = on ? EPOLLIN : 0, .data.ptr = what};

	(void)epoll_ctl(g->epoll, op, fd, &event);
}

/* --- virtual machines --- */

/* Asks whose it is. Its programs' counts go on, for whom it is now. */
static void guest_ask(struct fps_guests *g, struct guest *guest, uint64_t now_ns)
{
	char id[ID_MAX];

	if (now_ns < guest->ask_ns)
		return;
	guest->ask_ns = now_ns + ASK_EVERY_NS;
	guest->vgpu = NULL;
	if (g->config.vm(g->config.vm_userdata, guest->cid, guest->cid ? NULL : guest->name, id) <
	    0)
		return;
	guest->vgpu = g->config.vgpu(g->config.vgpu_userdata, id);
}

static struct guest *guest_find(const struct fps_guests *g, uint32_t cid, const char *name)
{
	struct guest *guest = g->guests;

	while (guest && (guest->cid != cid || strcmp(guest->name, name) != 0))
		guest = guest->next;
	return guest;
}

/* The machine's entry, if it has a vGPU. NULL: it has none, or no memory is left. */
static struct guest *guest_get(struct fps_guests *g, uint32_t cid, const char *name,
			       uint64_t now_ns)
{
	struct guest *guest = guest_find(g, cid, name);
	char id[ID_MAX];

	if (guest) {
		guest_ask(g, guest, now_ns);
		return guest->vgpu ? guest : NULL;
	}
	if (g->config.vm(g->config.vm_userdata, cid, cid ? NULL : name, id) < 0)
		return NULL;
	guest = calloc(1, sizeof(*guest));
	if (!guest)
		return NULL;
	guest->cid = cid;
	(void)snprintf(guest->name, sizeof(guest->name), "%s", name);
	guest->tellers.fleeting = cid == 0;
	guest->seen_ns = now_ns;
	guest->next = g->guests;
	g->guests = guest;
	guest_ask(g, guest, now_ns);
	return guest->vgpu ? guest : NULL;
}

static void guests_sweep(struct fps_guests *g, uint64_t now_ns)
{
	for (struct guest **at = &g->guests; *at;) {
		struct guest *guest = *at;

		if (guest->sources > 0 || (guest->vgpu && now_ns < guest->seen_ns + KEEP_NS)) {
			at = &guest->next;
			continue;
		}
		*at = guest->next;
		fps_tellers_free(&guest->tellers);
		free(guest);
	}
}

/* --- connections --- */

static size_t room_for(const struct guest *guest, uint64_t elapsed_ns)
{
	size_t messages = guest->cid ? VSOCK_A_SECOND : PORT_A_SECOND;

	return FPS_MESSAGE_BYTES * messages * (1 + (size_t)(elapsed_ns / NS_PER_S));
}

static int source_new(struct fps_guests *g, struct guest *guest, int fd, uint64_t now_ns)
{
	struct source *source;
	struct epoll_event event = {.events = EPOLLIN};
	int r;

	if (g->n_sources == FPS_GUEST_SOURCES_MAX || guest->sources == FPS_TELLERS_MAX)
		return -EUSERS;
	source = calloc(1, sizeof(*source));
	if (!source)
		return -ENOMEM;
	event.data.ptr = source;
	if (epoll_ctl(g->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		r = -errno;
		free(source);
		return r;
	}
	source->fd = fd;
	source->guest = guest;
	source->since_ns = now_ns;
	source->room = room_for(guest, 0);
	source->told_ns = FPS_NOT_TOLD;
	source->next = g->sources;
	g->sources = source;
	g->n_sources++;
	guest->sources++;
	guest->seen_ns = now_ns;
	return 0;
}

/* Events may still name it: it is freed when they are done. */
static void source_end(struct fps_guests *g, struct source *source)
{
	if (source->gone)
		return;
	source->gone = true;
	fps_tellers_leave(&source->guest->tellers, source);
	source->guest->sources--;
	(void)epoll_ctl(g->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	(void)close(source->fd);
}

static void sources_sweep(struct fps_guests *g)
{
	for (struct source **at = &g->sources; *at;) {
		struct source *source = *at;

		if (!source->gone) {
			at = &source->next;
			continue;
		}
		*at = source->next;
		g->n_sources--;
		free(source);
	}
}

/* Tells a program its limit, if that is not what it was told. What is not taken is tried again at
 * the next tick; the rest of an answer goes before the next one. */
static void source_tell(struct source *source, uint64_t limit_ns)
{
	ssize_t n;

	if (source->guest->cid == 0 || (source->told_ns == limit_ns && source->unsent == 0))
		return;
	if (source->unsent == 0 || source->unsent == sizeof(source->answer)) {
		fps_answer_make(limit_ns, source->answer);
		source->told_ns = limit_ns;
		source->unsent = sizeof(source->answer);
	}
	n = send(source->fd, source->answer + sizeof(source->answer) - source->unsent,
		 source->unsent, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		source->unsent -= (size_t)n;
}

/* Its machine has no vGPU any more, and no limit either. */
static void source_let_go(struct fps_guests *g, struct source *source)
{
	source_tell(source, 0);
	source_end(g, source);
}

struct taking {
	struct fps_guests *g;
	struct source *source;
	uint64_t now_ns;
};

static void take(void *userdata, const struct fps_message *message)
{
	const struct taking *t = userdata;
	struct guest *guest = t->source->guest;

	t->source->spoke = true;
	guest->seen_ns = t->now_ns;
	if (!fps_tellers_take(&guest->tellers, t->source, message, t->g->tick_ns, t->now_ns,
			      &guest->vgpu->totals))
		t->g->dropped++;
}

static void source_event(struct fps_guests *g, struct source *source, uint64_t now_ns)
{
	struct taking taking = {.g = g, .source = source, .now_ns = now_ns};
	uint8_t bytes[8 * FPS_MESSAGE_BYTES];
	size_t want = source->room < sizeof(bytes) ? source->room : sizeof(bytes);
	ssize_t n;

	if (source->gone)
		return;
	guest_ask(g, source->guest, now_ns);
	if (!source->guest->vgpu) {
		source_let_go(g, source);
		return;
	}
	n = recv(source->fd, bytes, want, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		source_end(g, source);
		return;
	}
	source->room -= (size_t)n;
	if (fps_stream_feed(&source->stream, bytes, (size_t)n, take, &taking) > 0) {
		g->refused++;
		if (source->guest->cid) /* a program's own; a port has others behind it */
			source_end(g, source);
	}
	if (!source->gone && source->room == 0) {
		source->muted = true;
		watch(g, EPOLL_CTL_MOD, source->fd, source, false);
	}
}

/* --- vsock --- */

static int listen_vsock(struct fps_guests *g, struct err *reterr)
{
	const struct sockaddr_vm address = {
		.svm_family = AF_VSOCK,
		.svm_cid = VMADDR_CID_ANY,
		.svm_port = g->config.vsock_port,
	};
	uint64_t buffer = VSOCK_BUFFER;

	if (g->config.vsock_port == 0)
		return 0;
	g->listener = socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (g->listener < 0)
		return err_fail(reterr, errno, "[fps] vsock_port = %u: this host has no vsock: %s",
				g->config.vsock_port, strerror(errno));
	/* The connections have it from here; where it is refused they have the kernel's. */
	(void)setsockopt(g->listener, AF_VSOCK, SO_VM_SOCKETS_BUFFER_SIZE, &buffer, sizeof(buffer));
	if (bind(g->listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(g->listener, BACKLOG) < 0)
		return err_fail(reterr, errno, "cannot listen on vsock port %u: %s",
				g->config.vsock_port, strerror(errno));
	watch(g, EPOLL_CTL_ADD, g->listener, NULL, true);
	return 0;
}

/* A machine without a vGPU has no limit: its program may remember one. */
static void tell_none(int fd)
{
	uint8_t answer[FPS_ANSWER_BYTES];

	fps_answer_make(0, answer);
	(void)send(fd, answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void accept_all(struct fps_guests *g, uint64_t now_ns)
{
	for (int n = 0; n < ACCEPTS_AT_ONCE; n++) {
		struct sockaddr_vm peer = {.svm_family = AF_UNSPEC};
		socklen_t length = sizeof(peer);
		int fd = accept4(g->listener, (struct sockaddr *)&peer, &length,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct guest *guest;

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED || errno == ECONNRESET))
			continue;
		if (fd < 0 && errno != EAGAIN) { /* it would keep the loop awake for ever */
			g->deaf = true;
			watch(g, EPOLL_CTL_MOD, g->listener, NULL, false);
		}
		if (fd < 0)
			return;
		guest = peer.svm_family == AF_VSOCK && peer.svm_cid != 0
				? guest_get(g, peer.svm_cid, "", now_ns)
				: NULL;
		if (guest && source_new(g, guest, fd, now_ns) == 0)
			continue;
		if (!guest)
			tell_none(fd);
		(void)close(fd);
		g->refused++;
	}
}

/* --- virtio-serial --- */

static int connect_port(const char *folder, const char *file)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t room = sizeof(address.sun_path);
	CLEANUP_CLOSE int fd = -1;

	if ((size_t)snprintf(address.sun_path, room, "%s/%s", folder, file) >= room)
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return steal_fd(&fd);
}

/* Connects to the socket of a machine that has a vGPU and is not connected. Its name may end in
 * .sock. */
static void look_at(struct fps_guests *g, const char *file, uint64_t now_ns)
{
	size_t length = strlen(file);
	struct guest *guest;
	char name[NAME_BYTES];
	int fd;

	if (length > 5 && strcmp(file + length - 5, ".sock") == 0)
		length -= 5;
	if (length >= sizeof(name))
		return;
	memcpy(name, file, length);
	name[length] = '\0';
	guest = guest_get(g, 0, name, now_ns);
	if (!guest || guest->sources > 0)
		return;
	fd = connect_port(g->ports, file);
	if (fd >= 0 && source_new(g, guest, fd, now_ns) < 0)
		(void)close(fd);
}

static void scan(struct fps_guests *g, uint64_t now_ns)
{
	DIR *folder = g->ports[0] ? opendir(g->ports) : NULL;
	struct dirent *entry;
	int n = 0;

	if (!folder)
		return; /* it may come back */
	while (n++ < ENTRIES_MAX && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' &&
		    (entry->d_type == DT_SOCK || entry->d_type == DT_UNKNOWN ||
		     entry->d_type == DT_LNK))
			look_at(g, entry->d_name, now_ns);
	closedir(folder);
}

/* --- all of them --- */

int fps_guests_new(const struct fps_guests_config *config, struct fps_guests **ret_guests,
		   struct err *reterr)
{
	struct fps_guests *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return err_fail(reterr, ENOMEM, "no memory for FPS reports");
	g->config = *config;
	g->listener = -1;
	(void)snprintf(g->ports, sizeof(g->ports), "%s", config->ports);
	g->collect_ns = clock_now().mono_ns;
	g->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (g->epoll < 0)
		r = err_fail(reterr, errno, "cannot make an epoll: %s", strerror(errno));
	else
		r = listen_vsock(g, reterr);
	if (r == 0 && g->ports[0]) {
		r = file_make_dirs(g->ports);
		if (r < 0)
			err_fail(reterr, -r, "cannot make %s: %s", g->ports, strerror(-r));
	}
	if (r < 0) {
		fps_guests_free(g);
		return r;
	}
	*ret_guests = g;
	return 0;
}

struct fps_guests *fps_guests_free(struct fps_guests *g)
{
	if (!g)
		return NULL;
	for (struct source *s = g->sources; s; s = s->next)
		source_end(g, s);
	sources_sweep(g);
	for (struct guest *guest = g->guests; guest; guest = guest->next)
		guest->vgpu = NULL;
	guests_sweep(g, 0);
	if (g->listener >= 0)
		(void)close(g->listener);
	if (g->epoll >= 0)
		(void)close(g->epoll);
	free(g);
	return NULL;
}

int fps_guests_fd(const struct fps_guests *g)
{
	return g->epoll;
}

void fps_guests_dispatch(struct fps_guests *g, uint64_t tick_ns)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int n = epoll_wait(g->epoll, events, EVENTS_AT_ONCE, 0);
	uint64_t now_ns = clock_now().mono_ns;

	g->tick_ns = tick_ns;
	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr)
			source_event(g, events[i].data.ptr, now_ns);
		else
			accept_all(g, now_ns);
	}
	sources_sweep(g);
}

/* Who was muted may speak again, and who has no vGPU any more is let go. */
static void refresh(struct fps_guests *g, uint64_t now_ns)
{
	for (struct guest *guest = g->guests; guest; guest = guest->next)
		guest_ask(g, guest, now_ns);
	for (struct source *s = g->sources; s; s = s->next) {
		if (!s->guest->vgpu) {
			source_let_go(g, s);
			continue;
		}
		if (s->guest->cid && !s->spoke && now_ns > s->since_ns + SPEAK_WITHIN_NS) {
			g->refused++;
			source_end(g, s);
			continue;
		}
		if (s->spoke)
			source_tell(s, s->guest->vgpu->limit_ns);
		s->room = room_for(s->guest, now_ns - g->collect_ns);
		if (s->muted) {
			s->muted = false;
			watch(g, EPOLL_CTL_MOD, s->fd, s, true);
		}
	}
	sources_sweep(g);
	if (g->deaf) {
		g->deaf = false;
		watch(g, EPOLL_CTL_MOD, g->listener, NULL, true);
	}
}

void fps_guests_collect(struct fps_guests *g)
{
	uint64_t now_ns = clock_now().mono_ns;

	refresh(g, now_ns);
	if (now_ns >= g->scan_ns) {
		scan(g, now_ns);
		g->scan_ns = now_ns + SCAN_EVERY_NS;
	}
	g->telling = 0;
	for (struct guest *guest = g->guests; guest; guest = guest->next)
		if (guest->vgpu)
			g->telling +=
				fps_tellers_sum(&guest->tellers, now_ns, &guest->vgpu->totals);
	guests_sweep(g, now_ns);
	g->collect_ns = now_ns;
}

void fps_guests_rematch(struct fps_guests *g)
{
	for (struct guest *guest = g->guests; guest; guest = guest->next) {
		guest->vgpu = NULL; /* it may be freed before we ask */
		guest->ask_ns = 0;
	}
}

void fps_guests_stats(const struct fps_guests *g, struct fps_hub_stats *stats)
{
	stats->open += g->telling;
	stats->refused += g->refused;
	stats->dropped += g->dropped;
}
