/* SPDX-License-Identifier: MIT */
/*
 * The log of the daemon. Logging never fails and never blocks: a line that cannot be written is
 * lost and counted.
 *
 * Standard error stays blocking, because O_NONBLOCK would also affect other programs that share it.
 * Instead, standard error is polled before each line. A pipe or socket that is ready has room for a
 * whole line. A terminal that is ready may accept only a part of a line, so it is opened a second
 * time, with O_NONBLOCK.
 *
 * Journal messages are sent as datagrams of the native protocol, because sd_journal_send() blocks
 * if journald is slow.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "gover-d/util/log.h"

#define LINE_SIZE      2048
#define SUBJECT_SIZE   512
#define FIELDS_SIZE    2048 /* all fields except MESSAGE */
#define JOURNAL_SOCKET "/run/systemd/journal/socket"

static unsigned long lost; /* number of lines lost since the last written line */

/*
 * Returns true if standard error accepts data, or is a pipe without a reader. In the second case,
 * write() fails.
 */
static bool is_writable(void)
{
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&out, 1, 0) != 0;
}

/* A terminal may accept only the first part of a line; the rest of that line is stored here. */
static char rest[LINE_SIZE + 128];
static size_t rest_length;

static bool put_rest(int fd)
{
	ssize_t n = rest_length ? write(fd, rest, rest_length) : 0;

	if (n > 0) {
		rest_length -= (size_t)n;
		memmove(rest, rest + n, rest_length);
	}
	return rest_length == 0;
}

/* Writes the line with a single write(), so that lines of several programs do not mix. */
static bool put(const char *text, size_t length)
{
	CLEANUP_CLOSE int terminal = -1;
	int fd = STDERR_FILENO;
	ssize_t n;

	if (!is_writable())
		return false;
	if (isatty(STDERR_FILENO))
		terminal = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (terminal >= 0)
		fd = terminal;
	n = put_rest(fd) ? write(fd, text, length) : -1;
	if (n <= 0)
		return false;
	rest_length = length - (size_t)n;
	memcpy(rest, text + n, rest_length);
	return true;
}

static void write_line(const char *priority, const char *line)
{
	const char *prefix = getenv("JOURNAL_STREAM") ? priority : "gover-d: ";
	char text[LINE_SIZE + 128];
	int n = 0;

	_Static_assert(sizeof(text) <= PIPE_BUF,
		       "a pipe that poll() reports as writable has room for a line");
	if (lost)
		n = snprintf(text, sizeof(text), "%s%lu lines of this log could not be written\n",
			     prefix, lost);
	n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s\n", prefix, line);
	if (put(text, (size_t)n))
		lost = 0;
	else
		lost++;
}

/* --- the journal --- */

static const char *journal_path = JOURNAL_SOCKET;
static int journal_fd = -1;

const char *log_kind_id(enum log_kind kind)
{
	static const char *const ids[LOG_KINDS] = {
		[LOG_READY] = "dc53e12c53fb461c8d40a90caf15ad47",
		[LOG_STOPPING] = "272a349eead24667990213c10a6dbd74",
		[LOG_ALERT_RAISED] = "d8f391f60b4e44f3a14ad981729aa97b",
		[LOG_ALERT_UPDATED] = "24519901a03b4f6f9535ba9c16b92cac",
		[LOG_ALERT_CLEARED] = "cdf0b878aa9c4d2687731f1920b90c99",
		[LOG_ALERT_ACKNOWLEDGED] = "eaf9373e4e694178b229b88ff5b4485b",
		[LOG_SILENCE] = "66ff3076e01d42d9b29c16ac3624a78b",
		[LOG_OFFER] = "89fce286d43542cc9c5c8c2a7533281e",
		[LOG_DECISION] = "082a15c879ca4256881a6052a9575601",
		[LOG_HOOK_FAILED] = "4358457eb18e4fda86eefdd6a89fb13e",
		[LOG_WEBHOOK_FAILED] = "b5c50f9dd1ad46b897092b03a7fe81e8",
	};

	return ids[kind];
}

void log_use_journal(const char *path)
{
	if (journal_fd >= 0)
		(void)close(journal_fd);
	journal_fd = -1;
	journal_path = path;
}

/*
 * JOURNAL_STREAM contains device and inode of the journal's stream. They differ from those of
 * standard error if standard error was redirected.
 */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

/*
 * Control characters in values are masked. A value with newlines would also need the binary form of
 * the protocol.
 */
static size_t add_field(char *text, size_t at, size_t size, const char *name, const char *value)
{
	size_t length = value ? strlen(value) : 0, named = strlen(name);

	if (length == 0 || at + named + length + 2 > size)
		return at;
	memcpy(text + at, name, named);
	text[at + named] = '=';
	memcpy(text + at + named + 1, value, length + 1);
	text_mask_controls(text + at + named + 1);
	text[at + named + 1 + length] = '\n';
	return at + named + length + 2;
}

/* Adds what the message concerns, as words: "vGPU a on GPU gpu0, virtual machine win-1". */
static size_t add_subject(char *text, size_t at, size_t size, const struct log_fields *fields)
{
	const char *vgpu = fields->vgpu ? fields->vgpu : "", *gpu = fields->gpu ? fields->gpu : "",
		   *vm = fields->vm ? fields->vm : "";
	char words[SUBJECT_SIZE];

	if (vgpu[0])
		snprintf(words, sizeof(words), "vGPU %s%s%s%s%s", vgpu, gpu[0] ? " on GPU " : "",
			 gpu, vm[0] ? ", virtual machine " : "", vm);
	else if (gpu[0])
		snprintf(words, sizeof(words), "GPU %s", gpu);
	else
		snprintf(words, sizeof(words), "the whole host");
	return add_field(text, at, size, "GOVER_SUBJECT", words);
}

static bool connect_journal(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (journal_fd >= 0)
		return true;
	if (strlen(journal_path) >= sizeof(address.sun_path))
		return false;
	strcpy(address.sun_path, journal_path);
	journal_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (journal_fd >= 0 &&
	    connect(journal_fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return true;
	log_use_journal(journal_path);
	return false;
}

/* Returns false if the message was not sent; the caller then writes it to stderr. */
static bool send_journal(const char *priority, const struct log_fields *fields, const char *line)
{
	const char level[2] = {priority[1], '\0'}; /* "<4>" */
	const char *next = fields->next && fields->next[0] ? fields->next : "gover-ctl status";
	char text[LINE_SIZE + FIELDS_SIZE];
	size_t n = 0;

	n = add_field(text, n, sizeof(text), "MESSAGE", line);
	n = add_field(text, n, sizeof(text), "PRIORITY", level);
	n = add_field(text, n, sizeof(text), "MESSAGE_ID", log_kind_id(fields->kind));
	n = add_field(text, n, sizeof(text), "SYSLOG_IDENTIFIER", "gover-d");
	n = add_subject(text, n, sizeof(text), fields);
	n = add_field(text, n, sizeof(text), "GOVER_NEXT", next);
	n = add_field(text, n, sizeof(text), "GOVER_GPU", fields->gpu);
	n = add_field(text, n, sizeof(text), "GOVER_VGPU", fields->vgpu);
	n = add_field(text, n, sizeof(text), "GOVER_VM", fields->vm);
	n = add_field(text, n, sizeof(text), "GOVER_ALERT", fields->alert);
	n = add_field(text, n, sizeof(text), "GOVER_DECISION", fields->decision);
	if (!connect_journal())
		return false;
	if (send(journal_fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return true;
	if (errno != EAGAIN) /* journald was restarted: reconnect for the next message */
		log_use_journal(journal_path);
	return false;
}

void log_event(const char *priority, const struct log_fields *fields, const char *format, ...)
{
	char line[LINE_SIZE];
	int saved = errno;
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	text_mask_controls(line);
	if (!fields || !is_journal() || !send_journal(priority, fields, line))
		write_line(priority, line);
	errno = saved;
}
