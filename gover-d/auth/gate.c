/* SPDX-License-Identifier: MIT */
/*
 * Who asks. A good token is good also where its address is kept waiting for wrong ones: behind one
 * address many may stand, and what waiting spares is work, not guesses. Must never log a token.
 */
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
#include "gover-d/config/config.h"
#include "gover-d/auth/tls.h"
#include "gover-d/auth/gate.h"
#include "gover-d/auth/limits.h"
#include "gover-d/util/log.h"
#include "gover-d/auth/tokens.h"

struct gate {
	struct access_rules rules;
	struct tokens *tokens;
	struct limits *limits;
	unsigned int requests_per_s;
	struct gate_tls *tls; /* NULL: none */
	char tokens_path[PATH_MAX];
	bool tokens_spoilt; /* the file could not be read: it is not to be written over */
};

struct gate *gate_new(void)
{
	struct gate *gate = calloc(1, sizeof(*gate));

	if (!gate)
		return NULL;
	gate->rules = (struct access_rules){
		.own_uid = geteuid(),
		.operate_gid = ACCESS_NO_GROUP,
		.read_gid = ACCESS_NO_GROUP,
	};
	gate->tokens = tokens_new();
	gate->limits = limits_new();
	return gate->tokens && gate->limits ? gate : gate_free(gate);
}

struct gate *gate_free(struct gate *gate)
{
	if (!gate)
		return NULL;
	tokens_free(gate->tokens);
	limits_free(gate->limits);
	gate_tls_free(gate->tls);
	free(gate);
	return NULL;
}

/* A name, or a number. At the start alone: names may be slow to have. Many hosts do without the
 * @usual one. */
static gid_t find_group(const char *name, const char *usual)
{
	const struct group *group;
	int64_t number;

	if (name[0] == '\0')
		return ACCESS_NO_GROUP;
	if (parse_int(name, 0, (int64_t)ACCESS_NO_GROUP - 1, &number) == 0)
		return (gid_t)number;
	group = getgrnam(name);
	if (group)
		return group->gr_gid;
	if (strcmp(name, usual) != 0)
		log_warning("there is no group %s on this host: nobody is let in by it", name);
	return ACCESS_NO_GROUP;
}

static void load_tokens(struct gate *gate, const char *state_dir)
{
	struct err err = {""};

	if (snprintf(gate->tokens_path, sizeof(gate->tokens_path), "%s/tokens.json", state_dir) >=
	    (int)sizeof(gate->tokens_path)) {
		gate->tokens_spoilt = true;
		log_error("%s/tokens.json: the path is too long: no token is good", state_dir);
	} else if (tokens_load(gate->tokens, gate->tokens_path, &err) < 0) {
		gate->tokens_spoilt = true;
		log_error("%s; no token is good until it is mended or removed", err.msg);
	}
}

int gate_open(struct gate *gate, const struct config *config, struct err *reterr)
{
	gate->rules.operate_gid = find_group(config->operate_group, "gover");
	gate->rules.read_gid = find_group(config->read_group, "gover-read");
	gate->rules.anonymous_read = strcmp(config->anonymous, "read") == 0;
	gate->requests_per_s = (unsigned int)config->requests_per_s;
	load_tokens(gate, config->state_dir);
	if (!config->tls_certificate[0])
		return 0;
	return gate_tls_new(config->tls_certificate, config->tls_key, &gate->tls, reterr);
}

const struct access_rules *gate_rules(const struct gate *gate)
{
	return &gate->rules;
}

struct tokens *gate_tokens(struct gate *gate)
{
	return gate->tokens;
}

const char *gate_tokens_path(const struct gate *gate)
{
	return gate->tokens_spoilt ? NULL : gate->tokens_path;
}

void gate_tick(struct gate *gate, struct worker *worker, uint64_t now_ns)
{
	if (gate->tls)
		gate_tls_tick(gate->tls, worker, now_ns);
}

const struct gate_tls *gate_tls(const struct gate *gate)
{
	return gate->tls;
}

int gate_check_listener(const struct gate *gate, int fd, struct err *reterr)
{
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);

	if (gate->tls)
		return 0;
	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return err_fail(reterr, errno, "the listening socket: %s", strerror(errno));
	if (access_is_loopback((const struct sockaddr *)&address))
		return 0;
	return err_fail(reterr, EPERM, "%s", GATE_TLS_NEEDED);
}

/* Counted for whom: a token, or for those without a good one the address. So who floods from where
 * others are uses up nobody's requests but his own. */
static bool within_limit(struct gate *gate, const struct peer *peer, const struct token *token,
			 uint64_t now_ns)
{
	_Static_assert(TOKEN_HASH_BYTES >= PEER_KEY_BYTES, "a key is the beginning of a hash");

	return limits_take_request(gate->limits, token ? token->hash : peer->key,
				   gate->requests_per_s, now_ns);
}

/* What follows "Bearer " of the header; NULL: something else does. */
static const char *bearer_of(const char *authorization)
{
	const char *text = authorization + strlen("Bearer");

	if (strncasecmp(authorization, "Bearer ", 7) != 0)
		return NULL;
	return text + strspn(text, " ");
}

static void refuse(struct access_who *who, enum access_fault fault, unsigned int retry_after_s)
{
	who->fault = fault;
	who->retry_after_s = retry_after_s;
}

static void identify_token(struct gate *gate, const struct peer *peer, const struct token *token,
			   struct instant now, struct access_who *who)
{
	unsigned int wait_s, begins_s;

	if (token && token->expires_ms && now.wall_ms >= token->expires_ms) {
		refuse(who, ACCESS_EXPIRED, 0);
	} else if (token) {
		snprintf(who->name, sizeof(who->name), "token %s", token->name);
		who->scope = token->scope;
	} else {
		wait_s = limits_fail_token(gate->limits, peer->key, now.mono_ns, &begins_s);
		refuse(who, wait_s ? ACCESS_BACK_OFF : ACCESS_BAD_TOKEN, wait_s);
		if (begins_s)
			log_warning(
				"wrong tokens come from %s: for %u s more of them are only told "
				"to wait",
				peer->from, begins_s);
	}
}

static void identify_address(const struct gate *gate, const struct peer *peer, const char *host,
			     struct access_who *who)
{
	if (!peer->loopback || !gate->rules.anonymous_read) {
		refuse(who, ACCESS_NO_TOKEN, 0);
	} else if (!access_host_is_local(host)) {
		refuse(who, ACCESS_NOT_LOCALITY, 0);
	} else {
		strcpy(who->name, "anonymous");
		who->scope = ACCESS_READ;
	}
}

static void identify_process(const struct peer *peer, struct access_who *who)
{
	memcpy(who->name, peer->name, sizeof(who->name));
	who->scope = peer->scope;
	if (who->scope == ACCESS_NONE)
		refuse(who, ACCESS_STRANGER, 0);
}

void gate_identify(struct gate *gate, const struct peer *peer, const char *authorization,
		   const char *host, struct instant now, struct access_who *who)
{
	const char *text = authorization ? bearer_of(authorization) : NULL;
	const struct token *token;

	*who = (struct access_who){.scope = ACCESS_NONE};
	memcpy(who->from, peer->from, sizeof(who->from));
	if (peer->local) {
		identify_process(peer, who);
		return;
	}
	token = text ? tokens_find(gate->tokens, text) : NULL;
	if (!within_limit(gate, peer, token, now.mono_ns))
		refuse(who, ACCESS_TOO_MANY, 1);
	else if (authorization)
		identify_token(gate, peer, token, now, who);
	else
		identify_address(gate, peer, host, who);
}
