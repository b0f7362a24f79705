/* SPDX-License-Identifier: MIT */
/* The state file of the device double: see store.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/double/store.h"

#define STORE_MAGIC 0x67766472646f7501ULL /* the last byte is the version */
#define SLOTS	    (2 * DEVICE_CLIENTS)

/*
 * A client owns the slots 2n and 2n + 1, of which at most one is current. It writes only the other
 * one, so the current slot never changes. A reader that was slow notices a new version.
 */
struct file {
	_Atomic uint64_t magic;
	uint64_t size;
	_Atomic uint64_t current; /* version << 8 | slot */
	_Atomic uint64_t faults;  /* a hint: an enqueue fault is injected or the device is lost */
	struct device_state slots[SLOTS];
};

struct store {
	struct file *file;
	int fd;
	int client; /* -1: not a client */
	struct device_state *copy;
};

uint64_t store_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The exclusive lock of the whole file is held: a process that ended here has set no magic. */
static int initialise(int fd, uint64_t memory_bytes)
{
	struct file *file;

	if (ftruncate(fd, sizeof(*file)) < 0)
		return -errno;
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		return -errno;
	if (atomic_load(&file->magic) == 0) {
		device_init(&file->slots[0], memory_bytes);
		file->size = sizeof(*file);
		atomic_store(&file->current, 0);
		atomic_store(&file->magic, STORE_MAGIC);
	}
	munmap(file, sizeof(*file));
	return 0;
}

/* Returns 0 if @fd is a state file, 1 if it is not initialised yet, or a negative errno. */
static int check(int fd)
{
	uint64_t magic = 0;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size >= (off_t)sizeof(magic) &&
	    pread(fd, &magic, sizeof(magic), 0) != (ssize_t)sizeof(magic))
		return -EIO;
	if (st.st_size != 0 && st.st_size != (off_t)sizeof(struct file))
		return -EPROTO;
	if (magic == 0)
		return 1;
	return magic == STORE_MAGIC ? 0 : -EPROTO;
}

/* Only a new file is locked, because a process that is stopped here keeps the lock. */
static int prepare(int fd, uint64_t memory_bytes)
{
	int rc = check(fd);

	if (rc != 1)
		return rc;
	while (flock(fd, LOCK_EX) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	rc = check(fd);
	if (rc == 1)
		rc = initialise(fd, memory_bytes);
	(void)flock(fd, LOCK_UN);
	return rc;
}

int store_open(const char *path, uint64_t memory_bytes, struct store **ret_store)
{
	CLEANUP_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct store *store;
	int rc;

	if (fd < 0)
		return -errno;
	rc = prepare(fd, memory_bytes);
	if (rc < 0)
		return rc;
	store = calloc(1, sizeof(*store));
	if (!store)
		return -ENOMEM;
	store->copy = malloc(sizeof(*store->copy));
	store->file = mmap(NULL, sizeof(*store->file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!store->copy || store->file == MAP_FAILED) {
		rc = store->copy ? -errno : -ENOMEM;
		if (store->file != MAP_FAILED)
			munmap(store->file, sizeof(*store->file));
		free(store->copy);
		free(store);
		return rc;
	}
	store->client = -1;
	store->fd = steal_fd(&fd);
	*ret_store = store;
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	munmap(store->file, sizeof(*store->file));
	(void)close(store->fd);
	free(store->copy);
	free(store);
}

/* The lock on the byte of a client lies behind the end of the file. */
static struct flock lock_of(unsigned client)
{
	return (struct flock){
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)sizeof(struct file) + client,
		.l_len = 1,
	};
}

static bool has_ended(const struct store *store, unsigned client)
{
	struct flock lock = lock_of(client);

	if ((int)client == store->client)
		return false;
	return fcntl(store->fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

/* Copies the current state. Returns the word that it was current for. */
static uint64_t copy_current(const struct store *store, struct device_state *ret_state)
{
	struct file *file = store->file;
	uint64_t current;

	for (;;) {
		const struct device_state *slot;

		current = atomic_load(&file->current);
		slot = &file->slots[(current & 0xff) % SLOTS];
		memcpy(ret_state, slot, offsetof(struct device_state, queue));
		memcpy(ret_state->queue, slot->queue,
		       device_state_size(ret_state) - offsetof(struct device_state, queue));
		atomic_thread_fence(memory_order_seq_cst);
		if (atomic_load(&file->current) == current)
			return current;
	}
}

void store_read(const struct store *store, struct device_state *ret_state)
{
	copy_current(store, ret_state);
	device_settle(ret_state, store_now_ns());
}

int store_apply(struct store *store, store_change *change, void *arg)
{
	struct file *file = store->file;
	unsigned own = 2 * (unsigned)store->client;

	for (;;) {
		uint64_t current = copy_current(store, store->copy), slot, next;
		int rc = change(store->copy, store_now_ns(), arg);
		const struct device_faults *faults = &store->copy->faults;

		slot = (current & 0xff) == own ? own + 1 : own;
		atomic_thread_fence(memory_order_seq_cst);
		memcpy(&file->slots[slot], store->copy, device_state_size(store->copy));
		next = ((current >> 8) + 1) << 8 | slot;
		if (!atomic_compare_exchange_strong(&file->current, &current, next))
			continue;
		if (atomic_load(&file->faults) != (faults->enqueue || faults->lost))
			atomic_store(&file->faults, faults->enqueue || faults->lost);
		return rc;
	}
}

struct join {
	unsigned client;
	const char *label;
};

static int join(struct device_state *state, uint64_t now_ns, void *arg)
{
	const struct join *join = arg;

	device_join(state, join->client, (uint64_t)getpid(), join->label, now_ns);
	return 0;
}

/* Takes the number @client, unless another process has it. */
static bool take(struct store *store, unsigned client)
{
	struct flock lock = lock_of(client);

	if (fcntl(store->fd, F_SETLK, &lock) < 0)
		return false;
	store->client = (int)client;
	return true;
}

int store_join(struct store *store, const char *label)
{
	struct join joining = {.label = label};

	store_read(store, store->copy);
	/* Numbers that were never used come first, so that the tallies of ended clients remain. */
	for (unsigned i = 0; i < 2 * DEVICE_CLIENTS && store->client < 0; i++) {
		unsigned client = i % DEVICE_CLIENTS;

		if (i < DEVICE_CLIENTS && store->copy->clients[client].joined_ns != 0)
			continue;
		if (take(store, client))
			joining.client = client;
	}
	if (store->client < 0)
		return -EUSERS;
	return store_apply(store, join, &joining);
}

unsigned store_client(const struct store *store)
{
	return (unsigned)store->client;
}

void store_drop_ended(const struct store *store, struct device_state *state, uint64_t now_ns)
{
	for (unsigned i = 0; i < DEVICE_CLIENTS; i++) {
		if (state->clients[i].alive && has_ended(store, i))
			device_leave(state, i, now_ns);
	}
}

struct leave {
	unsigned client;
	uint64_t joined_ns;
};

/* The number of an ended client may belong to a later client by now. */
static int leave(struct device_state *state, uint64_t now_ns, void *arg)
{
	const struct leave *leaving = arg;

	if (state->clients[leaving->client].joined_ns == leaving->joined_ns)
		device_leave(state, leaving->client, now_ns);
	return 0;
}

void store_reap(struct store *store)
{
	uint64_t joined_ns[DEVICE_CLIENTS];

	copy_current(store, store->copy);
	for (unsigned i = 0; i < DEVICE_CLIENTS; i++) {
		const struct device_client *client = &store->copy->clients[i];

		joined_ns[i] = client->alive ? client->joined_ns : 0;
	}
	for (unsigned i = 0; i < DEVICE_CLIENTS; i++) {
		struct leave leaving = {i, joined_ns[i]};

		if (joined_ns[i] != 0 && has_ended(store, i))
			store_apply(store, leave, &leaving);
	}
}

int store_has_faults(const struct store *store)
{
	return atomic_load_explicit(&store->file->faults, memory_order_relaxed) != 0;
}
