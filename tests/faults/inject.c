/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for a failing disk, sysfs, clock and heap. gover-d loads this library (LD_PRELOAD).
 * Its system calls and allocations then fail, wait, return wrong data or end the process. A page of
 * shared memory contains the calls and what happens to them. GOVER_FAULTS is the file of the page.
 * Without it, every call runs unchanged.
 *
 * The functions issue the system calls themselves, so that no symbol of libc must be looked up.
 * Programs that the daemon starts do not load this library.
 */
#undef _FORTIFY_SOURCE /* its inline functions have the names of the functions below */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/faults/page.h"

#define NAP_MS 5

static struct fault_page *page; /* written once, before main(); NULL: no faults */

__attribute__((constructor)) static void map_page(void)
{
	const char *path = getenv("GOVER_FAULTS");
	int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
	void *map;

	(void)unsetenv("GOVER_FAULTS");
	(void)unsetenv("LD_PRELOAD");
	if (fd < 0)
		return;
	map = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	(void)syscall(SYS_close, fd);
	if (map != MAP_FAILED && ((struct fault_page *)map)->magic == FAULTS_MAGIC)
		page = map;
}

/* --- rules --- */

static uint32_t load(const uint32_t *value)
{
	return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

/* Counts a matching call. Returns true if this call gets the fault. */
static bool count(uint32_t *seen, uint32_t *hits, uint32_t skip, uint32_t times)
{
	uint32_t n = __atomic_fetch_add(seen, 1, __ATOMIC_RELAXED);

	if (n < skip || (times && n - skip >= times))
		return false;
	(void)__atomic_fetch_add(hits, 1, __ATOMIC_RELEASE);
	return true;
}

static void end_process(void)
{
	(void)syscall(SYS_kill, getpid(), SIGKILL);
	for (;;)
		(void)pause();
}

static void stall(const struct fault_rule *rule)
{
	const struct timespec nap = {.tv_nsec = NAP_MS * 1000000L};

	for (uint32_t ms = 0; ms < rule->stall_ms && load(&rule->armed); ms += NAP_MS)
		(void)syscall(SYS_nanosleep, &nap, NULL);
}

/* Returns the rule whose fault this call gets, or NULL. Faults before the call happen here. */
static const struct fault_rule *meet(uint32_t call, const char *path)
{
	struct fault_rule *rule;

	for (rule = page->rule; rule < page->rule + FAULTS_RULES_MAX; rule++)
		if (load(&rule->armed) && rule->calls & call && fnmatch(rule->path, path, 0) == 0 &&
		    count(&rule->seen, &rule->hits, rule->skip, rule->times))
			break;
	if (rule == page->rule + FAULTS_RULES_MAX)
		return NULL;
	if (rule->action == FAULT_KILL_BEFORE)
		end_process();
	if (rule->action == FAULT_STALL)
		stall(rule);
	return rule;
}

static bool is_used(uint32_t call)
{
	return page && load(&page->used) & call;
}

static bool path_of(int fd, char path[PATH_MAX])
{
	char link[40];
	long n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	return true;
}

static const struct fault_rule *meet_fd(uint32_t call, int fd)
{
	char path[PATH_MAX];

	return is_used(call) && path_of(fd, path) ? meet(call, path) : NULL;
}

static const struct fault_rule *meet_at(uint32_t call, int dir, const char *name)
{
	char path[PATH_MAX];
	size_t length;

	if (!is_used(call))
		return NULL;
	if (name[0] == '/' || dir == AT_FDCWD || !path_of(dir, path))
		return meet(call, name);
	length = strlen(path);
	snprintf(path + length, sizeof(path) - length, "/%s", name);
	return meet(call, path);
}

static bool fails(const struct fault_rule *rule)
{
	if (!rule || rule->action != FAULT_FAIL)
		return false;
	errno = (int)rule->error;
	return true;
}

/* Returns @result, or ends the process after the call. */
static long finish(const struct fault_rule *rule, long result)
{
	if (rule && rule->action == FAULT_KILL_AFTER)
		end_process();
	return result;
}

/* Half of the bytes, rounded up, so that a caller that tries again makes progress. */
static long shorten(const struct fault_rule *rule, long size)
{
	return rule && rule->action == FAULT_SHORT && size > 0 ? (size + 1) / 2 : size;
}

/* --- files --- */

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
	const struct fault_rule *rule = meet_at(FAULT_OPEN, dir, path);

	return fails(rule) ? -1 : (int)finish(rule, syscall(SYS_openat, dir, path, flags, mode));
}

#define MODE(flags, mode)                                 \
	do {                                              \
		va_list ap;                               \
		va_start(ap, flags);                      \
		if ((flags) & (O_CREAT | __O_TMPFILE))    \
			(mode) = (mode_t)va_arg(ap, int); \
		va_end(ap);                               \
	} while (0)

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE(flags, mode);
	return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE(flags, mode);
	return open_at(dir, path, flags, mode);
}

DIR *opendir(const char *path)
{
	const struct fault_rule *rule = meet_at(FAULT_LIST, AT_FDCWD, path);
	long fd;

	if (fails(rule))
		return NULL;
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return finish(rule, fd) < 0 ? NULL : fdopendir((int)fd);
}

/* Returns the bytes of the rule's text, as a file with this content at @at. */
static ssize_t read_text(const struct fault_rule *rule, void *to, size_t size, off_t at)
{
	size_t left = at < (off_t)rule->text_bytes ? rule->text_bytes - (size_t)at : 0;

	if (size > left)
		size = left;
	memcpy(to, rule->text + at, size);
	return (ssize_t)size;
}

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
	const struct fault_rule *rule = meet_fd(FAULT_READ, fd);

	if (fails(rule))
		return -1;
	if (rule && rule->action == FAULT_TEXT)
		return read_text(rule, to, size, at);
	return finish(rule, shorten(rule, syscall(SYS_pread64, fd, to, size, at)));
}

ssize_t read(int fd, void *to, size_t size)
{
	const struct fault_rule *rule = meet_fd(FAULT_READ, fd);

	if (fails(rule))
		return -1;
	if (rule && rule->action == FAULT_TEXT)
		return read_text(rule, to, size, 0);
	return finish(rule, shorten(rule, syscall(SYS_read, fd, to, size)));
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t at)
{
	const struct fault_rule *rule = meet_fd(FAULT_WRITE, fd);

	return fails(rule) ? -1
			   : finish(rule,
				    syscall(SYS_pwrite64, fd, from, shorten(rule, (long)size), at));
}

ssize_t write(int fd, const void *from, size_t size)
{
	const struct fault_rule *rule = meet_fd(FAULT_WRITE, fd);

	return fails(rule) ? -1
			   : finish(rule, syscall(SYS_write, fd, from, shorten(rule, (long)size)));
}

int fsync(int fd)
{
	const struct fault_rule *rule = meet_fd(FAULT_SYNC, fd);

	return fails(rule) ? -1 : (int)finish(rule, syscall(SYS_fsync, fd));
}

int fdatasync(int fd)
{
	const struct fault_rule *rule = meet_fd(FAULT_SYNC, fd);

	return fails(rule) ? -1 : (int)finish(rule, syscall(SYS_fdatasync, fd));
}

int ftruncate(int fd, off_t size)
{
	const struct fault_rule *rule = meet_fd(FAULT_TRUNCATE, fd);

	return fails(rule) ? -1 : (int)finish(rule, syscall(SYS_ftruncate, fd, size));
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	const struct fault_rule *rule = meet_at(FAULT_RENAME, to_dir, to);

	if (fails(rule))
		return -1;
	return (int)finish(rule, syscall(SYS_renameat2, from_dir, from, to_dir, to, 0));
}

int rename(const char *from, const char *to)
{
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlinkat(int dir, const char *path, int flags)
{
	const struct fault_rule *rule = meet_at(FAULT_UNLINK, dir, path);

	return fails(rule) ? -1 : (int)finish(rule, syscall(SYS_unlinkat, dir, path, flags));
}

int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

/* The names of the same functions in programs with FORTIFY or with 64-bit offsets. */
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int dir, const char *path, int flags, ...) __attribute__((alias("openat")));
ssize_t pread64(int fd, void *to, size_t size, off_t at) __attribute__((alias("pread")));
ssize_t pwrite64(int fd, const void *from, size_t size, off_t at) __attribute__((alias("pwrite")));
int ftruncate64(int fd, off_t size) __attribute__((alias("ftruncate")));
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
ssize_t __read_chk(int fd, void *to, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t size, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t size, off_t at, size_t room);

int __open_2(const char *path, int flags)
{
	return open_at(AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
	return open_at(AT_FDCWD, path, flags, 0);
}

int __openat_2(int dir, const char *path, int flags)
{
	return open_at(dir, path, flags, 0);
}

int __openat64_2(int dir, const char *path, int flags)
{
	return open_at(dir, path, flags, 0);
}

ssize_t __read_chk(int fd, void *to, size_t size, size_t room)
{
	return size <= room ? read(fd, to, size) : (abort(), -1);
}

ssize_t __pread_chk(int fd, void *to, size_t size, off_t at, size_t room)
{
	return size <= room ? pread(fd, to, size, at) : (abort(), -1);
}

ssize_t __pread64_chk(int fd, void *to, size_t size, off_t at, size_t room)
{
	return __pread_chk(fd, to, size, at, room);
}

/* --- clocks --- */

static int64_t shift_of(clockid_t clock)
{
	if (!page)
		return 0;
	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		return __atomic_load_n(&page->realtime_ns, __ATOMIC_RELAXED);
	if (clock == CLOCK_BOOTTIME)
		return __atomic_load_n(&page->boottime_ns, __ATOMIC_RELAXED);
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int r = (int)syscall(SYS_clock_gettime, clock, time);
	int64_t shift_ns = shift_of(clock), ns;

	if (r < 0 || shift_ns == 0)
		return r;
	ns = time->tv_sec * 1000000000LL + time->tv_nsec + shift_ns;
	time->tv_sec = ns / 1000000000LL;
	time->tv_nsec = ns % 1000000000LL;
	return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec time;

	(void)zone;
	(void)clock_gettime(CLOCK_REALTIME, &time);
	now->tv_sec = time.tv_sec;
	now->tv_usec = time.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *ret_time)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (ret_time)
		*ret_time = now.tv_sec;
	return now.tv_sec;
}

/* --- the heap --- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static bool is_out_of_memory(void)
{
	uint32_t threads = page ? load(&page->alloc_threads) : FAULT_NO_THREAD;

	if (threads == FAULT_NO_THREAD ||
	    (threads == FAULT_MAIN_THREAD && syscall(SYS_gettid) != getpid()) ||
	    !count(&page->alloc_seen, &page->alloc_hits, page->alloc_skip, page->alloc_times))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return is_out_of_memory() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return is_out_of_memory() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return is_out_of_memory() ? NULL : __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}
