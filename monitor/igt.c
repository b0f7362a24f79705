/* SPDX-License-Identifier: MIT */
/*
 * Runs intel_gpu_top and parses its output. Up to version 1.27 the program writes samples without
 * brackets and often without commas. Later versions write "[" first, but often no "]" at the end.
 * This module therefore splits the stream into objects by their braces, and jansson parses one
 * object at a time. The last member, "clients", contains names that customers' programs choose, as
 * they are: a quote, a newline or any other byte. It is not used, so the sample ends before it.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/linux/spawn.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "monitor/igt.h"

#define FREE_WAIT_MS 100 /* limit for the end of a killed child in igt_free() */
#define SAID_MAX     200 /* bytes of a line of stderr; a longer line is cut */
/* A child without a valid sample in this time is killed: it may use a driver that was unloaded. */
#define QUIET_S 10

/* --- the stream --- */

struct igt_parser {
	char *object; /* buffer of IGT_OBJECT_MAX bytes for the current object */
	size_t length;
	int depth; /* depth of nested braces; 0: between two objects */
	bool in_string, escaped;
	bool line_begins;
	bool cut; /* the sample ended before its clients, which are skipped */
	bool first_dropped;
};

struct igt_parser *igt_parser_new(void)
{
	struct igt_parser *parser = xcalloc(1, sizeof(*parser));

	parser->object = xmalloc(IGT_OBJECT_MAX);
	igt_parser_reset(parser);
	return parser;
}

struct igt_parser *igt_parser_free(struct igt_parser *parser)
{
	if (parser)
		free(parser->object);
	free(parser);
	return NULL;
}

void igt_parser_reset(struct igt_parser *parser)
{
	*parser = (struct igt_parser){.object = parser->object, .line_begins = true};
}

/*
 * Returns the value of a member that is a number or, in some versions, a number in quotes. Returns
 * -1 for any other member.
 */
static double member_number(const json_t *object, const char *name)
{
	const json_t *member = json_object_get(object, name);
	double value = -1;

	if (json_is_number(member))
		value = json_number_value(member);
	else if (json_is_string(member))
		(void)parse_double(json_string_value(member), 0, HUGE_VAL, &value);
	return value;
}

/* Parses a complete object. Returns false if it is not a sample. */
static bool read_sample(const char *text, size_t length, struct igt_sample *ret_sample)
{
	json_t *root = json_loadb(text, length, 0, NULL);
	double busiest = -1, actual_mhz;
	const char *name;
	json_t *engine;

	json_object_foreach (json_object_get(root, "engines"), name, engine)
		busiest = fmax(busiest, member_number(engine, "busy"));
	actual_mhz = member_number(json_object_get(root, "frequency"), "actual");
	json_decref(root);
	if (busiest < 0)
		return false;
	*ret_sample = (struct igt_sample){fmin(busiest, 100), fmax(actual_mhz, 0)};
	return true;
}

/*
 * Ends the object before its member "clients", if the last byte completes this name. The text until
 * then is of intel_gpu_top alone.
 */
static bool cut_clients(struct igt_parser *p)
{
	static const char name[] = "\"clients\"";
	const size_t n = strlen(name);

	if (p->depth != 1 || p->length <= n || memcmp(p->object + p->length - n, name, n) != 0)
		return false;
	p->length -= n;
	while (p->length > 1 && strchr(", \t\n", p->object[p->length - 1]))
		p->length--;
	p->object[p->length++] = '}';
	p->cut = true;
	return true;
}

/* Adds a byte. Returns true if the byte completes an object. */
static bool take_byte(struct igt_parser *p, char c)
{
	bool line_begins = p->line_begins;

	p->line_begins = c == '\n';
	/*
	 * Only the first brace of an object is in the first column. An earlier object that is still
	 * open is therefore incomplete and is dropped.
	 */
	if (c == '{' && line_begins)
		p->depth = 0;
	if (p->depth == 0) {
		if (c != '{')
			return false;
		p->length = 0;
		p->in_string = p->escaped = p->cut = false;
	}
	if (p->length == IGT_OBJECT_MAX) {
		p->depth = 0;
		return false;
	}
	if (!p->cut)
		p->object[p->length++] = c;
	if (c == '\n')
		p->in_string = p->escaped = false; /* no string contains a newline */
	else if (p->escaped)
		p->escaped = false;
	else if (c == '\\')
		p->escaped = p->in_string;
	else if (c == '"')
		p->in_string = !p->in_string;
	else if (!p->in_string)
		p->depth += (c == '{') - (c == '}');
	if (p->cut)
		return false;
	return p->depth == 0 || (c == '"' && cut_clients(p));
}

int igt_parser_feed(struct igt_parser *parser, const char *bytes, size_t length,
		    struct igt_sample *ret_sample)
{
	int samples = 0;

	for (size_t i = 0; i < length; i++) {
		struct igt_sample sample;

		if (!take_byte(parser, bytes[i]) ||
		    !read_sample(parser->object, parser->length, &sample))
			continue;
		/* The first sample covers only the microseconds since the counters were opened. */
		if (parser->first_dropped) {
			*ret_sample = sample;
			samples++;
		}
		parser->first_dropped = true;
	}
	return samples;
}

/* --- the child process --- */

struct igt {
	char *path, *device;
	char period_text[16];
	uint64_t stale_ns; /* age at which a sample becomes invalid */
	struct igt_parser *parser;
	int pipe_fd; /* output of the child; -1: no child, or it was killed */
	int err_fd;  /* its stderr */
	/* the last line of its stderr, and the line that is not complete yet */
	char said[SAID_MAX], line[SAID_MAX];
	size_t line_length;
	pid_t pid;		/* 0: no child */
	uint64_t quiet_from_ns; /* time of the last sample, or of the first dispatch; 0: neither */
	bool quiet;		/* it was killed because it has printed no valid sample for long */
	struct backoff starting;
	char problem[ERR_MSG_MAX]; /* why no child is running; "": one was started */
	bool sample_valid;
	struct igt_sample sample;
	double highest_mhz;
	uint64_t sample_at_ns;
};

/* Makes a pipe whose reading end does not block. */
static int make_pipe(int *ret_read, int *ret_write)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*ret_read = fds[0];
	*ret_write = fds[1];
	return fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int start_child(struct igt *igt)
{
	CLEANUP_CLOSE int out_read = -1;
	CLEANUP_CLOSE int out_write = -1;
	CLEANUP_CLOSE int err_read = -1;
	CLEANUP_CLOSE int err_write = -1;
	const char *const arguments[] = {
		igt->path,   "-J", "-s", igt->period_text, igt->device[0] ? "-d" : NULL,
		igt->device, NULL};
	int r;

	/* Check first, because not every posix_spawn() reports a failed exec. */
	if (access(igt->path, X_OK) < 0)
		return -errno;
	r = make_pipe(&out_read, &out_write);
	if (r == 0)
		r = make_pipe(&err_read, &err_write);
	if (r == 0)
		r = spawn_start(&(struct spawn){.program = igt->path,
						.arguments = arguments,
						.fds = {SPAWN_NULL, out_write, err_write},
						.group = true},
				&igt->pid);
	if (r < 0)
		return r;
	igt_parser_reset(igt->parser);
	igt->pipe_fd = steal_fd(&out_read);
	igt->err_fd = steal_fd(&err_read);
	igt->problem[0] = igt->said[0] = '\0';
	igt->line_length = 0;
	igt->quiet_from_ns = 0;
	return 0;
}

static void end_line(struct igt *igt)
{
	if (igt->line_length == 0)
		return;
	memcpy(igt->said, igt->line, igt->line_length);
	igt->said[igt->line_length] = '\0';
	igt->line_length = 0;
}

/* Reads a bounded amount of stderr, and keeps its last line. */
static void read_errors(struct igt *igt)
{
	char bytes[1024];
	ssize_t n = 1;

	for (int i = 0; i < 64 && n > 0; i++) {
		n = read(igt->err_fd, bytes, sizeof(bytes));
		for (ssize_t at = 0; at < n; at++) {
			unsigned char c = (unsigned char)bytes[at];

			if (c == '\n')
				end_line(igt);
			else if (igt->line_length < SAID_MAX - 1)
				igt->line[igt->line_length++] = c < ' ' ? ' ' : (char)c;
		}
	}
}

/* Kills the child and its process group. */
static void kill_child(struct igt *igt)
{
	read_errors(igt);
	end_line(igt);
	(void)kill(-igt->pid, SIGKILL);
	cleanup_closep(&igt->pipe_fd);
	cleanup_closep(&igt->err_fd);
	igt->pipe_fd = igt->err_fd = -1;
	igt->sample_valid = false;
}

/*
 * Reaps a child that has ended, and writes its wait status. Returns false if it has not ended: a
 * killed child that waits for the driver of the GPU ends only when the driver answers.
 */
static bool reap_child(struct igt *igt, int *ret_status)
{
	pid_t r = waitpid(igt->pid, ret_status, WNOHANG);

	if (r == 0 || (r < 0 && errno == EINTR))
		return false;
	igt->pid = 0;
	return true;
}

struct igt *igt_new(const char *path, const char *device, int period_ms)
{
	struct igt *igt = xcalloc(1, sizeof(*igt));

	igt->pipe_fd = igt->err_fd = -1;
	igt->path = xstrdup(path);
	igt->device = xstrdup(device ? device : "");
	snprintf(igt->period_text, sizeof(igt->period_text), "%d", period_ms);
	igt->stale_ns = (uint64_t)period_ms * NS_PER_MS * 5 / 2;
	igt->parser = igt_parser_new();
	return igt;
}

int igt_start(struct igt *igt, struct err *reterr)
{
	int r = start_child(igt);

	if (r < 0)
		snprintf(igt->problem, sizeof(igt->problem), "%s: cannot start: %s", igt->path,
			 strerror(-r));
	return r < 0 ? err_fail(reterr, -r, "%s", igt->problem) : 0;
}

struct igt *igt_free(struct igt *igt)
{
	int status;

	if (!igt)
		return NULL;
	if (igt->pipe_fd >= 0)
		kill_child(igt);
	for (int ms = 0; igt->pid > 0 && !reap_child(igt, &status) && ms < FREE_WAIT_MS; ms++)
		(void)usleep(1000);
	igt_parser_free(igt->parser);
	free(igt->device);
	free(igt->path);
	free(igt);
	return NULL;
}

/* Reads a bounded amount of output. Returns true if the child is still running. */
static bool read_samples(struct igt *igt, uint64_t now_mono_ns)
{
	char bytes[16 * 1024];
	ssize_t n = 1;

	for (int i = 0; i < 64 && n > 0; i++) {
		n = read(igt->pipe_fd, bytes, sizeof(bytes));
		if (n > 0 && igt_parser_feed(igt->parser, bytes, (size_t)n, &igt->sample) > 0) {
			igt->highest_mhz = fmax(igt->highest_mhz, igt->sample.actual_mhz);
			igt->sample_valid = true;
			igt->sample_at_ns = igt->quiet_from_ns = now_mono_ns;
			backoff_reset(&igt->starting);
		}
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		return false;

	siginfo_t info = {.si_pid = 0};

	/* The pipe alone does not show the exit, because a descendant may keep it open. */
	return waitid(P_PID, (id_t)igt->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

/* Plans the next start, and writes a message about @problem, which has ended the last one. */
static int plan_retry(struct igt *igt, uint64_t now_mono_ns, const char *problem,
		      struct err *reterr)
{
	snprintf(igt->problem, sizeof(igt->problem), "%s: %s%s%s", igt->path, problem,
		 igt->said[0] ? ": " : "", igt->said);
	backoff_fail(&igt->starting, now_mono_ns);
	return err_fail(reterr, ECHILD, "%s; restarting in %.0f s", igt->problem,
			backoff_left_s(&igt->starting, now_mono_ns));
}

static int start_again(struct igt *igt, uint64_t now_mono_ns, struct err *reterr)
{
	char problem[128];
	int r;

	if (!backoff_is_due(&igt->starting, now_mono_ns))
		return 0;
	r = start_child(igt);
	if (r == 0)
		return 0;
	igt->said[0] = '\0';
	snprintf(problem, sizeof(problem), "cannot start: %s", strerror(-r));
	return plan_retry(igt, now_mono_ns, problem, reterr);
}

/* True if the child runs and has printed a valid sample not too long ago. */
static bool is_alive(struct igt *igt, uint64_t now_mono_ns)
{
	uint64_t limit_ns = QUIET_S * NS_PER_S + igt->stale_ns;

	if (!igt->quiet_from_ns)
		igt->quiet_from_ns = now_mono_ns;
	read_errors(igt);
	if (!read_samples(igt, now_mono_ns))
		return false;
	igt->quiet = now_mono_ns - igt->quiet_from_ns > limit_ns;
	return !igt->quiet;
}

int igt_dispatch(struct igt *igt, uint64_t now_mono_ns, struct err *reterr)
{
	char problem[128];
	int status = 0;

	if (igt->pipe_fd < 0 && igt->pid == 0)
		return start_again(igt, now_mono_ns, reterr);
	if (igt->pipe_fd >= 0) {
		if (is_alive(igt, now_mono_ns))
			return 0;
		kill_child(igt);
	}
	if (!reap_child(igt, &status)) {
		snprintf(igt->problem, sizeof(igt->problem),
			 "%s: process %d was killed and has not ended", igt->path, (int)igt->pid);
		return 0;
	}
	if (igt->quiet)
		snprintf(problem, sizeof(problem), "killed after %d s without a valid sample",
			 QUIET_S);
	else
		snprintf(problem, sizeof(problem), "%s %d",
			 WIFEXITED(status) ? "exited with status" : "killed by signal",
			 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	igt->quiet = false;
	return plan_retry(igt, now_mono_ns, problem, reterr);
}

int igt_latest(const struct igt *igt, uint64_t now_mono_ns, struct igt_sample *ret_sample,
	       double *ret_age_s)
{
	if (!igt->sample_valid || now_mono_ns - igt->sample_at_ns > igt->stale_ns)
		return -ENODATA;
	*ret_sample = igt->sample;
	*ret_age_s = (double)(now_mono_ns - igt->sample_at_ns) / NS_PER_S;
	return 0;
}

bool igt_describe_problem(const struct igt *igt, uint64_t now_mono_ns, char text[ERR_MSG_MAX])
{
	struct igt_sample sample;
	double age_s;

	if (igt_latest(igt, now_mono_ns, &sample, &age_s) == 0)
		return false;
	if (igt->problem[0])
		memcpy(text, igt->problem, ERR_MSG_MAX);
	else
		snprintf(text, ERR_MSG_MAX, "%s: process %d prints no valid samples%s%s", igt->path,
			 (int)igt->pid, igt->said[0] ? ": " : "", igt->said);
	return true;
}

double igt_highest_mhz(const struct igt *igt)
{
	return igt->highest_mhz;
}
