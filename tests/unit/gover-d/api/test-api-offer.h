/* SPDX-License-Identifier: MIT */
/* Part of test-api.h: fake changes of offers, of tokens, and fake reports of gover-fleet. */
#ifndef TESTS_UNIT_API_TEST_API_OFFER_H
#define TESTS_UNIT_API_TEST_API_OFFER_H

static void apply_claim(struct manager *m, struct stand_in_change *change)
{
	struct offer *offer = offers_find(m->offers, change->number);
	struct contract *contract = &change->contract;

	m->fields = change->fields;
	m->values = *contract;
	contract->terms.initial_cap_pct = offer->flavors[0].terms.initial_cap_pct;
	(void)stand_in_vgpu(contract);
	offers_claim(m->offers, offer, contract->flavor, contract->id, 30, clock_now());
	contract->labels = NULL;
}

int control_offer_claim(struct changes *changes, const struct control_claim *claim,
			struct contract *contract, struct change_done done, struct err *reterr)
{
	struct stand_in_change change = {
		.apply = apply_claim, .number = claim->offer, .fields = claim->fields};
	struct offer *offer = offers_find(manager->offers, claim->offer);
	int r = 0;

	(void)changes;
	note_key(&claim->key);
	if (manager->fail)
		r = fail_as_wanted(reterr);
	else if (!offer)
		r = err_condition(reterr, CONTROL_E_NOT_FOUND, "no offer %d", (int)claim->offer);
	else if (offer->vgpu[0])
		r = err_condition(reterr, CONTROL_E_EXISTS, "the offer was claimed");
	if (r != 0) {
		contract_fini(contract);
		return r;
	}
	change.contract = *contract;
	contract->labels = NULL;
	return begin_change(manager, &change, done, reterr);
}

static void apply_hold(struct manager *m, struct stand_in_change *change)
{
	offers_hold(m->offers, offers_find(m->offers, change->number), &change->hold, clock_now());
}

int control_offer_hold(struct changes *changes, int64_t id, const char *holder, int ttl_s,
		       struct change_done done, struct err *reterr)
{
	struct stand_in_change change = {.apply = apply_hold, .number = id};

	(void)changes;
	if (manager->fail)
		return fail_as_wanted(reterr);
	if (!offers_find(manager->offers, id))
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no offer %d", (int)id);
	snprintf(change.hold.holder, sizeof(change.hold.holder), "%s", holder);
	change.hold.until_ms = clock_now().wall_ms + ttl_s * 1000LL;
	change.hold.until_ns = clock_now().mono_ns + (uint64_t)ttl_s * NS_PER_S;
	return begin_change(manager, &change, done, reterr);
}

static void apply_withdrawal(struct manager *m, struct stand_in_change *change)
{
	offers_end(m->offers, offers_find(m->offers, change->number), OFFER_CLOSED, clock_now(),
		   "withdrawn");
}

int control_offer_close(struct changes *changes, int64_t id, struct change_done done,
			struct err *reterr)
{
	struct stand_in_change change = {.apply = apply_withdrawal, .number = id};

	(void)changes;
	if (manager->fail)
		return fail_as_wanted(reterr);
	if (!offers_find(manager->offers, id))
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no offer %d", (int)id);
	return begin_change(manager, &change, done, reterr);
}

/* --- tokens --- */

int control_store_audit(struct changes *changes, struct change_done done, struct err *reterr)
{
	(void)changes, (void)reterr;
	done.call(done.userdata, 0, NULL);
	return 0;
}

/* --- gover-fleet --- */

void control_fleet_report(struct changes *changes, const struct fleet_report *report,
			  struct instant now)
{
	(void)changes;
	manager->fleet.report = *report;
	manager->fleet.reported = now;
}

int control_fleet_migration(struct changes *changes, const char *vgpu,
			    const struct fleet_migration *migration, struct instant now,
			    struct change_done done, struct err *reterr)
{
	(void)changes, (void)now;
	if (!host_find_vgpu(&manager->host, vgpu, NULL))
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no vGPU %s on this host", vgpu);
	manager->migration = *migration;
	done.call(done.userdata, 0, NULL);
	return 0;
}

#endif
