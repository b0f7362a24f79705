/* SPDX-License-Identifier: MIT */
/*
 * The page that tests/faults/page.py and the injector share. The runner writes a rule while the
 * daemon runs, sets @armed last, and clears @armed to end the fault. The injector counts.
 */
#ifndef TESTS_FAULTS_PAGE_H
#define TESTS_FAULTS_PAGE_H

#include <stdint.h>

#define FAULTS_MAGIC	 0x746c6661u /* "aflt" */
#define FAULTS_RULES_MAX 8
#define FAULTS_PATH_MAX	 160
#define FAULTS_TEXT_MAX	 56

enum fault_call {
	FAULT_OPEN = 1 << 0,
	FAULT_READ = 1 << 1,
	FAULT_WRITE = 1 << 2,
	FAULT_SYNC = 1 << 3,
	FAULT_RENAME = 1 << 4, /* the path is the new name */
	FAULT_UNLINK = 1 << 5,
	FAULT_TRUNCATE = 1 << 6,
	FAULT_LIST = 1 << 7, /* opendir() */
};

enum fault_action {
	FAULT_KILL_BEFORE,
	FAULT_KILL_AFTER,
	FAULT_FAIL,  /* the call fails with @error */
	FAULT_SHORT, /* a read or write handles half of the bytes */
	FAULT_STALL, /* the call waits @stall_ms, or until the rule is disarmed; then it runs */
	FAULT_TEXT,  /* a read returns @text */
};

struct fault_rule {
	uint32_t armed;
	uint32_t calls; /* mask of enum fault_call */
	uint32_t action;
	uint32_t error;
	uint32_t skip;	/* number of matching calls that run unchanged first */
	uint32_t times; /* number of calls that then get the fault; 0: all */
	uint32_t stall_ms;
	uint32_t text_bytes;
	uint32_t seen;		    /* counted: matching calls */
	uint32_t hits;		    /* counted: calls that got the fault */
	char path[FAULTS_PATH_MAX]; /* fnmatch(3) pattern of the whole path; '*' matches '/' */
	char text[FAULTS_TEXT_MAX];
};

enum fault_threads { FAULT_NO_THREAD, FAULT_MAIN_THREAD, FAULT_ALL_THREADS };

struct fault_page {
	uint32_t magic;
	uint32_t alloc_threads; /* enum fault_threads: whose allocations fail */
	uint32_t alloc_skip, alloc_times;
	uint32_t alloc_seen, alloc_hits;  /* counted, as in a rule */
	int64_t realtime_ns, boottime_ns; /* added to the clocks of these names */
	uint32_t used; /* mask of all calls in armed rules, so that other calls cost one load */
	uint32_t padding;
	struct fault_rule rule[FAULTS_RULES_MAX];
};

_Static_assert(sizeof(struct fault_rule) == 256, "page.py packs 256 bytes");
_Static_assert(sizeof(struct fault_page) == 48 + FAULTS_RULES_MAX * 256, "page.py packs this size");

#endif
