/* SPDX-License-Identifier: MIT */
/*
 * The order of storing a contract and of applying it: gover-d/core/control-vgpu.c, save.c and adopt.c.
 *
 * Modelled: one vGPU. Two clients each change one field of its contract, initial_cap_pct or target_fps. A worker writes
 * contracts.json. A write succeeds, fails, or fails after it has replaced the file (if the old file cannot be put back).
 * The loop also saves without a request (save_soon). The policy moves the cap within the contract in memory. The daemon
 * is killed between any two steps, and started again.
 *
 * Rule: a change is checked, stored, applied to memory and to the GPU, and answered with 2xx. If it cannot be stored, the
 * answer is 507 and nothing has changed. From the check of a change to its application, no other change is checked and no
 * other text is made. A start writes a cap that exceeds its contract again.
 *
 * Left out: other vGPUs, because contract and cap of a vGPU do not depend on them; caps written by other programs; a
 * damaged file; the copy of the contracts in the database, which is never newer than the file.
 *
 * Wrong variants, which tests/model/run expects to be refuted:
 *   APPLY_FIRST       a change is applied before it is stored
 *   NO_CLAMP          a start leaves a cap above its contract
 *   ANSWER_FIRST      a change is answered before it is stored
 *   CHANGES_OVERLAP   a change is checked while another change is being stored
 *   SAVES_OVERLAP     the text of a save without a request is made while a change is being stored
 */
#define CHANGES 2 /* of each client */
#define CRASHES 2
#define CAP_MAX 3 /* a cap, and a target, is 1..3 */

#define INITIAL_CAP 0 /* fields of the contract; client f changes field f */
#define TARGET_FPS  1
#define FIELDS	    2
#define NO_FIELD    2

mtype:request = {NONE, SENT, CHECKED, STORING, LOST};
mtype:job = {IDLE, RUNNING, WRITTEN, FAILED};

typedef terms {
	byte field[FIELDS] = 2
};

/* Survives a crash. */
terms file;  /* contracts.json */
byte cap = 2; /* the cap in force on the GPU */

/* Memory of the daemon. */
bool up = true;
terms contract;
bool writing_cap; /* a new contract is in memory, and its cap is not yet written */
bool unsaved;	  /* the last save failed: the next tick saves again */
terms planned[FIELDS]; /* the contract as a checked change would store it */
bool save_wanted;
terms save_text; /* the text of a save without a request */
mtype:job job = IDLE;
terms job_text;
byte job_field = NO_FIELD; /* the change that waits for the job */

/* The clients. */
mtype:request request[FIELDS] = NONE;
byte wanted[FIELDS] = 2, changes[FIELDS], crashes;
/* The value that the last answer promises; 0: a request has no answer. */
byte promised[FIELDS] = 2, before[FIELDS] = 2;
/* A write failed after it had replaced the file. Until the next write, a crash makes a refused change effective. */
bool replaced;

#define runs(f)	    (request[f] == CHECKED || request[f] == STORING)
#define change_runs (runs(INITIAL_CAP) || runs(TARGET_FPS) || writing_cap)
#define quiet	    (up && !change_runs && !save_wanted && job == IDLE && !unsaved)
#define kept(f)	    (promised[f] == 0 || (contract.field[f] == promised[f] && file.field[f] == promised[f]))

#define within	  (quiet -> cap <= file.field[INITIAL_CAP])
#define all_kept  (quiet -> kept(INITIAL_CAP) && kept(TARGET_FPS))
#define same(f)	  (file.field[f] == contract.field[f])
#define file_same (quiet -> same(INITIAL_CAP) && same(TARGET_FPS))

ltl safe { [] (within && all_kept && file_same) }
ltl cap_within_contract { [] within }
ltl answers_are_kept { [] all_kept }
ltl file_is_memory { [] file_same }

#ifdef CHANGES_OVERLAP
#define may_check !writing_cap
#else
#define may_check (!change_runs && !save_wanted && job == IDLE)
#endif
#ifdef SAVES_OVERLAP
#define may_make_text !save_wanted
#else
#define may_make_text (!change_runs && !save_wanted && job == IDLE)
#endif

inline copy(to, from)
{
	to.field[INITIAL_CAP] = from.field[INITIAL_CAP];
	to.field[TARGET_FPS] = from.field[TARGET_FPS]
}

inline apply(f)
{
	contract.field[f] = wanted[f];
	writing_cap = (f == INITIAL_CAP)
}

inline check(f)
{
	request[f] = CHECKED;
	copy(planned[f], contract);
	planned[f].field[f] = wanted[f];
#ifdef APPLY_FIRST
	apply(f);
#endif
#ifdef ANSWER_FIRST
	promised[f] = wanted[f];
#endif
}

inline start_job(f, text)
{
	job = RUNNING;
	job_field = f;
	copy(job_text, text)
}

inline answer(f, value)
{
	promised[f] = value;
	request[f] = NONE
}

/* finish_save(): the waiting change is applied and answered. */
inline finish_job()
{
	if
	:: job_field < FIELDS && job == WRITTEN ->
#ifndef APPLY_FIRST
		apply(job_field);
#endif
		answer(job_field, wanted[job_field])
	:: job_field < FIELDS && job == FAILED ->
		answer(job_field, before[job_field])
	:: else
	fi;
	unsaved = (job == FAILED);
	job_field = NO_FIELD;
	job = IDLE
}

active proctype loop()
{
	byte f;

	do
	:: atomic { up && may_check ->
		select(f : 0 .. 1);
		if
		:: request[f] == SENT -> check(f)
		:: else
		fi }
	:: atomic { up && job == IDLE && request[INITIAL_CAP] == CHECKED && !writing_cap ->
		request[INITIAL_CAP] = STORING; start_job(INITIAL_CAP, planned[INITIAL_CAP]) }
	:: atomic { up && job == IDLE && request[TARGET_FPS] == CHECKED && !writing_cap ->
		request[TARGET_FPS] = STORING; start_job(TARGET_FPS, planned[TARGET_FPS]) }
	:: atomic { up && may_make_text ->
		copy(save_text, contract); save_wanted = true }
	:: atomic { up && job == IDLE && save_wanted ->
		save_wanted = false; start_job(NO_FIELD, save_text) }
	:: atomic { up && (job == WRITTEN || job == FAILED) && !writing_cap -> finish_job() }
	/* the cap after a change: within the contract, and possibly raised to it */
	:: atomic { up && writing_cap ->
		if
		:: cap = contract.field[INITIAL_CAP]
		:: cap < contract.field[INITIAL_CAP]
		fi;
		writing_cap = false }
	/* the policy */
	:: atomic { up && !writing_cap && cap < contract.field[INITIAL_CAP] -> cap++ }
	:: atomic { up && !writing_cap && cap > 1 -> cap-- }
	od
}

active proctype worker()
{
	do
	:: atomic { job == RUNNING ->
		if
		:: copy(file, job_text); job = WRITTEN; replaced = false
		:: job = FAILED
		:: copy(file, job_text); job = FAILED; replaced = true
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
	:: atomic { up && request[f] == LOST -> answer(f, contract.field[f]) }
	od
}

init
{
	atomic {
		run client(INITIAL_CAP);
		run client(TARGET_FPS)
	}
}

inline lose(f)
{
	if
	:: request[f] == NONE
	:: else -> request[f] = LOST
	fi;
	if
	:: replaced && promised[f] != 0 -> promised[f] = file.field[f]
	:: else
	fi;
	contract.field[f] = 0;
	planned[INITIAL_CAP].field[f] = 0;
	planned[TARGET_FPS].field[f] = 0;
	save_text.field[f] = 0;
	job_text.field[f] = 0
}

active proctype crash()
{
	do
	:: atomic { up && crashes < CRASHES ->
		crashes++;
		up = false;
		writing_cap = false;
		unsaved = false;
		save_wanted = false;
		job = IDLE;
		job_field = NO_FIELD;
		lose(INITIAL_CAP);
		lose(TARGET_FPS) }
	/* manager_start(): adopt_host() */
	:: atomic { !up ->
		copy(contract, file);
#ifndef NO_CLAMP
		if
		:: cap > contract.field[INITIAL_CAP] -> cap = contract.field[INITIAL_CAP]
		:: else
		fi;
#endif
		up = true }
	od
}
