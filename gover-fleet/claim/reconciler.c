/* SPDX-License-Identifier: MIT */
/*
 * Each round uses one list of domains and one state of gover-d. A contract is ended only if the
 * list is complete and was read after the contract was old enough, so that neither a lost
 * connection nor a domain that libvirt is just creating ends it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "gover-fleet/claim/reconciler.h"
#include "gover-fleet/model/fleet-log.h"

#define REQUEST_NS (5 * NS_PER_S)  /* limit of one claim or end */
#define ROUND_NS   (30 * NS_PER_S) /* limit of all requests of a round */
#define EVERY_NS   (60 * NS_PER_S)
#define RETRY_NS   (2 * NS_PER_S) /* after a round that left something to do */
#define VERIFY_NS  (5 * NS_PER_S) /* the cloud is asked again about an unverified contract */
/* Domains of Nova that the cloud knows without a slot: they are not asked about again. */
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
	e = claim_end(r->reconciler->claimer, vgpu->id, request_limit(r), &err);
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
	e = claim_verify(r->reconciler->claimer, host_state_domain(vgpu), &err);

	if (e == 0)
		e = claim_confirm(r->reconciler->claimer, vgpu->id, request_limit(r), &err);
	if (e != 0)
		r->counts.unverified++;
	if (e == 0)
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
	int e = claim_make(k->claimer, &domain->wish, request_limit(r), &claim, &err);

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
