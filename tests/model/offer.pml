/* SPDX-License-Identifier: MIT */
/*
 * The life of an offer: policy/offer.c, gover-d/core/offers.c, control.c, save.c, load.c and adopt.c.
 *
 * Modelled: one GPU on which the daemon opens offers. Each client claims offers with an idempotency key and a vGPU of its
 * own, repeats a claim whose answer it missed, and removes its vGPU. A worker writes contracts.json; a write may fail.
 * The writer thread of the database stores a row for each change of an offer, and may drop rows. The daemon is killed
 * between any two steps and started again. The database may then be lost.
 *
 * Rule: a claim is checked, the contract is stored with the id of its offer, the claim is applied and answered with 2xx.
 * From the check of a claim to its answer, its offer does not end, and no other change is checked. A start applies claims
 * that are in the contracts but not in the history, ends sales for which a newer offer exists, closes open offers, and
 * closes probations whose vGPU was removed.
 *
 * Left out: time, so an offer may expire and a probation may end at any time; ids, which are never used twice, because each
 * save reserves ids; caps, see cap.pml; the limit of 100 ended offers that a start loads; a write that fails after it has
 * replaced the file, see cap.pml.
 *
 * Wrong variants, which tests/model/run expects to be refuted:
 *   CLAIMS_OVERLAP   a claim is checked while another claim is being stored
 *   OFFER_ENDS       an offer ends while its claim is being stored
 *   ANSWER_FIRST     a claim is answered before it is stored
 *   NO_ADOPT_SALE    a start does not apply the claims in the contracts
 *   NO_SETTLE        a start keeps open offers open
 *   NO_SUPERSEDE     a start does not end sales for which a newer offer exists
 *   NO_EXPIRY        an offer does not expire
 */
#define OFFERS	2 /* ids of offers are 1..2 */
#define CLIENTS 2 /* clients, their keys and their vGPUs are 1..2 */
#ifndef CLAIMS
#define CLAIMS 2 /* of each client, including repeated ones */
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#define NOBODY 0

mtype:offer_state = {NO_OFFER, OFFER_OPEN, OFFER_PROBATION, OFFER_KEPT, OFFER_FAILED, OFFER_EXPIRED, OFFER_CLOSED};
mtype:request = {NONE, SENT, CHECKED, STORING, LOST};
mtype:job = {IDLE, RUNNING, WRITTEN, FAILED};
mtype:action = {CLAIM, REMOVE};

typedef row {
	mtype:offer_state state = NO_OFFER;
	byte vgpu
};

/* Survives a crash. */
byte file[CLIENTS + 1];	 /* contracts.json: the offer through which each vGPU was sold; 0: the vGPU has no contract */
row history[OFFERS + 1]; /* history.db */
byte last_id;

/* Memory of the daemon. */
bool up = true;
byte contract[CLIENTS + 1];
row offer[OFFERS + 1];
bool newcomer_gone[OFFERS + 1];
mtype:job job = IDLE;
byte job_text[CLIENTS + 1];
chan rows = [OFFERS * 2] of {byte, mtype:offer_state, byte}; /* the queue of the writer thread */

/* The clients. */
mtype:request request[CLIENTS + 1] = NONE;
mtype:action action[CLIENTS + 1] = CLAIM;
byte claims[CLIENTS + 1], claimed[CLIENTS + 1]; /* the offer of the last claim */
bool removed[CLIENTS + 1];
byte crashes;
/* What the answers promise. */
byte sold[CLIENTS + 1];	 /* the offer that was sold to this client; 0: none, or the removal was sent */
byte winner[OFFERS + 1]; /* the client to which the offer was sold */
bool sold_twice, sale_denied, lived_again;

#define is_live(id)                                                             \
	(offer[id].state == OFFER_OPEN || offer[id].state == OFFER_PROBATION || \
	 (offer[id].state == OFFER_FAILED && !newcomer_gone[id]))
#define runs(buyer) (request[buyer] == CHECKED || request[buyer] == STORING)
#define change_runs (runs(1) || runs(2))
#define kept(buyer) (sold[buyer] == 0 || (file[buyer] == sold[buyer] && (!up || contract[buyer] == sold[buyer])))

#define once	 (!sold_twice)
#define sale	 (kept(1) && kept(2))
#define repeated (!sale_denied)
#define single	 (!(is_live(1) && is_live(2)))
#define ended	 (!lived_again)

ltl safe { [] (once && sale && repeated && single && ended) }
ltl not_sold_twice { [] once }
ltl sale_is_kept { [] sale }
ltl repeated_claim_succeeds { [] repeated }
ltl one_live_offer { [] single }
ltl ended_stays_ended { [] ended }

#ifdef CLAIMS_OVERLAP
#define may_check true
#else
#define may_check (!change_runs && job == IDLE)
#endif
#ifdef OFFER_ENDS
#define is_reserved(id) false
#else
#define is_reserved(id) \
	((runs(1) && action[1] == CLAIM && claimed[1] == id) || (runs(2) && action[2] == CLAIM && claimed[2] == id))
#endif

/* offer_changed(): queues a row of the history. */
inline change_offer(id, to, buyer)
{
	if
	:: to == OFFER_PROBATION && offer[id].state != OFFER_OPEN -> lived_again = true
	:: else
	fi;
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

/* check_claim(), control_vgpu_remove() */
inline check(buyer)
{
	if
	:: action[buyer] == REMOVE && contract[buyer] != 0 -> request[buyer] = CHECKED
	:: action[buyer] == REMOVE && contract[buyer] == 0 -> end_request(buyer) /* 404 */
	/* the same key: the answer waits for a save, too */
	:: action[buyer] == CLAIM && offer[claimed[buyer]].vgpu == buyer -> request[buyer] = CHECKED
	:: action[buyer] == CLAIM && offer[claimed[buyer]].vgpu != buyer ->
		if
		:: offer[claimed[buyer]].state == OFFER_OPEN && contract[buyer] == 0 ->
			request[buyer] = CHECKED;
#ifdef ANSWER_FIRST
			sold[buyer] = claimed[buyer];
#endif
		:: else ->
			sale_denied = sale_denied || file[buyer] == claimed[buyer];
			end_request(buyer)
		fi
	fi
}

inline start_job(buyer)
{
	request[buyer] = STORING;
	job_text[1] = contract[1];
	job_text[2] = contract[2];
	if
	:: action[buyer] == REMOVE -> job_text[buyer] = 0
	:: action[buyer] == CLAIM && offer[claimed[buyer]].vgpu == NOBODY -> job_text[buyer] = claimed[buyer]
	:: else /* a repeated claim */
	fi;
	job = RUNNING
}

inline apply(buyer)
{
	if
	:: action[buyer] == CLAIM && offer[claimed[buyer]].vgpu == buyer
	:: action[buyer] == CLAIM && offer[claimed[buyer]].vgpu != buyer ->
		contract[buyer] = claimed[buyer];
		change_offer(claimed[buyer], OFFER_PROBATION, buyer)
	:: action[buyer] == REMOVE ->
		contract[buyer] = 0;
		remove_newcomer(1, buyer);
		remove_newcomer(2, buyer)
	fi
}

inline finish_job(buyer)
{
	if
	:: job == WRITTEN -> apply(buyer); answer_2xx(buyer)
	:: job == FAILED -> end_request(buyer) /* 507 */
	fi;
	job_text[1] = 0;
	job_text[2] = 0;
	job = IDLE
}

active proctype loop()
{
end:	do
	:: atomic { up && request[1] == SENT && may_check -> check(1) }
	:: atomic { up && request[2] == SENT && may_check -> check(2) }
	:: atomic { up && request[1] == CHECKED && job == IDLE -> start_job(1) }
	:: atomic { up && request[2] == CHECKED && job == IDLE -> start_job(2) }
	:: atomic { request[1] == STORING && (job == WRITTEN || job == FAILED) -> finish_job(1) }
	:: atomic { request[2] == STORING && (job == WRITTEN || job == FAILED) -> finish_job(2) }
	od
}

active proctype worker()
{
end:	do
	:: atomic { job == RUNNING ->
		if
		:: file[1] = job_text[1]; file[2] = job_text[2]; job = WRITTEN
		:: job = FAILED
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

#define may_end(id) (up && offer[id].state == OFFER_OPEN && !is_reserved(id))

active proctype tick()
{
end:	do
	:: atomic { up && last_id < OFFERS && !is_live(1) && !is_live(2) ->
		last_id++;
		change_offer(last_id, OFFER_OPEN, NOBODY) }
	:: atomic { up && offer[1].state == OFFER_PROBATION -> change_offer(1, OFFER_KEPT, offer[1].vgpu) }
	:: atomic { up && offer[2].state == OFFER_PROBATION -> change_offer(2, OFFER_KEPT, offer[2].vgpu) }
	:: atomic { up && offer[1].state == OFFER_PROBATION -> change_offer(1, OFFER_FAILED, offer[1].vgpu) }
	:: atomic { up && offer[2].state == OFFER_PROBATION -> change_offer(2, OFFER_FAILED, offer[2].vgpu) }
	od
}

active proctype expiry()
{
end:	do
#ifndef NO_EXPIRY
	:: atomic { may_end(1) -> change_offer(1, OFFER_EXPIRED, NOBODY) }
	:: atomic { may_end(2) -> change_offer(2, OFFER_EXPIRED, NOBODY) }
#endif
#ifndef NO_OPERATOR
	:: atomic { may_end(1) -> change_offer(1, OFFER_CLOSED, NOBODY) }
	:: atomic { may_end(2) -> change_offer(2, OFFER_CLOSED, NOBODY) }
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

proctype client(byte buyer)
{
end:	do
	:: atomic { request[buyer] == NONE && sold[buyer] == 0 && claims[buyer] < CLAIMS && last_id >= 1 -> claim(buyer, 1) }
	:: atomic { request[buyer] == NONE && sold[buyer] == 0 && claims[buyer] < CLAIMS && last_id >= 2 -> claim(buyer, 2) }
	:: atomic { request[buyer] == LOST && up ->
		if
		:: action[buyer] == CLAIM && claims[buyer] < CLAIMS -> claim(buyer, claimed[buyer])
		:: action[buyer] == CLAIM && claims[buyer] == CLAIMS -> end_request(buyer)
		:: action[buyer] == REMOVE -> request[buyer] = SENT
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
	job_text[i] = 0;
	offer[i].state = NO_OFFER;
	offer[i].vgpu = NOBODY;
	newcomer_gone[i] = false
}

/* adopt_sale(), restore_offer(): the claim of a contract may be missing in the history. */
inline adopt_sale(buyer, id)
{
	if
	:: id != 0 && offer[id].vgpu == NOBODY ->
		if
		:: offer[id].state == NO_OFFER -> offer[id].state = OFFER_OPEN
		:: offer[id].state == NO_OFFER -> offer[id].state = OFFER_KEPT; offer[id].vgpu = buyer /* the probation is over */
		:: else
		fi;
		if
		:: offer[id].state == OFFER_OPEN -> change_offer(id, OFFER_PROBATION, buyer)
		:: else
		fi
	:: else
	fi
}

/* A newer offer exists, so the older one has ended. */
inline end_superseded()
{
	if
	:: offer[2].state != NO_OFFER && offer[1].state == OFFER_PROBATION -> change_offer(1, OFFER_KEPT, offer[1].vgpu)
	:: offer[2].state != NO_OFFER && offer[1].state == OFFER_FAILED -> newcomer_gone[1] = true
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
	:: offer[id].state == OFFER_OPEN -> change_offer(id, OFFER_CLOSED, NOBODY)
	:: else
	fi;
#endif
	if
	:: is_gone(id) -> remove_newcomer(id, offer[id].vgpu)
	:: else
	fi
}

inline load(i)
{
	contract[i] = file[i];
	offer[i].state = history[i].state;
	offer[i].vgpu = history[i].vgpu
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
#ifndef NO_ADOPT_SALE
		adopt_sale(1, contract[1]);
		adopt_sale(2, contract[2]);
#endif
#ifndef NO_SUPERSEDE
		end_superseded();
#endif
		settle(1);
		settle(2);
		up = true }
	od
}
