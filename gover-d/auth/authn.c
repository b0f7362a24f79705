/* SPDX-License-Identifier: MIT */
/*
 * Authentication. An address is blocked after too many invalid tokens. A valid token is still
 * accepted from a blocked address, because several clients may share the address. The block only
 * saves work and log lines: a token is too long to be guessed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "gover-d/auth/authn.h"
#include "gover-d/auth/tls.h"
#include "gover-d/auth/tokens.h"
#include "gover-d/auth/users.h"
#include "gover-d/config/config.h"
#include "gover-d/util/log.h"
#include "gover-d/util/worker.h"

/* --- the peer of a connection --- */

#define GROUPS_STATIC 64

/*
 * Reads the supplementary groups of the peer into @some, or, if they do not fit, into *ret_more,
 * which the caller frees. Returns the number of groups or a negative errno.
 */
static int read_groups(int fd, gid_t some[GROUPS_STATIC], gid_t **ret_more)
{
	socklen_t size = GROUPS_STATIC * sizeof(gid_t);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, some, &size) == 0)
		return (int)(size / sizeof(gid_t));
	if (errno != ERANGE)
		return -errno;
	*ret_more = xmalloc(size);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, *ret_more, &size) < 0)
		return -errno;
	return (int)(size / sizeof(gid_t));
}

static int read_process(int fd, const struct access_rules *rules, struct peer *peer)
{
	struct ucred process;
	socklen_t size = sizeof(process);
	gid_t some[GROUPS_STATIC];
	CLEANUP_FREE gid_t *more = NULL;
	int n;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &process, &size) < 0)
		return -errno;
	n = read_groups(fd, some, &more);
	if (n < 0)
		return n;
	peer->local = true;
	peer->uid = process.uid;
	peer->scope =
		access_of_peer(rules, process.uid, process.gid, more ? more : some, (size_t)n);
	if (process.uid == 0)
		strcpy(peer->name, "root");
	else
		snprintf(peer->name, sizeof(peer->name), "uid %lu", (unsigned long)process.uid);
	snprintf(peer->from, sizeof(peer->from), "pid %ld", (long)process.pid);
	return 0;
}

static void read_address(const struct sockaddr *address, struct peer *peer)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
	const uint8_t *bytes = v6->sin6_addr.s6_addr;

	peer->loopback = access_is_loopback(address);
	/* An IPv4 address has the key of its IPv4-mapped IPv6 address. */
	peer->key[10] = peer->key[11] = 0xff;
	if (address->sa_family == AF_INET) {
		memcpy(peer->key + 12, &v4->sin_addr, 4);
		(void)inet_ntop(AF_INET, &v4->sin_addr, peer->from, sizeof(peer->from));
	} else if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		memcpy(peer->key + 12, bytes + 12, 4);
		(void)inet_ntop(AF_INET, bytes + 12, peer->from, sizeof(peer->from));
	} else {
		memset(peer->key, 0, sizeof(peer->key));
		memcpy(peer->key, bytes, 8);
		(void)inet_ntop(AF_INET6, bytes, peer->from, sizeof(peer->from));
	}
}

int peer_read(int fd, const struct access_rules *rules, struct peer *ret_peer)
{
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);
	struct peer peer = {0};
	int r = 0;

	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return -errno;
	if (address.ss_family == AF_UNIX) {
		r = read_process(fd, rules, &peer);
	} else {
		size = sizeof(address);
		if (getpeername(fd, (struct sockaddr *)&address, &size) < 0)
			r = -errno;
		else if (address.ss_family != AF_INET && address.ss_family != AF_INET6)
			r = -EAFNOSUPPORT;
		else
			read_address((const struct sockaddr *)&address, &peer);
	}
	if (r >= 0)
		*ret_peer = peer;
	return r;
}

/* --- principals, tokens and limits --- */

#define TOKENS_CHECK_PERIODS 10

/* Reads the token file again after it could not be read. */
struct tokens_check {
	struct worker_job job; /* must be the first member: the job is cast to this struct */
	struct authn *authn;
	const char *path;
	struct tokens *fresh;
	int result;
	struct err err;
};

struct authn {
	struct access_rules rules;
	struct tokens *tokens;
	struct limits *limits;
	unsigned int requests_per_s;
	struct tls *tls;	 /* TLS certificate; NULL: TLS is not configured */
	struct clients *clients; /* rights of client certificates; NULL: not configured */
	char tokens_path[PATH_MAX];
	/* why the token file cannot be read and must not be overwritten; "": it was read */
	char tokens_problem[ERR_MSG_MAX];
	struct tokens_check check;
	bool checking;	      /* the worker is reading the token file */
	unsigned int periods; /* periods since the last check */
};

struct authn *authn_new(void)
{
	struct authn *authn = xcalloc(1, sizeof(*authn));

	authn->rules = (struct access_rules){
		.own_uid = geteuid(),
		.operate_gid = ACCESS_NO_GROUP,
		.read_gid = ACCESS_NO_GROUP,
	};
	authn->tokens = tokens_new();
	authn->limits = limits_new();
	authn->rules.users = users_new();
	return authn;
}

struct authn *authn_free(struct authn *authn)
{
	if (!authn)
		return NULL;
	tokens_free(authn->tokens);
	tokens_free(authn->check.fresh);
	limits_free(authn->limits);
	users_free(authn->rules.users);
	tls_free(authn->tls);
	clients_free(authn->clients);
	free(authn);
	return NULL;
}

/*
 * Returns the id of a group; @name is the name or the number of the group. Copies its name, or the
 * number if no group has this number, to @ret_name. Called only when the daemon starts, because a
 * lookup may be slow. If the group does not exist, logs a warning, unless @name is @default_name.
 */
static gid_t find_group(const char *name, const char *default_name, char ret_name[ACCESS_GROUP_MAX])
{
	const struct group *group;
	int64_t number;

	snprintf(ret_name, ACCESS_GROUP_MAX, "%s", name);
	if (name[0] == '\0')
		return ACCESS_NO_GROUP;
	if (parse_int(name, 0, (int64_t)ACCESS_NO_GROUP - 1, &number) == 0) {
		group = getgrgid((gid_t)number);
		if (group && strlen(group->gr_name) < ACCESS_GROUP_MAX)
			strcpy(ret_name, group->gr_name);
		return (gid_t)number;
	}
	group = getgrnam(name);
	if (group)
		return group->gr_gid;
	if (strcmp(name, default_name) != 0)
		log_warning("group %s: does not exist on this host (ignored)", name);
	return ACCESS_NO_GROUP;
}

static void note_tokens_problem(struct authn *authn, const char *problem)
{
	if (strcmp(authn->tokens_problem, problem) != 0)
		log_error("%s: all tokens are invalid until the file is repaired or removed",
			  problem);
	snprintf(authn->tokens_problem, sizeof(authn->tokens_problem), "%s", problem);
}

/* Runs in the worker. */
static void read_tokens(struct worker_job *job)
{
	struct tokens_check *check = (struct tokens_check *)job;

	check->fresh = tokens_new();
	check->result = tokens_load(check->fresh, check->path, &check->err);
}

static void on_tokens_read(struct worker_job *job)
{
	struct tokens_check *check = (struct tokens_check *)job;
	struct authn *authn = check->authn;

	authn->checking = false;
	if (check->result == 0) {
		tokens_free(authn->tokens);
		authn->tokens = check->fresh;
		check->fresh = NULL;
		authn->tokens_problem[0] = '\0';
		log_notice("%s: the tokens are valid again", authn->tokens_path);
	} else {
		note_tokens_problem(authn, check->err.msg);
	}
	check->fresh = tokens_free(check->fresh);
}

static void load_tokens(struct authn *authn, const char *state_dir)
{
	struct err err = {""};

	if (snprintf(authn->tokens_path, sizeof(authn->tokens_path), "%s/tokens.json", state_dir) >=
	    (int)sizeof(authn->tokens_path)) {
		authn->tokens_path[0] = '\0';
		note_tokens_problem(authn, "tokens.json: its path is too long");
		return;
	}
	if (tokens_load(authn->tokens, authn->tokens_path, &err) < 0)
		note_tokens_problem(authn, err.msg);
}

int authn_open(struct authn *authn, const struct config *config, struct err *reterr)
{
	int r = 0;

	authn->rules.operate_gid =
		find_group(config->operate_group, "gover", authn->rules.operate_group);
	authn->rules.read_gid =
		find_group(config->read_group, "gover-read", authn->rules.read_group);
	(void)users_load(authn->rules.users, USERS_FILE); /* messages then name only user ids */
	authn->rules.anonymous_read = strcmp(config->anonymous, "read") == 0;
	authn->requests_per_s = (unsigned int)config->requests_per_s;
	load_tokens(authn, config->state_dir);
	if (config->tls_client_ca[0])
		r = clients_new(config, &authn->clients, reterr);
	if (r >= 0 && config->tls_certificate[0])
		r = tls_new(config, &authn->tls, reterr);
	return r;
}

const struct access_rules *authn_rules(const struct authn *authn)
{
	return &authn->rules;
}

struct tokens *authn_tokens(struct authn *authn)
{
	return authn->tokens;
}

const char *authn_tokens_path(const struct authn *authn)
{
	return authn->tokens_problem[0] ? NULL : authn->tokens_path;
}

const char *authn_tokens_problem(const struct authn *authn)
{
	return authn->tokens_problem[0] ? authn->tokens_problem : NULL;
}

static void check_tokens(struct authn *authn, struct worker *worker)
{
	if (!authn->tokens_problem[0] || !authn->tokens_path[0] || authn->checking ||
	    ++authn->periods < TOKENS_CHECK_PERIODS)
		return;
	authn->periods = 0;
	authn->check.job = (struct worker_job){.run = read_tokens, .done = on_tokens_read};
	authn->check.authn = authn;
	authn->check.path = authn->tokens_path;
	authn->checking = worker_submit(worker, &authn->check.job) == 0;
}

void authn_tick(struct authn *authn, struct worker *worker, uint64_t now_ns)
{
	check_tokens(authn, worker);
	users_tick(authn->rules.users, worker);
	if (authn->tls)
		tls_tick(authn->tls, worker, now_ns);
}

const struct tls *authn_tls(const struct authn *authn)
{
	return authn->tls;
}

int authn_check_listener(const struct authn *authn, int fd, struct err *reterr)
{
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);

	if (authn->tls)
		return 0;
	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return err_fail(reterr, errno, "listening socket: %s", strerror(errno));
	if (access_is_loopback((const struct sockaddr *)&address))
		return 0;
	return err_fail(reterr, EPERM, "%s", AUTHN_TLS_REQUIRED);
}

/* Writes the key of a client in the table of limits; it differs from the key of every address. */
static void make_key(const struct client_rights *rights, uint8_t ret_key[PEER_KEY_BYTES])
{
	static const uint8_t key[PEER_KEY_BYTES] = "client";

	memcpy(ret_key, key, sizeof(key));
	ret_key[PEER_KEY_BYTES - 1] = (uint8_t)(rights->number + 1);
}

/*
 * A request with a valid token counts towards the limit of the token, one with a certificate of a
 * known client towards the limit of the client, and any other request towards the limit of its
 * address. So requests of strangers cannot exhaust the limit of a token or client.
 */
static bool within_limit(struct authn *authn, const struct peer *peer, const struct token *token,
			 const struct client_rights *rights, uint64_t now_ns)
{
	uint8_t key[PEER_KEY_BYTES];

	_Static_assert(TOKEN_HASH_BYTES >= PEER_KEY_BYTES,
		       "the first bytes of a token hash are its key in the table of limits");
	if (token)
		memcpy(key, token->hash, sizeof(key));
	else if (rights)
		make_key(rights, key);
	else
		memcpy(key, peer->key, sizeof(key));
	return limits_take_request(authn->limits, key, authn->requests_per_s, now_ns);
}

/* Returns the token after "Bearer "; NULL: the header has another authentication scheme. */
static const char *bearer_of(const char *authorization)
{
	const char *text = authorization + strlen("Bearer");

	if (strncasecmp(authorization, "Bearer ", 7) != 0)
		return NULL;
	return text + strspn(text, " ");
}

/* A principal with a token has the name of the token after this word. */
#define TOKEN_WORD "token "

static void refuse(struct principal *principal, enum access_fault fault, unsigned int retry_after_s)
{
	principal->fault = fault;
	principal->retry_after_s = retry_after_s;
}

static void identify_token(struct authn *authn, const struct peer *peer, const struct token *token,
			   struct instant now, struct principal *principal)
{
	unsigned int wait_s, begins_s;

	if (token && token_is_expired(token, now.wall_ms)) {
		refuse(principal, ACCESS_EXPIRED, 0);
	} else if (token) {
		snprintf(principal->name, sizeof(principal->name), TOKEN_WORD "%s", token->name);
		principal->scope = token->scope;
	} else {
		wait_s = limits_fail_token(authn->limits, peer->key, now.mono_ns, &begins_s);
		refuse(principal, wait_s ? ACCESS_BACK_OFF : ACCESS_BAD_TOKEN, wait_s);
		if (begins_s)
			log_warning(
				"invalid tokens from %s: answering further invalid tokens with 429 "
				"for %u s",
				peer->from, begins_s);
	}
}

static void identify_address(const struct authn *authn, const struct peer *peer, const char *host,
			     struct principal *principal)
{
	if (!peer->loopback || !authn->rules.anonymous_read) {
		refuse(principal, ACCESS_NO_TOKEN, 0);
	} else if (!access_host_is_local(host)) {
		refuse(principal, ACCESS_FOREIGN_HOST, 0);
	} else {
		strcpy(principal->name, "anonymous");
		principal->scope = ACCESS_READ;
	}
}

static void identify_process(const struct authn *authn, const struct peer *peer,
			     struct principal *principal)
{
	memcpy(principal->name, peer->name, sizeof(principal->name));
	principal->scope = peer->scope;
	principal->uid = peer->uid;
	principal->rules = &authn->rules;
	if (principal->scope == ACCESS_NONE)
		refuse(principal, ACCESS_NOT_IN_GROUP, 0);
}

static void identify_client(const struct credentials *credentials,
			    const struct client_rights *rights, struct principal *principal)
{
	const struct client_certificate *certificate = &credentials->client->certificate;

	if (certificate->proof != CLIENT_TRUSTED) {
		refuse(principal, ACCESS_BAD_CERTIFICATE, 0);
		return;
	}
	principal->subject = certificate->subject;
	principal->expires_s = certificate->expires_s;
	principal->tls_generation = credentials->client->generation;
	if (!rights) {
		refuse(principal, ACCESS_UNKNOWN_SUBJECT, 0);
	} else if (!access_origin_is_own(credentials->origin, credentials->host)) {
		refuse(principal, ACCESS_FOREIGN_ORIGIN, 0);
	} else {
		snprintf(principal->name, sizeof(principal->name), "client %s", rights->name);
		principal->scope = rights->scope;
	}
}

/* Returns the rights of the client that sent a request without a token; NULL: none. */
static const struct client_rights *find_rights(const struct authn *authn,
					       const struct credentials *credentials)
{
	const struct tls_client *client = credentials->client;

	if (credentials->authorization || !client || client->certificate.proof != CLIENT_TRUSTED)
		return NULL;
	return clients_find(authn->clients, client->certificate.subject);
}

void authn_identify(struct authn *authn, const struct peer *peer,
		    const struct credentials *credentials, struct instant now,
		    struct principal *principal)
{
	const char *authorization = credentials->authorization;
	const char *text = authorization ? bearer_of(authorization) : NULL;
	const struct client_rights *rights;
	const struct token *token;

	*principal = (struct principal){.scope = ACCESS_NONE};
	memcpy(principal->from, peer->from, sizeof(principal->from));
	if (peer->local) {
		identify_process(authn, peer, principal);
		return;
	}
	token = text ? tokens_find(authn->tokens, text) : NULL;
	rights = find_rights(authn, credentials);
	if (!within_limit(authn, peer, token, rights, now.mono_ns))
		refuse(principal, ACCESS_TOO_MANY, 1);
	else if (authorization)
		identify_token(authn, peer, token, now, principal);
	else if (credentials->client &&
		 credentials->client->certificate.proof != CLIENT_NO_CERTIFICATE)
		identify_client(credentials, rights, principal);
	else
		identify_address(authn, peer, credentials->host, principal);
}

void authn_session_begin(const struct authn *authn, const struct principal *principal,
			 struct authn_session *ret_session)
{
	const size_t length = strlen(TOKEN_WORD);
	const struct token *token = NULL;

	*ret_session = (struct authn_session){.expires_s = principal->expires_s,
					      .tls_generation = principal->tls_generation};
	if (strncmp(principal->name, TOKEN_WORD, length) == 0)
		token = tokens_named(authn->tokens, principal->name + length);
	if (!token)
		return;
	memcpy(ret_session->token, token->name, sizeof(ret_session->token));
	ret_session->created_ms = token->created_ms;
}

bool authn_session_is_valid(const struct authn *authn, const struct authn_session *session,
			    int64_t now_ms)
{
	const struct token *token;

	/* The CAs may have changed: the client identifies itself again when it reconnects. */
	if (session->tls_generation && (now_ms / 1000 >= session->expires_s ||
					session->tls_generation != tls_generation(authn->tls)))
		return false;
	if (!session->token[0])
		return true;
	token = tokens_named(authn->tokens, session->token);
	return token && token->created_ms == session->created_ms &&
	       !token_is_expired(token, now_ms);
}
