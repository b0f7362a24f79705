/* SPDX-License-Identifier: MIT */
/*
 * gover-arbiter gives programs turns on a compute device: its options, and its life as a process of
 * its own. See gover-arbiter(8).
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/terminal/cmdline.h"
#include "compute/arbiter/arbiter.h"
#include "compute/channel/control.h"
#include "compute/channel/wire.h"
#include "compute/server/server.h"

#define MS_NS 1000000.0

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_IN_USE = 3 };

struct arguments {
	struct server_options server;
	bool background;
};

static int fail_usage(const char *option, const char *value, const char *allowed)
{
	fprintf(stderr, "gover-arbiter: --%s %s is not allowed (allowed: %s)\n", option, value,
		allowed);
	return EXIT_USAGE;
}

static int print_list(void *at, const char *value)
{
	(void)at;
	(void)value;
	for (const struct arbiter_discipline *row = arbiter_disciplines; row->name; row++)
		printf("%-10s %s\n", row->name, row->text);
	return EXIT_DONE;
}

static int set_name(void *at, const char *value)
{
	if (strlen(value) == 0 || strlen(value) >= COMPUTE_TEXT_MAX)
		return fail_usage("name", value, "1 to 63 characters");
	*(const char **)at = value;
	return CMDLINE_GO_ON;
}

static int set_discipline(void *at, const char *value)
{
	const struct arbiter_discipline *discipline = arbiter_discipline_find(value);

	if (!discipline)
		return fail_usage("discipline", value, "see --list");
	*(const struct arbiter_discipline **)at = discipline;
	return CMDLINE_GO_ON;
}

static int parse(struct arguments *args, int argc, char *argv[])
{
	double slice_ms = 0;
	const struct cmdline_row rows[] = {
		CMDLINE_LINES("Usage: gover-arbiter [OPTION]...\n"
			      "Give the programs of compute tenants turns on a device.\n"),
		CMDLINE_ROW(WORD, "socket", "PATH", &args->server.socket,
			    "socket for programs (" COMPUTE_DEFAULT_SOCKET ")"),
		CMDLINE_ROW(CALL, "name", "NAME", &args->server.name, "name of the device (gpu)",
			    .take = set_name),
		CMDLINE_ROW(CALL, "discipline", "NAME", &args->server.discipline,
			    "how turns are given (fair); see --list", .take = set_discipline),
		CMDLINE_ROW(
			REAL, "slice", "MS", &slice_ms, "device time of a turn, 0.1 to 1000 (6)",
			.min = COMPUTE_SLICE_MIN_NS / MS_NS, .max = COMPUTE_SLICE_MAX_NS / MS_NS),
		CMDLINE_ROW(FLAG, "background", NULL, &args->background,
			    "return when the sockets are open, and run as a daemon"),
		CMDLINE_ROW(CALL, "list", NULL, NULL, "print the disciplines", .take = print_list),
		CMDLINE_ENDS,
		CMDLINE_LINES("\nExit status: 0 success, 1 failure, 2 invalid usage, 3 another "
			      "arbiter serves "
			      "the socket.\nSee gover-arbiter(8).\n"),
	};
	int r = cmdline_parse("gover-arbiter", rows, ARRAY_SIZE(rows), "", argc, argv, NULL);

	args->server.slice_ns = (uint64_t)(slice_ms * MS_NS);
	if (r == CMDLINE_GO_ON && optind < argc) {
		fprintf(stderr, "gover-arbiter: argument %s is not allowed; see --help\n",
			argv[optind]);
		return EXIT_USAGE;
	}
	return r;
}

/* stdin and stdout, and stderr of a daemon, must not keep files of the caller open. */
static int detach(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (dup2(fd, i) < 0)
			return -errno;
	if (fd > STDERR_FILENO)
		(void)close(fd);
	return chdir("/") < 0 ? -errno : 0;
}

/*
 * Forks twice, so that the daemon is no child of the caller. Returns 0 in the daemon, 1 in the
 * caller after the daemon was started, or a negative errno.
 */
static int go_to_background(void)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid > 0) {
		if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
			return -ECHILD;
		return 1;
	}
	if (setsid() < 0)
		_exit(EXIT_FAILED);
	pid = fork();
	if (pid != 0)
		_exit(pid < 0 ? EXIT_FAILED : EXIT_DONE);
	return detach();
}

static void block_signals(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
}

static int serve(struct server *server, const struct arguments *args)
{
	int r;

	openlog("gover-arbiter", LOG_PID | (args->background ? 0 : LOG_PERROR), LOG_DAEMON);
	syslog(LOG_INFO, "%s: turns on device %s, discipline %s", args->server.socket,
	       args->server.name,
	       args->server.discipline ? args->server.discipline->name
				       : arbiter_disciplines[0].name);
	r = server_run(server);
	if (r < 0)
		syslog(LOG_ERR, "%s: %s", args->server.socket, strerror(-r));
	else
		syslog(LOG_INFO, "%s: ended by a signal", args->server.socket);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char *argv[])
{
	struct arguments args = {.server = {.socket = COMPUTE_DEFAULT_SOCKET, .name = "gpu"}};
	struct server *server;
	struct err err;
	int r = parse(&args, argc, argv);

	if (r != CMDLINE_GO_ON)
		return r;
	block_signals();
	r = server_open(&args.server, &server, &err);
	if (r < 0) {
		fprintf(stderr, "gover-arbiter: %s\n", err.msg);
		return r == -EADDRINUSE ? EXIT_IN_USE : EXIT_FAILED;
	}
	r = args.background ? go_to_background() : 0;
	if (r > 0) /* the daemon has the sockets now */
		_exit(EXIT_DONE);
	if (r < 0)
		fprintf(stderr, "gover-arbiter: cannot start the daemon: %s\n", strerror(-r));
	r = r < 0 ? EXIT_FAILED : serve(server, &args);
	server_close(server);
	return r;
}
