/* SPDX-License-Identifier: MIT */
/* The protocol of the hook: lines, limits and deadlines. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gover-fleet/claim/hook.h"
#include "tests/unit/unit.h"

static uint64_t soon(void)
{
	return clock_now().mono_ns + 5 * NS_PER_S;
}

TEST(a_request_is_read_back)
{
	static const char xml[] = "<domain>\n\t<name>\"a\\b\"</name> \xc3\xa9</domain>";
	char *line = hook_protocol_print_request("prepare", "vm \"1\"", "u", xml, strlen(xml));
	struct hook_protocol_request request;
	struct err err = {""};

	assert_non_null(line);
	assert_int_equal(line[strlen(line) - 1], '\n');
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	assert_int_equal(hook_protocol_parse_request(line, &request, &err), 0);
	assert_string_equal(request.operation, "prepare");
	assert_string_equal(request.domain, "vm \"1\"");
	assert_string_equal(request.xml, xml);
	assert_int_equal(request.xml_length, strlen(xml));
	hook_protocol_request_fini(&request);
	free(line);
	/* Bytes that are no UTF-8 cannot be sent. */
	assert_null(hook_protocol_print_request("prepare", "vm", "u", "\xff", 1));
}

TEST(an_answer_is_read_back)
{
	char text[HOOK_PROTOCOL_TEXT_MAX], *line;
	struct err err = {""};
	bool allow;

	line = hook_protocol_print_answer(false, "no offer");
	assert_int_equal(hook_protocol_parse_answer(line, &allow, text, &err), 0);
	assert_false(allow);
	assert_string_equal(text, "no offer");
	free(line);
	line = hook_protocol_print_answer(true, "");
	assert_int_equal(hook_protocol_parse_answer(line, &allow, text, &err), 0);
	assert_true(allow);
	free(line);
}

TEST(wrong_lines_are_rejected)
{
	static const char *const rows[] = {
		"",
		"[]",
		"{",
		"{\"operation\":\"prepare\"}",
		"{\"operation\":1,\"domain\":\"a\",\"xml\":\"x\"}",
		"{\"allow\":\"yes\",\"text\":\"\"}",
		"{\"allow\":true}",
	};
	struct hook_protocol_request request;
	char text[HOOK_PROTOCOL_TEXT_MAX];
	bool allow;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = {""};

		assert_int_equal(hook_protocol_parse_request(rows[i], &request, &err), -EINVAL);
		assert_int_equal(hook_protocol_parse_answer(rows[i], &allow, text, &err), -EINVAL);
		assert_true(err.msg[0]);
	}
}

TEST(lines_arrive_in_parts_and_end_at_the_newline)
{
	char *line = NULL;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	assert_int_equal(write(fds[0], "ab", 2), 2);
	assert_int_equal(
		hook_protocol_read_line(fds[1], -1, clock_now().mono_ns + 20 * NS_PER_MS, &line),
		-ETIMEDOUT);
	assert_int_equal(write(fds[0], "cd\nmore", 7), 7);
	assert_int_equal(hook_protocol_read_line(fds[1], -1, soon(), &line), 0);
	assert_string_equal(line, "cd");
	free(line);
	assert_int_equal(hook_protocol_write(fds[0], -1, soon(), "x", 1), 0);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(hook_protocol_read_line(fds[1], -1, soon(), &line), -ECONNRESET);
	assert_int_equal(close(fds[1]), 0);
}

TEST(a_line_has_a_limit)
{
	static char block[4096];
	char *line = NULL;
	int fds[2], r;
	pid_t writer;

	memset(block, 'a', sizeof(block));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	writer = fork();
	assert_true(writer >= 0);
	if (writer == 0) {
		(void)close(fds[1]);
		for (int i = 0; i < HOOK_PROTOCOL_LINE_MAX / 4096 + 100; i++)
			if (hook_protocol_write(fds[0], -1, soon(), block, sizeof(block)) < 0)
				break;
		_exit(0);
	}
	assert_int_equal(close(fds[0]), 0);
	r = hook_protocol_read_line(fds[1], -1, soon(), &line);
	assert_int_equal(r, -E2BIG);
	assert_int_equal(close(fds[1]), 0);
	assert_int_equal(waitpid(writer, NULL, 0), writer);
}

TEST(waiting_ends_at_the_deadline_and_at_the_stop)
{
	int fds[2], stop[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	assert_int_equal(pipe(stop), 0);
	assert_int_equal(hook_protocol_wait(fds[0], POLLIN, stop[0], clock_now().mono_ns),
			 -ETIMEDOUT);
	assert_int_equal(hook_protocol_wait(fds[0], POLLOUT, stop[0], soon()), 0);
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(hook_protocol_wait(fds[0], POLLIN, stop[0], UINT64_MAX), -ECANCELED);
	for (int i = 0; i < 2; i++) {
		(void)close(fds[i]);
		(void)close(stop[i]);
	}
}

TEST(a_missing_socket_is_no_wait)
{
	char longest[300];

	assert_int_equal(hook_protocol_connect("/nonexistent/hook.sock", soon()), -ENOENT);
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(hook_protocol_connect(longest, soon()), -ENAMETOOLONG);
}
