/* SPDX-License-Identifier: MIT */
/* The log on a stderr that does not accept lines: nothing blocks, and lost lines are counted. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "gover-d/util/log.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

static int kept = -1;	/* the standard error of the test program */
static int reader = -1; /* fd from which the test reads the log */

/* Makes @fd the standard error. */
static void put_stderr(int fd)
{
	assert_true(dup2(fd, STDERR_FILENO) >= 0);
	assert_int_equal(close(fd), 0);
}

static int keep_stderr(void)
{
	(void)unsetenv("JOURNAL_STREAM");
	(void)signal(SIGPIPE, SIG_IGN);
	kept = dup(STDERR_FILENO);
	return kept < 0 ? -1 : 0;
}

static int restore_stderr(void)
{
	if (dup2(kept, STDERR_FILENO) < 0 || close(kept) < 0)
		return -1;
	log_info("-"); /* resets the count of lost lines for the next test */
	if (reader >= 0)
		(void)close(reader);
	reader = -1;
	return 0;
}

FIXTURE(keep_stderr, restore_stderr)

/* Returns all available output of the log. */
static const char *drain(void)
{
	static char text[1 << 20];
	size_t used = 0;
	ssize_t n;

	assert_int_equal(fcntl(reader, F_SETFL, O_NONBLOCK), 0);
	while (used < sizeof(text) - 1 &&
	       (n = read(reader, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	return text;
}

static void use_pipe(void)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	reader = fds[0];
	put_stderr(fds[1]);
}

static void use_socket(void)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	reader = fds[0];
	put_stderr(fds[1]);
}

static void use_terminal(void)
{
	const char *name;
	int fd;

	reader = posix_openpt(O_RDWR | O_NOCTTY);
	if (reader < 0 || grantpt(reader) < 0 || unlockpt(reader) < 0) {
		print_message("# this system has no terminals\n");
		skip();
	}
	name = ptsname(reader);
	fd = name ? open(name, O_RDWR | O_NOCTTY) : -1;
	if (fd < 0) {
		print_message("# the terminal cannot be opened\n");
		skip();
	}
	put_stderr(fd);
}

TEST(a_line_is_written_and_errno_is_kept)
{
	use_pipe();
	errno = ENOTTY;
	log_warning("a %d", 7);
	assert_int_equal(errno, ENOTTY);
	assert_string_equal(drain(), "gover-d: a 7\n");
	assert_int_equal(setenv("JOURNAL_STREAM", "8:1", 1), 0);
	log_warning("b");
	(void)unsetenv("JOURNAL_STREAM");
	assert_string_equal(drain(), SD_WARNING "b\n");
}

TEST(a_long_line_is_truncated_to_one_line)
{
	char word[4000];
	const char *text;

	use_pipe();
	memset(word, 'x', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	log_info("%s", word);
	text = drain();
	assert_in_range(strlen(text), 1000, sizeof(word));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

/*
 * Checks that the lines of @text are numbered in order, starting with @first. A report of lost
 * lines counts as that many lines. Returns the number of the next line.
 */
static unsigned int count_lines(const char *text, unsigned int first)
{
	unsigned int next = first, number;

	for (; *text; text = strchrnul(text, '\n'), text += *text == '\n') {
		if (sscanf(text, "gover-d: %u lines of this log could not be written", &number) ==
		    1)
			next += number;
		else if (sscanf(text, "gover-d: line %u of a log", &number) == 1)
			assert_int_equal(number, next++);
	}
	return next;
}

/*
 * Logs more lines than stderr accepts, without reading them. If the log blocks, the test never
 * ends.
 */
static void check_full(void (*use)(void))
{
	unsigned int written, all;
	const char *logged;

	use();
	for (int i = 0; i < 40000; i++)
		log_info("line %05d of a log without a reader", i);
	written = count_lines(drain(), 0);
	assert_in_range(written, 1, 39999);
	log_info("the reader is back");
	logged = drain();
	all = count_lines(logged, written);
	assert_int_not_equal(all, written);
	assert_int_equal(all, 40000);
	assert_non_null(strstr(logged, "gover-d: the reader is back"));
	log_info("another line");
	assert_null(strstr(drain(), "could not be written"));
}

TEST(a_full_pipe_loses_lines_without_blocking)
{
	check_full(use_pipe);
}

TEST(a_full_socket_does_not_block)
{
	check_full(use_socket);
}

TEST(a_stopped_terminal_does_not_block)
{
	check_full(use_terminal);
}

TEST(flags_of_a_shared_stderr_are_unchanged)
{
	void (*const uses[])(void) = {use_pipe, use_terminal};

	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		uses[i]();
		log_info("a");
		assert_int_equal(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
		(void)close(reader);
		reader = -1;
	}
}

TEST(a_missing_reader_is_no_error)
{
	use_pipe();
	(void)close(reader);
	reader = -1;
	log_info("a");
	log_info("b");
	use_pipe();
	log_info("c");
	assert_string_equal(drain(),
			    "gover-d: 2 lines of this log could not be written\ngover-d: c\n");
}

/* Creates a journal socket for the test and sets JOURNAL_STREAM as systemd does. */
static void use_journal(void)
{
	static struct sockaddr_un address = {.sun_family = AF_UNIX}; /* the log uses its path */
	char stream[64];
	struct stat st;

	use_pipe();
	(void)close(reader);
	assert_int_equal(temp_folder_make(), 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/journal", temp_folder);
	reader = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(reader, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
	log_use_journal(address.sun_path);
}

static void end_journal(void)
{
	(void)temp_folder_remove();
	log_use_journal("/run/systemd/journal/socket");
}

static void log_alert(void)
{
	log_event(SD_WARNING,
		  &(struct log_fields){.kind = LOG_ALERT_RAISED,
				       .gpu = "gpu0",
				       .vgpu = "a",
				       .vm = "two\nlines",
				       .alert = "fps_missing",
				       .next = "gover-ctl vgpu show a"},
		  "alert %d", 7);
}

TEST(a_message_of_a_kind_has_journal_fields)
{
	use_journal();
	errno = ENOTTY;
	log_alert();
	assert_int_equal(errno, ENOTTY);
	assert_string_equal(drain(), "MESSAGE=alert 7\nPRIORITY=4\n"
				     "MESSAGE_ID=d8f391f60b4e44f3a14ad981729aa97b\n"
				     "SYSLOG_IDENTIFIER=gover-d\n"
				     "GOVER_SUBJECT=vGPU a on GPU gpu0, virtual machine two?lines\n"
				     "GOVER_NEXT=gover-ctl vgpu show a\n"
				     "GOVER_GPU=gpu0\nGOVER_VGPU=a\n"
				     "GOVER_VM=two?lines\nGOVER_ALERT=fps_missing\n");
	/* journald is slow: the log does not block. */
	for (int i = 0; i < 2000; i++)
		log_alert();
	(void)drain();
	end_journal();
}

/* The catalog refers to the subject and the next command, so that they are never missing. */
TEST(every_message_of_a_kind_has_a_subject_and_a_next_command)
{
	static const struct {
		struct log_fields fields;
		const char *subject;
	} rows[] = {
		{{.kind = LOG_READY}, "the whole host"},
		{{.kind = LOG_ALERT_RAISED, .gpu = "", .vgpu = "", .vm = ""}, "the whole host"},
		{{.kind = LOG_ALERT_RAISED, .gpu = "g"}, "GPU g"},
		{{.kind = LOG_DECISION, .gpu = "g", .vgpu = "a"}, "vGPU a on GPU g"},
		{{.kind = LOG_SILENCE, .vgpu = "a", .next = ""}, "vGPU a"},
		{{.kind = LOG_OFFER, .vgpu = "a", .vm = "win"}, "vGPU a, virtual machine win"},
	};

	use_journal();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char wanted[256];

		snprintf(wanted, sizeof(wanted),
			 "\nGOVER_SUBJECT=%s\nGOVER_NEXT=gover-ctl status\n", rows[i].subject);
		log_event(SD_INFO, &rows[i].fields, "text");
		if (!strstr(drain(), wanted))
			fail_msg("row %zu has no \"%s\"", i, wanted);
	}
	end_journal();
}

TEST(without_a_journal_it_is_a_line)
{
	use_pipe();
	log_alert();
	assert_string_equal(drain(), "gover-d: alert 7\n");
	/* stderr is not the stream of the journal */
	assert_int_equal(setenv("JOURNAL_STREAM", "8:1", 1), 0);
	log_alert();
	assert_string_equal(drain(), "<4>alert 7\n");
}

TEST(every_kind_has_a_unique_id)
{
	for (int a = 0; a < LOG_KINDS; a++) {
		assert_int_equal(strspn(log_kind_id((enum log_kind)a), "0123456789abcdef"), 32);
		for (int b = 0; b < a; b++)
			assert_string_not_equal(log_kind_id((enum log_kind)a),
						log_kind_id((enum log_kind)b));
	}
}
