/* SPDX-License-Identifier: MIT */
/*
 * The device of the double in a file that all processes map. Each change of the state is one
 * compare-and-swap: a process copies the current state into a slot of its own, changes the copy,
 * and makes it the current one, or tries again if another process was faster. Therefore a process
 * that is killed or stopped at any point leaves a consistent state and blocks no other process.
 *
 * A process proves that it exists by a lock on one byte of the file, which the kernel releases when
 * the process ends. fcntl() releases it also when the process closes any other descriptor of the
 * file, so a process opens the file once.
 */
#ifndef TESTS_DOUBLE_STORE_H
#define TESTS_DOUBLE_STORE_H

#include <stdint.h>

#include "tests/double/device/device.h"

#define STORE_MEMORY (4ULL << 30) /* default size of the device memory, in bytes */

struct store;

/* Time of CLOCK_MONOTONIC in ns, the time of the device. */
uint64_t store_now_ns(void);

/*
 * Opens the state file @path and creates it if it does not exist, with @memory_bytes of device
 * memory. Returns 0, -EPROTO if the file is not a state file of this version, or another errno. The
 * caller frees *ret_store.
 */
int store_open(const char *path, uint64_t memory_bytes, struct store **ret_store);
void store_close(struct store *store);

/* Becomes a client of the tenant @label. Returns 0, or -EUSERS if there are too many clients. */
int store_join(struct store *store, const char *label);

/* The number of this client. */
unsigned store_client(const struct store *store);

/* Copies the current state, as it is at this time. */
void store_read(const struct store *store, struct device_state *ret_state);

/*
 * Replaces the state by @change(state, now, arg), which may be called several times. Returns what
 * @change returned last. Only a client may call this, and only one of its threads at a time.
 */
typedef int store_change(struct device_state *state, uint64_t now_ns, void *arg);
int store_apply(struct store *store, store_change *change, void *arg);

/* Drops the queued launches and the memory of clients that have ended, in *state only. */
void store_drop_ended(const struct store *store, struct device_state *state, uint64_t now_ns);

/* The same in the state of all processes. */
void store_reap(struct store *store);

/* True if commands must be counted, because a fault is injected. Costs one read of memory. */
int store_has_faults(const struct store *store);

#endif
