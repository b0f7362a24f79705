/* SPDX-License-Identifier: MIT */
/*
 * The hub of FPS reports counts each frame once, for the right vGPU, and ignores implausible
 * counters of a page.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/unit/monitor/fps/test-fps.h"

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

/* The newest messages of each kind that the program received. */
struct received {
	uint64_t limit_ns; /* UINT64_MAX: none */
	int counted;	   /* -1: none */
};

static struct received received(const struct program *p)
{
	struct received got = {.limit_ns = UINT64_MAX, .counted = -1};
	union {
		struct fps_limit limit;
		struct fps_counting counting;
	} message;
	ssize_t n;

	while ((n = recv(p->sock, &message, sizeof(message), MSG_DONTWAIT)) > 0) {
		assert_int_equal(message.limit.magic, FPS_WIRE_MAGIC);
		assert_int_equal(message.limit.version, FPS_WIRE_VERSION);
		assert_true(n == sizeof(message.limit) || n == sizeof(message.counting));
		if (n == sizeof(message.limit))
			got.limit_ns = message.limit.period_ns;
		else
			got.counted = (int)message.counting.counted;
	}
	return got;
}

static uint64_t received_limit(const struct program *p)
{
	return received(p).limit_ns;
}

TEST(a_program_is_told_once_whether_its_frames_count)
{
	struct program p = program_new();

	owner = NULL;
	program_join(&p);
	assert_int_equal(received(&p).counted, -1);
	fps_hub_collect(hub);
	assert_int_equal(received(&p).counted, 0);
	fps_hub_collect(hub);
	assert_int_equal(received(&p).counted, -1);
	owner = "b";
	tick(5);
	assert_int_equal(received(&p).counted, 1);
	tick(5);
	assert_int_equal(received(&p).counted, -1);
	owner = NULL;
	fps_hub_forget(hub, "b");
	fps_hub_collect(hub);
	assert_int_equal(received(&p).counted, 0);
	program_end(&p);
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

/* --- the counters of a page that the hub counts --- */

/* An implausible increase is ignored. Later plausible increases count. */
TEST(implausible_counters_are_ignored)
{
	static const struct {
		const char *what;
		int64_t step;
		uint32_t times;
		uint64_t counted;
	} rows[] = {
		{"plausible", 60, 60, 60},
		{"backwards", -1, 0, 0},
		{"to zero", -1000, 0, 0},
		{"much too fast", 1000000, 0, 0},
		{"too fast", 199001, 0, 0}, /* 1,000 of 100,000 at once are already counted */
		{"nearly too fast", 199000, 0, 199000},
		{"far too many", INT64_MAX, 0, 0},
		{"many more frame times than frames", 1, 4000000000u, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct program p = program_new();
		uint64_t before;

		program_draw(&p, 1000);
		program_join(&p);
		fps_hub_collect(hub);
		before = frames_of("a");
		pass(1);
		p.page->lane[0].frames += (uint64_t)rows[i].step;
		p.page->lane[0].frame_time[3] += rows[i].times;
		fps_hub_collect(hub);
		if (frames_of("a") != before + rows[i].counted)
			fail_msg("%s: %lld frames counted", rows[i].what,
				 (long long)(frames_of("a") - before));
		pass(1);
		program_draw(&p, 60);
		assert_int_equal(collect("a"), before + rows[i].counted + 60);
		program_leave(&p);
	}
}

/* However often the page is read, 100,000 frames a second count, and 100,000 at once. */
TEST(the_rate_of_a_page_is_limited)
{
	static const double periods_s[] = {0.1, 0.33, 1, 7};

	for (size_t i = 0; i < ARRAY_SIZE(periods_s); i++) {
		struct program p = program_new();
		uint64_t before = frames_of("a");
		double s = 0;

		program_join(&p);
		while (s < 20) {
			pass(periods_s[i]);
			s += periods_s[i];
			program_draw(&p, 40000);
			fps_hub_collect(hub);
		}
		assert_in_range(frames_of("a") - before, 40000,
				100000 + (uint64_t)(100000 * (s + 0.01)));
		program_leave(&p);
	}
}

TEST(a_wrong_number_of_lanes_is_harmless)
{
	static const uint32_t lanes[] = {0, UINT32_MAX, FPS_WIRE_LANES + 1, 0};
	struct program p = program_new();

	program_draw(&p, 100);
	program_join(&p);
	fps_hub_collect(hub);
	for (size_t i = 0; i < ARRAY_SIZE(lanes); i++) {
		p.page->lanes = lanes[i];
		fps_hub_collect(hub);
		assert_in_range(frames_of("a"), 100, 200);
	}
	program_end(&p);
}

TEST(the_newest_frame_is_between_the_last_two_readings)
{
	static const int64_t offsets_s[] = {-500, 0, 500};
	struct program p = program_new();

	program_join(&p);
	for (size_t i = 0; i < ARRAY_SIZE(offsets_s); i++) {
		uint64_t from_ns = fake_now.mono_ns;

		pass(1);
		program_draw(&p, 1);
		p.page->lane[0].last_ns += (uint64_t)offsets_s[i] * NS_PER_S;
		fps_hub_collect(hub);
		assert_in_range(fps_hub_totals(hub, "a")->newest_ns, from_ns, fake_now.mono_ns);
	}
	program_end(&p);
}

TEST(the_longest_gap_is_the_maximum_of_all)
{
	struct program p = program_new(), q = program_new();

	p.page->lanes = 2;
	program_connect(&p);
	program_join(&q);
	p.page->lane[0].longest_gap_ns = 30 * NS_PER_S / 1000;
	p.page->lane[1].longest_gap_ns = 70 * NS_PER_S / 1000;
	q.page->lane[0].longest_gap_ns = 50 * NS_PER_S / 1000;
	fps_hub_collect(hub);
	assert_int_equal(fps_hub_totals(hub, "a")->longest_gap_ns, 70 * NS_PER_S / 1000);
	q.page->lane[0].longest_gap_ns = 90 * NS_PER_S / 1000;
	program_leave(&q);
	assert_int_equal(fps_hub_totals(hub, "a")->longest_gap_ns, 90 * NS_PER_S / 1000);
	/* A gap longer than the uptime of the host is implausible. */
	p.page->lane[0].longest_gap_ns = fake_now.mono_ns + 1;
	fps_hub_collect(hub);
	assert_int_equal(fps_hub_totals(hub, "a")->longest_gap_ns, 90 * NS_PER_S / 1000);
	program_end(&p);
}

/* Implausible GPU times are ignored. The frames count. */
TEST(plausible_gpu_time_is_counted)
{
	static const struct {
		const char *what;
		uint64_t frames, gpu_frames, gpu_time_ns, counted;
	} rows[] = {
		{"plausible", 60, 60, 600000000, 60},
		{"not measured", 60, 0, 0, 0},
		{"late", 0, 4, 40000000, 4},
		{"backwards", 60, UINT64_MAX, 5, 0},
		{"time backwards", 60, 3, UINT64_MAX - 7, 0},
		{"more frames than drawn", 60, 2000, 600000000, 0},
		{"more time than there was", 60, 60, 1000 * NS_PER_S, 0},
		{"more time than its frames can take", 60, 1, 12 * NS_PER_S, 0},
		{"time without frames", 60, 0, 5 * NS_PER_S, 0},
	};
	struct program p = program_new();
	uint64_t frames = 0, gpu_frames = 0;

	program_join(&p);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		pass(1);
		program_draw(&p, rows[i].frames);
		p.page->lane[0].gpu_frames += rows[i].gpu_frames;
		p.page->lane[0].gpu_time_ns += rows[i].gpu_time_ns;
		fps_hub_collect(hub);
		frames += rows[i].frames;
		gpu_frames += rows[i].counted;
		if (frames_of("a") != frames || fps_hub_totals(hub, "a")->gpu_frames != gpu_frames)
			fail_msg("%s: %llu", rows[i].what,
				 (unsigned long long)fps_hub_totals(hub, "a")->gpu_frames);
	}
	assert_int_equal(fps_hub_totals(hub, "a")->gpu_time_ns, 640000000);
	program_end(&p);
}

TEST(a_bucket_may_wrap)
{
	struct program p = program_new();

	p.page->first_ns = 0;
	p.page->lane[0].frame_time[20] = UINT32_MAX;
	program_join(&p);
	program_draw(&p, 3);
	fps_hub_collect(hub);
	assert_int_equal(fps_hub_totals(hub, "a")->frame_time[20], 3);
	program_end(&p);
}

static enum fps_present present_of(const char *id)
{
	return fps_present_of(fps_hub_totals(hub, id));
}

/* A program waits if a call has lasted since the last reading. Counters may have any value. */
TEST(a_call_that_lasts_for_a_period_waits)
{
	static const struct {
		const char *what;
		uint32_t begun, ended;
		enum fps_present present;
	} rows[] = {
		{"frames before the connection", 90, 90, FPS_PRESENT_OUTSIDE},
		{"a call begins", 91, 90, FPS_PRESENT_UNKNOWN},
		{"it lasts", 91, 90, FPS_PRESENT_WAITS},
		{"it lasts", 91, 90, FPS_PRESENT_WAITS},
		{"it ends", 91, 91, FPS_PRESENT_OUTSIDE},
		{"60 frames, and a call begins", 152, 151, FPS_PRESENT_UNKNOWN},
		{"60 frames, and another call begins", 212, 211, FPS_PRESENT_UNKNOWN},
		{"nested calls of two threads", 215, 211, FPS_PRESENT_UNKNOWN},
		{"they last", 215, 211, FPS_PRESENT_WAITS},
		{"one of the threads goes on", 217, 215, FPS_PRESENT_UNKNOWN},
		{"both are outside", 217, 217, FPS_PRESENT_OUTSIDE},
		{"an end seen before its begin", 217, 218, FPS_PRESENT_OUTSIDE},
		{"the counters before they wrap", UINT32_MAX, UINT32_MAX, FPS_PRESENT_OUTSIDE},
		{"a call begins", 0, UINT32_MAX, FPS_PRESENT_UNKNOWN},
		{"it lasts", 0, UINT32_MAX, FPS_PRESENT_WAITS},
		{"it ends", 0, 0, FPS_PRESENT_OUTSIDE},
		{"nonsense", 7, 5000, FPS_PRESENT_OUTSIDE},
		{"nonsense", 7, 1u << 31, FPS_PRESENT_OUTSIDE},
		{"nonsense", 1u << 30, 0, FPS_PRESENT_UNKNOWN},
	};

	for (uint32_t lanes = 1; lanes <= FPS_WIRE_LANES; lanes++) {
		struct program p = program_new();
		struct fps_lane *lane = &p.page->lane[lanes - 1];

		p.page->lanes = lanes;
		p.page->features = FPS_PAGE_PRESENTS;
		program_join(&p);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			pass(1);
			lane->presents_begun = rows[i].begun;
			lane->presents_ended = rows[i].ended;
			fps_hub_collect(hub);
			if (present_of("a") != rows[i].present)
				fail_msg("lane %u, %s: %d", lanes, rows[i].what, present_of("a"));
		}
		program_leave(&p);
	}
}

TEST(the_present_calls_of_an_old_library_are_unknown)
{
	struct program p = program_new();

	program_join(&p);
	for (uint32_t i = 0; i < 3; i++) {
		pass(1);
		program_draw(&p, 60);
		/* without the feature, these bytes have no meaning */
		p.page->lane[0].presents_begun = 1;
		assert_int_equal(collect("a"), 60 * (i + 1));
		assert_int_equal(present_of("a"), FPS_PRESENT_UNKNOWN);
	}
	program_end(&p);
}

/* One program that waits is enough. All programs must be outside. */
TEST(the_programs_of_a_vgpu_are_judged_together)
{
	struct program p = program_new(), q = program_new();

	p.page->features = FPS_PAGE_PRESENTS;
	program_connect(&p);
	program_join(&q);
	fps_hub_collect(hub);
	assert_int_equal(present_of("a"), FPS_PRESENT_UNKNOWN); /* q is an old library */
	q.page->features = FPS_PAGE_PRESENTS;
	fps_hub_collect(hub);
	assert_int_equal(present_of("a"), FPS_PRESENT_OUTSIDE);
	q.page->lane[0].presents_begun++;
	fps_hub_collect(hub);
	assert_int_equal(present_of("a"), FPS_PRESENT_UNKNOWN);
	fps_hub_collect(hub);
	assert_int_equal(present_of("a"), FPS_PRESENT_WAITS);
	program_leave(&q);
	fps_hub_collect(hub);
	assert_int_equal(present_of("a"), FPS_PRESENT_OUTSIDE);
	program_leave(&p);
	fps_hub_collect(hub);
	assert_int_equal(present_of("a"), FPS_PRESENT_UNKNOWN);
}
