/* SPDX-License-Identifier: MIT */
/*
 * Connections of virtual machines. Over vsock each program has its own connection, and the kernel
 * provides the CID of the virtual machine. Over virtio-serial all programs of a virtual machine
 * share one connection, and the name of the socket identifies the virtual machine. The daemon reads
 * a limited amount per second from each connection. The rest of the data stays in the guest. At
 * most one limit message per connection waits to be sent.
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
#include "base/xalloc.h"
#include "monitor/fps/guests.h"
#include "monitor/fps/reporter.h"

#define BACKLOG		128
#define EVENTS_AT_ONCE	64
#define ACCEPTS_AT_ONCE 64
#define ENTRIES_MAX	4096 /* maximum entries read from the folder of sockets */

/* Maximum messages read from one connection per second. */
#define VSOCK_A_SECOND 16
#define PORT_A_SECOND  (4 * FPS_REPORTERS_MAX)

#define FIRST_MESSAGE_WITHIN_NS (5 * NS_PER_S) /* time limit for the first vsock message */

#define LOOKUP_EVERY_NS (5 * NS_PER_S)
#define SCAN_EVERY_NS	(2 * NS_PER_S)
#define KEEP_NS		(90 * NS_PER_S) /* a VM without a connection is freed after this time */

#define VSOCK_BUFFER 8192 /* bytes of kernel memory per connection */

#define NAME_BYTES 128

/* A virtual machine, connected by vsock or by virtio-serial. */
struct vm {
	struct vm *next;
	uint32_t cid;	       /* vsock CID; 0: the virtual machine is identified by @name */
	char name[NAME_BYTES]; /* name of the socket, without ".sock" */
	struct fps_vgpu *vgpu; /* NULL: no vGPU */
	struct fps_reporters reporters;
	int connections;
	uint64_t seen_ns;
	uint64_t lookup_ns; /* time of the next lookup */
};

struct connection {
	struct connection *next;
	struct vm *vm;
	int fd;
	uint64_t since_ns;
	bool has_sent;	  /* true after the first message */
	bool read_paused; /* the rate limit was reached: no reading until the next tick */
	bool closed;	  /* true: connections_sweep() frees the connection */
	size_t room;	  /* bytes that may be read until the next tick */
	struct fps_stream stream;
	uint64_t sent_limit_ns; /* the limit in @message, or FPS_LIMIT_UNSENT */
	uint8_t message[FPS_LIMIT_BYTES];
	size_t unsent; /* number of bytes at the end of @message that were not sent yet */
};

struct fps_guests {
	struct fps_guests_config config;
	char ports[PATH_MAX];
	int epoll;
	int listener;	    /* -1: no vsock */
	bool accept_paused; /* accept() failed: not called again until the next tick */
	struct vm *vms;
	struct connection *connections;
	struct fps_quota quota;
	int reporting;
	uint64_t collect_ns, scan_ns, tick_ns;
	uint64_t refused, over_limit, dropped;
};

static void watch(const struct fps_guests *g, int op, int fd, void *what, bool on)
{
	struct epoll_event event = {.events = on ? EPOLLIN : 0, .data.ptr = what};

	(void)epoll_ctl(g->epoll, op, fd, &event);
}

/* --- virtual machines --- */

/* Looks up the vGPU of the virtual machine. Later frames of its programs count for this vGPU. */
static void vm_find_owner(struct fps_guests *g, struct vm *vm, uint64_t now_ns)
{
	char id[ID_MAX];

	if (now_ns < vm->lookup_ns)
		return;
	vm->lookup_ns = now_ns + LOOKUP_EVERY_NS;
	vm->vgpu = NULL;
	if (g->config.vm(g->config.vm_userdata, vm->cid, vm->cid ? NULL : vm->name, id) < 0)
		return;
	vm->vgpu = g->config.vgpu(g->config.vgpu_userdata, id);
}

static struct vm *vm_find(const struct fps_guests *g, uint32_t cid, const char *name)
{
	struct vm *vm = g->vms;

	while (vm && (vm->cid != cid || strcmp(vm->name, name) != 0))
		vm = vm->next;
	return vm;
}

/* Returns the entry of the virtual machine. Returns NULL if the virtual machine has no vGPU. */
static struct vm *vm_get(struct fps_guests *g, uint32_t cid, const char *name, uint64_t now_ns)
{
	struct vm *vm = vm_find(g, cid, name);
	char id[ID_MAX];

	if (vm) {
		vm_find_owner(g, vm, now_ns);
		return vm->vgpu ? vm : NULL;
	}
	if (g->config.vm(g->config.vm_userdata, cid, cid ? NULL : name, id) < 0)
		return NULL;
	vm = xcalloc(1, sizeof(*vm));
	vm->cid = cid;
	(void)snprintf(vm->name, sizeof(vm->name), "%s", name);
	vm->reporters.connectionless = cid == 0;
	vm->seen_ns = now_ns;
	vm->next = g->vms;
	g->vms = vm;
	vm_find_owner(g, vm, now_ns);
	return vm->vgpu ? vm : NULL;
}

static void vms_sweep(struct fps_guests *g, uint64_t now_ns)
{
	for (struct vm **at = &g->vms; *at;) {
		struct vm *vm = *at;

		if (vm->connections > 0 || (vm->vgpu && now_ns < vm->seen_ns + KEEP_NS)) {
			at = &vm->next;
			continue;
		}
		*at = vm->next;
		fps_reporters_free(&vm->reporters);
		free(vm);
	}
}

/* --- connections --- */

static size_t room_for(const struct vm *vm, uint64_t elapsed_ns)
{
	size_t messages = vm->cid ? VSOCK_A_SECOND : PORT_A_SECOND;

	return FPS_MESSAGE_BYTES * messages * (1 + (size_t)(elapsed_ns / NS_PER_S));
}

static int connection_new(struct fps_guests *g, struct vm *vm, int fd, uint64_t now_ns)
{
	struct connection *connection;
	struct epoll_event event = {.events = EPOLLIN};
	int r;

	if (!fps_quota_take(&g->quota, &vm->connections)) {
		g->over_limit++;
		fps_refusals_add(&vm->vgpu->refused, vm->connections, now_ns);
		return -EUSERS;
	}
	connection = xcalloc(1, sizeof(*connection));
	event.data.ptr = connection;
	if (epoll_ctl(g->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		r = -errno;
		free(connection);
		fps_quota_give(&g->quota, &vm->connections);
		return r;
	}
	connection->fd = fd;
	connection->vm = vm;
	connection->since_ns = now_ns;
	connection->room = room_for(vm, 0);
	connection->sent_limit_ns = FPS_LIMIT_UNSENT;
	connection->next = g->connections;
	g->connections = connection;
	vm->seen_ns = now_ns;
	return 0;
}

/* Closes the connection. The memory is freed later, because pending events may refer to it. */
static void connection_close(struct fps_guests *g, struct connection *connection)
{
	if (connection->closed)
		return;
	connection->closed = true;
	fps_reporters_disconnect(&connection->vm->reporters, connection);
	fps_quota_give(&g->quota, &connection->vm->connections);
	(void)epoll_ctl(g->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
	(void)close(connection->fd);
}

static void connections_sweep(struct fps_guests *g)
{
	for (struct connection **at = &g->connections; *at;) {
		struct connection *connection = *at;

		if (!connection->closed) {
			at = &connection->next;
			continue;
		}
		*at = connection->next;
		free(connection);
	}
}

/*
 * Sends the limit if the limit has changed. First completes a limit message that was sent in part.
 * If the socket is full, the next tick tries again.
 */
static void connection_send_limit(struct connection *connection, uint64_t limit_ns)
{
	ssize_t n;

	if (connection->vm->cid == 0 ||
	    (connection->sent_limit_ns == limit_ns && connection->unsent == 0))
		return;
	if (connection->unsent == 0 || connection->unsent == sizeof(connection->message)) {
		fps_limit_encode(limit_ns, connection->message);
		connection->sent_limit_ns = limit_ns;
		connection->unsent = sizeof(connection->message);
	}
	n = send(connection->fd,
		 connection->message + sizeof(connection->message) - connection->unsent,
		 connection->unsent, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		connection->unsent -= (size_t)n;
}

/* Lifts the limit and closes the connection. Called if the virtual machine no longer has a vGPU. */
static void connection_release(struct fps_guests *g, struct connection *connection)
{
	connection_send_limit(connection, 0);
	connection_close(g, connection);
}

struct taking {
	struct fps_guests *g;
	struct connection *connection;
	uint64_t now_ns;
};

static void take(void *userdata, const struct fps_message *message)
{
	const struct taking *t = userdata;
	struct vm *vm = t->connection->vm;

	t->connection->has_sent = true;
	vm->seen_ns = t->now_ns;
	if (!fps_reporters_count_message(&vm->reporters, t->connection, message, t->g->tick_ns,
					 t->now_ns, &vm->vgpu->totals))
		t->g->dropped++;
}

static void connection_event(struct fps_guests *g, struct connection *connection, uint64_t now_ns)
{
	struct taking taking = {.g = g, .connection = connection, .now_ns = now_ns};
	uint8_t bytes[8 * FPS_MESSAGE_BYTES];
	size_t want = connection->room < sizeof(bytes) ? connection->room : sizeof(bytes);
	ssize_t n;

	if (connection->closed)
		return;
	vm_find_owner(g, connection->vm, now_ns);
	if (!connection->vm->vgpu) {
		connection_release(g, connection);
		return;
	}
	n = recv(connection->fd, bytes, want, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		connection_close(g, connection);
		return;
	}
	connection->room -= (size_t)n;
	if (fps_stream_feed(&connection->stream, bytes, (size_t)n, take, &taking) > 0) {
		g->refused++;
		if (connection->vm->cid) /* a port stays open, because other programs use it too */
			connection_close(g, connection);
	}
	if (!connection->closed && connection->room == 0) {
		connection->read_paused = true;
		watch(g, EPOLL_CTL_MOD, connection->fd, connection, false);
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
		return err_fail(reterr, errno,
				"[fps] vsock_port = %u: vsock is not available on this host: %s",
				g->config.vsock_port, strerror(errno));
	/* Connections inherit this buffer size. If the call fails, connections use the default of
	 * the kernel. */
	(void)setsockopt(g->listener, AF_VSOCK, SO_VM_SOCKETS_BUFFER_SIZE, &buffer, sizeof(buffer));
	if (bind(g->listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(g->listener, BACKLOG) < 0)
		return err_fail(reterr, errno, "cannot listen on vsock port %u: %s",
				g->config.vsock_port, strerror(errno));
	watch(g, EPOLL_CTL_ADD, g->listener, NULL, true);
	return 0;
}

/* Sends "no limit", because the program may have received a limit over an earlier connection. */
static void send_no_limit(int fd)
{
	uint8_t message[FPS_LIMIT_BYTES];

	fps_limit_encode(0, message);
	(void)send(fd, message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void accept_all(struct fps_guests *g, uint64_t now_ns)
{
	for (int n = 0; n < ACCEPTS_AT_ONCE; n++) {
		struct sockaddr_vm peer = {.svm_family = AF_UNSPEC};
		socklen_t length = sizeof(peer);
		int fd = accept4(g->listener, (struct sockaddr *)&peer, &length,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct vm *vm;

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED || errno == ECONNRESET))
			continue;
		/* Pause accepting: the pending connection would wake the event loop again. */
		if (fd < 0 && errno != EAGAIN) {
			g->accept_paused = true;
			watch(g, EPOLL_CTL_MOD, g->listener, NULL, false);
		}
		if (fd < 0)
			return;
		vm = peer.svm_family == AF_VSOCK && peer.svm_cid != 0
			     ? vm_get(g, peer.svm_cid, "", now_ns)
			     : NULL;
		if (vm && connection_new(g, vm, fd, now_ns) == 0)
			continue;
		if (!vm)
			send_no_limit(fd);
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

/*
 * Connects to the socket @file if the virtual machine of this socket has a vGPU and is not
 * connected yet.
 */
static void try_socket(struct fps_guests *g, const char *file, uint64_t now_ns)
{
	size_t length = strlen(file);
	struct vm *vm;
	char name[NAME_BYTES];
	int fd;

	if (length > 5 && strcmp(file + length - 5, ".sock") == 0)
		length -= 5;
	if (length >= sizeof(name))
		return;
	memcpy(name, file, length);
	name[length] = '\0';
	vm = vm_get(g, 0, name, now_ns);
	if (!vm || vm->connections > 0)
		return;
	fd = connect_port(g->ports, file);
	if (fd >= 0 && connection_new(g, vm, fd, now_ns) < 0)
		(void)close(fd);
}

static void scan(struct fps_guests *g, uint64_t now_ns)
{
	DIR *folder = g->ports[0] ? opendir(g->ports) : NULL;
	struct dirent *entry;
	int n = 0;

	if (!folder)
		return; /* the folder may be created later */
	while (n++ < ENTRIES_MAX && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' &&
		    (entry->d_type == DT_SOCK || entry->d_type == DT_UNKNOWN ||
		     entry->d_type == DT_LNK))
			try_socket(g, entry->d_name, now_ns);
	closedir(folder);
}

/* --- the hub's interface --- */

int fps_guests_new(const struct fps_guests_config *config, struct fps_guests **ret_guests,
		   struct err *reterr)
{
	struct fps_guests *g = xcalloc(1, sizeof(*g));
	int r;

	g->config = *config;
	g->quota = (struct fps_quota){
		.all = FPS_GUEST_CONNECTIONS_MAX,
		.each = FPS_REPORTERS_MAX,
		.reserved = FPS_GUEST_CONNECTIONS_RESERVED,
		.few = FPS_GUEST_CONNECTIONS_FEW,
	};
	g->listener = -1;
	(void)snprintf(g->ports, sizeof(g->ports), "%s", config->ports);
	g->collect_ns = clock_now().mono_ns;
	g->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (g->epoll < 0)
		r = err_fail(reterr, errno, "cannot create an epoll instance: %s", strerror(errno));
	else
		r = listen_vsock(g, reterr);
	if (r == 0 && g->ports[0]) {
		r = file_make_dirs(g->ports);
		if (r < 0)
			err_fail(reterr, -r, "cannot create %s: %s", g->ports, strerror(-r));
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
	for (struct connection *s = g->connections; s; s = s->next)
		connection_close(g, s);
	connections_sweep(g);
	for (struct vm *vm = g->vms; vm; vm = vm->next)
		vm->vgpu = NULL;
	vms_sweep(g, 0);
	cleanup_closep(&g->listener);
	cleanup_closep(&g->epoll);
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
			connection_event(g, events[i].data.ptr, now_ns);
		else
			accept_all(g, now_ns);
	}
	connections_sweep(g);
}

/*
 * Resumes reading from paused connections, sends limits, and closes connections without a vGPU or
 * without a message.
 */
static void refresh(struct fps_guests *g, uint64_t now_ns)
{
	for (struct vm *vm = g->vms; vm; vm = vm->next)
		vm_find_owner(g, vm, now_ns);
	for (struct connection *s = g->connections; s; s = s->next) {
		if (!s->vm->vgpu) {
			connection_release(g, s);
			continue;
		}
		if (s->vm->cid && !s->has_sent && now_ns > s->since_ns + FIRST_MESSAGE_WITHIN_NS) {
			g->refused++;
			connection_close(g, s);
			continue;
		}
		if (s->has_sent)
			connection_send_limit(s, s->vm->vgpu->limit_ns);
		s->room = room_for(s->vm, now_ns - g->collect_ns);
		if (s->read_paused) {
			s->read_paused = false;
			watch(g, EPOLL_CTL_MOD, s->fd, s, true);
		}
	}
	connections_sweep(g);
	if (g->accept_paused) {
		g->accept_paused = false;
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
	g->reporting = 0;
	for (struct vm *vm = g->vms; vm; vm = vm->next)
		if (vm->vgpu)
			g->reporting +=
				fps_reporters_sum_rates(&vm->reporters, now_ns, &vm->vgpu->totals);
	vms_sweep(g, now_ns);
	g->collect_ns = now_ns;
}

void fps_guests_rematch(struct fps_guests *g)
{
	for (struct vm *vm = g->vms; vm; vm = vm->next) {
		vm->vgpu = NULL; /* the vGPU may be freed before the next lookup */
		vm->lookup_ns = 0;
	}
}

void fps_guests_stats(const struct fps_guests *g, struct fps_hub_stats *stats)
{
	stats->open += g->reporting;
	stats->refused += g->refused;
	stats->over_limit += g->over_limit;
	stats->dropped += g->dropped;
}
