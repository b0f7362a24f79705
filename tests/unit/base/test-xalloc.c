/* SPDX-License-Identifier: MIT */
/* A failed allocation ends the program with one line and sets the mark. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "tests/unit/unit.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OTHER_MALLOC 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OTHER_MALLOC 1
#endif

/* The malloc() of a sanitizer ends the program itself. */
static void need_malloc_of_libc(void)
{
#ifdef OTHER_MALLOC
	skip();
#endif
}

/* More than the address space; volatile, because the compiler warns about such a size. */
static volatile size_t huge = SIZE_MAX / 4;

static void fail_xmalloc(void)
{
	free(xmalloc(huge));
}

static void fail_xcalloc(void)
{
	free(xcalloc(huge, 1));
}

static void fail_xrealloc(void)
{
	free(xrealloc(xmalloc(1), huge));
}

static void fail_xreallocarray(void)
{
	free(xreallocarray(NULL, huge, 8));
}

/* Text allocates as much as its length, so that the address space is limited instead. */
static char large[1 << 24];

static void limit_memory(void)
{
	const struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};

	memset(large, 'x', sizeof(large) - 1);
	(void)setrlimit(RLIMIT_AS, &limit);
}

static void fail_xstrdup(void)
{
	limit_memory();
	free(xstrdup(large));
}

static void fail_xstrndup(void)
{
	limit_memory();
	free(xstrndup(large, sizeof(large)));
}

static void fail_xasprintf(void)
{
	limit_memory();
	free(xasprintf("%s", large));
}

static void fail_jansson(void)
{
	json_set_alloc_funcs(xmalloc, free);
	limit_memory();
	json_decref(json_string(large));
}

/* Runs @exhaust in a child. Returns its exit status and what it wrote to standard error. */
static int run_child(void (*exhaust)(void), char text[256])
{
	int pipe_fds[2], status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(pipe_fds[1], STDERR_FILENO);
		xalloc_init("gover-test");
		exhaust();
		_exit(0);
	}
	(void)close(pipe_fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	n = read(pipe_fds[0], text, 255);
	(void)close(pipe_fds[0]);
	text[n > 0 ? n : 0] = '\0';
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(test_failed_allocation_ends_the_program_with_one_line)
{
	static void (*const rows[])(void) = {
		fail_xmalloc, fail_xcalloc,  fail_xrealloc,  fail_xreallocarray,
		fail_xstrdup, fail_xstrndup, fail_xasprintf, fail_jansson,
	};

	need_malloc_of_libc();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char begin[] = "gover-test: out of memory: cannot allocate ";
		char text[256];

		assert_int_equal(run_child(rows[i], text), 1);
		assert_memory_equal(text, begin, strlen(begin));
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	}
}

TEST(test_size_of_zero_returns_a_block)
{
	void *block = xrealloc(NULL, 0);

	block = xrealloc(block, 0);
	block = xreallocarray(block, 0, 8);
	free(block);
}

TEST(test_mark_survives_until_it_is_cleared)
{
	char path[] = "/tmp/gover-test-mark-XXXXXX", text[256];
	int fd = mkstemp(path);
	int64_t wall_ms = 0;

	need_malloc_of_libc();
	assert_false(xalloc_marked(&wall_ms));
	assert_int_equal(xalloc_open_mark(path), 0);
	assert_false(xalloc_marked(&wall_ms));
	assert_int_equal(run_child(fail_xmalloc, text), 1);
	assert_true(xalloc_marked(&wall_ms));
	assert_in_range((uint64_t)wall_ms / 1000, (uint64_t)time(NULL) - 60, (uint64_t)time(NULL));
	assert_int_equal(xalloc_open_mark(path), 0); /* the next start */
	assert_true(xalloc_marked(&wall_ms));
	assert_int_equal(xalloc_clear_mark(), 0);
	assert_false(xalloc_marked(&wall_ms));
	(void)close(fd);
	(void)unlink(path);
	assert_int_equal(xalloc_open_mark("/nowhere/mark"), -ENOENT);
	assert_false(xalloc_marked(&wall_ms));
}
