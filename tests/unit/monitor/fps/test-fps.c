/* SPDX-License-Identifier: MIT */
/* The hub of FPS reports counts each frame once, for the right vGPU. */
#include "tests/unit/monitor/fps/test-fps.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

FIXTURE(setup, teardown)

TEST(frames_reach_the_vgpu_of_their_process)
{
	struct program p = program_new();

	program_draw(&p, 5);
	program_join(&p);
	assert_int_equal(stats().open, 1);
	assert_int_equal(collect("a"), 5);
	assert_int_equal(fps_hub_totals(hub, "a")->open, 1);
	assert_int_equal(fps_hub_totals(hub, "a")->frame_time[20], 5);
	assert_null(fps_hub_totals(hub, "b"));
	pass(1);
	program_draw(&p, 60);
	assert_int_equal(collect("a"), 65);
	program_leave(&p);
	assert_int_equal(fps_hub_totals(hub, "a")->open, 0);
	assert_int_equal(stats().open, 0);
}

TEST(all_lanes_and_programs_of_a_vgpu_are_summed)
{
	struct program p = program_new(), q = program_new();
	uint64_t begun_ns = clock_now().mono_ns;

	p.page->lanes = FPS_WIRE_LANES + 5;
	for (int l = 0; l < FPS_WIRE_LANES; l++)
		p.page->lane[l].frames = 10;
	program_draw(&q, 7);
	program_connect(&p);
	program_join(&q);
	assert_int_equal(collect("a"), 10 * FPS_WIRE_LANES + 7);
	assert_int_equal(fps_hub_totals(hub, "a")->open, 2);
	assert_in_range(fps_hub_totals(hub, "a")->at_ns, begun_ns, clock_now().mono_ns);
	program_end(&p);
	program_end(&q);
}

TEST(totals_outlive_the_programs)
{
	for (int i = 1; i <= 3; i++) {
		struct program p = program_new();

		program_join(&p);
		program_draw(&p, 100);
		program_leave(&p);
		assert_int_equal(frames_of("a"), 100 * (uint64_t)i);
	}
}

TEST(the_last_partial_second_of_a_killed_program_counts)
{
	struct program p = program_new();
	int status;
	pid_t child = fork();

	if (child == 0) {
		program_connect(&p);
		program_draw(&p, 30);
		(void)raise(SIGSTOP);
		program_draw(&p, 3);
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	pump();
	assert_int_equal(collect("a"), 30);
	assert_int_equal(kill(child, SIGCONT), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	pump();
	assert_int_equal(frames_of("a"), 33);
	program_end(&p);
}

TEST(a_program_that_exits_at_once_counts)
{
	struct program p = program_new();

	program_connect(&p);
	program_draw(&p, 2);
	program_leave(&p);
	assert_int_equal(frames_of("a"), 2);
	assert_int_equal(stats().refused, 0);
}

TEST(a_program_older_than_the_last_tick_counts_from_now)
{
	struct program p = program_new();

	program_draw(&p, 5000);
	tick(10);
	program_join(&p);
	program_draw(&p, 60);
	assert_int_equal(collect("a"), 60);
	program_end(&p);
}

/* Returns the limit that the program received; UINT64_MAX: no limit was received. */
static uint64_t received_limit(const struct program *p)
{
	struct fps_limit order;
	uint64_t period_ns = UINT64_MAX;

	while (recv(p->sock, &order, sizeof(order), MSG_DONTWAIT) == (ssize_t)sizeof(order)) {
		assert_int_equal(order.magic, FPS_WIRE_MAGIC);
		assert_int_equal(order.version, FPS_WIRE_VERSION);
		period_ns = order.period_ns;
	}
	return period_ns;
}

TEST(a_limit_is_sent_to_each_program_once)
{
	struct program p = program_new(), q = program_new();

	program_join(&p);
	fps_hub_collect(hub);
	/* "No limit" is sent too, because an earlier daemon may have set a limit. */
	assert_int_equal(received_limit(&p), 0);
	fps_hub_limit(hub, "a", 20 * NS_PER_S / 1000);
	fps_hub_limit(hub, "b", 50 * NS_PER_S / 1000);
	fps_hub_collect(hub);
	assert_int_equal(received_limit(&p), 20 * NS_PER_S / 1000);
	program_join(&q);
	fps_hub_collect(hub);
	assert_int_equal(received_limit(&q), 20 * NS_PER_S / 1000);
	assert_int_equal(received_limit(&p), UINT64_MAX);
	owner = "b";
	tick(5);
	assert_int_equal(received_limit(&p), 50 * NS_PER_S / 1000);
	fps_hub_forget(hub, "b");
	owner = NULL;
	fps_hub_collect(hub);
	assert_int_equal(received_limit(&p), 0);
	program_end(&p);
	program_end(&q);
	fps_hub_limit(hub, "never seen", 0);
	assert_null(fps_hub_totals(hub, "never seen"));
}

/*
 * A program that does not read its limit does not block the hub. When it reads again, it receives
 * the newest limit.
 */
TEST(an_unread_limit_blocks_nothing)
{
	struct program p = program_new();
	uint64_t ns = NS_PER_S / 1000;

	program_join(&p);
	for (int i = 0; i < 5000; i++) {
		fps_hub_limit(hub, "a", ++ns);
		fps_hub_collect(hub);
	}
	assert_true(received_limit(&p) != UINT64_MAX);
	fps_hub_collect(hub);
	assert_int_equal(received_limit(&p), ns);
	program_end(&p);
}

TEST(a_program_without_vgpu_is_looked_up_again)
{
	struct program p = program_new();
	int eager;

	owner = NULL;
	program_join(&p);
	assert_int_equal(stats().unmatched, 1);
	for (int i = 0; i < 30; i++)
		fps_hub_collect(hub);
	eager = asked;
	assert_in_range(eager, 5, 20);
	program_draw(&p, 50);
	fps_hub_collect(hub);
	assert_int_equal(asked, eager);
	owner = "b";
	pass(5);
	program_draw(&p, 60);
	fps_hub_collect(hub);
	assert_int_equal(stats().unmatched, 0);
	/* The first 50 frames are not counted, because the process had no vGPU. */
	assert_int_equal(frames_of("b"), 60);
	program_end(&p);
}

TEST(a_moved_program_counts_for_its_new_vgpu)
{
	struct program p = program_new();

	program_join(&p);
	program_draw(&p, 10);
	fps_hub_collect(hub);
	owner = "b";
	pass(5);
	program_draw(&p, 20);
	assert_int_equal(collect("a"), 10);
	assert_int_equal(frames_of("b"), 20);
	assert_int_equal(fps_hub_totals(hub, "a")->open, 0);
	assert_int_equal(fps_hub_totals(hub, "b")->open, 1);
	owner = NULL; /* the lookup fails, as for an exiting process */
	pass(5);
	program_draw(&p, 1);
	program_leave(&p);
	assert_int_equal(frames_of("b"), 21);
}

TEST(a_forgotten_vgpu_leaves_no_totals)
{
	struct program p = program_new();

	program_join(&p);
	program_draw(&p, 10);
	fps_hub_collect(hub);
	fps_hub_forget(hub, "b");
	fps_hub_forget(hub, "a");
	assert_null(fps_hub_totals(hub, "a"));
	assert_int_equal(stats().unmatched, 1);
	owner = "c";
	program_draw(&p, 4);
	assert_int_equal(collect("c"), 4);
	program_end(&p);
}

/*
 * Starts a process that connects the socket of @p, which this process holds too, sends the page and
 * stops. It ends when it is continued.
 */
static pid_t connect_child(struct program *p)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int status;
	pid_t child;

	strcpy(address.sun_path, path);
	p->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(p->sock >= 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (connect(p->sock, (struct sockaddr *)&address, sizeof(address)) == 0)
			send_hello(p->sock, &good_hello, sizeof(good_hello), &p->memfd, 1);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	return child;
}

static void end_child(pid_t child)
{
	assert_int_equal(kill(child, SIGCONT), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

TEST(a_connection_ends_with_its_process)
{
	struct program p = program_new();
	pid_t child = connect_child(&p);
	char byte[64];

	pump();
	program_draw(&p, 10);
	assert_int_equal(collect("a"), 10);
	end_child(child);
	owner = "b"; /* another process may have the same pid from now on */
	pass(10);
	program_draw(&p, 5);
	assert_int_equal(collect("a"), 15);
	assert_int_equal(fps_hub_totals(hub, "a")->open, 0);
	assert_int_equal(stats().open, 0);
	assert_null(fps_hub_totals(hub, "b"));
	while (recv(p.sock, byte, sizeof(byte), 0) > 0)
		; /* the limit */
	assert_int_equal(recv(p.sock, byte, sizeof(byte), 0), 0);
	program_end(&p);
}

/* A process keeps its pid until its parent waits for it. */
TEST(an_ended_process_that_is_not_reaped_is_looked_up)
{
	struct program p = program_new();
	pid_t child = connect_child(&p);
	siginfo_t info;

	assert_int_equal(kill(child, SIGCONT), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	program_draw(&p, 10);
	fps_hub_collect(hub);
	assert_int_equal(asked_pid, child);
	assert_int_equal(frames_of("a"), 10);
	assert_int_equal(waitpid(child, NULL, 0), child);
	program_end(&p);
}

/* Its frames count: no other process can have got its pid during the lookup. */
TEST(a_process_may_end_during_its_lookup)
{
	struct program p = program_new();

	(void)connect_child(&p);
	program_draw(&p, 10);
	during_lookup = end_child;
	pump();
	during_lookup = NULL;
	assert_int_equal(collect("a"), 10);
	program_end(&p);
}

TEST(a_process_that_ended_before_the_accept_has_no_pid)
{
	struct program p = program_new();

	end_child(connect_child(&p));
	program_draw(&p, 10);
	pump();
	assert_int_equal(asked, 1);
	assert_int_equal(asked_pid, 0);
	tick(10);
	assert_int_equal(asked, 1);
	program_end(&p);
}

TEST(many_vgpus_are_counted_separately)
{
	struct program p[20];
	char id[ID_MAX];

	for (int i = 0; i < 20; i++) {
		p[i] = program_new();
		(void)snprintf(id, sizeof(id), "vgpu%d", (i * 7) % 20);
		owner = id;
		program_connect(&p[i]);
		program_draw(&p[i], (uint64_t)i + 1);
		pump();
	}
	fps_hub_collect(hub);
	for (int i = 0; i < 20; i++) {
		(void)snprintf(id, sizeof(id), "vgpu%d", (i * 7) % 20);
		assert_int_equal(frames_of(id), i + 1);
		program_end(&p[i]);
	}
}

TEST(three_hundred_programs_are_counted_at_once)
{
	static struct program p[300];

	for (int i = 0; i < 300; i++) {
		p[i] = program_new();
		program_draw(&p[i], 1);
		program_connect(&p[i]);
	}
	pump();
	assert_int_equal(stats().open, 300);
	assert_int_equal(collect("a"), 300);
	for (int i = 0; i < 300; i += 2)
		program_end(&p[i]);
	pump();
	assert_int_equal(stats().open, 150);
	for (int i = 1; i < 300; i += 2)
		program_end(&p[i]);
	pump();
	assert_int_equal(stats().open, 0);
	assert_int_equal(stats().refused, 0);
}
