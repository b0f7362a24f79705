/* SPDX-License-Identifier: MIT */
/*
 * The life of an offer: policy/offer.c, gover-d/sale/offers.c and selling.c (selling_resume()), gover-d/change/control-sale.c,
 * keys.c and change.c, gover-d/store/load.c.
 *
 * Modelled: one GPU on which the daemon opens offers. Each client claims offers with an idempotency key and a vGPU of its
 * own, repeats a claim whose answer it missed, and removes its vGPU. A worker writes contracts.json; a write may fail.
 * The writer thread of the database stores a row for each change of an offer, and may drop rows. The daemon is killed
 * between any two steps and started again. The database may then be lost.
 *
 * An offer lists two flavours: client 1 claims the large one, client 2 the small one. The large one may be removed from the
 * open offer, because it can no longer be funded. A start forgets this, because a claim computes the funding again.
 *
 * A client may also hold an open offer for its key: the hold is stored with the contracts before it is answered. Until the
 * hold ends, the offer does not expire, and no other client claims it. A hold may end at any time, because time is left out,
 * and the offer may close because it cannot be funded.
 *
 * Rule: a claim is planned, the contract is stored with the id of its offer, the claim is checked again, applied and
 * answered with 2xx. The same write stores the key of the claim, which a repeated claim finds: it succeeds, or is refused
 * because the vGPU was removed. If the offer has ended meanwhile, the file is written without the contract before the answer. A GPU has
 * one such change at a time. A start applies claims that are in the contracts but not in the history, ends sales for
 * which a newer offer exists, closes open offers that are not held, and closes probations whose vGPU was removed. A hold in
 * the contracts restores an offer that is missing in the history.
 *
 * Left out: time, so an offer may expire and a probation may end at any time; ids, which are never used twice, because each
 * save reserves ids; caps, see cap.pml; the limit of 100 ended offers that a start loads; a write that fails after it has
 * replaced the file, see cap.pml; a refused change whose removal from the file fails; the storing of a withdrawal,
 * because a start closes open offers anyway; the end of the life of a key. A change is stored for one step of the loop only.
 *
 * Wrong variants, which tests/model/run expects to be refuted:
 *   CLAIMS_OVERLAP    changes of a GPU are in progress at the same time
 *   NO_RECHECK        a claim is not checked again before it is applied
 *   ANSWER_FIRST      a claim is answered before it is stored
 *   NO_ADOPT_SALE     a start does not apply the claims in the contracts
 *   LOAD_ENDED        a start loads ended offers without a claim, so that a claim in the contracts meets an ended offer
 *   KEY_NOT_STORED    the write of a sale does not contain its key
 *   NO_SETTLE         a start keeps open offers open
 *   NO_SUPERSEDE      a start does not end sales for which a newer offer exists
 *   NO_EXPIRY         an offer does not expire
 *   HOLD_IN_MEMORY    a hold is answered before it is stored
 *   NO_HOLD_CHECK     a claim does not check the hold
 *   NO_LIST_CHECK     a claim does not check that the offer lists its flavour
 *   HELD_EXPIRES      a held offer expires
 */
#define OFFERS	2 /* ids of offers are 1..2 */
#define CLIENTS 2 /* clients, their keys and their vGPUs are 1..2 */
#ifndef CLAIMS
#define CLAIMS 2 /* of each client, including repeated ones */
#endif
#ifndef HOLDS
#define HOLDS 1 /* of each client */
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#define NOBODY 0

mtype:offer_state = {NO_OFFER, OFFER_OPEN, OFFER_PROBATION, OFFER_KEPT, OFFER_FAILED, OFFER_EXPIRED, OFFER_CLOSED};
mtype:request = {NONE, SENT, CHANGE_PLANNED, CHANGE_REFUSED, LOST};
mtype:job = {IDLE, RUNNING, WRITTEN, FAILED};
mtype:action = {CLAIM, REMOVE, HOLD};

typedef row {
	mtype:offer_state state = NO_OFFER;
	byte vgpu
};

/* Survives a crash. */
byte file[CLIENTS + 1];	 /* contracts.json: the offer through which each vGPU was sold; 0: the vGPU has no contract */
byte file_key[CLIENTS + 1]; /* contracts.json: the offer of the last key of each client; 0: none */
byte file_hold[OFFERS + 1]; /* contracts.json: the client that holds each offer; 0: none */
row history[OFFERS + 1]; /* history.db */
byte last_id;

/* Memory of the daemon. */
bool up = true;
byte contract[CLIENTS + 1], key[CLIENTS + 1];
row offer[OFFERS + 1];
byte hold[OFFERS + 1];
bool newcomer_gone[OFFERS + 1];
bool no_large[OFFERS + 1]; /* the large flavour was removed from the offer */
mtype:job job = IDLE;
byte job_text[CLIENTS + 1], job_key[CLIENTS + 1];
byte job_hold[OFFERS + 1];
bool in_job[CLIENTS + 1]; /* the request waits for the job */
chan rows = [OFFERS * 2] of {byte, mtype:offer_state, byte}; /* the queue of the writer thread */

/* The clients. */
mtype:request request[CLIENTS + 1] = NONE;
mtype:action action[CLIENTS + 1] = CLAIM;
byte claims[CLIENTS + 1], holds[CLIENTS + 1], claimed[CLIENTS + 1]; /* the offer of the last claim */
bool removed[CLIENTS + 1];
byte crashes;
/* What the answers promise. */
byte sold[CLIENTS + 1];	 /* the offer that was sold to this client; 0: none, or the removal was sent */
byte winner[OFFERS + 1]; /* the client to which the offer was sold */
byte promised[OFFERS + 1]; /* the client that was answered that it holds this offer; 0: none, or the hold has ended */
bool sold_twice, sale_denied, lived_again, hold_broken, unlisted_sold;

#define is_live(id)                                                             \
	(offer[id].state == OFFER_OPEN || offer[id].state == OFFER_PROBATION || \
	 (offer[id].state == OFFER_FAILED && !newcomer_gone[id]))
#define runs(buyer) (request[buyer] == CHANGE_PLANNED || request[buyer] == CHANGE_REFUSED)
#define change_runs (runs(1) || runs(2))
#define kept(buyer) (sold[buyer] == 0 || (file[buyer] == sold[buyer] && (!up || contract[buyer] == sold[buyer])))

/* The offer of a contract names its vGPU, so that the probation of the vGPU continues. */
#define knows(buyer) (!up || contract[buyer] == 0 || offer[contract[buyer]].vgpu == buyer)

#define once	 (!sold_twice)
#define sale	 (kept(1) && kept(2))
#define repeated (!sale_denied)
#define known	 (knows(1) && knows(2))
#define single	 (!(is_live(1) && is_live(2)))
#define ended	 (!lived_again)
#define held	 (!hold_broken)
#define listed	 (!unlisted_sold)

ltl safe { [] (once && sale && repeated && known && single && ended && held && listed) }
ltl not_sold_twice { [] once }
ltl sale_is_kept { [] sale }
ltl repeated_claim_succeeds { [] repeated }
ltl sale_is_known { [] known }
ltl one_live_offer { [] single }
ltl ended_stays_ended { [] ended }
ltl hold_is_kept { [] held }
ltl only_listed_is_sold { [] listed }

#ifdef CLAIMS_OVERLAP
#define may_plan true
#else
#define may_plan !change_runs
#endif

/* offer_changed(): queues a row of the history. */
inline change_offer(id, to, buyer)
{
	if
	:: to == OFFER_PROBATION && offer[id].state != OFFER_OPEN -> lived_again = true
	:: else
	fi;
	if
	:: to == OFFER_EXPIRED || (to == OFFER_PROBATION && buyer != promised[id]) ->
		hold_broken = hold_broken || promised[id] != NOBODY
	:: else
	fi;
	unlisted_sold = unlisted_sold || (to == OFFER_PROBATION && buyer == 1 && no_large[id]);
	promised[id] = NOBODY;
	hold[id] = NOBODY;
	offer[id].state = to;
	offer[id].vgpu = buyer;
	if
	:: nfull(rows) -> rows!id, to, buyer
	:: skip /* the row is dropped */
	fi
}

inline end_request(buyer)
{
	request[buyer] = NONE;
	action[buyer] = CLAIM;
	claimed[buyer] = 0
}

inline answer_2xx(buyer)
{
	if
	:: action[buyer] == CLAIM && contract[buyer] == claimed[buyer] ->
		sold[buyer] = claimed[buyer];
		sold_twice = sold_twice || (winner[claimed[buyer]] != NOBODY && winner[claimed[buyer]] != buyer);
		winner[claimed[buyer]] = buyer
	:: action[buyer] == HOLD -> promised[claimed[buyer]] = buyer
	:: else
	fi;
	end_request(buyer)
}

/* offers_vgpu_removed(): a probation is closed; a failed offer no longer prevents other offers. */
inline remove_newcomer(id, buyer)
{
	if
	:: offer[id].vgpu == buyer && offer[id].state == OFFER_PROBATION -> change_offer(id, OFFER_CLOSED, buyer)
	:: offer[id].vgpu == buyer && offer[id].state == OFFER_FAILED -> newcomer_gone[id] = true
	:: else
	fi
}

#ifdef NO_HOLD_CHECK
#define may_take(id, buyer) true
#else
#define may_take(id, buyer) (hold[id] == NOBODY || hold[id] == buyer)
#endif

#ifdef NO_LIST_CHECK
#define lists(id, buyer) true
#else
#define lists(id, buyer) (buyer != 1 || !no_large[id])
#endif

/* control_offer_claim(), control_offer_hold(), control_vgpu_remove() */
inline plan(buyer)
{
	if
	:: action[buyer] == REMOVE && contract[buyer] != 0 -> request[buyer] = CHANGE_PLANNED
	:: action[buyer] == REMOVE && contract[buyer] == 0 -> end_request(buyer) /* 404 */
	:: action[buyer] == CLAIM && key[buyer] == claimed[buyer] ->
		if
		:: contract[buyer] == claimed[buyer] -> answer_2xx(buyer)
		:: else -> /* 410 */
			sale_denied = sale_denied || file[buyer] == claimed[buyer];
			end_request(buyer)
		fi
	:: action[buyer] == CLAIM && key[buyer] != claimed[buyer] ->
		if
		:: offer[claimed[buyer]].state == OFFER_OPEN && may_take(claimed[buyer], buyer) &&
		   lists(claimed[buyer], buyer) && contract[buyer] == 0 ->
			request[buyer] = CHANGE_PLANNED;
#ifdef ANSWER_FIRST
			sold[buyer] = claimed[buyer];
#endif
		:: else ->
			sale_denied = sale_denied || file[buyer] == claimed[buyer];
			end_request(buyer)
		fi
	:: action[buyer] == HOLD ->
		if
		:: offer[claimed[buyer]].state == OFFER_OPEN && (hold[claimed[buyer]] == NOBODY || hold[claimed[buyer]] == buyer) ->
#ifdef HOLD_IN_MEMORY
			hold[claimed[buyer]] = buyer;
			answer_2xx(buyer)
#else
			request[buyer] = CHANGE_PLANNED
#endif
		:: else -> end_request(buyer)
		fi
	fi
}

#define changes_hold(id, buyer) (request[buyer] == CHANGE_PLANNED && action[buyer] != REMOVE && claimed[buyer] == id)

/* collect_offers(), amend_hold(), amend_sale() */
inline make_hold(id)
{
#ifdef HOLD_IN_MEMORY
	job_hold[id] = 0;
#else
	if
	:: changes_hold(id, 1) -> job_hold[id] = (action[1] == HOLD -> 1 : NOBODY)
	:: changes_hold(id, 2) -> job_hold[id] = (action[2] == HOLD -> 2 : NOBODY)
	:: else -> job_hold[id] = hold[id]
	fi
#endif
}

inline make_text(buyer)
{
	if
	:: request[buyer] == CHANGE_PLANNED && action[buyer] == CLAIM -> job_text[buyer] = claimed[buyer]
	:: request[buyer] == CHANGE_PLANNED && action[buyer] == REMOVE -> job_text[buyer] = 0
	:: else -> job_text[buyer] = contract[buyer]
	fi;
#ifndef KEY_NOT_STORED
	if
	:: request[buyer] == CHANGE_PLANNED && action[buyer] == CLAIM -> job_key[buyer] = claimed[buyer]
	:: else -> job_key[buyer] = key[buyer]
	fi;
#else
	job_key[buyer] = key[buyer];
#endif
	in_job[buyer] = runs(buyer)
}

inline apply(buyer)
{
	if
	:: action[buyer] == CLAIM ->
		contract[buyer] = claimed[buyer];
		key[buyer] = claimed[buyer];
		change_offer(claimed[buyer], OFFER_PROBATION, buyer)
	:: action[buyer] == HOLD -> hold[claimed[buyer]] = buyer
	:: action[buyer] == REMOVE ->
		contract[buyer] = 0;
		remove_newcomer(1, buyer);
		remove_newcomer(2, buyer)
	fi
}

#ifdef NO_RECHECK
#define may_apply(buyer) true
#else
#define may_apply(buyer) \
	(action[buyer] == REMOVE || (offer[claimed[buyer]].state == OFFER_OPEN && may_take(claimed[buyer], buyer) && \
				     (action[buyer] == HOLD || lists(claimed[buyer], buyer))))
#endif

inline finish(buyer)
{
	if
	:: !in_job[buyer]
	:: in_job[buyer] && request[buyer] == CHANGE_REFUSED -> end_request(buyer) /* 409 */
	:: in_job[buyer] && request[buyer] == CHANGE_PLANNED && job == FAILED -> end_request(buyer) /* 507 */
	:: in_job[buyer] && request[buyer] == CHANGE_PLANNED && job == WRITTEN ->
		if
		:: may_apply(buyer) -> apply(buyer); answer_2xx(buyer)
		:: else -> request[buyer] = CHANGE_REFUSED
		fi
	fi;
	in_job[buyer] = false;
	job_key[buyer] = 0;
	job_text[buyer] = 0
}

active proctype loop()
{
end:	do
	:: atomic { up && request[1] == SENT && may_plan -> plan(1) }
	:: atomic { up && request[2] == SENT && may_plan -> plan(2) }
	:: atomic { up && job == IDLE && change_runs -> make_text(1); make_text(2); make_hold(1); make_hold(2); job = RUNNING }
	:: atomic { up && (job == WRITTEN || job == FAILED) -> finish(1); finish(2); job_hold[1] = 0; job_hold[2] = 0; job = IDLE }
	od
}

active proctype worker()
{
end:	do
	:: atomic { job == RUNNING ->
		if
		:: file[1] = job_text[1]; file[2] = job_text[2];
		   file_key[1] = job_key[1]; file_key[2] = job_key[2];
		   file_hold[1] = job_hold[1]; file_hold[2] = job_hold[2]; job = WRITTEN
		:: request[1] != CHANGE_REFUSED && request[2] != CHANGE_REFUSED -> job = FAILED
		fi }
	od
}

active proctype writer()
{
	byte id, buyer;
	mtype:offer_state state;

end:	do
	:: atomic { rows?id, state, buyer ->
		history[id].state = state;
		history[id].vgpu = buyer;
		id = 0; buyer = 0; state = NO_OFFER }
	od
}

#define may_end(id) (up && offer[id].state == OFFER_OPEN)

/* offers_restate() */
#define may_unlist(id) (may_end(id) && !no_large[id])

active proctype tick()
{
end:	do
	:: atomic { up && last_id < OFFERS && !is_live(1) && !is_live(2) ->
		last_id++;
		change_offer(last_id, OFFER_OPEN, NOBODY) }
	:: atomic { may_unlist(1) -> no_large[1] = true }
	:: atomic { may_unlist(2) -> no_large[2] = true }
	:: atomic { up && offer[1].state == OFFER_PROBATION -> change_offer(1, OFFER_KEPT, offer[1].vgpu) }
	:: atomic { up && offer[2].state == OFFER_PROBATION -> change_offer(2, OFFER_KEPT, offer[2].vgpu) }
	:: atomic { up && offer[1].state == OFFER_PROBATION -> change_offer(1, OFFER_FAILED, offer[1].vgpu) }
	:: atomic { up && offer[2].state == OFFER_PROBATION -> change_offer(2, OFFER_FAILED, offer[2].vgpu) }
	od
}

#ifdef HELD_EXPIRES
#define may_expire(id) may_end(id)
#else
#define may_expire(id) (may_end(id) && hold[id] == NOBODY)
#endif

/* The time of a hold is over. A hold that is stored has the same end. */
inline end_hold(id)
{
	hold[id] = NOBODY;
	file_hold[id] = NOBODY;
	job_hold[id] = NOBODY;
	promised[id] = NOBODY
}

/* A hold lasts longer than the write of a file: it does not end before it is answered. */
#define takes_hold(id, buyer) (runs(buyer) && action[buyer] == HOLD && claimed[buyer] == id)
#define may_end_hold(id) \
	((hold[id] != NOBODY || file_hold[id] != NOBODY) && !takes_hold(id, 1) && !takes_hold(id, 2))

active proctype expiry()
{
end:	do
#ifndef NO_EXPIRY
	:: atomic { may_expire(1) -> change_offer(1, OFFER_EXPIRED, NOBODY) }
	:: atomic { may_expire(2) -> change_offer(2, OFFER_EXPIRED, NOBODY) }
#endif
	:: atomic { may_end_hold(1) -> end_hold(1) }
	:: atomic { may_end_hold(2) -> end_hold(2) }
#ifndef NO_OPERATOR
	:: atomic { may_end(1) && may_plan -> change_offer(1, OFFER_CLOSED, NOBODY) }
	:: atomic { may_end(2) && may_plan -> change_offer(2, OFFER_CLOSED, NOBODY) }
#endif
	:: false
	od
}

/* open_offer_ends: no run is endless (no_endless_run), and when nothing more can happen, no offer is open. */
active proctype last_state()
{
	timeout ->
	assert(up && offer[1].state != OFFER_OPEN && offer[2].state != OFFER_OPEN)
}

inline claim(buyer, id)
{
	claims[buyer]++;
	claimed[buyer] = id;
	action[buyer] = CLAIM;
	request[buyer] = SENT
}

inline take_hold(buyer, id)
{
	holds[buyer]++;
	claimed[buyer] = id;
	action[buyer] = HOLD;
	request[buyer] = SENT
}

proctype client(byte buyer)
{
end:	do
	:: atomic { request[buyer] == NONE && sold[buyer] == 0 && holds[buyer] < HOLDS && last_id >= 1 -> take_hold(buyer, 1) }
	:: atomic { request[buyer] == NONE && sold[buyer] == 0 && holds[buyer] < HOLDS && last_id >= 2 -> take_hold(buyer, 2) }
	:: atomic { request[buyer] == NONE && sold[buyer] == 0 && claims[buyer] < CLAIMS && last_id >= 1 -> claim(buyer, 1) }
	:: atomic { request[buyer] == NONE && sold[buyer] == 0 && claims[buyer] < CLAIMS && last_id >= 2 -> claim(buyer, 2) }
	:: atomic { request[buyer] == LOST && up ->
		if
		:: action[buyer] == CLAIM && claims[buyer] < CLAIMS -> claim(buyer, claimed[buyer])
		:: action[buyer] == CLAIM && claims[buyer] == CLAIMS -> end_request(buyer)
		:: action[buyer] == REMOVE -> request[buyer] = SENT
		:: action[buyer] == HOLD -> end_request(buyer)
		fi }
	:: atomic { request[buyer] == NONE && sold[buyer] != 0 && !removed[buyer] ->
		removed[buyer] = true;
		sold[buyer] = 0;
		action[buyer] = REMOVE;
		request[buyer] = SENT }
	od
}

init
{
	atomic {
		run client(1);
		run client(2)
	}
}

inline forget(i)
{
	if
	:: request[i] == NONE
	:: else -> request[i] = LOST
	fi;
	contract[i] = 0;
	key[i] = 0;
	job_text[i] = 0;
	job_key[i] = 0;
	in_job[i] = false;
	offer[i].state = NO_OFFER;
	offer[i].vgpu = NOBODY;
	hold[i] = NOBODY;
	job_hold[i] = NOBODY;
	no_large[i] = false;
	newcomer_gone[i] = false
}

/* load_holds(): an offer that has ended in the history is not restored. */
inline load_hold(id)
{
	if
	:: file_hold[id] != NOBODY && (offer[id].state == NO_OFFER || offer[id].state == OFFER_OPEN) ->
		offer[id].state = OFFER_OPEN;
		hold[id] = file_hold[id]
	:: else
	fi
}

/* adopt_sale(), restore_offer(): the claim of a contract may be missing in the history. */
inline adopt_sale(buyer, id)
{
	if
	:: id != 0 && offer[id].state == NO_OFFER ->
		if
		:: offer[id].state = OFFER_OPEN
		:: offer[id].state = OFFER_KEPT; offer[id].vgpu = buyer /* the probation is over */
		fi
	:: else
	fi;
	if
	:: id != 0 && offer[id].state == OFFER_OPEN -> change_offer(id, OFFER_PROBATION, buyer)
	:: else
	fi
}

/* A newer offer exists, so the older one has ended. */
inline end_older_sales()
{
	if
	:: offer[2].state != NO_OFFER && offer[1].state == OFFER_PROBATION -> change_offer(1, OFFER_KEPT, offer[1].vgpu)
	:: offer[2].state != NO_OFFER && offer[1].state == OFFER_FAILED -> newcomer_gone[1] = true
	:: offer[2].state != NO_OFFER && offer[1].state == OFFER_OPEN -> change_offer(1, OFFER_CLOSED, NOBODY)
	:: else
	fi
}

/* newcomer_gone(): the vGPU is missing, or was sold again after the offer failed. */
#define is_gone(id)                                                    \
	(offer[id].vgpu != NOBODY && (contract[offer[id].vgpu] == 0 || \
	 (offer[id].state == OFFER_FAILED && contract[offer[id].vgpu] != id)))

inline settle(id)
{
#ifndef NO_SETTLE
	if
	:: offer[id].state == OFFER_OPEN && hold[id] == NOBODY ->
		hold_broken = hold_broken || promised[id] != NOBODY;
		change_offer(id, OFFER_CLOSED, NOBODY)
	:: else
	fi;
#endif
	if
	:: is_gone(id) -> remove_newcomer(id, offer[id].vgpu)
	:: else
	fi
}

/* load_contracts(), db_query_offers(): offers that have ended without a claim are not loaded. */
inline load(i)
{
	contract[i] = file[i];
	key[i] = file_key[i];
	if
#ifndef LOAD_ENDED
	:: (history[i].state == OFFER_EXPIRED || history[i].state == OFFER_CLOSED) && history[i].vgpu == NOBODY
#endif
	:: else ->
		offer[i].state = history[i].state;
		offer[i].vgpu = history[i].vgpu
	fi
}

active proctype crash()
{
	byte id, buyer;
	mtype:offer_state state;

end:	do
	:: atomic { up && crashes < CRASHES ->
		crashes++;
		up = false;
		job = IDLE;
		do
		:: nempty(rows) -> rows?id, state, buyer
		:: empty(rows) -> break
		od;
		id = 0; buyer = 0; state = NO_OFFER;
		forget(1);
		forget(2);
		if
		:: skip
		:: history[1].state = NO_OFFER; history[1].vgpu = NOBODY; /* history.db is lost */
		   history[2].state = NO_OFFER; history[2].vgpu = NOBODY
		fi }
	/* load_all(), adopt_host() */
	:: atomic { !up ->
		load(1);
		load(2);
		load_hold(1);
		load_hold(2);
#ifndef NO_ADOPT_SALE
		adopt_sale(1, contract[1]);
		adopt_sale(2, contract[2]);
#endif
#ifndef NO_SUPERSEDE
		end_older_sales();
#endif
		settle(1);
		settle(2);
		up = true }
	od
}
