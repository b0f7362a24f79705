/* SPDX-License-Identifier: MIT */
/*
 * The operation "prepare" asks: it is the last moment at which libvirt can refuse a start. Before
 * it, "migrate" announces a domain that arrives by a migration.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gover-fleet/claim/hook-protocol.h"
#include "gover-fleet/claim/hook.h"
#include "gover-fleet/model/domain-xml.h"

enum { START = 0, REFUSE = 1 };

static void start_after_alarm(int signal_number)
{
	(void)signal_number;
	_exit(START);
}

static void refuse_after_alarm(int signal_number)
{
	static const char text[] = "gover-fleet: no answer in time\n";

	(void)signal_number;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(REFUSE);
}

/* The last defence: the deadlines below end the hook earlier, unless a system call hangs. */
static void set_alarm(const struct fleet_config *config)
{
	(void)signal(SIGALRM,
		     fleet_config_fails_open(config) ? start_after_alarm : refuse_after_alarm);
	(void)alarm((unsigned int)config->hook_timeout_s + 1);
}

/* Returns 0, -E2BIG, -ETIMEDOUT or another negative errno. */
static int read_stdin(char *text, size_t size, uint64_t until_ns, size_t *ret_length)
{
	size_t used = 0;

	for (;;) {
		int r = hook_protocol_wait(STDIN_FILENO, POLLIN, -1, until_ns);
		ssize_t n;

		if (r < 0)
			return r;
		n = read(STDIN_FILENO, text + used, size - used);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		used += n > 0 ? (size_t)n : 0;
		if (used == size)
			return -E2BIG;
	}
	*ret_length = used;
	return 0;
}

/* A domain that libvirt asks about. */
struct question {
	const char *domain, *operation, *xml;
	size_t length;
	struct domain_wish wish;
};

static int ask(const struct fleet_config *config, const struct question *question,
	       uint64_t until_ns, bool *ret_allow, char ret_text[HOOK_PROTOCOL_TEXT_MAX],
	       struct err *reterr)
{
	CLEANUP_FREE char *line =
		hook_protocol_print_request(question->operation, question->domain,
					    question->wish.uuid, question->xml, question->length);
	CLEANUP_FREE char *answer = NULL;
	CLEANUP_CLOSE int fd = -1;
	int r;

	if (!line)
		return err_fail(reterr, EINVAL, "request cannot be encoded");
	fd = hook_protocol_connect(config->hook_socket, until_ns);
	r = fd < 0 ? fd : hook_protocol_write(fd, -1, until_ns, line, strlen(line));
	if (r == 0)
		r = hook_protocol_read_line(fd, -1, until_ns, &answer);
	if (r < 0)
		return err_fail(reterr, -r, "no answer from gover-fleet at %s: %s",
				config->hook_socket, strerror(-r));
	return hook_protocol_parse_answer(answer, ret_allow, ret_text, reterr);
}

/* Nothing but the XML is known if gover-fleet does not answer. */
static int fail(const struct fleet_config *config, const char *why)
{
	bool is_open = fleet_config_fails_open(config);

	fprintf(stderr, "gover-fleet: %s%s\n", why,
		is_open ? "; the domain starts (on_failure = open)" : " (on_failure = closed)");
	return is_open ? START : REFUSE;
}

static int decide(const struct fleet_config *config, const struct question *question,
		  uint64_t until_ns)
{
	enum domain_wish_kind kind = question->wish.kind;
	char text[HOOK_PROTOCOL_TEXT_MAX] = "";
	struct err err = {""};
	bool allow = false;
	int r;

	if (kind == DOMAIN_WANTS_NOTHING ||
	    (kind == DOMAIN_OF_NOVA && !fleet_config_has_cloud(config)))
		return START;
	r = ask(config, question, until_ns, &allow, text, &err);
	/* "migrate" only announces: "prepare" follows. */
	if (strcmp(question->operation, "prepare") != 0)
		return START;
	if (r < 0)
		return fail(config, err.msg);
	if (!allow)
		fprintf(stderr, "gover-fleet: %s\n", text);
	return allow ? START : REFUSE;
}

int hook_run(const struct fleet_config *config, const char *domain, const char *operation)
{
	uint64_t until_ns = clock_now().mono_ns + (uint64_t)config->hook_timeout_s * NS_PER_S;
	CLEANUP_FREE char *xml = NULL;
	struct question question = {.domain = domain, .operation = operation};
	struct err err = {""};
	int r;

	if (strcmp(operation, "prepare") != 0 && strcmp(operation, "migrate") != 0)
		return START;
	set_alarm(config);
	xml = malloc(DOMAIN_XML_MAX + 1);
	r = xml ? read_stdin(xml, DOMAIN_XML_MAX + 1, until_ns, &question.length) : -ENOMEM;
	if (r < 0)
		(void)err_fail(&err, 0, "domain XML: cannot be read: %s", strerror(-r));
	if (r == 0)
		r = domain_xml_parse(xml, question.length, &question.wish, &err);
	if (r < 0)
		return fail(config, err.msg);
	question.xml = xml;
	return decide(config, &question, until_ns);
}
