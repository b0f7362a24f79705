/* SPDX-License-Identifier: MIT */
/*
 * Ends the program if an allocation fails. The failing path allocates nothing and opens nothing. It
 * overwrites the only byte of the mark, because a full disk refuses a new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"

#define UNMARKED '0'
#define MARKED	 '1'

static const char *name = "gover";
static bool in_journal;
static int mark_fd = -1;

void xalloc_init(const char *program)
{
	name = program;
	in_journal = getenv("JOURNAL_STREAM") != NULL;
}

static int write_mark(char byte)
{
	return pwrite(mark_fd, &byte, 1, 0) == 1 ? 0 : -errno;
}

_Noreturn void xalloc_fail(size_t size)
{
	static atomic_flag ending = ATOMIC_FLAG_INIT;
	/* A reader of standard error that has stopped must not keep the program from ending. */
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
	char line[160];
	int n;

	while (atomic_flag_test_and_set(&ending)) /* another thread ends the program */
		(void)pause();
	if (mark_fd >= 0)
		(void)write_mark(MARKED);
	n = snprintf(line, sizeof(line),
		     size ? "%s%sout of memory: cannot allocate %zu bytes\n"
			  : "%s%sout of memory\n",
		     in_journal ? "<3>" : name, in_journal ? "" : ": ", size);
	if (poll(&out, 1, 0) != 0)
		n = (int)write(STDERR_FILENO, line, (size_t)n);
	_exit(1);
}

/* --- allocations --- */

static void *check(void *block, size_t size)
{
	if (!block)
		xalloc_fail(size);
	return block;
}

void *xmalloc(size_t size)
{
	return check(malloc(size), size);
}

void *xcalloc(size_t n, size_t size)
{
	return check(calloc(n, size), n * size);
}

void *xrealloc(void *block, size_t size)
{
	return check(realloc(block, size ? size : 1), size);
}

void *xreallocarray(void *block, size_t n, size_t size)
{
	return n && size ? check(reallocarray(block, n, size), n * size) : xrealloc(block, 0);
}

char *xstrdup(const char *text)
{
	return check(strdup(text), strlen(text) + 1);
}

char *xstrndup(const char *text, size_t max)
{
	return check(strndup(text, max), strnlen(text, max) + 1);
}

char *xasprintf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = check(vasprintf(&text, format, args) < 0 ? NULL : text, strlen(format));
	va_end(args);
	return text;
}

/* --- the mark --- */

int xalloc_open_mark(const char *path)
{
	struct stat st;
	int r;

	mark_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (mark_fd < 0)
		return -errno;
	r = fstat(mark_fd, &st) < 0 ? -errno : st.st_size == 0 ? write_mark(UNMARKED) : 0;
	return r;
}

bool xalloc_has_mark(void)
{
	return mark_fd >= 0;
}

bool xalloc_marked(int64_t *ret_wall_ms)
{
	struct stat st;
	char byte;

	if (mark_fd < 0 || pread(mark_fd, &byte, 1, 0) != 1 || byte != MARKED ||
	    fstat(mark_fd, &st) < 0)
		return false;
	*ret_wall_ms = st.st_mtim.tv_sec * INT64_C(1000) + st.st_mtim.tv_nsec / 1000000;
	return true;
}

int xalloc_clear_mark(void)
{
	return mark_fd < 0 ? 0 : write_mark(UNMARKED);
}
