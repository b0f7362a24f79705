/* SPDX-License-Identifier: MIT */
/*
 * Claims of contracts, the server of the hook, and the reconciler. A claim first reads the state of
 * gover-d, so that it knows the contract that a lost answer has made. Each request has the time
 * that is left of the deadline.
 */
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
#include "base/http/client.h"
#include "base/thread.h"
#include "base/unix-listener.h"
#include "base/xalloc.h"
#include "gover-fleet/claim/claim.h"
#include "gover-fleet/claim/hook.h"
#include "gover-fleet/cloud/placement.h"
#include "gover-fleet/host/follower.h"
#include "gover-fleet/model/fleet-log.h"
#include "gover-fleet/model/hold.h"
#include "gover-fleet/model/mapping.h"

/* maximum number of offers that a claim tries, because others may claim them at the same time */
#define TRIES_MAX 4

struct claimer {
	struct client *client;
	struct service *placement; /* NULL: there is no cloud */
	const char *host;
};

int claimer_new(const char *gover_socket, struct service *placement, const char *host,
		struct claimer **ret_claimer, struct err *reterr)
{
	struct claimer *claimer = xcalloc(1, sizeof(*claimer));
	int r;

	claimer->placement = placement;
	claimer->host = host;
	r = client_new(gover_socket, NULL, &claimer->client, reterr);
	if (r < 0) {
		claimer_free(claimer);
		return r;
	}
	*ret_claimer = claimer;
	return 0;
}

struct claimer *claimer_free(struct claimer *claimer)
{
	if (claimer)
		client_free(claimer->client);
	free(claimer);
	return NULL;
}

/* --- requests --- */

/* Gives the next request the time that is left. */
static int limit_request(struct claimer *claimer, uint64_t until_ns, struct err *reterr)
{
	uint64_t now_ns = clock_now().mono_ns;

	if (now_ns + NS_PER_MS >= until_ns)
		return err_fail(reterr, ETIMEDOUT, "gover-d: no time left for a request");
	client_set_timeout(claimer->client, (long)((until_ns - now_ns) / NS_PER_MS));
	return 0;
}

/* Returns as client_request(). */
static int request(struct claimer *claimer, const struct client_call *call, uint64_t until_ns,
		   struct reply *ret_reply, struct err *reterr)
{
	int r = limit_request(claimer, until_ns, reterr);

	return r < 0 ? r : client_request(claimer->client, call, ret_reply, reterr);
}

/* Sends a request about vGPU @id. Returns 0, 1 if it does not exist, or a negative errno. */
static int request_vgpu(struct claimer *claimer, const char *method, const char *id,
			const json_t *body, uint64_t until_ns, struct reply *ret_reply,
			struct err *reterr)
{
	char path[ID_MAX + 16];
	const struct client_call call = {.method = method, .path = path, .body = body};
	int r;

	snprintf(path, sizeof(path), "/v1/vgpus/%s", id);
	r = request(claimer, &call, until_ns, ret_reply, reterr);
	if (r == CLIENT_REFUSED)
		return ret_reply->status == 404 ? 1 : -EPROTO;
	return r;
}

/*
 * Reads a vGPU as JSON. Returns 0, 1 if it does not exist or was not made by gover-fleet, or a
 * negative errno.
 */
static int read_own(struct claimer *claimer, const char *id, uint64_t until_ns, json_t **ret_json,
		    struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct state_vgpu vgpu;
	int r = request_vgpu(claimer, "GET", id, NULL, until_ns, &reply, reterr);

	if (r == 0)
		r = host_state_parse_vgpu(reply.json, &vgpu, reterr);
	if (r != 0)
		return r;
	if (!vgpu.sold)
		return 1;
	*ret_json = json_incref(reply.json);
	return 0;
}

/* --- making a contract --- */

/*
 * The vGPU that the domain has as a mediated device or virtual function has the name of this
 * device. Another gets the UUID of the domain.
 */
static const char *choose_id(const struct host_state *state, const struct domain_wish *wish)
{
	for (int i = 0; i < wish->n_devices; i++)
		if (host_state_find_vgpu(state, wish->devices[i]))
			return wish->devices[i];
	return wish->uuid;
}

static const char *text_or_null(const char *text)
{
	return text[0] ? text : NULL;
}

/* Returns the body of the claim; NULL: a text of the domain is not UTF-8. */
static json_t *claim_body(const struct domain_wish *wish, const char *id, const char *flavor,
			  bool unverified)
{
	return json_pack("{s:s, s:s, s:s*, s:{s:s, s:s*, s:s*, s:s*, s:s*, s:s*, s:s*}}", "id", id,
			 "vm", wish->name, "flavor", flavor, "labels", HOST_STATE_LABEL,
			 HOST_STATE_BY_FLEET, HOST_STATE_LABEL_DOMAIN, text_or_null(wish->uuid),
			 "instance", text_or_null(wish->instance), "project",
			 text_or_null(wish->project), "flavor", text_or_null(wish->flavor),
			 HOST_STATE_LABEL_MOVED, wish->migrated ? "yes" : NULL,
			 HOST_STATE_LABEL_DOUBT, unverified ? "yes" : NULL);
}

/*
 * Claims one offer. Returns 0, 1 if this offer cannot be claimed (the message has the reason), or a
 * negative errno.
 */
static int claim_offer(struct claimer *claimer, const struct domain_wish *wish, const char *id,
		       const struct state_offer *offer, bool unverified, uint64_t until_ns,
		       struct err *reterr)
{
	/* An older gover-d knows no flavour in a claim; its offers list one. */
	const char *flavor =
		offer->n_smaller > 0 ? mapping_offered_flavor(offer, wish->slot) : NULL;
	json_t *body = claim_body(wish, id, flavor, unverified);
	char path[64], key[HOLD_HOLDER_MAX];
	const struct client_call call = {
		.method = "POST",
		.path = path,
		.body = body,
		.key = offer->held_by[0] ? offer->held_by : key,
	};
	CLEANUP_REPLY struct reply reply = {0};
	int r;

	if (!body)
		return err_fail(reterr, EILSEQ, "domain %s: a name is not UTF-8", wish->uuid);
	snprintf(path, sizeof(path), "/v1/offers/%lld/claim", (long long)offer->id);
	hold_make_holder(wish->uuid, offer->id, key);
	r = request(claimer, &call, until_ns, &reply, reterr);
	json_decref(body);
	if (r != CLIENT_REFUSED)
		return r;
	/* 410: this offer was claimed with this key, and the vGPU was removed since then */
	return reply.status == 409 || reply.status == 404 || reply.status == 410 ? 1 : -EPROTO;
}

/* Offers held for this server come first; offers held for others cannot be claimed. */
static const struct state_offer *choose_offer(const struct host_state *state,
					      const struct domain_wish *wish, const int64_t *tried,
					      size_t n_tried)
{
	const struct state_offer *chosen = NULL;

	for (size_t i = 0; i < state->n_offers; i++) {
		const struct state_offer *offer = &state->offers[i];
		bool is_held = hold_is_for(offer, wish->uuid), was_tried = false;

		for (size_t k = 0; k < n_tried; k++)
			was_tried |= tried[k] == offer->id;
		if (was_tried || !mapping_offer_fits(offer, wish->slot, wish->gpu) ||
		    (offer->held_by[0] && !is_held))
			continue;
		if (is_held)
			return offer;
		if (!chosen)
			chosen = offer;
	}
	return chosen;
}

/* One attempt. Returns 0 with a result, 1 to try again, or a negative errno. */
static int try_claim(struct claimer *claimer, const struct domain_wish *wish, int64_t *tried,
		     size_t *n_tried, uint64_t until_ns, struct claim *claim, struct err *reterr)
{
	struct host_state *state = NULL;
	const struct state_vgpu *contract;
	const struct state_offer *offer;
	int r = limit_request(claimer, until_ns, reterr);

	if (r >= 0)
		r = follower_read(claimer->client, &state, reterr);
	if (r < 0)
		return r;
	contract = host_state_find_sold(state, wish->uuid);
	if (contract) {
		claim->result = CLAIM_EXISTED;
		memcpy(claim->vgpu, contract->id, sizeof(claim->vgpu));
		host_state_unref(state);
		return 0;
	}
	offer = *n_tried < TRIES_MAX ? choose_offer(state, wish, tried, *n_tried) : NULL;
	if (!offer) {
		claim->result = CLAIM_NO_OFFER;
		/* The message of gover-d about a refused claim is more precise. */
		if (*n_tried == 0)
			(void)err_fail(reterr, 0, "no open offer of %s%s%s", wish->slot,
				       wish->gpu[0] ? " on GPU " : "", wish->gpu);
		host_state_unref(state);
		return 0;
	}
	snprintf(claim->vgpu, sizeof(claim->vgpu), "%s", choose_id(state, wish));
	tried[(*n_tried)++] = offer->id;
	r = claim_offer(claimer, wish, claim->vgpu, offer, claim->unverified, until_ns, reterr);
	host_state_unref(state);
	claim->result = CLAIM_MADE;
	return r;
}

/*
 * Completes the wish with data from the cloud: the slot of a server without extra specs, and the
 * GPU. Returns 0, 1 if the domain wants no vGPU, or a negative errno.
 */
static int complete_wish(struct claimer *claimer, struct domain_wish *wish, bool *ret_unverified,
			 struct err *reterr)
{
	char slot[WANTED_CLASS_MAX] = "", gpu[ID_MAX] = "";
	int r;

	*ret_unverified = false;
	if (wish->kind == DOMAIN_WANTS_NOTHING)
		return 1;
	if (!claimer->placement)
		return wish->kind == DOMAIN_WANTS_SLOT ? 0 : 1;
	r = allocation_find(claimer->placement, claimer->host, wish->uuid, slot, gpu, reterr);
	if (r == 0) {
		wish->kind = DOMAIN_WANTS_SLOT;
		memcpy(wish->slot, slot, sizeof(wish->slot));
		memcpy(wish->gpu, gpu, sizeof(wish->gpu));
		return 0;
	}
	/* The metadata is sufficient for a claim, which is then unverified. */
	*ret_unverified = true;
	if (wish->kind == DOMAIN_WANTS_SLOT)
		return 0;
	return r;
}

/*
 * Makes the contract of a domain, if it wants one. Returns 0 and the result, or a negative errno if
 * gover-d (or the cloud, if only it knows the flavour) does not answer before @until_ns of
 * CLOCK_MONOTONIC.
 */
static int make_contract(struct claimer *claimer, const struct domain_wish *wish, uint64_t until_ns,
			 struct claim *ret_claim, struct err *reterr)
{
	struct domain_wish complete = *wish;
	struct claim claim = {.result = CLAIM_NOT_OURS};
	int64_t tried[TRIES_MAX];
	size_t n_tried = 0;
	int r = complete_wish(claimer, &complete, &claim.unverified, reterr);

	if (r < 0)
		return r;
	if (r == 0)
		do
			r = try_claim(claimer, &complete, tried, &n_tried, until_ns, &claim,
				      reterr);
		while (r == 1);
	if (r < 0)
		return r;
	*ret_claim = claim;
	return 0;
}

/* --- an existing contract --- */

/*
 * Ends the contract of vGPU @id. Returns 0 if it was ended, 1 if it no longer exists or was not
 * made by gover-fleet (it is then left alone), or a negative errno.
 */
static int end_vgpu(struct claimer *claimer, const char *id, uint64_t until_ns, struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	json_t *json = NULL;
	int r = read_own(claimer, id, until_ns, &json, reterr);

	json_decref(json);
	return r != 0 ? r : request_vgpu(claimer, "DELETE", id, NULL, until_ns, &reply, reterr);
}

/* Removes the label "unverified" of vGPU @id, other labels stay. Results as of end_vgpu(). */
static int confirm_vgpu(struct claimer *claimer, const char *id, uint64_t until_ns,
			struct err *reterr)
{
	CLEANUP_REPLY struct reply reply = {0};
	json_t *json = NULL, *labels, *body;
	int r = read_own(claimer, id, until_ns, &json, reterr);

	if (r != 0)
		return r;
	labels = json_copy(json_object_get(json, "labels"));
	json_decref(json);
	(void)json_object_del(labels, HOST_STATE_LABEL_DOUBT);
	body = json_pack("{s:o}", "labels", labels);
	r = request_vgpu(claimer, "PATCH", id, body, until_ns, &reply, reterr);
	json_decref(body);
	return r;
}

/*
 * Asks the cloud whether it has an allocation for @uuid. Returns as allocation_find(), and 0
 * without a cloud.
 */
static int verify_domain(struct claimer *claimer, const char *uuid, struct err *reterr)
{
	char slot[WANTED_CLASS_MAX], gpu[ID_MAX];

	return claimer->placement
		       ? allocation_find(claimer->placement, claimer->host, uuid, slot, gpu, reterr)
		       : 0;
}

/*
 * --- the server of the hook: requests wait in the backlog of the socket; the hook's own deadline
 * bounds their wait ---
 */

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
		r = make_contract(server->claimer, &wish, until_ns, &claim, &err);
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

/*
 * --- the reconciler: each round uses one list of domains and one state of gover-d; a contract is
 * ended only if the list is complete and was read after the contract was old enough, so that
 * neither a lost connection nor a domain that libvirt is just creating ends it ---
 */

#define REQUEST_NS (5 * NS_PER_S)  /* limit of one claim or end */
#define ROUND_NS   (30 * NS_PER_S) /* limit of all requests of a round */
#define EVERY_NS   (60 * NS_PER_S)
#define RETRY_NS   (2 * NS_PER_S) /* after a round that left something to do */
#define VERIFY_NS \
	(5 * NS_PER_S) /* until the next query of the cloud about an unverified contract */
/*
 * Domains of Nova to which the cloud has allocated no slot. The cloud is not queried about them
 * again.
 */
#define STRANGERS_MAX DOMAINS_MAX

struct reconciler {
	struct domains *domains;
	struct follower *follower;
	struct claimer *claimer;
	int64_t grace_ms;
	void (*changed)(void *userdata);
	void *userdata;
	struct bell *bell;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* guards @counts */
	struct reconciler_counts counts;
	char (*strangers)[HOST_STATE_UUID_MAX];
	size_t n_strangers;
	uint64_t verified_ns; /* used by the thread: last time at which the cloud was asked */
	bool has_problem;     /* used by the thread: the last round had one, which was logged */
};

struct round {
	struct reconciler *reconciler;
	const struct domain_list *list;
	const struct host_state *state;
	uint64_t until_ns;
	struct reconciler_counts counts;
	bool verify; /* the cloud may be asked about unverified contracts */
	bool again;  /* something is left to do */
	bool has_problem;
};

/* --- strangers --- */

static bool is_stranger(const struct reconciler *k, const char *uuid)
{
	for (size_t i = 0; i < k->n_strangers; i++)
		if (strcmp(k->strangers[i], uuid) == 0)
			return true;
	return false;
}

static void add_stranger(struct reconciler *k, const char *uuid)
{
	if (k->n_strangers < STRANGERS_MAX)
		memcpy(k->strangers[k->n_strangers++], uuid, HOST_STATE_UUID_MAX);
}

/* Forgets domains that no longer run: a later server may have the same UUID. */
static void forget_strangers(struct reconciler *k, const struct domain_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < k->n_strangers; i++) {
		const struct domain *domain = domain_list_find(list, k->strangers[i]);

		if (domain && domain->active)
			memmove(k->strangers[kept++], k->strangers[i], HOST_STATE_UUID_MAX);
	}
	k->n_strangers = kept;
}

/* --- a round --- */

static uint64_t request_limit(const struct round *r)
{
	uint64_t limit_ns = clock_now().mono_ns + REQUEST_NS;

	return limit_ns < r->until_ns ? limit_ns : r->until_ns;
}

/* Of rounds with a problem, one after the other, the first logs it. */
static void complain(struct round *r, const char *what, const char *name, const char *why)
{
	r->again = true;
	if (!r->has_problem && !r->reconciler->has_problem)
		fleet_log_warning("%s %s: %s; trying again", what, name, why);
	r->has_problem = true;
}

static void end_contract(struct round *r, const struct state_vgpu *vgpu)
{
	struct err err = {""};
	int e;

	if (r->list->read_ms < vgpu->created_ms + r->reconciler->grace_ms) {
		r->again = true;
		domains_refresh(r->reconciler->domains);
		return;
	}
	e = end_vgpu(r->reconciler->claimer, vgpu->id, request_limit(r), &err);
	if (e < 0) {
		complain(r, "vGPU", vgpu->id, err.msg);
	} else if (e == 0) {
		r->counts.ended++;
		fleet_log_notice(
			"vGPU %s: its contract was ended, because domain %s no longer exists",
			vgpu->id, vgpu->vm[0] ? vgpu->vm : host_state_domain(vgpu));
	}
}

static void verify_contract(struct round *r, const struct state_vgpu *vgpu)
{
	struct err err = {""};
	int e;

	r->again = true;
	if (!r->verify) {
		r->counts.unverified++;
		return;
	}
	r->reconciler->verified_ns = clock_now().mono_ns;
	e = verify_domain(r->reconciler->claimer, host_state_domain(vgpu), &err);
	if (e == 0)
		e = confirm_vgpu(r->reconciler->claimer, vgpu->id, request_limit(r), &err);
	if (e != 0)
		r->counts.unverified++;
	else
		fleet_log_notice("vGPU %s: the cloud has its allocation, the contract is verified",
				 vgpu->id);
}

static void check_contracts(struct round *r)
{
	for (size_t i = 0; i < r->state->n_vgpus; i++) {
		const struct state_vgpu *vgpu = &r->state->vgpus[i];

		if (!vgpu->sold || bell_stopped(r->reconciler->bell))
			continue;
		if (!domain_list_find(r->list, host_state_domain(vgpu)))
			end_contract(r, vgpu);
		else if (vgpu->unverified)
			verify_contract(r, vgpu);
	}
}

static void claim_for(struct round *r, const struct domain *domain)
{
	struct reconciler *k = r->reconciler;
	struct err err = {""};
	struct claim claim;
	int e = make_contract(k->claimer, &domain->wish, request_limit(r), &claim, &err);

	if (e < 0 || claim.result == CLAIM_NO_OFFER) {
		r->counts.unverified++;
		complain(r, "domain", domain->name, err.msg);
	} else if (claim.result == CLAIM_NOT_OURS) {
		add_stranger(k, domain->uuid);
	} else if (claim.result == CLAIM_MADE) {
		r->counts.claimed++;
		fleet_log_notice("domain %s runs without a contract: vGPU %s was sold",
				 domain->name, claim.vgpu);
	}
}

static void check_domains(struct round *r)
{
	for (size_t i = 0; i < r->list->n; i++) {
		const struct domain *domain = &r->list->domains[i];

		if (domain->active && domain->wish.kind != DOMAIN_WANTS_NOTHING &&
		    !bell_stopped(r->reconciler->bell) &&
		    !host_state_find_sold(r->state, domain->uuid) &&
		    !is_stranger(r->reconciler, domain->uuid))
			claim_for(r, domain);
	}
}

static void store_counts(struct reconciler *k, const struct reconciler_counts *counts)
{
	bool differs;

	pthread_mutex_lock(&k->lock);
	differs = counts->claimed || counts->ended || counts->unverified != k->counts.unverified;
	k->counts.unverified = counts->unverified;
	k->counts.claimed += counts->claimed;
	k->counts.ended += counts->ended;
	pthread_mutex_unlock(&k->lock);
	if (differs)
		k->changed(k->userdata);
}

/* Returns true if something is left to do. */
static bool run_round(struct reconciler *k)
{
	struct round r = {.reconciler = k, .until_ns = clock_now().mono_ns + ROUND_NS};
	struct follower_view host;
	struct domains_view domains;

	follower_view(k->follower, &host);
	domains_view(k->domains, &domains);
	if (host.connected && domains.connected) {
		r.list = domains.list;
		r.state = host.state;
		r.verify = clock_now().mono_ns - k->verified_ns >= VERIFY_NS;
		forget_strangers(k, r.list);
		check_contracts(&r);
		check_domains(&r);
		store_counts(k, &r.counts);
	}
	follower_view_fini(&host);
	domains_view_fini(&domains);
	k->has_problem = r.has_problem;
	return r.again;
}

static void *run_reconciler(void *userdata)
{
	struct reconciler *k = userdata;
	uint64_t pause_ns = EVERY_NS;

	while (bell_wait(k->bell, clock_now().mono_ns + pause_ns))
		pause_ns = run_round(k) ? RETRY_NS : EVERY_NS;
	return NULL;
}

/* --- life --- */

int reconciler_new(struct domains *domains, struct follower *follower, struct claimer *claimer,
		   struct bell *bell, int grace_s, void (*changed)(void *userdata), void *userdata,
		   struct reconciler **ret_reconciler, struct err *reterr)
{
	struct reconciler *k = xcalloc(1, sizeof(*k));
	int r;

	k->domains = domains;
	k->follower = follower;
	k->claimer = claimer;
	k->bell = bell;
	k->grace_ms = grace_s * 1000LL;
	k->changed = changed;
	k->userdata = userdata;
	(void)pthread_mutex_init(&k->lock, NULL);
	k->strangers = xcalloc(STRANGERS_MAX, sizeof(k->strangers[0]));
	r = thread_start(&k->thread, run_reconciler, k, "fleet-reconcile");
	k->started = r >= 0;
	if (r < 0) {
		reconciler_free(k);
		return err_fail(reterr, -r, "thread: %s", strerror(-r));
	}
	*ret_reconciler = k;
	return 0;
}

struct reconciler *reconciler_free(struct reconciler *k)
{
	if (!k)
		return NULL;
	bell_stop(k->bell);
	if (k->started)
		(void)pthread_join(k->thread, NULL);
	claimer_free(k->claimer);
	(void)pthread_mutex_destroy(&k->lock);
	free(k->strangers);
	free(k);
	return NULL;
}

void reconciler_count(struct reconciler *k, struct reconciler_counts *ret_counts)
{
	pthread_mutex_lock(&k->lock);
	*ret_counts = k->counts;
	pthread_mutex_unlock(&k->lock);
}
