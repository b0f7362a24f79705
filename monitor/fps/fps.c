/* SPDX-License-Identifier: MIT */
/*
 * Receives FPS reports. A program writes its counters to a page of shared memory (a memfd). It
 * connects and sends one message, the hello message, with the memfd. The page is read at every tick
 * and when the connection ends. Implausible counters are ignored, and the memory for each
 * connection is limited.
 *
 * The process that connected determines the vGPU, also if other processes hold the connection. The
 * vGPU is looked up only while this process exists, and the connection is closed when this process
 * has ended, so that its frames never count for a later process with the same pid.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/linux/process.h"
#include "base/unix-listener.h"
#include "base/xalloc.h"
#include "monitor/fps/fps.h"
#include "monitor/fps/guests.h"
#include "monitor/fps/totals.h"

static void hello_unmap(const struct fps_page *page)
{
	if (page)
		(void)munmap((void *)(uintptr_t)page, FPS_WIRE_PAGE_SIZE);
}

/* Maps a page that is sealed against shrinking. Returns 0 or a negative errno. */
static int page_map(int memfd, const struct fps_page **ret_page)
{
	const struct fps_page *page;
	struct stat st;
	int seals;

	if (fstat(memfd, &st) < 0)
		return -errno;
	seals = fcntl(memfd, F_GET_SEALS); /* fails unless the fd is a memfd */
	if (!S_ISREG(st.st_mode) || st.st_size != FPS_WIRE_PAGE_SIZE || seals < 0 ||
	    !(seals & F_SEAL_SHRINK))
		return -EINVAL;
	page = mmap(NULL, FPS_WIRE_PAGE_SIZE, PROT_READ, MAP_SHARED, memfd, 0);
	if (page == MAP_FAILED)
		return -errno;
	if (page->magic != FPS_WIRE_MAGIC || page->version != FPS_WIRE_VERSION) {
		hello_unmap(page);
		return -EINVAL;
	}
	*ret_page = page;
	return 0;
}

/*
 * Returns the fd in @message if it contains exactly one. Otherwise closes all fds in @message and
 * returns -1.
 */
static int message_fd(struct msghdr *message)
{
	int fd = -1, n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; i++) {
			cleanup_closep(&fd);
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			n++;
		}
	}
	if (n > 1) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * Receives the hello message from @sock, which does not block. Returns 0 and the page, mapped
 * read-only, which the caller frees with hello_unmap(). Returns -EAGAIN if no message has
 * arrived, -ENOTCONN if the connection ended without a message, or another negative errno if the
 * message or its page is invalid.
 */
static int hello_receive(int sock, const struct fps_page **ret_page)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct fps_hello hello = {0};
	struct iovec iov = {.iov_base = &hello, .iov_len = sizeof(hello)};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n = recvmsg(sock, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	CLEANUP_CLOSE int memfd = -1;

	if (n <= 0)
		return n == 0 ? -ENOTCONN : -errno;
	memfd = message_fd(&message);
	if (n != sizeof(hello) || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || memfd < 0 ||
	    hello.magic != FPS_WIRE_MAGIC || hello.version != FPS_WIRE_VERSION ||
	    hello.page_bytes != FPS_WIRE_PAGE_SIZE)
		return -EPROTO;
	return page_map(memfd, ret_page);
}

#define BACKLOG		512
#define EVENTS_AT_ONCE	32
#define ACCEPTS_AT_ONCE 16

/*
 * The last connections of each total are reserved for vGPUs, and for users, with few connections.
 * Programs without a vGPU have a total of their own, because a user may own thousands of user ids
 * (user namespaces).
 */
#define VGPUS_RESERVED 512
#define VGPU_FEW       16
#define USERS_RESERVED 64
#define USER_FEW       4

#define CLIENTS_MAX (FPS_VGPUS_CLIENTS_MAX + FPS_USERS_CLIENTS_MAX)

/* Time after which a connection without a hello message is closed. */
#define HELLO_WITHIN_NS (5 * NS_PER_S)
#define LISTEN_RETRY_NS (5 * NS_PER_S) /* between two attempts to bind the socket */

/*
 * If the first frame of a new page is older than the last tick by more than this time, only frames
 * after the hello message are counted. Otherwise all frames of the page are counted.
 */
#define NEW_PAGE_NS (2 * NS_PER_S)

/*
 * The vGPU of a new process is looked up at every tick until it is found, at most this number of
 * times, because the process may join its control group late. Afterwards the vGPU is looked up
 * periodically, because an operator may move the process.
 */
#define EAGER_LOOKUPS	10
#define LOOKUP_EVERY_NS (5 * NS_PER_S)

/* What the program was last sent about its frames. */
enum counting { COUNTING_UNSENT, COUNTING_NO, COUNTING_YES };

/* One open connection. */
struct client {
	int fd;
	size_t at; /* index in hub->clients and hub->processes */
	struct fps_process process;
	int *held;		     /* connections of the holder: @vgpu, or the user without one */
	const struct fps_page *page; /* NULL: no hello message yet */
	struct fps_reading reading;
	uint64_t since_ns;	/* time of the connection */
	struct fps_vgpu *vgpu;	/* NULL: the process belongs to no vGPU */
	uint64_t sent_limit_ns; /* the last limit sent, or FPS_LIMIT_UNSENT */
	enum counting sent_counting;
	int lookups;
	uint64_t lookup_ns; /* time of the next lookup */
};

/* A user with programs that belong to no vGPU. */
struct user {
	uid_t uid;
	int held; /* 0: the entry is free */
};

/*
 * The vGPUs that have a limit or whose programs have connected. Searched for each connection and in
 * each tick. A pointer to a vGPU is valid until the vGPU is removed.
 */
struct vgpus {
	struct fps_vgpu **list; /* sorted by id */
	size_t n;
};

static int compare(const void *id, const void *entry)
{
	return strcmp(id, (*(struct fps_vgpu *const *)entry)->id);
}

static struct fps_vgpu **locate(const struct vgpus *vgpus, const char *id)
{
	if (vgpus->n == 0)
		return NULL;
	return bsearch(id, vgpus->list, vgpus->n, sizeof(struct fps_vgpu *), compare);
}

static struct fps_vgpu *vgpus_find(const struct vgpus *vgpus, const char *id)
{
	struct fps_vgpu **known = locate(vgpus, id);

	return known ? *known : NULL;
}

/* Returns the vGPU @id (valid), which is created if needed. */
static struct fps_vgpu *vgpus_get(struct vgpus *vgpus, const char *id)
{
	struct fps_vgpu **known = locate(vgpus, id), **list;
	struct fps_vgpu *fresh;
	size_t at = 0;

	if (known)
		return *known;
	vgpus->list = list = xreallocarray(vgpus->list, vgpus->n + 1, sizeof(struct fps_vgpu *));
	fresh = xcalloc(1, sizeof(*fresh));
	(void)id_copy(fresh->id, id);
	while (at < vgpus->n && strcmp(list[at]->id, id) < 0)
		at++;
	memmove(&list[at + 1], &list[at], (vgpus->n - at) * sizeof(struct fps_vgpu *));
	list[at] = fresh;
	vgpus->n++;
	return fresh;
}

static void vgpus_remove(struct vgpus *vgpus, struct fps_vgpu *vgpu)
{
	struct fps_vgpu **known = locate(vgpus, vgpu->id);

	vgpus->n--;
	memmove(known, known + 1, (size_t)(vgpus->list + vgpus->n - known) * sizeof(*known));
	free(vgpu);
}

static void vgpus_free(struct vgpus *vgpus)
{
	for (size_t i = 0; i < vgpus->n; i++)
		free(vgpus->list[i]);
	free(vgpus->list);
	*vgpus = (struct vgpus){.n = 0};
}

struct fps_hub {
	int epoll;
	const char *path; /* of the socket; owned by the caller */
	struct unix_listener socket;
	int listener;	       /* -1: the socket cannot be used, see problem */
	struct err problem;    /* why; "": no problem */
	uint64_t listen_at_ns; /* time of the next attempt */
	uint64_t idle_ns;      /* fps_process_clock_ns() when no connection waited to be accepted */
	int spare;	       /* reserve fd for accept_to_drop() */
	fps_owner_fn owner;
	void *userdata;
	uint64_t tick_ns; /* time of the last tick; at first the time of fps_hub_new() */
	uint64_t refused, over_limit;
	struct fps_refusals users_refused;
	uid_t refused_uid; /* user of the newest of @users_refused */
	struct fps_quota vgpus_quota, users_quota;
	struct user users[FPS_USERS_CLIENTS_MAX];
	struct client *clients[CLIENTS_MAX];
	struct pollfd processes[CLIENTS_MAX]; /* pidfd of each client */
	size_t n_clients;
	struct vgpus vgpus;
	struct fps_guests *guests; /* NULL: off */
};

/* Returns the entry of the user. Returns NULL if all entries are in use. */
static struct user *user_get(struct fps_hub *hub, uid_t uid)
{
	struct user *unused = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(hub->users); i++) {
		struct user *user = &hub->users[i];

		if (user->held > 0 && user->uid == uid)
			return user;
		if (user->held == 0 && !unused)
			unused = user;
	}
	if (unused)
		unused->uid = uid;
	return unused;
}

static void client_leave(struct fps_hub *hub, struct client *client)
{
	if (!client->held)
		return;
	fps_quota_give(client->vgpu ? &hub->vgpus_quota : &hub->users_quota, client->held);
	client->held = NULL;
	if (client->vgpu && client->page)
		client->vgpu->totals.open--;
}

/*
 * Makes @vgpu the holder of the connection; NULL: the user. Returns false and counts a refusal if
 * this holder has too many connections.
 */
static bool client_join(struct fps_hub *hub, struct client *client, struct fps_vgpu *vgpu)
{
	struct user *user = vgpu ? NULL : user_get(hub, client->process.uid);
	int *held = vgpu ? &vgpu->held : user ? &user->held : NULL;

	if (!held || !fps_quota_take(vgpu ? &hub->vgpus_quota : &hub->users_quota, held)) {
		hub->over_limit++;
		fps_refusals_add(vgpu ? &vgpu->refused : &hub->users_refused, held ? *held : 0,
				 clock_now().mono_ns);
		if (!vgpu)
			hub->refused_uid = client->process.uid;
		return false;
	}
	client_leave(hub, client);
	client->held = held;
	client->vgpu = vgpu;
	if (vgpu && client->page)
		vgpu->totals.open++;
	return true;
}

/*
 * Returns the vGPU of a process, or NULL. The process had its pid at @had_pid_ns or later. The
 * result of the lookup is valid only if no other process can have got the pid until the lookup
 * ended.
 */
static struct fps_vgpu *vgpu_of_process(struct fps_hub *hub, const struct fps_process *process,
					uint64_t had_pid_ns)
{
	char id[ID_MAX];

	if (hub->owner(hub->userdata, process->pid, id) < 0 ||
	    (process->pid > 0 && !fps_process_kept_pid(process, had_pid_ns)))
		return NULL;
	return vgpus_get(&hub->vgpus, id);
}

/*
 * Looks up the vGPU of the client's process. If the lookup fails, the client keeps its vGPU,
 * because an exiting process belongs to no control group. Returns false if the vGPU has too many
 * connections.
 */
static bool client_find_owner(struct fps_hub *hub, struct client *client, uint64_t now_ns)
{
	uint64_t had_pid_ns = fps_process_clock_ns();
	struct fps_vgpu *vgpu;

	if (now_ns < client->lookup_ns || !fps_process_has_pid(&client->process))
		return true;
	vgpu = vgpu_of_process(hub, &client->process, had_pid_ns);
	if (vgpu && vgpu != client->vgpu && !client_join(hub, client, vgpu))
		return false;
	if (client->vgpu || ++client->lookups >= EAGER_LOOKUPS)
		client->lookup_ns = now_ns + LOOKUP_EVERY_NS;
	return true;
}

/*
 * Sends the limit of the client's vGPU if the limit has changed. If the socket is full, the next
 * call tries again.
 */
static void client_send_limit(struct client *client)
{
	struct fps_limit order = {
		.magic = FPS_WIRE_MAGIC,
		.version = FPS_WIRE_VERSION,
		.period_ns = client->vgpu ? client->vgpu->limit_ns : 0,
	};

	if (order.period_ns != client->sent_limit_ns &&
	    send(client->fd, &order, sizeof(order), MSG_DONTWAIT | MSG_NOSIGNAL) ==
		    (ssize_t)sizeof(order))
		client->sent_limit_ns = order.period_ns;
}

/* Sends whether the frames count, if this has changed. Tries again like client_send_limit(). */
static void client_send_counting(struct client *client)
{
	const struct fps_counting message = {
		.magic = FPS_WIRE_MAGIC,
		.version = FPS_WIRE_VERSION,
		.counted = client->vgpu != NULL,
	};
	enum counting counting = client->vgpu ? COUNTING_YES : COUNTING_NO;

	if (counting != client->sent_counting &&
	    send(client->fd, &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL) ==
		    (ssize_t)sizeof(message))
		client->sent_counting = counting;
}

/* Counts new frames for the vGPU. The frames of a process without a vGPU are not counted. */
static void client_count(struct client *client, uint64_t now_ns)
{
	fps_reading_take(&client->reading, client->page, now_ns,
			 client->vgpu ? &client->vgpu->totals : NULL);
}

static void client_free(struct fps_hub *hub, struct client *client)
{
	client_leave(hub, client);
	hello_unmap(client->page);
	fps_process_close(&client->process);
	/*
	 * Remove the fd from epoll explicitly: close() does not remove the fd if a starting child
	 * process has a copy of the fd.
	 */
	(void)epoll_ctl(hub->epoll, EPOLL_CTL_DEL, client->fd, NULL);
	(void)close(client->fd);
	hub->n_clients--;
	hub->clients[client->at] = hub->clients[hub->n_clients];
	hub->clients[client->at]->at = client->at;
	hub->processes[client->at] = hub->processes[hub->n_clients];
	free(client);
}

static void client_refuse(struct fps_hub *hub, struct client *client)
{
	hub->refused++;
	client_free(hub, client);
}

/* Receives the hello message. Returns the result of hello_receive(). */
static int client_hello(const struct fps_hub *hub, struct client *client, uint64_t now_ns)
{
	int r = hello_receive(client->fd, &client->page);

	if (r < 0)
		return r;
	if (client->vgpu)
		client->vgpu->totals.open++;
	fps_reading_begin(&client->reading, now_ns);
	/*
	 * If the first frame is old, for example because the program started before the daemon, do
	 * not count the frames presented until now.
	 */
	if (__atomic_load_n(&client->page->first_ns, __ATOMIC_RELAXED) + NEW_PAGE_NS < hub->tick_ns)
		fps_reading_skip(&client->reading, client->page);
	return 0;
}

/* Counts the last frames and closes the connection. */
static void client_end(struct fps_hub *hub, struct client *client, uint64_t now_ns)
{
	int r = client->page ? 0 : client_hello(hub, client, now_ns);

	if (client->page)
		client_count(client, now_ns);
	if (r < 0 && r != -ENOTCONN && r != -EAGAIN)
		client_refuse(hub, client);
	else
		client_free(hub, client);
}

static void client_event(struct fps_hub *hub, struct client *client, uint32_t events)
{
	uint64_t now_ns = clock_now().mono_ns;
	int r;

	if (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) {
		client_end(hub, client, now_ns);
		return;
	}
	/* a second message is not allowed */
	r = client->page ? -EPROTO : client_hello(hub, client, now_ns);
	if (r == -ENOTCONN)
		client_free(hub, client);
	else if (r < 0 && r != -EAGAIN)
		client_refuse(hub, client);
}

/* Takes ownership of @fd on success. */
static int client_new(struct fps_hub *hub, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP};
	uint64_t had_pid_ns = fps_process_clock_ns();
	struct client *client = xcalloc(1, sizeof(*client));
	int r;

	r = fps_process_open(fd, hub->idle_ns, &client->process);
	if (r < 0) {
		free(client);
		return r;
	}
	event.data.ptr = client;
	if (!client_join(hub, client, vgpu_of_process(hub, &client->process, had_pid_ns)))
		r = -EUSERS;
	else if (epoll_ctl(hub->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		r = -errno;
	if (r < 0) {
		client_leave(hub, client);
		fps_process_close(&client->process);
		free(client);
		return r;
	}
	client->fd = fd;
	client->sent_limit_ns = FPS_LIMIT_UNSENT;
	client->since_ns = clock_now().mono_ns;
	if (client->vgpu)
		client->lookup_ns = client->since_ns + LOOKUP_EVERY_NS;
	client->at = hub->n_clients;
	hub->processes[hub->n_clients] = (struct pollfd){client->process.pidfd, POLLIN, 0};
	hub->clients[hub->n_clients++] = client;
	return 0;
}

/*
 * Frees the reserve fd to accept a connection when no other fd is free, and closes the connection.
 * A pending connection would wake the event loop continuously. Returns true on success.
 */
static bool accept_to_drop(struct fps_hub *hub)
{
	int fd;

	if (hub->spare < 0)
		return false;
	(void)close(hub->spare);
	fd = accept4(hub->listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		(void)close(fd);
	hub->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd >= 0;
}

static void accept_all(struct fps_hub *hub)
{
	if (hub->listener < 0)
		hub->idle_ns = fps_process_clock_ns();
	for (int n = 0; hub->listener >= 0 && n < ACCEPTS_AT_ONCE; n++) {
		uint64_t before_ns = fps_process_clock_ns();
		int fd = accept4(hub->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0 && client_new(hub, fd) == 0)
			continue;
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0 && errno == EAGAIN)
			hub->idle_ns = before_ns;
		if (fd < 0 && ((errno != EMFILE && errno != ENFILE) || !accept_to_drop(hub)))
			return;
		cleanup_closep(&fd);
		hub->refused++;
	}
}

void fps_hub_dispatch(struct fps_hub *hub)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int n = epoll_wait(hub->epoll, events, EVENTS_AT_ONCE, 0);

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr && events[i].data.ptr == hub->guests)
			fps_guests_dispatch(hub->guests, hub->tick_ns);
		else if (events[i].data.ptr)
			client_event(hub, events[i].data.ptr, events[i].events);
		else
			accept_all(hub);
	}
}

/* Closes the connections whose process has ended. */
static void end_clients(struct fps_hub *hub, uint64_t now_ns)
{
	if (poll(hub->processes, hub->n_clients, 0) <= 0)
		return;
	for (size_t i = hub->n_clients; i-- > 0;)
		if (hub->processes[i].revents)
			client_end(hub, hub->clients[i], now_ns);
}

static void stop_listening(struct fps_hub *hub)
{
	cleanup_closep(&hub->listener);
	hub->listener = -1;
}

/* Binds the socket and watches it. Stores the problem if this fails. */
static int listen_to_programs(struct fps_hub *hub)
{
	struct epoll_event event = {.events = EPOLLIN};
	int r = unix_listener_open_for_programs(hub->path, BACKLOG, &hub->socket, &hub->problem);

	if (r < 0)
		return r;
	hub->listener = r;
	hub->problem.msg[0] = '\0';
	if (epoll_ctl(hub->epoll, EPOLL_CTL_ADD, hub->listener, &event) == 0)
		return 0;
	r = err_fail(&hub->problem, errno, "cannot watch %s: %s", hub->path, strerror(errno));
	unix_listener_remove(&hub->socket);
	stop_listening(hub);
	return r;
}

/* Binds the socket again if another program has removed its name, or if the last attempt failed. */
static void keep_listening(struct fps_hub *hub, uint64_t now_ns)
{
	if (unix_listener_is_lost(&hub->socket)) {
		hub->socket = (struct unix_listener){.ino = 0};
		stop_listening(hub);
		hub->listen_at_ns = 0;
	}
	if (hub->listener >= 0 || now_ns < hub->listen_at_ns)
		return;
	hub->listen_at_ns = now_ns + LISTEN_RETRY_NS;
	(void)listen_to_programs(hub); /* fps_hub_problem() reports a failure */
}

void fps_hub_collect(struct fps_hub *hub)
{
	uint64_t now_ns = clock_now().mono_ns;

	keep_listening(hub, now_ns);
	accept_all(hub); /* also finds out that no connection waits */
	end_clients(hub, now_ns);
	for (size_t i = 0; i < hub->vgpus.n; i++) {
		struct fps_totals *totals = &hub->vgpus.list[i]->totals;

		totals->at_ns = now_ns;
		totals->partial_frames = 0;
		totals->present_outside = totals->present_waits = 0;
	}
	for (size_t i = hub->n_clients; i-- > 0;) {
		struct client *client = hub->clients[i];

		if (!client_find_owner(hub, client, now_ns)) {
			client_refuse(hub, client);
		} else if (client->page) {
			client_send_limit(client);
			client_send_counting(client);
			client_count(client, now_ns);
			if (client->vgpu)
				fps_reading_add_state(&client->reading, &client->vgpu->totals);
		} else if (now_ns > client->since_ns + HELLO_WITHIN_NS) {
			client_refuse(hub, client);
		}
	}
	hub->tick_ns = now_ns;
	for (size_t i = 0; i < hub->vgpus.n; i++) {
		hub->vgpus.list[i]->totals.reporting = 0;
		hub->vgpus.list[i]->totals.reported_fps = 0;
	}
	if (hub->guests)
		fps_guests_collect(hub->guests);
}

void fps_hub_limit(struct fps_hub *hub, const char *id, uint64_t period_ns)
{
	struct fps_vgpu *vgpu = vgpus_find(&hub->vgpus, id);

	if (!vgpu && period_ns == 0)
		return;
	if (!vgpu)
		vgpu = vgpus_get(&hub->vgpus, id);
	vgpu->limit_ns = period_ns;
}

const struct fps_totals *fps_hub_totals(const struct fps_hub *hub, const char *id)
{
	const struct fps_vgpu *vgpu = vgpus_find(&hub->vgpus, id);

	return vgpu ? &vgpu->totals : NULL;
}

const struct fps_refusals *fps_hub_refusals(const struct fps_hub *hub, const char *id)
{
	const struct fps_vgpu *vgpu = vgpus_find(&hub->vgpus, id);

	return vgpu ? &vgpu->refused : NULL;
}

const struct fps_refusals *fps_hub_user_refusals(const struct fps_hub *hub, uid_t *ret_uid)
{
	*ret_uid = hub->refused_uid;
	return &hub->users_refused;
}

void fps_hub_forget(struct fps_hub *hub, const char *id)
{
	struct fps_vgpu *vgpu = vgpus_find(&hub->vgpus, id);

	if (!vgpu)
		return;
	for (size_t i = hub->n_clients; i-- > 0;) {
		struct client *client = hub->clients[i];

		if (client->vgpu != vgpu)
			continue;
		if (!client_join(hub, client, NULL)) {
			client_refuse(hub, client);
			continue;
		}
		client->lookups = 0;
		client->lookup_ns = 0;
	}
	fps_hub_rematch(hub);
	vgpus_remove(&hub->vgpus, vgpu);
}

const char *fps_hub_problem(const struct fps_hub *hub)
{
	return hub->problem.msg;
}

void fps_hub_stats(const struct fps_hub *hub, struct fps_hub_stats *ret_stats)
{
	struct fps_hub_stats stats = {
		.refused = hub->refused,
		.over_limit = hub->over_limit,
		.users = hub->users_refused,
	};

	for (size_t i = 0; i < hub->n_clients; i++) {
		stats.open += hub->clients[i]->page != NULL;
		stats.unmatched += hub->clients[i]->page && !hub->clients[i]->vgpu;
	}
	if (hub->guests)
		fps_guests_stats(hub->guests, &stats);
	*ret_stats = stats;
}

int fps_hub_new(const char *path, fps_owner_fn owner, void *userdata, struct fps_hub **ret_hub,
		struct err *reterr)
{
	struct fps_hub *hub;
	int r;

	hub = xcalloc(1, sizeof(*hub));
	hub->owner = owner;
	hub->userdata = userdata;
	hub->tick_ns = clock_now().mono_ns;
	hub->idle_ns = fps_process_clock_ns();
	hub->vgpus_quota = (struct fps_quota){
		.all = FPS_VGPUS_CLIENTS_MAX,
		.each = FPS_VGPU_CLIENTS_MAX,
		.reserved = VGPUS_RESERVED,
		.few = VGPU_FEW,
	};
	hub->users_quota = (struct fps_quota){
		.all = FPS_USERS_CLIENTS_MAX,
		.each = FPS_USER_CLIENTS_MAX,
		.reserved = USERS_RESERVED,
		.few = USER_FEW,
	};
	hub->listener = -1;
	hub->path = path;
	hub->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	hub->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (hub->epoll < 0)
		r = err_fail(reterr, errno, "cannot create an epoll instance: %s", strerror(errno));
	else
		r = listen_to_programs(hub);
	/* A second daemon must not start; anything else may end, and the next tick tries again. */
	if (r == -EADDRINUSE || r == -ENAMETOOLONG)
		r = err_fail(reterr, -r, "%s", hub->problem.msg);
	else if (hub->epoll >= 0)
		r = 0;
	if (r < 0) {
		fps_hub_free(hub);
		return r;
	}
	*ret_hub = hub;
	return 0;
}

struct fps_hub *fps_hub_free(struct fps_hub *hub)
{
	if (!hub)
		return NULL;
	hub->guests = fps_guests_free(hub->guests);
	while (hub->n_clients > 0)
		client_free(hub, hub->clients[hub->n_clients - 1]);
	vgpus_free(&hub->vgpus);
	unix_listener_remove(&hub->socket);
	cleanup_closep(&hub->listener);
	cleanup_closep(&hub->epoll);
	cleanup_closep(&hub->spare);
	free(hub);
	return NULL;
}

static struct fps_vgpu *vgpu_of(void *userdata, const char *id)
{
	return vgpus_get(userdata, id);
}

int fps_hub_listen_guests(struct fps_hub *hub, uint32_t vsock_port, const char *ports, fps_vm_fn vm,
			  struct err *reterr)
{
	const struct fps_guests_config config = {
		.vsock_port = vsock_port,
		.ports = ports,
		.vm = vm,
		.vm_userdata = hub->userdata,
		.vgpu = vgpu_of,
		.vgpu_userdata = &hub->vgpus,
	};
	struct epoll_event event = {.events = EPOLLIN};
	int r = fps_guests_new(&config, &hub->guests, reterr);

	if (r < 0)
		return r;
	event.data.ptr = hub->guests;
	if (epoll_ctl(hub->epoll, EPOLL_CTL_ADD, fps_guests_fd(hub->guests), &event) < 0)
		return err_fail(reterr, errno, "cannot watch connections of virtual machines: %s",
				strerror(errno));
	return 0;
}

void fps_hub_rematch(struct fps_hub *hub)
{
	if (hub->guests)
		fps_guests_rematch(hub->guests);
}

int fps_hub_fd(const struct fps_hub *hub)
{
	return hub->epoll;
}
