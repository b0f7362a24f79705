/* SPDX-License-Identifier: MIT */
/*
 * The order of storing a contract and of applying it: gover-d/change/change.c, save.c, contract-change.c
 * and round.c.
 *
 * Modelled: two contracts. Contract CAP is the initial cap of a vGPU, whose cap on the GPU is modelled. Contract OTHER
 * is of another vGPU, so that its changes are in progress at the same time. One client changes each contract. A worker
 * writes contracts.json. A write succeeds, fails, or fails after it has replaced the file (if the old file cannot be put
 * back). The loop also saves without a request (save_soon). The policy moves the cap within the contract in memory. The
 * daemon is killed between any two steps, and started again.
 *
 * Rule: a change is planned, stored, applied to memory and to the GPU, and answered with 2xx. If it cannot be stored,
 * the answer is 507 and nothing has changed. If it cannot be applied, the file is written without it before the answer. The
 * text of a write is made when the write begins, from the contracts in memory and all planned changes; before, the changes
 * of the last write are applied. A start writes a cap that exceeds its contract again.
 *
 * Left out: changes of the same contract, which are made one after another; caps written by other programs; a damaged
 * file; the copy of the contracts in the database, which never has a change that was refused; holds; a cap below its floor.
 * A change is stored for one step of the loop only.
 *
 * Wrong variants, which tests/model/run expects to be refuted:
 *   APPLY_FIRST       a change is applied before it is stored
 *   NO_CLAMP          a start leaves a cap above its contract
 *   ANSWER_FIRST      a change is answered before it is stored
 *   NO_TAKE_BACK      a change that cannot be applied stays in the file
 *   TEXT_AT_PLAN      the text of a change is made when the change is planned
 *   TEXT_OF_MEMORY    the text of a save without a request has no planned changes, and is made at any time
 */
#define CHANGES 2 /* of each client */
#define CRASHES 2
#define CAP_MAX 3 /* the value of a contract, and a cap, is 1..3 */

#define CAP	  0 /* contracts; client f changes contract f */
#define OTHER	  1
#define CONTRACTS 2

mtype:request = {NONE, SENT, CHANGE_PLANNED, CHANGE_REFUSED, LOST};
mtype:job = {IDLE, RUNNING, WRITTEN, FAILED};

typedef values {
	byte is[CONTRACTS] = 2
};

/* Survives a crash. */
values file;  /* contracts.json */
byte cap = 2; /* the cap in force on the GPU */

/* Memory of the daemon. */
bool up = true;
values contract;
bool writing_cap; /* a new contract is in memory, and its cap is not yet written */
bool save_again;  /* a save without a request is wanted */
mtype:job job = IDLE;
values text;		 /* what the job writes */
bool in_job[CONTRACTS]; /* the request waits for the job */
values made_at_plan;	 /* TEXT_AT_PLAN: the other contract when a change was planned */
values made_early;	 /* TEXT_OF_MEMORY */

/* The clients. */
mtype:request request[CONTRACTS] = NONE;
byte wanted[CONTRACTS] = 2, changes[CONTRACTS], crashes;
/* The value that the last answer promises; 0: a request has no answer. */
byte promised[CONTRACTS] = 2, before[CONTRACTS] = 2;
/* A failed write has left a refused change in the file. Until the next write, a crash makes it effective. */
bool doubtful;

#define runs(f) (request[f] == CHANGE_PLANNED || request[f] == CHANGE_REFUSED)
#define quiet	(up && !runs(CAP) && !runs(OTHER) && !writing_cap && !save_again && job == IDLE)
#define kept(f) (promised[f] == 0 || (contract.is[f] == promised[f] && file.is[f] == promised[f]))
#define same(f) (file.is[f] == contract.is[f])

#define within	  (quiet -> cap <= file.is[CAP])
#define all_kept  (quiet -> kept(CAP) && kept(OTHER))
#define all_same  (quiet -> same(CAP) && same(OTHER))

ltl safe { [] (within && all_kept && all_same) }
ltl cap_within_contract { [] within }
ltl answers_are_kept { [] all_kept }
ltl file_is_memory { [] all_same }

inline apply(f)
{
	contract.is[f] = wanted[f];
	writing_cap = writing_cap || f == CAP
}

inline answer(f, value)
{
	promised[f] = value;
	request[f] = NONE;
	in_job[f] = false
}

inline plan(f)
{
	request[f] = CHANGE_PLANNED;
#ifdef TEXT_AT_PLAN
	made_at_plan.is[1 - f] = contract.is[1 - f];
#endif
#ifdef APPLY_FIRST
	apply(f);
#endif
#ifdef ANSWER_FIRST
	promised[f] = wanted[f];
#endif
}

/* One contract in the text of a write: the planned change of @f, or the contract in memory. */
inline make_text(f)
{
	if
	:: request[f] == CHANGE_PLANNED -> text.is[f] = wanted[f]
	:: else -> text.is[f] = contract.is[f]
	fi;
	in_job[f] = runs(f)
}

/* start_save() */
inline start_save()
{
	make_text(CAP);
	make_text(OTHER);
#ifdef TEXT_AT_PLAN
	if
	:: in_job[CAP] -> text.is[OTHER] = made_at_plan.is[OTHER]; in_job[OTHER] = false
	:: !in_job[CAP] && in_job[OTHER] -> text.is[CAP] = made_at_plan.is[CAP]
	:: else
	fi;
#endif
#ifdef TEXT_OF_MEMORY
	if
	:: save_again && !in_job[CAP] && !in_job[OTHER] ->
		text.is[CAP] = made_early.is[CAP];
		text.is[OTHER] = made_early.is[OTHER]
	:: else
	fi;
#endif
	save_again = false;
	job = RUNNING
}

/* The result of a write for @f: apply, refuse, or answer. */
inline finish(f)
{
	if
	:: !in_job[f]
	:: in_job[f] && request[f] == CHANGE_PLANNED && job == FAILED -> answer(f, before[f])
	:: in_job[f] && request[f] == CHANGE_PLANNED && job == WRITTEN ->
		if
		:: true ->
#ifndef APPLY_FIRST
			apply(f);
#endif
			answer(f, wanted[f])
#ifndef APPLY_FIRST
		:: true -> /* it cannot be applied */
#ifdef NO_TAKE_BACK
			answer(f, before[f])
#else
			request[f] = CHANGE_REFUSED;
			in_job[f] = false
#endif
#endif
		fi
	:: in_job[f] && request[f] == CHANGE_REFUSED ->
		doubtful = doubtful || job == FAILED;
		answer(f, before[f])
	fi
}

active proctype loop()
{
	do
	:: atomic { up && request[CAP] == SENT && !writing_cap -> plan(CAP) }
	:: atomic { up && request[OTHER] == SENT && !writing_cap -> plan(OTHER) }
	:: atomic { up && !save_again && !writing_cap ->
		save_again = true;
#ifdef TEXT_OF_MEMORY
		made_early.is[CAP] = contract.is[CAP];
		made_early.is[OTHER] = contract.is[OTHER];
#endif
		skip }
	:: atomic { up && job == IDLE && (save_again || runs(CAP) || runs(OTHER)) && !writing_cap -> start_save() }
	:: atomic { up && (job == WRITTEN || job == FAILED) && !writing_cap ->
		finish(CAP);
		finish(OTHER);
		save_again = save_again || job == FAILED;
		job = IDLE }
	/* the cap after a change: within the contract, and possibly raised to it */
	:: atomic { up && writing_cap ->
		if
		:: cap = contract.is[CAP]
		:: cap < contract.is[CAP]
		fi;
		writing_cap = false }
	/* the policy */
	:: atomic { up && !writing_cap && cap < contract.is[CAP] -> cap++ }
	:: atomic { up && !writing_cap && cap > 1 -> cap-- }
	od
}

inline replace_file()
{
	file.is[CAP] = text.is[CAP];
	file.is[OTHER] = text.is[OTHER]
}

active proctype worker()
{
	do
	:: atomic { job == RUNNING ->
		if
		:: replace_file(); job = WRITTEN; doubtful = false
		:: job = FAILED
		:: replace_file(); job = FAILED; doubtful = true
		fi }
	od
}

proctype client(byte f)
{
	byte value;

	do
	:: atomic { request[f] == NONE && changes[f] < CHANGES ->
		changes[f]++;
		select(value : 1 .. CAP_MAX);
		wanted[f] = value;
		before[f] = promised[f];
		promised[f] = 0;
		request[f] = SENT;
		value = 0 }
	/* The connection ended with the daemon: the client reads what is in force. */
	:: atomic { up && request[f] == LOST -> answer(f, contract.is[f]) }
	od
}

init
{
	atomic {
		run client(CAP);
		run client(OTHER)
	}
}

inline lose(f)
{
	if
	:: request[f] == NONE
	:: else -> request[f] = LOST
	fi;
	if
	:: doubtful && promised[f] != 0 -> promised[f] = file.is[f]
	:: else
	fi;
	contract.is[f] = 0;
	text.is[f] = 0;
	made_at_plan.is[f] = 0;
	made_early.is[f] = 0;
	in_job[f] = false
}

active proctype crash()
{
	do
	:: atomic { up && crashes < CRASHES ->
		crashes++;
		up = false;
		writing_cap = false;
		save_again = false;
		job = IDLE;
		lose(CAP);
		lose(OTHER) }
	/* manager_start(): load_contracts(), round_adopt_caps() */
	:: atomic { !up ->
		contract.is[CAP] = file.is[CAP];
		contract.is[OTHER] = file.is[OTHER];
#ifndef NO_CLAMP
		if
		:: cap > contract.is[CAP] -> cap = contract.is[CAP]
		:: else
		fi;
#endif
		up = true }
	od
}
