/* SPDX-License-Identifier: MIT */
/* Requests wait in the backlog of the socket; the hook's own deadline bounds their wait. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/unix-listener.h"
#include "base/xalloc.h"
#include "gover-fleet/claim/hook-protocol.h"
#include "gover-fleet/claim/hook-server.h"
#include "gover-fleet/model/fleet-log.h"

#define BACKLOG 64
/* part of hook_timeout_s that a claim may take, so that its answer arrives in time */
#define CLAIM_SHARE_PCT 80
/* An announced migration begins within this time. */
#define ARRIVAL_NS   (60 * NS_PER_S)
#define ARRIVALS_MAX 16

struct hook_server {
	const struct fleet_config *config;
	struct claimer *claimer;
	void (*changed)(void *userdata);
	void *userdata;
	int fd, stop_fd;
	struct unix_listener listener;
	pthread_t thread;
	bool started;
	/* used by the thread: announced migrations to this host, a ring */
	struct {
		char uuid[HOST_STATE_UUID_MAX];
		uint64_t announced_ns;
	} arrivals[ARRIVALS_MAX];
	size_t n_arrivals; /* number of announcements so far */
	atomic_uint requests, claimed, refused, failed;
};

static bool may_ask(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

/* The hook closes the connection at its deadline: libvirt has then decided without an answer. */
static bool has_left(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

struct verdict {
	bool allow;
	char text[HOOK_PROTOCOL_TEXT_MAX];
};

static void fail(struct hook_server *server, const char *domain, const char *why,
		 struct verdict *verdict)
{
	verdict->allow = fleet_config_fails_open(server->config);
	snprintf(verdict->text, sizeof(verdict->text), "%.480s", why);
	atomic_fetch_add(&server->failed, 1);
	fleet_log_warning("domain %s: %s; %s", domain, why,
			  verdict->allow ? "it starts, and is claimed later (on_failure = open)"
					 : "it does not start (on_failure = closed)");
}

static void judge_claim(struct hook_server *server, const char *domain, const struct claim *claim,
			const char *why, struct verdict *verdict)
{
	verdict->allow = claim->result != CLAIM_NO_OFFER;
	switch (claim->result) {
	case CLAIM_NOT_OURS:
		break;
	case CLAIM_MADE:
		atomic_fetch_add(&server->claimed, 1);
		fleet_log_notice("domain %s: vGPU %s was sold%s", domain, claim->vgpu,
				 claim->unverified ? ", unverified" : "");
		break;
	case CLAIM_EXISTED:
		fleet_log_info("domain %s: vGPU %s has a contract", domain, claim->vgpu);
		break;
	case CLAIM_NO_OFFER:
		atomic_fetch_add(&server->refused, 1);
		snprintf(verdict->text, sizeof(verdict->text), "%.480s", why);
		fleet_log_warning("domain %s: refused: %s", domain, why);
		break;
	}
}

static void announce(struct hook_server *server, const struct hook_protocol_request *request)
{
	size_t at = server->n_arrivals % ARRIVALS_MAX;
	struct domain_wish wish;
	struct err err;

	if (domain_xml_parse(request->xml, request->xml_length, &wish, &err) < 0)
		return;
	memcpy(server->arrivals[at].uuid, wish.uuid, sizeof(wish.uuid));
	server->arrivals[at].announced_ns = clock_now().mono_ns;
	server->n_arrivals++;
}

static bool was_announced(const struct hook_server *server, const char *uuid)
{
	uint64_t now_ns = clock_now().mono_ns;

	for (size_t i = 0; i < ARRIVALS_MAX; i++)
		if (strcmp(server->arrivals[i].uuid, uuid) == 0 &&
		    now_ns - server->arrivals[i].announced_ns < ARRIVAL_NS)
			return true;
	return false;
}

static void decide(struct hook_server *server, const struct hook_protocol_request *request,
		   uint64_t until_ns, struct verdict *verdict)
{
	struct domain_wish wish;
	struct claim claim;
	struct err err = {""};
	int r = domain_xml_parse(request->xml, request->xml_length, &wish, &err);

	if (r == 0)
		wish.migrated = was_announced(server, wish.uuid);
	if (r == 0)
		r = claim_make(server->claimer, &wish, until_ns, &claim, &err);
	if (r < 0)
		fail(server, request->domain, err.msg, verdict);
	else
		judge_claim(server, request->domain, &claim, err.msg, verdict);
}

static int answer(struct hook_server *server, int fd, struct hook_protocol_request *request)
{
	uint64_t time_ns = (uint64_t)server->config->hook_timeout_s * NS_PER_S;
	uint64_t until_ns = clock_now().mono_ns + time_ns * CLAIM_SHARE_PCT / 100;
	CLEANUP_FREE char *line = NULL, *text = NULL;
	struct verdict verdict = {.allow = true};
	struct err err = {""};
	int r = hook_protocol_read_line(fd, server->stop_fd, until_ns, &line);

	if (r == 0)
		r = hook_protocol_parse_request(line, request, &err);
	if (r < 0)
		return err_fail(&err, -r, "%s", strerror(-r));
	if (has_left(fd))
		return -EPIPE;
	if (strcmp(request->operation, "prepare") == 0)
		decide(server, request, until_ns, &verdict);
	else if (strcmp(request->operation, "migrate") == 0)
		announce(server, request);
	text = hook_protocol_print_answer(verdict.allow, verdict.text);
	atomic_fetch_add(&server->requests, 1);
	return text ? hook_protocol_write(fd, server->stop_fd, until_ns + time_ns, text,
					  strlen(text))
		    : -EILSEQ;
}

static void serve(struct hook_server *server)
{
	struct hook_protocol_request request = {0};
	CLEANUP_CLOSE int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int r;

	if (fd < 0)
		return;
	r = may_ask(fd) ? answer(server, fd, &request) : -EPERM;
	if (r < 0 && r != -ECANCELED)
		fleet_log_warning("request of the hook: %s", strerror(-r));
	hook_protocol_request_fini(&request);
	server->changed(server->userdata);
}

static void *run_server(void *userdata)
{
	struct hook_server *server = userdata;
	int r;

	while ((r = hook_protocol_wait(server->fd, POLLIN, server->stop_fd, UINT64_MAX)) !=
	       -ECANCELED)
		if (r == 0)
			serve(server);
	return NULL;
}

/* --- life --- */

static int open_sockets(struct hook_server *server, struct err *reterr)
{
	server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->stop_fd < 0)
		return err_fail(reterr, errno, "eventfd: %s", strerror(errno));
	server->fd = unix_listener_open(server->config->hook_socket, SOCK_STREAM, 0600, BACKLOG,
					&server->listener, reterr);
	return server->fd < 0 ? server->fd : 0;
}

int hook_server_new(const struct fleet_config *config, struct claimer *claimer,
		    void (*changed)(void *userdata), void *userdata,
		    struct hook_server **ret_server, struct err *reterr)
{
	struct hook_server *server = xcalloc(1, sizeof(*server));
	int r;

	server->config = config;
	server->claimer = claimer;
	server->changed = changed;
	server->userdata = userdata;
	server->fd = server->stop_fd = -1;
	r = open_sockets(server, reterr);
	if (r == 0) {
		r = thread_start(&server->thread, run_server, server, "fleet-claim");
		server->started = r >= 0;
		if (r < 0)
			(void)err_fail(reterr, -r, "thread: %s", strerror(-r));
	}
	if (r < 0) {
		hook_server_free(server);
		return r;
	}
	*ret_server = server;
	return 0;
}

struct hook_server *hook_server_free(struct hook_server *server)
{
	const uint64_t one = 1;

	if (!server)
		return NULL;
	if (server->started) {
		(void)!write(server->stop_fd, &one, sizeof(one));
		(void)pthread_join(server->thread, NULL);
	}
	unix_listener_remove(&server->listener);
	if (server->fd >= 0)
		(void)close(server->fd);
	if (server->stop_fd >= 0)
		(void)close(server->stop_fd);
	claimer_free(server->claimer);
	free(server);
	return NULL;
}

void hook_server_count(struct hook_server *server, struct hook_server_counts *ret_counts)
{
	*ret_counts = (struct hook_server_counts){
		.requests = atomic_load(&server->requests),
		.claimed = atomic_load(&server->claimed),
		.refused = atomic_load(&server->refused),
		.failed = atomic_load(&server->failed),
	};
}
