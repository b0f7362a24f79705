/* SPDX-License-Identifier: MIT */
/* The unix socket of the hub: listening, accepting and refusing connections. */
#include "tests/unit/monitor/fps/test-fps.h"
#include "tests/unit/truncated-fds.h"

#include <sys/resource.h>

FIXTURE(setup, teardown)

TEST(a_bad_hello_is_refused)
{
	struct fps_hello magic = good_hello, version = good_hello, size = good_hello;
	struct {
		struct fps_hello hello;
		char more[8];
	} longer = {.hello = good_hello};
	int good = make_memfd(FPS_WIRE_PAGE_SIZE, SEALS),
	    none = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct program p = program_new();
	int unsealed = make_memfd(FPS_WIRE_PAGE_SIZE, 0);
	int may_shrink = make_memfd(FPS_WIRE_PAGE_SIZE, F_SEAL_GROW);
	int small = make_memfd(FPS_WIRE_PAGE_SIZE / 2, SEALS);
	int large = make_memfd(2 * FPS_WIRE_PAGE_SIZE, SEALS);
	const struct {
		const char *what;
		const void *hello;
		size_t length;
		int fds[3];
		size_t n_fds;
	} rows[] = {
		{"magic", &magic, sizeof(magic), {p.memfd}, 1},
		{"version", &version, sizeof(version), {p.memfd}, 1},
		{"size", &size, sizeof(size), {p.memfd}, 1},
		{"short", &good_hello, sizeof(good_hello) - 1, {p.memfd}, 1},
		{"one byte", &good_hello, 1, {p.memfd}, 1},
		{"long", &longer, sizeof(longer), {p.memfd}, 1},
		{"no fd", &good_hello, sizeof(good_hello), {0}, 0},
		{"two fds", &good_hello, sizeof(good_hello), {p.memfd, p.memfd}, 2},
		{"no memory", &good_hello, sizeof(good_hello), {none}, 1},
		{"no seal", &good_hello, sizeof(good_hello), {unsealed}, 1},
		{"may shrink", &good_hello, sizeof(good_hello), {may_shrink}, 1},
		{"small page", &good_hello, sizeof(good_hello), {small}, 1},
		{"large page", &good_hello, sizeof(good_hello), {large}, 1},
		{"empty page", &good_hello, sizeof(good_hello), {good}, 1},
	};
	int fds = open_fds();

	magic.magic++;
	version.version++;
	size.page_bytes--;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int sock = connect_only();

		send_hello(sock, rows[i].hello, rows[i].length, rows[i].fds, rows[i].n_fds);
		pump();
		if (stats().refused != i + 1 || stats().open != 0)
			fail_msg("%s: accepted", rows[i].what);
		assert_int_equal(close(sock), 0);
		if (open_fds() != fds)
			fail_msg("%s: leaked an fd", rows[i].what);
	}
	program_end(&p);
	for (int fd = 0; fd < 6; fd++)
		(void)close((int[]){good, none, unsealed, may_shrink, small, large}[fd]);
}

TEST(a_hello_with_three_descriptors_is_refused)
{
	struct program p = program_new();
	int sock, fds;

	if (!truncated_fds_are_reported(3, 1)) {
		program_end(&p);
		print_message("# this system does not report lost descriptors\n");
		skip();
	}
	fds = open_fds();
	sock = connect_only();
	send_hello(sock, &good_hello, sizeof(good_hello), (int[]){p.memfd, p.memfd, p.memfd}, 3);
	pump();
	assert_int_equal(stats().refused, 1);
	assert_int_equal(stats().open, 0);
	assert_int_equal(close(sock), 0);
	assert_int_equal(open_fds(), fds);
	program_end(&p);
}

TEST(a_second_message_is_refused)
{
	struct program p = program_new();

	program_join(&p);
	assert_int_equal(send(p.sock, "x", 1, 0), 1);
	pump();
	assert_int_equal(stats().refused, 1);
	assert_int_equal(stats().open, 0);
	program_end(&p);
}

TEST(a_silent_connection_is_closed_after_5_seconds)
{
	int silent = connect_only(), gone = connect_only(), fds = open_fds();

	pump();
	assert_int_equal(open_fds(), fds + 4); /* a connection needs two, see fps_process_open() */
	assert_int_equal(close(gone), 0);
	pump();
	assert_int_equal(stats().refused, 0);
	tick(4.9);
	assert_int_equal(stats().refused, 0);
	tick(0.2);
	assert_int_equal(stats().refused, 1);
	assert_int_equal(open_fds(), fds - 1);
	assert_int_equal(close(silent), 0);
}

static struct rlimit files_before;

/* Allows this process, which contains the programs and the hub, to open many files. */
static void allow_files(void)
{
	struct rlimit raised;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files_before), 0);
	raised = files_before;
	raised.rlim_cur = 8192;
	if (raised.rlim_cur > raised.rlim_max || setrlimit(RLIMIT_NOFILE, &raised) < 0) {
		print_message("# the limit of open files cannot be raised\n");
		skip();
	}
}

static int socks[FPS_VGPUS_CLIENTS_MAX + FPS_USERS_CLIENTS_MAX];
static size_t n_socks;

/* Connects @n programs of vGPU @id (NULL: of no vGPU). Returns how many are accepted. */
static int crowd(const char *id, int n)
{
	uint64_t refused = stats().refused;

	owner = id;
	for (int i = 0; i < n; i++) {
		assert_true(n_socks < ARRAY_SIZE(socks));
		socks[n_socks++] = connect_only();
		if (i % 100 == 0)
			pump();
	}
	pump();
	return n - (int)(stats().refused - refused);
}

static void disperse(void)
{
	while (n_socks > 0)
		assert_int_equal(close(socks[--n_socks]), 0);
	pump();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files_before), 0);
}

TEST(connections_above_the_limit_are_closed)
{
	char byte;

	allow_files();
	assert_int_equal(crowd("a", FPS_VGPU_CLIENTS_MAX + 3), FPS_VGPU_CLIENTS_MAX);
	assert_int_equal(stats().over_limit, 3);
	assert_int_equal(stats().users.n, 0);
	assert_int_equal(fps_hub_refusals(hub, "a")->n, 3);
	assert_int_equal(fps_hub_refusals(hub, "a")->newest_ns, fake_now.mono_ns);
	assert_int_equal(fps_hub_refusals(hub, "a")->held, FPS_VGPU_CLIENTS_MAX);
	assert_int_equal(recv(socks[FPS_VGPU_CLIENTS_MAX], &byte, 1, 0), 0);
	assert_int_equal(recv(socks[0], &byte, 1, 0), -1);
	assert_int_equal(close(socks[0]), 0);
	socks[0] = connect_only();
	pump();
	assert_int_equal(stats().over_limit, 3);
	disperse();
}

TEST(no_vgpu_takes_all_connections)
{
	allow_files();
	assert_int_equal(crowd("a", 512), 512);
	assert_int_equal(crowd("b", 512), 512);
	assert_int_equal(crowd("c", 512), 512);
	assert_int_equal(crowd("d", 20), 16); /* only the reserved connections are left */
	assert_int_equal(crowd("e", 20), 16);
	assert_int_equal(fps_hub_refusals(hub, "d")->n, 4);
	assert_int_equal(crowd(NULL, 10), 10);
	disperse();
	assert_null(fps_hub_refusals(hub, "none"));
}

/* A user may have thousands of user ids, so the users together are limited too. */
TEST(no_user_takes_all_connections)
{
	int all = FPS_USER_CLIENTS_MAX, accepted;
	uid_t uid;

	allow_files();
	assert_int_equal(crowd(NULL, 70), FPS_USER_CLIENTS_MAX);
	assert_int_equal(stats().users.n, 6);
	assert_int_equal(stats().users.held, FPS_USER_CLIENTS_MAX);
	assert_int_equal(fps_hub_user_refusals(hub, &uid)->n, 6);
	assert_int_equal(uid, geteuid());
	assert_int_equal(chmod(folder, 0755), 0);
	for (uid_t i = 0; geteuid() == 0 && i < 60; i++) {
		assert_int_equal(seteuid(10000 + i), 0);
		accepted = crowd(NULL, 5);
		assert_int_equal(seteuid(0), 0);
		assert_in_range(accepted, i < 40 ? 4 : 0, 5);
		all += accepted;
	}
	assert_in_range(all, 0, FPS_USERS_CLIENTS_MAX);
	assert_int_equal(crowd("a", 100), 100);
	disperse();
}

TEST(the_connections_of_a_removed_vgpu_are_those_of_a_user)
{
	allow_files();
	assert_int_equal(crowd("a", 100), 100);
	fps_hub_forget(hub, "a");
	assert_int_equal(stats().refused, 100 - FPS_USER_CLIENTS_MAX);
	assert_int_equal(crowd(NULL, 1), 0);
	assert_int_equal(crowd("a", 100), 100);
	disperse();
	assert_int_equal(stats().open, 0);
}

TEST(a_program_moved_to_a_full_vgpu_is_refused)
{
	allow_files();
	assert_int_equal(crowd("a", 2), 2);
	assert_int_equal(crowd("b", FPS_VGPU_CLIENTS_MAX - 1), FPS_VGPU_CLIENTS_MAX - 1);
	tick(4);
	assert_int_equal(stats().refused, 0);
	tick(1); /* both programs of "a" are now in "b" */
	assert_int_equal(stats().over_limit, 1);
	assert_int_equal(fps_hub_refusals(hub, "b")->n, 1);
	assert_int_equal(fps_hub_refusals(hub, "a")->n, 0);
	disperse();
}

TEST(running_out_of_fds_does_not_busy_loop)
{
	int sock = connect_only(), fd = dup(sock);
	struct rlimit limit, none;
	char byte;

	assert_int_equal(close(fd), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = (rlim_t)fd; /* no fd is left for the hub */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	pump();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(stats().refused, 1);
	assert_int_equal(recv(sock, &byte, 1, 0), 0);
	assert_int_equal(close(sock), 0);
}

static int second_hub(const char *at, struct err *err)
{
	struct fps_hub *second = NULL;
	int r = fps_hub_new(at, owner_of, NULL, &second, err);

	fps_hub_free(second);
	return r;
}

TEST(a_second_daemon_is_refused)
{
	struct program p = program_new();
	struct err err;

	assert_int_equal(second_hub(path, &err), -EADDRINUSE);
	assert_non_null(strstr(err.msg, "another daemon listens on"));
	assert_non_null(strstr(err.msg, path));
	program_join(&p); /* the first hub keeps running */
	assert_int_equal(stats().open, 1);
	assert_int_equal(stats().refused, 0);
	program_end(&p);
}

TEST(the_socket_of_a_dead_daemon_is_replaced)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int dead = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct err err;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/dead", folder);
	assert_int_equal(bind(dead, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(close(dead), 0);
	assert_int_equal(access(address.sun_path, F_OK), 0);
	assert_int_equal(second_hub(address.sun_path, &err), 0);
	assert_int_equal(access(address.sun_path, F_OK), -1);
}

/* Returns the problem of a hub that has started without its socket. */
static const char *problem_of(const char *at)
{
	static char problem[ERR_MSG_MAX];
	struct fps_hub *second;

	assert_int_equal(fps_hub_new(at, owner_of, NULL, &second, NULL), 0);
	snprintf(problem, sizeof(problem), "%s", fps_hub_problem(second));
	fps_hub_free(second);
	return problem;
}

TEST(a_file_that_is_not_a_socket_is_kept)
{
	char file[96];
	int fd;

	(void)snprintf(file, sizeof(file), "%s/file", folder);
	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	assert_non_null(strstr(problem_of(file), file));
	assert_non_null(strstr(problem_of(file), "not a socket"));
	assert_int_equal(unlink(file), 0);
}

TEST(invalid_paths_are_refused)
{
	char longer[200] = "/tmp/";
	struct err err;

	memset(longer + 5, 'x', sizeof(longer) - 6);
	assert_int_equal(second_hub(longer, &err), -ENAMETOOLONG);
	assert_non_null(strstr(err.msg, longer));
	assert_int_equal(second_hub("", &err), -ENAMETOOLONG);
	assert_non_null(strstr(problem_of("/proc/none/fps.sock"), "/proc/none"));
}

TEST(folders_are_created_and_any_user_may_connect)
{
	char deep[128], made[96];
	struct fps_hub *second = NULL;
	struct stat st;
	struct err err;

	(void)snprintf(made, sizeof(made), "%s/run", folder);
	(void)snprintf(deep, sizeof(deep), "%s/fps.sock", made);
	assert_int_equal(fps_hub_new(deep, owner_of, NULL, &second, &err), 0);
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0666);
	/* The hub must not remove a file that replaced its socket. */
	assert_int_equal(unlink(deep), 0);
	assert_int_equal(mknod(deep, S_IFIFO | 0600, 0), 0);
	fps_hub_free(second);
	assert_int_equal(unlink(deep), 0);
	assert_int_equal(rmdir(made), 0);
}

TEST(freeing_closes_all_connections)
{
	struct program p = program_new();
	int fds = open_fds();
	char byte;

	program_join(&p);
	hub = fps_hub_free(hub);
	assert_null(hub);
	assert_null(fps_hub_free(NULL));
	assert_int_equal(recv(p.sock, &byte, 1, 0), 0);
	program_end(&p);
	assert_int_equal(open_fds(), fds - 1 - 3);
}
