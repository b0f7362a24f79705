/* SPDX-License-Identifier: MIT */
/* The hub's ears for virtual machines: which sockets it connects to, for whom what comes in counts,
 * and that nobody behind one can keep it busy. */
#include "tests/unit/monitor/fps/test-fps.h"

#include <endian.h>
#include <stdlib.h>

#include "fps-preload/message.h"

static char ports[64];
static const char *vm_id; /* of the machine called vm-a; NULL: it has no vGPU */

static int vm_of(void *userdata, uint32_t cid, const char *name, char ret_id[ID_MAX])
{
	(void)userdata;
	assert_int_equal(cid, 0);
	if (strcmp(name, "b") == 0)
		return id_copy(ret_id, "b");
	return strcmp(name, "vm-a") == 0 && vm_id ? id_copy(ret_id, vm_id) : -ENOENT;
}

static int hear(void **state)
{
	struct err err;

	vm_id = "a";
	if (setup(state) != 0)
		return -1;
	(void)snprintf(ports, sizeof(ports), "%s/ports", folder);
	return fps_hub_listen_guests(hub, 0, ports, vm_of, &err);
}

static int end(void **state)
{
	assert_int_equal(rmdir(ports), 0);
	return teardown(state);
}

/* QEMU's end of a virtual machine's port. */
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

/* Has the daemon connected? */
static bool machine_heard(struct machine *m)
{
	if (m->sock < 0)
		m->sock = accept4(m->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	return m->sock >= 0;
}

static bool machine_left(const struct machine *m)
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

static void look(void)
{
	pass(2);
	fps_hub_collect(hub);
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

static void tell(const struct machine *m, uint64_t program, uint64_t at_s, uint64_t frames)
{
	struct fps_message told = message(program, at_s, frames);

	assert_int_equal(send(m->sock, &told, sizeof(told), MSG_NOSIGNAL), sizeof(told));
	pump();
}

static void a_socket_is_a_machines_by_its_name(void **state)
{
	static const struct {
		const char *file;
		const char *id; /* NULL: nobody's */
	} rows[] = {{"vm-a", "a"},  {"vm-a.sock", "a"}, {"b", "b"},	   {"b.sock", "b"},
		    {"vm-c", NULL}, {".b", NULL},	{"b.sock~", NULL}, {".sock", NULL}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct machine m = machine_new(rows[i].file);
		uint64_t a = frames_of("a"), b = frames_of("b");

		look();
		if (machine_heard(&m) != (rows[i].id != NULL))
			fail_msg("%s", rows[i].file);
		if (rows[i].id) {
			tell(&m, i, 0, 10);
			assert_int_equal(frames_of("a") - a, rows[i].id[0] == 'a' ? 10 : 0);
			assert_int_equal(frames_of("b") - b, rows[i].id[0] == 'b' ? 10 : 0);
		}
		machine_end(&m);
		pump();
	}
}

static void programs_of_a_machine_share_its_port(void **state)
{
	struct machine m = machine_new("vm-a");

	(void)state;
	look();
	assert_true(machine_heard(&m));
	for (uint64_t s = 0; s < 5; s++) {
		tell(&m, 1, s, 60 * s + 1);
		tell(&m, 2, s, 30 * s + 1);
		pass(1);
		fps_hub_collect(hub);
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

static void a_machine_that_was_started_anew_is_found_again(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 3; i++) {
		struct machine m = machine_new("vm-a");

		look();
		assert_true(machine_heard(&m));
		tell(&m, i, 0, 5);
		tell(&m, i, 1, 65);
		assert_int_equal(frames_of("a"), 65 * i);
		machine_end(&m); /* killed */
		pump();
		look();
	}
}

static void what_a_contract_says_now_counts(void **state)
{
	struct machine m = machine_new("vm-a");

	(void)state;
	look();
	assert_true(machine_heard(&m));
	tell(&m, 1, 0, 10);
	vm_id = "b";
	fps_hub_rematch(hub);
	tell(&m, 1, 1, 30);
	assert_int_equal(frames_of("a"), 10);
	assert_int_equal(frames_of("b"), 20);
	fps_hub_forget(hub, "b");
	vm_id = NULL;
	tell(&m, 1, 2, 90); /* nobody's now */
	assert_null(fps_hub_totals(hub, "b"));
	assert_true(machine_left(&m));
	fps_hub_collect(hub);
	machine_end(&m);
}

static void a_vgpu_that_is_forgotten_takes_no_reports_with_it(void **state)
{
	struct machine m = machine_new("vm-a");

	(void)state;
	look();
	assert_true(machine_heard(&m));
	tell(&m, 1, 0, 10);
	machine_end(&m); /* its programs are remembered */
	pump();
	fps_hub_forget(hub, "a");
	fps_hub_collect(hub);
	assert_int_equal(frames_of("a"), 0);
}

static void bytes_that_are_no_message_are_passed_over(void **state)
{
	struct machine m = machine_new("vm-a");
	struct fps_message torn = message(1, 0, 10);

	(void)state;
	look();
	assert_true(machine_heard(&m));
	assert_int_equal(send(m.sock, "AT+CGMI\r\n", 9, 0), 9);
	pump();
	assert_int_equal(stats().refused, 1);
	assert_int_equal(send(m.sock, &torn, 600, 0), 600); /* and killed */
	tell(&m, 2, 0, 10);
	tell(&m, 2, 1, 70);
	assert_int_equal(frames_of("a"), 70);
	assert_false(machine_left(&m));
	machine_end(&m);
}

static void who_writes_without_end_waits_in_his_own_pipe(void **state)
{
	struct machine m = machine_new("vm-a"), n = machine_new("b");
	struct fps_message same = message(1, 0, 10);
	uint64_t dropped;
	int sent = 0;

	(void)state;
	look();
	assert_true(machine_heard(&m) && machine_heard(&n));
	for (int i = 0; i < 100000 && sent < 100000; i++) {
		if (send(m.sock, &same, sizeof(same), MSG_NOSIGNAL) < 0)
			break;
		sent++;
		pump(); /* which fails where the hub stays awake */
	}
	assert_int_equal(errno, EAGAIN);
	dropped = stats().dropped;
	assert_in_range(dropped, 1, 200);
	assert_int_equal(frames_of("a"), 10);
	tell(&n, 7, 0, 60); /* nobody else has to wait */
	assert_int_equal(frames_of("b"), 60);
	pass(1);
	fps_hub_collect(hub);
	pump();
	assert_in_range(stats().dropped, dropped + 1, dropped + 400);
	machine_end(&m);
	machine_end(&n);
}

static void a_folder_that_is_not_there_is_made_and_may_vanish(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(stat(ports, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(rmdir(ports), 0);
	look();
	assert_int_equal(mkdir(ports, 0700), 0);
	a_machine_that_was_started_anew_is_found_again(state);
}

static void a_port_that_cannot_be_listened_on_is_told(void **state)
{
	struct fps_hub *second = NULL;
	char path_of_second[96];
	struct err err;
	int r;

	(void)state;
	(void)snprintf(path_of_second, sizeof(path_of_second), "%s/second", folder);
	assert_int_equal(fps_hub_new(path_of_second, owner_of, NULL, &second, &err), 0);
	r = fps_hub_listen_guests(second, 0, "/proc/none/ports", vm_of, &err);
	assert_int_equal(r, -ENOENT);
	assert_non_null(strstr(err.msg, "/proc/none/ports"));
	fps_hub_free(second);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, hear, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(a_socket_is_a_machines_by_its_name),
		RULE(programs_of_a_machine_share_its_port),
		RULE(a_machine_that_was_started_anew_is_found_again),
		RULE(what_a_contract_says_now_counts),
		RULE(a_vgpu_that_is_forgotten_takes_no_reports_with_it),
		RULE(bytes_that_are_no_message_are_passed_over),
		RULE(who_writes_without_end_waits_in_his_own_pipe),
		RULE(a_folder_that_is_not_there_is_made_and_may_vanish),
		RULE(a_port_that_cannot_be_listened_on_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
