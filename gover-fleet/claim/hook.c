/* SPDX-License-Identifier: MIT */
/*
 * The operation "prepare" asks: it is the last moment at which libvirt can refuse a start. Before
 * it, "migrate" announces a domain that arrives by a migration. All sockets are non-blocking:
 * poll() waits, so that each deadline is kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xalloc.h"
#include "gover-fleet/claim/hook.h"
#include "gover-fleet/model/domain-xml.h"

/* --- bytes --- */

int hook_protocol_wait(int fd, short events, int stop_fd, uint64_t until_ns)
{
	struct pollfd fds[] = {{.fd = fd, .events = events}, {.fd = stop_fd, .events = POLLIN}};

	for (;;) {
		uint64_t now_ns = clock_now().mono_ns;
		uint64_t left_ms = until_ns > now_ns ? (until_ns - now_ns) / NS_PER_MS + 1 : 0;
		int n = poll(fds, 2, left_ms < 60000 ? (int)left_ms : 60000);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && fds[1].revents)
			return -ECANCELED;
		if (n > 0 && fds[0].revents)
			return 0;
		if (n == 0 && left_ms < 60000)
			return -ETIMEDOUT;
	}
}

/* Makes room for one more byte and the NUL. */
static int grow(char **text, size_t used, size_t *size)
{
	if (used + 2 <= *size)
		return 0;
	if (used > HOOK_PROTOCOL_LINE_MAX)
		return -E2BIG;
	*size = *size ? *size * 2 : 4096;
	*text = xrealloc(*text, *size);
	return 0;
}

int hook_protocol_read_line(int fd, int stop_fd, uint64_t until_ns, char **ret_line)
{
	CLEANUP_FREE char *text = NULL;
	size_t used = 0, size = 0;

	for (;;) {
		int r = grow(&text, used, &size);
		ssize_t n;
		char *newline;

		if (r == 0)
			r = hook_protocol_wait(fd, POLLIN, stop_fd, until_ns);
		if (r < 0)
			return r;
		n = read(fd, text + used, size - used - 1);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ECONNRESET;
		newline = memchr(text + used, '\n', (size_t)n);
		used += (size_t)n;
		if (!newline)
			continue;
		*newline = '\0';
		*ret_line = text;
		text = NULL;
		return 0;
	}
}

int hook_protocol_write(int fd, int stop_fd, uint64_t until_ns, const char *text, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t n;
		int r = hook_protocol_wait(fd, POLLOUT, stop_fd, until_ns);

		if (r < 0)
			return r;
		n = send(fd, text + done, length - done, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int hook_protocol_connect(const char *path, uint64_t until_ns)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	/* EAGAIN: too many connections wait to be accepted. */
	while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (clock_now().mono_ns >= until_ns)
			return -ETIMEDOUT;
		(void)usleep(20000);
	}
	return steal_fd(&fd);
}

/* --- lines --- */

void hook_protocol_request_fini(struct hook_protocol_request *request)
{
	free(request->operation);
	free(request->domain);
	free(request->xml);
	*request = (struct hook_protocol_request){0};
}

/* Takes @object. Returns its text with a newline; NULL: @object is NULL. */
static char *print_line(json_t *object)
{
	CLEANUP_FREE char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	return text ? xasprintf("%s\n", text) : NULL;
}

char *hook_protocol_print_request(const char *operation, const char *domain, const char *uuid,
				  const char *xml, size_t length)
{
	return print_line(json_pack("{s:s, s:s, s:s, s:s%}", "operation", operation, "domain",
				    domain, "uuid", uuid, "xml", xml, length));
}

char *hook_protocol_print_answer(bool allow, const char *text)
{
	return print_line(json_pack("{s:b, s:s}", "allow", allow, "text", text));
}

static int parse_line(const char *line, json_t **ret_object, struct err *reterr)
{
	json_t *object = json_loadb(line, strlen(line), 0, NULL);

	if (!json_is_object(object)) {
		json_decref(object);
		return err_fail(reterr, EINVAL, "not a JSON object");
	}
	*ret_object = object;
	return 0;
}

int hook_protocol_parse_request(const char *line, struct hook_protocol_request *ret_request,
				struct err *reterr)
{
	const char *operation, *domain, *xml;
	json_t *object = NULL;
	size_t length;
	int r = parse_line(line, &object, reterr);

	if (r < 0)
		return r;
	if (json_unpack(object, "{s:s, s:s, s:s%}", "operation", &operation, "domain", &domain,
			"xml", &xml, &length) < 0) {
		json_decref(object);
		return err_fail(reterr, EINVAL,
				"operation, domain and xml: required, and must be texts");
	}
	*ret_request = (struct hook_protocol_request){
		.operation = xstrdup(operation),
		.domain = xstrdup(domain),
		.xml = xstrdup(xml),
		.xml_length = length,
	};
	json_decref(object);
	return 0;
}

int hook_protocol_parse_answer(const char *line, bool *ret_allow,
			       char ret_text[HOOK_PROTOCOL_TEXT_MAX], struct err *reterr)
{
	json_t *object = NULL;
	const char *text;
	int allow, r = parse_line(line, &object, reterr);

	if (r < 0)
		return r;
	if (json_unpack(object, "{s:b, s:s}", "allow", &allow, "text", &text) < 0) {
		json_decref(object);
		return err_fail(reterr, EINVAL, "allow and text: required");
	}
	*ret_allow = allow;
	snprintf(ret_text, HOOK_PROTOCOL_TEXT_MAX, "%s", text);
	json_decref(object);
	return 0;
}

/* --- the hook --- */

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
