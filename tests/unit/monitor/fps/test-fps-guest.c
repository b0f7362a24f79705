/* SPDX-License-Identifier: MIT */
/*
 * Virtual machines and the hub: which sockets the hub connects to, for which vGPU messages count,
 * and that no guest keeps the hub busy.
 */
#include "tests/unit/monitor/fps/test-fps.h"

#include <endian.h>

#include "fps-preload/message.h"

static char ports[64];
static const char *vm_id; /* vGPU of the virtual machine vm-a; NULL: no vGPU */

static int vm_of(void *userdata, uint32_t cid, const char *name, char ret_id[ID_MAX])
{
	(void)userdata;
	assert_int_equal(cid, 0);
	if (strcmp(name, "b") == 0)
		return id_copy(ret_id, "b");
	return strcmp(name, "vm-a") == 0 && vm_id ? id_copy(ret_id, vm_id) : -ENOENT;
}

static int listen_guests(void)
{
	struct err err;

	vm_id = "a";
	if (setup() != 0)
		return -1;
	(void)snprintf(ports, sizeof(ports), "%s/ports", folder);
	return fps_hub_listen_guests(hub, 0, ports, vm_of, &err);
}

static int end(void)
{
	assert_int_equal(rmdir(ports), 0);
	return teardown();
}

FIXTURE(listen_guests, end)

/* QEMU's end of a virtio-serial port. */
struct machine {
	int listener, sock;
	char path[108];
};

static struct machine machine_new(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct machine m = {.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), .sock = -1};

	(void)snprintf(m.path, sizeof(m.path), "%s/%s", ports, name);
	strcpy(address.sun_path, m.path);
	(void)unlink(m.path);
	assert_int_equal(bind(m.listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(m.listener, 1), 0);
	assert_int_equal(fcntl(m.listener, F_SETFL, O_NONBLOCK), 0);
	return m;
}

static bool machine_connected(struct machine *m)
{
	if (m->sock < 0)
		m->sock = accept4(m->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	return m->sock >= 0;
}

static bool machine_disconnected(const struct machine *m)
{
	char byte;

	return recv(m->sock, &byte, 1, 0) >= 0 || errno != EAGAIN;
}

static void machine_end(struct machine *m)
{
	if (m->sock >= 0)
		assert_int_equal(close(m->sock), 0);
	assert_int_equal(close(m->listener), 0);
	assert_int_equal(unlink(m->path), 0);
}

#define SCAN_S 2 /* seconds between two scans of the folder by the hub */

/* A virtual machine to which the hub has connected. */
static struct machine machine_on(const char *name)
{
	struct machine m = machine_new(name);

	tick(SCAN_S);
	assert_true(machine_connected(&m));
	return m;
}

static struct fps_message message(uint64_t program, uint64_t at_s, uint64_t frames)
{
	struct fps_message m = {
		.magic = FPS_MESSAGE_MAGIC,
		.version = FPS_MESSAGE_VERSION,
		.program = program,
		.sequence = at_s + 1,
		.first_ns = NS_PER_S,
		.newest_ns = (1 + at_s) * NS_PER_S,
		.sent_ns = (1 + at_s) * NS_PER_S,
		.frames = frames,
		.end = FPS_MESSAGE_END,
	};
	uint64_t words[FPS_MESSAGE_BYTES / 8];

	memcpy(words, &m, sizeof(m));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = htole64(words[i]);
	memcpy(&m, words, sizeof(m));
	return m;
}

static void send_message(const struct machine *m, uint64_t program, uint64_t at_s, uint64_t frames)
{
	struct fps_message bytes = message(program, at_s, frames);

	assert_int_equal(send(m->sock, &bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
	pump();
}

TEST(a_socket_is_matched_by_name)
{
	static const struct {
		const char *file;
		const char *id; /* NULL: none */
	} rows[] = {{"vm-a", "a"},  {"vm-a.sock", "a"}, {"b", "b"},	   {"b.sock", "b"},
		    {"vm-c", NULL}, {".b", NULL},	{"b.sock~", NULL}, {".sock", NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct machine m = machine_new(rows[i].file);
		uint64_t a = frames_of("a"), b = frames_of("b");

		tick(SCAN_S);
		if (machine_connected(&m) != (rows[i].id != NULL))
			fail_msg("%s", rows[i].file);
		if (rows[i].id) {
			send_message(&m, i, 0, 10);
			assert_int_equal(frames_of("a") - a, rows[i].id[0] == 'a' ? 10 : 0);
			assert_int_equal(frames_of("b") - b, rows[i].id[0] == 'b' ? 10 : 0);
		}
		machine_end(&m);
		pump();
	}
}

TEST(programs_share_a_port)
{
	struct machine m = machine_on("vm-a");

	for (uint64_t s = 0; s < 5; s++) {
		send_message(&m, 1, s, 60 * s + 1);
		send_message(&m, 2, s, 30 * s + 1);
		tick(1);
	}
	assert_int_equal(frames_of("a"), 241 + 121);
	assert_int_equal(fps_hub_totals(hub, "a")->reporting, 2);
	assert_float_equal(fps_hub_totals(hub, "a")->reported_fps, 90, 1e-9);
	assert_int_equal(stats().open, 2);
	assert_int_equal(stats().dropped + stats().refused, 0);
	machine_end(&m);
	pump();
	fps_hub_collect(hub);
	assert_int_equal(stats().open, 0);
	assert_int_equal(fps_hub_totals(hub, "a")->reporting, 0);
	assert_int_equal(frames_of("a"), 362);
}

TEST(a_restarted_virtual_machine_is_reconnected)
{
	for (uint64_t i = 1; i <= 3; i++) {
		struct machine m = machine_on("vm-a");

		send_message(&m, i, 0, 5);
		send_message(&m, i, 1, 65);
		assert_int_equal(frames_of("a"), 65 * i);
		machine_end(&m); /* killed */
		pump();
		tick(SCAN_S);
	}
}

TEST(a_changed_contract_applies_at_once)
{
	struct machine m = machine_on("vm-a");

	send_message(&m, 1, 0, 10);
	vm_id = "b";
	fps_hub_rematch(hub);
	send_message(&m, 1, 1, 30);
	assert_int_equal(frames_of("a"), 10);
	assert_int_equal(frames_of("b"), 20);
	fps_hub_forget(hub, "b");
	vm_id = NULL;
	send_message(&m, 1, 2, 90); /* no vGPU */
	assert_null(fps_hub_totals(hub, "b"));
	assert_true(machine_disconnected(&m));
	fps_hub_collect(hub);
	machine_end(&m);
}

TEST(programs_of_a_forgotten_vgpu_are_forgotten)
{
	struct machine m = machine_on("vm-a");

	send_message(&m, 1, 0, 10);
	machine_end(&m);
	pump();
	fps_hub_forget(hub, "a");
	assert_int_equal(collect("a"), 0);
}

TEST(other_bytes_are_skipped)
{
	struct machine m = machine_on("vm-a");
	struct fps_message torn = message(1, 0, 10);

	assert_int_equal(send(m.sock, "AT+CGMI\r\n", 9, 0), 9);
	pump();
	assert_int_equal(stats().refused, 1);
	assert_int_equal(send(m.sock, &torn, 600, 0),
			 600); /* incomplete message of a killed program */
	send_message(&m, 2, 0, 10);
	send_message(&m, 2, 1, 70);
	assert_int_equal(frames_of("a"), 70);
	assert_false(machine_disconnected(&m));
	machine_end(&m);
}

TEST(an_endless_writer_is_throttled)
{
	struct machine m = machine_new("vm-a"), n = machine_new("b");
	struct fps_message same = message(1, 0, 10);
	uint64_t dropped;
	int sent = 0;

	tick(SCAN_S);
	assert_true(machine_connected(&m) && machine_connected(&n));
	for (int i = 0; i < 100000 && sent < 100000; i++) {
		if (send(m.sock, &same, sizeof(same), MSG_NOSIGNAL) < 0)
			break;
		sent++;
		pump(); /* fails if the hub does not become idle */
	}
	assert_int_equal(errno, EAGAIN);
	dropped = stats().dropped;
	assert_in_range(dropped, 1, 200);
	assert_int_equal(frames_of("a"), 10);
	send_message(&n, 7, 0, 60); /* other virtual machines are not delayed */
	assert_int_equal(frames_of("b"), 60);
	tick(1);
	pump();
	assert_in_range(stats().dropped, dropped + 1, dropped + 400);
	machine_end(&m);
	machine_end(&n);
}

TEST(a_missing_folder_is_created_and_may_disappear)
{
	struct stat st;

	assert_int_equal(stat(ports, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(rmdir(ports), 0);
	tick(SCAN_S);
	assert_int_equal(mkdir(ports, 0700), 0);
	a_restarted_virtual_machine_is_reconnected();
}

TEST(a_folder_that_cannot_be_created_is_reported)
{
	struct fps_hub *second = NULL;
	char path_of_second[96];
	struct err err;
	int r;

	(void)snprintf(path_of_second, sizeof(path_of_second), "%s/second", folder);
	assert_int_equal(fps_hub_new(path_of_second, owner_of, NULL, &second, &err), 0);
	r = fps_hub_listen_guests(second, 0, "/proc/none/ports", vm_of, &err);
	assert_int_equal(r, -ENOENT);
	assert_non_null(strstr(err.msg, "/proc/none/ports"));
	fps_hub_free(second);
}
