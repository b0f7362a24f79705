/* SPDX-License-Identifier: MIT */
/*
 * The hub sends each program in a virtual machine its limit over vsock, once and whenever the limit
 * changes. A unix socket replaces vsock here, and fake_accept4() provides the CID.
 */
#include "tests/unit/monitor/fps/test-fps.h"

#include <endian.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <linux/vm_sockets.h>

static int fake_socket(int domain, int type, int protocol);
static int fake_bind(int fd, const struct sockaddr *address, socklen_t length);
static int fake_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
static ssize_t fake_send(int fd, const void *bytes, size_t size, int flags);

#define socket	fake_socket
#define bind	fake_bind
#define accept4 fake_accept4
#define send	fake_send
#define folder	its_folder /* test-fps.h has a variable "folder" too */
#include "monitor/fps/guests.c"
#undef folder
#undef socket
#undef bind
#undef accept4
#undef send

#define NOTHING	 UINT64_MAX
#define LIMIT_NS 20000000

static struct sockaddr_un host;
static socklen_t host_length;
static uint32_t next_cid;    /* CID of the next accepted connection */
static size_t room;	     /* bytes that a connection accepts until it is full */
static const char *vm_id;    /* vGPU of the VM with CID 3; NULL: no vGPU */
static uint64_t next_number; /* id of the next program */

static int fake_socket(int domain, int type, int protocol)
{
	return socket(domain == AF_VSOCK ? AF_UNIX : domain, type, protocol);
}

static int fake_bind(int fd, const struct sockaddr *address, socklen_t length)
{
	const struct sockaddr_un any = {.sun_family = AF_UNIX};

	assert_int_equal(address->sa_family, AF_VSOCK);
	assert_int_equal(length, sizeof(struct sockaddr_vm));
	host_length = sizeof(host);
	return bind(fd, (const struct sockaddr *)&any, sizeof(any.sun_family)) < 0
		       ? -1
		       : getsockname(fd, (struct sockaddr *)&host, &host_length);
}

static int fake_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags)
{
	const struct sockaddr_vm peer = {.svm_family = AF_VSOCK, .svm_cid = next_cid};

	assert_int_equal(*length, sizeof(peer));
	memcpy(address, &peer, sizeof(peer));
	return accept4(fd, NULL, NULL, flags);
}

static ssize_t fake_send(int fd, const void *bytes, size_t size, int flags)
{
	size_t n = size < room ? size : room;

	assert_int_equal(flags, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n == 0) {
		errno = EAGAIN;
		return -1;
	}
	room -= n;
	return send(fd, bytes, n, flags);
}

static int vm_of(void *userdata, uint32_t cid, const char *name, char ret_id[ID_MAX])
{
	(void)userdata;
	if (name)
		return strcmp(name, "vm-a") == 0 ? id_copy(ret_id, "a") : -ENOENT;
	if (cid == 4)
		return id_copy(ret_id, "b");
	if (cid >= 100)
		return snprintf(ret_id, ID_MAX, "c%u", cid) > 0 ? 0 : -EINVAL;
	return cid == 3 && vm_id ? id_copy(ret_id, vm_id) : -ENOENT;
}

static char ports[64];

static int listen_guests(void)
{
	struct err err;

	vm_id = "a";
	room = SIZE_MAX;
	next_number = 0;
	if (setup() != 0)
		return -1;
	(void)snprintf(ports, sizeof(ports), "%s/ports", folder);
	return fps_hub_listen_guests(hub, 7007, ports, vm_of, &err);
}

static int end(void)
{
	assert_int_equal(rmdir(ports), 0);
	return teardown();
}

FIXTURE(listen_guests, end)

struct guest_program {
	int sock;
	uint64_t number, messages;
};

static struct guest_program program_in(uint32_t cid)
{
	struct guest_program p = {
		.sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
		.number = next_number++,
	};

	next_cid = cid;
	assert_int_equal(connect(p.sock, (struct sockaddr *)&host, host_length), 0);
	pump();
	return p;
}

/* Sends a message that reports 60 more frames. */
static void report(struct guest_program *p)
{
	uint64_t at_ns = (1 + p->messages) * NS_PER_S;
	const struct fps_message m = {
		.magic = htole64(FPS_MESSAGE_MAGIC),
		.version = htole64(FPS_MESSAGE_VERSION),
		.program = htole64(p->number),
		.sequence = htole64(++p->messages),
		.first_ns = htole64(NS_PER_S),
		.newest_ns = htole64(at_ns),
		.sent_ns = htole64(at_ns),
		.frames = htole64(60 * p->messages),
		.end = htole64(FPS_MESSAGE_END),
	};

	assert_int_equal(send(p->sock, &m, sizeof(m), MSG_NOSIGNAL), sizeof(m));
	pump();
}

/* Returns the limit in the only received message; NOTHING: no message. */
static uint64_t received_limit(const struct guest_program *p)
{
	struct fps_limit_message answer;
	ssize_t n = recv(p->sock, &answer, sizeof(answer), MSG_DONTWAIT);

	if (n < 0) {
		assert_int_equal(errno, EAGAIN);
		return NOTHING;
	}
	assert_int_equal(n, sizeof(answer));
	assert_int_equal(le64toh(answer.magic), FPS_LIMIT_MAGIC);
	assert_int_equal(le64toh(answer.version), FPS_LIMIT_VERSION);
	assert_int_equal(le64toh(answer.end), FPS_LIMIT_END);
	return le64toh(answer.period_ns);
}

static bool is_disconnected(const struct guest_program *p)
{
	char byte;

	return recv(p->sock, &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
}

static void leave(const struct guest_program *p)
{
	assert_int_equal(close(p->sock), 0);
	pump();
}

static void set_limit(const char *id, uint64_t period_ns)
{
	fps_hub_limit(hub, id, period_ns);
}

TEST(a_limit_is_sent_once_and_when_it_changes)
{
	static const uint64_t limits[] = {LIMIT_NS, 1000000000, 1000000, 0, LIMIT_NS};
	struct guest_program p = program_in(3);

	set_limit("a", 30000000);
	tick(1);
	assert_int_equal(received_limit(&p), NOTHING); /* the program has sent no message yet */
	report(&p);
	tick(1);
	assert_int_equal(received_limit(&p), 30000000);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		set_limit("a", limits[i]);
		report(&p);
		tick(1);
		assert_int_equal(received_limit(&p), limits[i]);
		for (int s = 0; s < 5; s++) {
			report(&p);
			tick(1);
			assert_int_equal(received_limit(&p), NOTHING);
		}
	}
	leave(&p);
}

/* Even "no limit" is sent, because an earlier daemon may have set a limit. */
TEST(no_limit_is_sent_too)
{
	struct guest_program p = program_in(3);

	report(&p);
	tick(1);
	assert_int_equal(received_limit(&p), 0);
	assert_int_equal(received_limit(&p), NOTHING);
	leave(&p);
}

TEST(each_program_gets_the_limit_of_its_vgpu)
{
	struct guest_program a[2], b;

	set_limit("a", LIMIT_NS);
	set_limit("b", 1000000);
	a[0] = program_in(3);
	b = program_in(4);
	a[1] = program_in(3);
	report(&a[0]);
	report(&a[1]);
	report(&b);
	tick(1);
	assert_int_equal(received_limit(&a[0]), LIMIT_NS);
	assert_int_equal(received_limit(&a[1]), LIMIT_NS);
	assert_int_equal(received_limit(&b), 1000000);
	vm_id = "b"; /* the contract of vGPU b now contains CID 3 */
	fps_hub_rematch(hub);
	tick(1);
	assert_int_equal(received_limit(&a[0]), 1000000);
	assert_int_equal(received_limit(&a[1]), 1000000);
	assert_int_equal(received_limit(&b), NOTHING);
	leave(&a[0]);
	leave(&a[1]);
	leave(&b);
}

TEST(a_program_that_never_reads_is_counted)
{
	struct guest_program p = program_in(3);

	room = 0;
	for (uint64_t s = 0; s < 100; s++) {
		set_limit("a", LIMIT_NS + s);
		report(&p);
		tick(1);
	}
	assert_int_equal(frames_of("a"), 6000);
	assert_int_equal(stats().refused + stats().dropped, 0);
	assert_int_equal(stats().open, 1);
	room = SIZE_MAX; /* the program reads again and receives only the last limit */
	tick(1);
	assert_int_equal(received_limit(&p), LIMIT_NS + 99);
	assert_int_equal(received_limit(&p), NOTHING);
	leave(&p);
}

TEST(a_partial_limit_message_is_completed_first)
{
	struct guest_program p = program_in(3);

	for (size_t taken = 1; taken < FPS_LIMIT_BYTES; taken++) {
		set_limit("a", LIMIT_NS + taken);
		report(&p);
		room = taken;
		tick(1);
		assert_int_equal(room, 0);
		set_limit("a", 2 * LIMIT_NS + taken);
		tick(1);
		room = SIZE_MAX;
		tick(1);
		assert_int_equal(received_limit(&p), LIMIT_NS + taken);
		tick(1);
		assert_int_equal(received_limit(&p), 2 * LIMIT_NS + taken);
		assert_int_equal(received_limit(&p), NOTHING);
	}
	leave(&p);
}

TEST(a_removed_vgpu_has_no_limit)
{
	struct guest_program ticked = program_in(3), active = program_in(3);

	set_limit("a", LIMIT_NS);
	report(&ticked);
	report(&active);
	tick(1);
	assert_int_equal(received_limit(&ticked), LIMIT_NS);
	assert_int_equal(received_limit(&active), LIMIT_NS);
	vm_id = NULL; /* the contract of vGPU a was removed */
	fps_hub_forget(hub, "a");
	report(&active);
	assert_int_equal(received_limit(&active), 0);
	assert_true(is_disconnected(&active));
	tick(1);
	assert_int_equal(received_limit(&ticked), 0);
	assert_true(is_disconnected(&ticked));
	leave(&ticked);
	leave(&active);
}

TEST(a_refused_program_has_no_limit)
{
	struct guest_program p = program_in(5);

	assert_int_equal(stats().refused, 1);
	assert_int_equal(received_limit(&p), 0);
	assert_true(is_disconnected(&p));
	leave(&p);
	room = 0; /* the limit cannot be sent */
	p = program_in(5);
	assert_int_equal(stats().refused, 2);
	assert_true(is_disconnected(&p));
	leave(&p);
}

/* Programs open a port only to send a message, so a limit would not be read. */
TEST(nothing_is_sent_over_virtio_serial)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct guest_program p = {.sock = -1};
	int qemu = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/vm-a", ports);
	assert_int_equal(bind(qemu, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(qemu, 1), 0);
	set_limit("a", LIMIT_NS);
	pass(2);
	tick(1);
	p.sock = accept4(qemu, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(p.sock >= 0);
	report(&p);
	tick(1);
	assert_int_equal(frames_of("a"), 60);
	assert_int_equal(received_limit(&p), NOTHING);
	leave(&p);
	assert_int_equal(close(qemu), 0);
	assert_int_equal(unlink(address.sun_path), 0);
}

/* Connects @n programs of a virtual machine. Returns how many are accepted. */
static int crowd(uint32_t cid, int n, struct guest_program *programs)
{
	uint64_t refused = stats().refused;

	for (int i = 0; i < n; i++)
		programs[i] = program_in(cid);
	return n - (int)(stats().refused - refused);
}

TEST(no_virtual_machine_takes_all_connections)
{
	static struct guest_program programs[20][33], later[2];
	struct rlimit limit, raised;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	raised = limit;
	raised.rlim_cur = 4096;
	if (raised.rlim_cur > raised.rlim_max || setrlimit(RLIMIT_NOFILE, &raised) < 0) {
		print_message("# the limit of open files cannot be raised\n");
		skip();
	}
	for (uint32_t i = 0; i < 20; i++) {
		int accepted = crowd(100 + i, 33, programs[i]);

		/* The last connections are reserved for virtual machines with few. */
		assert_int_equal(accepted, i < 16 ? FPS_REPORTERS_MAX : FPS_GUEST_CONNECTIONS_FEW);
	}
	assert_int_equal(stats().over_limit, 16 + 4 * (33 - FPS_GUEST_CONNECTIONS_FEW));
	assert_int_equal(stats().users.n, 0);
	assert_int_equal(fps_hub_refusals(hub, "c100")->n, 1);
	assert_int_equal(fps_hub_refusals(hub, "c100")->held, FPS_REPORTERS_MAX);
	leave(&programs[16][0]);
	assert_int_equal(crowd(116, 2, later), 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	hub = fps_hub_free(hub);
	for (int i = 0; i < 20; i++)
		for (int k = i == 16; k < 33; k++)
			assert_int_equal(close(programs[i][k].sock), 0);
	assert_int_equal(close(later[0].sock) + close(later[1].sock), 0);
}
