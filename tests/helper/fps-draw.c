/* SPDX-License-Identifier: MIT */
/*
 * fps-draw HOW FRAMES [PAUSE_US]: presents FRAMES frames like a typical program, with a pause after
 * each frame. (fps-ways tests the ways to look up a function.) Exits with 1 and a message if the
 * preload changed its behaviour. HOW "blocking" reads stdin, see the function. HOW "plugin" and
 * "deepbind" present with the plug-in $FPS_PLUGIN, which "deepbind" opens with RTLD_DEEPBIND.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAKE "libfake-gl.so.1"	 /* found through LD_LIBRARY_PATH */
#define COPY "libfake-copy.so.1" /* a copy of FAKE under another name */

typedef void (*glx_swap_fn)(void *display, unsigned long drawable);
typedef unsigned int (*egl_swap_fn)(void *display, void *surface);
typedef unsigned int (*egl_damage_fn)(void *display, void *surface, int *rects, int n_rects);
typedef void *(*get_proc_fn)(const char *name);

void glXSwapBuffers(void *display, unsigned long drawable);
unsigned int eglSwapBuffers(void *display, void *surface);

static const char *program;
static long frames, pause_us;
static char surface;

static __attribute__((noreturn)) void fail(const char *what)
{
	fprintf(stderr, "fps-draw: %s\n", what);
	exit(1);
}

static void *need(void *address, const char *what)
{
	if (!address)
		fail(what);
	return address;
}

static void rest(void)
{
	if (pause_us > 0)
		usleep((useconds_t)pause_us);
}

static void draw_glx(void *swap)
{
	for (long i = 0; i < frames; i++, rest())
		((glx_swap_fn)swap)(NULL, 1);
}

static void draw_egl(void *swap)
{
	for (long i = 0; i < frames; i++, rest())
		if (!((egl_swap_fn)swap)(NULL, &surface))
			fail("eglSwapBuffers lost its return value");
}

static void direct_glx(void)
{
	for (long i = 0; i < frames; i++, rest())
		glXSwapBuffers(NULL, 1);
}

static void direct_egl(void)
{
	draw_egl((void *)eglSwapBuffers);
}

static void *open_fake(const char *name)
{
	return need(dlopen(name, RTLD_NOW | RTLD_LOCAL), "cannot load the fake GL library");
}

/*
 * Finds the lookup function with dlsym() and the other functions with the lookup function, as
 * glmark2 and SDL2 do.
 */
static void dlsym_proc(void)
{
	get_proc_fn find =
		(get_proc_fn)need(dlsym(open_fake(FAKE), "glXGetProcAddressARB"), "dlsym");

	find = (get_proc_fn)need(find("glXGetProcAddressARB"), "glXGetProcAddressARB");
	draw_glx(need(find("glXSwapBuffers"), "glXGetProcAddressARB"));
}

/*
 * Presents with one library, whose functions call eglSwapBuffers() of a second library. The program
 * finds all functions with dlsym().
 */
static void translated(void)
{
	void *outer = open_fake(FAKE), *inner = open_fake(COPY);
	void (*translate)(egl_swap_fn) =
		(void (*)(egl_swap_fn))need(dlsym(outer, "fake_gl_translate"), "dlsym");
	egl_damage_fn damage;

	translate((egl_swap_fn)need(dlsym(inner, "eglSwapBuffers"), "dlsym"));
	draw_egl(need(dlsym(outer, "eglSwapBuffers"), "dlsym"));
	damage = (egl_damage_fn)need(dlsym(outer, "eglSwapBuffersWithDamageKHR"), "dlsym");
	for (long i = 0; i < frames; i++)
		if (!damage(NULL, &surface, NULL, 0))
			fail("eglSwapBuffersWithDamageKHR lost its return value");
}

/* A failed present is not a frame. */
static void failed_swap(void)
{
	for (long i = 0; i < frames; i++)
		if (eglSwapBuffers(NULL, NULL))
			fail("eglSwapBuffers succeeded without a surface");
}

static void *draw_thread(void *unused)
{
	(void)unused;
	direct_glx();
	return NULL;
}

/* more than FPS_WIRE_LANES, so that some threads share their frame counters */
#define THREADS 16

static void threads(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, draw_thread, NULL) != 0)
			fail("pthread_create");
	for (int i = 0; i < THREADS; i++)
		if (pthread_join(thread[i], NULL) != 0)
			fail("pthread_join");
}

/* Presents FRAMES frames before the fork, then FRAMES frames in the parent and in the child. */
static void draw_around(pid_t (*make_child)(void))
{
	int status;
	pid_t child;

	direct_glx();
	child = make_child();
	if (child < 0)
		fail("fork");
	direct_glx();
	if (child == 0)
		_exit(0);
	if (waitpid(child, &status, 0) != child || status != 0)
		fail("the child failed");
}

static void fork_child(void)
{
	draw_around(fork);
}

/* Forks with a system call that bypasses the C library. */
static pid_t clone_alone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

static void clone_child(void)
{
	draw_around(clone_alone);
}

/* Starts a child that never presents and exits when the daemon's socket no longer exists. */
static void orphan(void)
{
	const char *where = getenv("GOVER_FPS");
	pid_t child;

	direct_glx();
	child = fork();
	if (child < 0 || !where)
		fail("cannot fork, or there is no daemon");
	if (child == 0) {
		(void)close(STDOUT_FILENO);
		(void)close(STDERR_FILENO);
		for (int i = 0; i < 3000 && access(where + strlen("unix:"), F_OK) == 0; i++)
			usleep(10000);
		_exit(0);
	}
}

/* Fails if an open fd would stay open across exec. Ignores the fds that are true in @was_open. */
static void check_exec_closes(const bool was_open[512])
{
	for (int fd = 0; fd < 512; fd++) {
		int flags = was_open[fd] ? -1 : fcntl(fd, F_GETFD);
		char name[32], target[128] = "";

		if (flags < 0 || flags & FD_CLOEXEC)
			continue;
		(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		if (readlink(name, target, sizeof(target) - 1) < 0)
			target[0] = '\0';
		fprintf(stderr, "fd %d: %s\n", fd, target);
		fail("an fd would be left open across exec");
	}
}

static void exec_self(void)
{
	bool was_open[512];
	char count[24];

	for (int fd = 0; fd < 512; fd++)
		was_open[fd] = fcntl(fd, F_GETFD) >= 0;
	direct_glx();
	check_exec_closes(was_open);
	(void)snprintf(count, sizeof(count), "%ld", frames);
	execl(program, program, "direct-glx", count, NULL);
	fail("exec");
}

static void killed(void)
{
	direct_glx();
	raise(SIGKILL);
}

/* Calls exit() while a cancellation of the main thread is pending. */
static void cancelled(void)
{
	direct_glx();
	if (pthread_cancel(pthread_self()) != 0)
		fail("pthread_cancel");
}

static void keep_errno(void)
{
	for (long i = 0; i < frames; i++, rest()) {
		errno = 4321;
		glXSwapBuffers(NULL, 1);
		if (errno != 4321)
			fail("errno was changed");
	}
}

/* Closes all fds, as daemons do, and reuses their numbers for other files. */
static void close_fds(void)
{
	char path[] = "/tmp/fps-draw.XXXXXX";
	struct stat before, after;
	int file;

	direct_glx();
	file = mkstemp(path);
	if (file < 0 || unlink(path) < 0 || fstat(file, &before) < 0)
		fail("cannot create a file");
	for (int fd = 3; fd < 512; fd++)
		if (fd != file && dup2(file, fd) < 0)
			fail("dup2");
	direct_glx();
	for (int fd = 3; fd < 512; fd++)
		if (fstat(fd, &after) < 0 || after.st_ino != before.st_ino)
			fail("an fd of the program was closed");
	if (after.st_size != 0)
		fail("a file of the program was written to");
}

static void keep_environment(void)
{
	const char *where = getenv("GOVER_FPS"), *preload = getenv("LD_PRELOAD");
	char *had = strdup(where ? where : ""), *was = strdup(preload ? preload : "");

	direct_glx();
	where = getenv("GOVER_FPS");
	preload = getenv("LD_PRELOAD");
	if (!had || !was || strcmp(had, where ? where : "") != 0 ||
	    strcmp(was, preload ? preload : "") != 0)
		fail("the environment was changed");
	free(had);
	free(was);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

/* Draws until SIGTERM. Prints in us how long presents took, and the times between two presents. */
static void timed(void)
{
	uint64_t *swap_ns = calloc((size_t)frames * 2, sizeof(*swap_ns)), *frame_ns, last_ns, at_ns;
	size_t p99;

	if (!swap_ns)
		fail("out of memory");
	(void)signal(SIGTERM, stop);
	frame_ns = swap_ns + frames;
	last_ns = now_ns();
	for (long i = 0; i < frames; i++, rest()) {
		at_ns = now_ns();
		glXSwapBuffers(NULL, 1);
		swap_ns[i] = now_ns() - at_ns;
		frame_ns[i] = at_ns - last_ns;
		last_ns = at_ns;
		if (stopped)
			frames = i + 1;
	}
	p99 = (size_t)(frames - 1) * 99 / 100;
	qsort(swap_ns, (size_t)frames, sizeof(*swap_ns), by_value);
	qsort(frame_ns, (size_t)frames, sizeof(*frame_ns), by_value);
	printf("%ld frames: swap p99 %.1f us, max %.1f us; frame p50 %.1f us, p99 %.1f us\n",
	       frames, (double)swap_ns[p99] / 1e3, (double)swap_ns[frames - 1] / 1e3,
	       (double)frame_ns[frames / 2] / 1e3, (double)frame_ns[p99] / 1e3);
	free(swap_ns);
}

/*
 * Executes letters from stdin, until it ends. d: presents FRAMES frames. b: presents a frame, and
 * the call waits for the next letter. t: a new thread does the same, and the call waits forever. c:
 * cancels this thread.
 */
static void blocking(void)
{
	void (*block)(int) = (void (*)(int))need(dlsym(open_fake(FAKE), "fake_gl_block"), "dlsym");
	int never[2];
	pthread_t thread;
	char letter;

	if (pipe(never) < 0)
		fail("pipe");
	while (read(STDIN_FILENO, &letter, 1) == 1) {
		if (letter == 'd')
			direct_glx();
		if (letter == 'b') {
			block(STDIN_FILENO);
			glXSwapBuffers(NULL, 1);
			block(-1);
		}
		if (letter == 't') {
			block(never[0]);
			if (pthread_create(&thread, NULL, draw_thread, NULL) != 0)
				fail("pthread_create");
		}
		if (letter == 'c' &&
		    (pthread_cancel(thread) != 0 || pthread_join(thread, NULL) != 0))
			fail("pthread_cancel");
	}
}

/* This case also needs fps-next as a preload. */
static void beside(void)
{
	if (getppid() <= 1)
		fail("getppid() returned a wrong value");
	direct_glx();
}

static void draw_by_plugin(int flags)
{
	void *opened = need(dlopen(getenv("FPS_PLUGIN"), RTLD_NOW | flags), "no plug-in");
	void *draw = need(dlsym(opened, "fps_plugin_draw"), "the plug-in has no function");

	((void (*)(long, unsigned int))draw)(frames, (unsigned int)pause_us);
}

static void plugin(void)
{
	draw_by_plugin(RTLD_LOCAL);
}

static void deepbind(void)
{
	draw_by_plugin(RTLD_DEEPBIND);
}

static const struct {
	const char *name;
	void (*draw)(void);
	int times; /* frames that this process presents, in multiples of FRAMES; 0: unknown */
} ways[] = {
	{"direct-glx", direct_glx, 1},
	{"direct-egl", direct_egl, 1},
	{"dlsym-proc", dlsym_proc, 1},
	{"translated", translated, 0},
	{"failed-swap", failed_swap, 0},
	{"threads", threads, 0},
	{"fork", fork_child, 2},
	{"clone", clone_child, 2},
	{"orphan", orphan, 1},
	{"exec", exec_self, 1},
	{"killed", killed, 1},
	{"cancelled", cancelled, 1},
	{"errno", keep_errno, 1},
	{"close-fds", close_fds, 2},
	{"environment", keep_environment, 1},
	{"beside", beside, 1},
	{"timed", timed, 1},
	{"plugin", plugin, 1},
	{"deepbind", deepbind, 1},
	{"blocking", blocking, 0},
};

static long presented(void)
{
	void *count = need(dlsym(open_fake(FAKE), "fake_gl_presented"),
			   "cannot load the fake GL library");

	return (long)((unsigned long (*)(void))count)();
}

int main(int argc, char **argv)
{
	program = argv[0];
	if (argc < 3)
		fail("usage: fps-draw HOW FRAMES [PAUSE_US]");
	frames = strtol(argv[2], NULL, 10);
	pause_us = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].name, argv[1]) != 0)
			continue;
		ways[i].draw();
		if (ways[i].times && presented() != ways[i].times * frames)
			fail("frames did not reach the GL library");
		return 0;
	}
	fail("unknown HOW");
}
