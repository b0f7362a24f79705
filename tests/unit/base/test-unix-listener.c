/* SPDX-License-Identifier: MIT */
/*
 * Tests of base/unix-listener: which names can be bound, which sockets are replaced, and the
 * removal of a name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/unix-listener.h"
#include "tests/unit/unit.h"

static char folder[32], path[64];
static struct unix_listener listener;
static struct err err;

static int set_up(void)
{
	strcpy(folder, "/tmp/gover-listen.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", folder);
	return 0;
}

static int tear_down(void)
{
	(void)unlink(path);
	return rmdir(folder);
}

FIXTURE(set_up, tear_down)

static int listen_at(const char *at, int type, struct unix_listener *ret_listener)
{
	return unix_listener_open(at, type, 0666, 1, ret_listener, &err);
}

static int connect_to(const char *at, int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, at);
	assert_true(fd >= 0);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	(void)close(fd);
	return -errno;
}

static void expect_failure(int is, int error, const char *text)
{
	assert_int_equal(is, -error);
	assert_non_null(strstr(err.msg, text));
}

TEST(every_umask_gives_mode_0666)
{
	static const mode_t masks[] = {0, 022, 077, 0777};

	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		mode_t before = umask(masks[i]);
		int fd = listen_at(path, SOCK_STREAM, &listener);
		struct stat st;

		(void)umask(before);
		assert_true(fd >= 0);
		assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK && fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode, S_IFSOCK | 0666);
		unix_listener_remove(&listener);
		assert_int_equal(access(path, F_OK), -1);
		(void)close(fd);
	}
}

TEST(missing_folders_are_created)
{
	char deep[128], folders[2][64];
	int fd;

	snprintf(folders[0], sizeof(folders[0]), "%s/a", folder);
	snprintf(folders[1], sizeof(folders[1]), "%s/a/b", folder);
	snprintf(deep, sizeof(deep), "%s/a/b/socket", folder);
	fd = listen_at(deep, SOCK_STREAM, &listener);
	assert_true(fd >= 0);
	(void)close(connect_to(deep, SOCK_STREAM));
	unix_listener_remove(&listener);
	(void)close(fd);
	assert_int_equal(rmdir(folders[1]), 0);
	assert_int_equal(rmdir(folders[0]), 0);
	expect_failure(listen_at("/proc/none/socket", SOCK_STREAM, &listener), ENOENT,
		       "/proc/none");
}

TEST(a_name_in_use_is_refused)
{
	static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET};
	int waiting[3];

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		int fd = listen_at(path, types[i], &listener);
		struct unix_listener second;

		assert_true(fd >= 0);
		for (size_t k = 0; k < ARRAY_SIZE(types); k++)
			expect_failure(listen_at(path, types[k], &second), EADDRINUSE,
				       "another daemon listens on it");
		/* fills the queue of waiting connections */
		for (size_t k = 0; k < ARRAY_SIZE(waiting); k++)
			waiting[k] = connect_to(path, types[i]);
		expect_failure(listen_at(path, types[i], &second), EADDRINUSE, path);
		for (size_t k = 0; k < ARRAY_SIZE(waiting); k++)
			if (waiting[k] >= 0)
				(void)close(waiting[k]);
		unix_listener_remove(&listener);
		(void)close(fd);
	}
}

TEST(the_socket_of_an_ended_process_is_replaced)
{
	int fd = listen_at(path, SOCK_SEQPACKET, &listener);

	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(connect_to(path, SOCK_SEQPACKET), -ECONNREFUSED);
	fd = listen_at(path, SOCK_STREAM, &listener);
	assert_true(fd >= 0);
	(void)close(connect_to(path, SOCK_STREAM));
	unix_listener_remove(&listener);
	(void)close(fd);
}

TEST(a_file_is_not_replaced)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	(void)close(fd);
	expect_failure(listen_at(path, SOCK_STREAM, &listener), ENOTSOCK, "is not a socket");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	expect_failure(listen_at(path, SOCK_STREAM, &listener), ENOTSOCK, path);
	assert_int_equal(access(path, F_OK), 0);
}

TEST(only_the_own_socket_is_removed)
{
	int fd = listen_at(path, SOCK_STREAM, &listener), second_fd;
	struct unix_listener second, none = {.ino = 0};

	assert_int_equal(unlink(path), 0);
	second_fd = listen_at(path, SOCK_STREAM, &second);
	assert_true(fd >= 0 && second_fd >= 0);
	unix_listener_remove(&listener);
	unix_listener_remove(&none);
	assert_int_equal(access(path, F_OK), 0);
	unix_listener_remove(&second);
	assert_int_equal(access(path, F_OK), -1);
	(void)close(fd);
	(void)close(second_fd);
}

TEST(only_a_socket_in_the_folder_for_programs_has_another_name)
{
	static const struct {
		const char *path, *name;
	} rows[] = {
		{"/run/gover/tenant/fps.sock", "/run/gover/fps.sock"},
		{"/tenant/s", "/s"},
		{"tenant/s", "s"},
		{"/run/gover/fps.sock", "/run/gover/fps.sock"},
		{"/run/subtenant/s", "/run/subtenant/s"},
		{"/run/tenant/a/s", "/run/tenant/a/s"},
		{"/s", "/s"},
		{"tenant", "tenant"},
		{"", ""},
	};
	char name[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unix_listener_name(rows[i].path, name);
		assert_string_equal(name, rows[i].name);
	}
}

static char tenant[64], served[128];

static int listen_for_programs(struct unix_listener *ret_listener)
{
	snprintf(tenant, sizeof(tenant), "%s/" UNIX_LISTENER_FOLDER, folder);
	snprintf(served, sizeof(served), "%s/socket", tenant);
	return unix_listener_open_for_programs(served, 1, ret_listener, &err);
}

static void expect_no_socket(void)
{
	assert_int_equal(access(served, F_OK), -1);
	assert_int_equal(rmdir(tenant), 0);
}

TEST(a_socket_for_programs_has_a_link)
{
	int fd = listen_for_programs(&listener), second_fd;
	struct unix_listener second;

	assert_true(fd >= 0);
	(void)close(connect_to(path, SOCK_SEQPACKET));
	expect_failure(listen_for_programs(&second), EADDRINUSE, served);
	assert_false(unix_listener_is_lost(&listener));
	assert_int_equal(unlink(path), 0);
	assert_true(unix_listener_is_lost(&listener));
	(void)close(fd);
	/* without an end: the socket remains */
	fd = listen_for_programs(&listener);
	(void)close(fd);
	second_fd = listen_for_programs(&second);
	assert_true(second_fd >= 0);
	unix_listener_remove(&second);
	(void)close(second_fd);
	assert_int_equal(access(path, F_OK), -1);
	expect_no_socket();
}

TEST(a_link_replaces_a_stale_name_only)
{
	struct unix_listener other;
	int fd, other_fd = listen_at(path, SOCK_STREAM, &other);

	expect_failure(listen_for_programs(&listener), EADDRINUSE, path);
	expect_no_socket();
	(void)close(other_fd);
	fd = listen_for_programs(&listener);
	assert_true(fd >= 0);
	(void)close(fd);
	/* The socket of a link whose process has ended, at the path of the link. */
	fd = listen_at(path, SOCK_SEQPACKET, &other);
	assert_true(fd >= 0);
	unix_listener_remove(&listener);
	assert_int_equal(access(path, F_OK), 0);
	unix_listener_remove(&other);
	(void)close(fd);
	assert_int_equal(symlink("/dev/null", path), 0);
	expect_failure(listen_for_programs(&listener), ENOTSOCK, path);
	expect_no_socket();
}

TEST(a_path_of_the_wrong_length_is_refused)
{
	char text[UNIX_LISTENER_PATH_MAX + 1];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	expect_failure(listen_at(text, SOCK_STREAM, &listener), ENAMETOOLONG, text);
	expect_failure(listen_at("", SOCK_STREAM, &listener), ENAMETOOLONG, "1..107 bytes");
}
