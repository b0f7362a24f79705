/* SPDX-License-Identifier: MIT */
/*
 * The verbs `offers` and `claim`. Every claim has an idempotency key, so that a repeated request
 * claims only once.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/terminal/field.h"
#include "gover-ctl/verb/contract-args.h"
#include "gover-ctl/verb/describe.h"
#include "gover-ctl/verb/tables.h"
#include "gover-ctl/verb/verbs.h"

#define KEY_MAX 128 /* size of a key with its NUL; the daemon has the same limit */

enum ctl_exit verb_offers(struct ctl *ctl, const struct args *args)
{
	return listing_run(ctl, args, &table_offers, "/v1/offers%s",
			   args_has(args, OPTION_ALL) ? "?all=true" : "");
}

/* Uses the key of --key, or makes a random key. */
static enum ctl_exit choose_key(const struct args *args, char key[KEY_MAX])
{
	const char *given = args->values[OPTION_KEY];
	unsigned char bytes[16];

	if (!given) {
		if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
			return ctl_fail(CTL_FAILED,
					"claim: no random key available; set a key with --key");
		for (size_t i = 0; i < sizeof(bytes); i++)
			snprintf(key + 2 * i, 3, "%02x", bytes[i]);
		return CTL_DONE;
	}
	for (const char *c = given; *c; c++)
		if (!isgraph((unsigned char)*c))
			return ctl_fail(CTL_USAGE, "--key: not allowed (allowed: printable "
						   "characters without spaces)");
	if (strlen(given) >= KEY_MAX)
		return ctl_fail(CTL_USAGE, "--key: too long (limit %d characters)", KEY_MAX - 1);
	strcpy(key, given);
	return CTL_DONE;
}

static enum ctl_exit send_claim(struct ctl *ctl, const char *path, const json_t *body,
				const char *key, struct reply *ret_reply)
{
	struct client_call call = {.method = "POST", .path = path, .body = body, .key = key};
	struct err err;
	int r = ctl_try_request(ctl, &call, ret_reply, &err);

	if (r == 0)
		return CTL_DONE;
	if (r != -ECONNRESET)
		return ctl_fail_request(ctl, r, ret_reply, &err);
	return ctl_fail(CTL_UNREACHABLE,
			"%s; the claim may have succeeded: repeat the command with --key %s, which "
			"claims only once",
			err.msg, key);
}

enum ctl_exit verb_offer_claim(struct ctl *ctl, const struct args *args)
{
	CLEANUP_REPLY struct reply reply = {0};
	enum ctl_exit r = ctl_check_id("vGPU", args->values[OPTION_NEWCOMER]);
	char path[CLIENT_PATH_MAX], key[KEY_MAX], text[DESCRIBE_MAX];
	json_t *body;
	long long id;

	if (r == CTL_DONE)
		r = ctl_parse_number("offer", args->words[0], &id);
	if (r == CTL_DONE)
		r = choose_key(args, key);
	if (r != CTL_DONE)
		return r;
	snprintf(path, sizeof(path), "/v1/offers/%lld/claim", id);
	body = contract_args_make_vgpu(args, args->values[OPTION_NEWCOMER]);
	r = send_claim(ctl, path, body, key, &reply);
	json_decref(body);
	if (r != CTL_DONE)
		return r;
	describe_vgpu(json_object_get(reply.json, "vgpu"), text);
	writer_result(&ctl->writer, &reply, "claimed: offer %lld: %s", id, text);
	return CTL_DONE;
}
