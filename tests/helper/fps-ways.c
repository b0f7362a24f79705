/* SPDX-License-Identifier: MIT */
/*
 * fps-ways FUNCTION WAY FRAMES: presents FRAMES frames with FUNCTION, which is looked up by WAY.
 * With "all" each function presents in its own thread and window at the same time. Exits with 1 and
 * a message if a function is missing or a frame does not reach the library. Linked to the fake
 * library, because no real library has all functions (see the Makefile).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE "libfake-gl.so.1" /* found through LD_LIBRARY_PATH */

typedef void *(*get_proc_fn)(const char *name);

void glXSwapBuffers(void *display, unsigned long drawable);
int64_t glXSwapBuffersMscOML(void *display, unsigned long drawable, int64_t target_msc,
			     int64_t divisor, int64_t remainder);
unsigned int eglSwapBuffers(void *display, void *surface);
unsigned int eglSwapBuffersWithDamageKHR(void *display, void *surface, int *rects, int n_rects);
unsigned int eglSwapBuffersWithDamageEXT(void *display, void *surface, int *rects, int n_rects);

static long frames;
static char surface;
static void *fake;

static __attribute__((noreturn)) void fail(const char *what)
{
	fprintf(stderr, "fps-ways: %s\n", what);
	exit(1);
}

static void present_glx(void *swap, long frame)
{
	(void)frame;
	((__typeof__(glXSwapBuffers) *)swap)(NULL, 1);
}

static void present_msc(void *swap, long frame)
{
	int64_t target = ((int64_t)frame << 33) + frame;

	if (((__typeof__(glXSwapBuffersMscOML) *)swap)(NULL, 1, target, 7, 3) != target)
		fail("glXSwapBuffersMscOML: wrong arguments or result");
	if (((__typeof__(glXSwapBuffersMscOML) *)swap)(NULL, 1, -1, 7, 3) != -1)
		fail("glXSwapBuffersMscOML: succeeded for target -1");
}

static void present_egl(void *swap, long frame)
{
	(void)frame;
	if (!((__typeof__(eglSwapBuffers) *)swap)(NULL, &surface))
		fail("eglSwapBuffers lost its result");
}

static void present_damage(void *swap, long frame)
{
	int rects[4] = {(int)frame};

	if (!((__typeof__(eglSwapBuffersWithDamageKHR) *)swap)(NULL, &surface, rects, 1) ||
	    !!((__typeof__(eglSwapBuffersWithDamageKHR) *)swap)(NULL, &surface, NULL, 1))
		fail("eglSwapBuffersWithDamage: wrong arguments or result");
}

static const struct function {
	const char *name;
	void *linked;
	void (*present)(void *swap, long frame);
} functions[] = {
	{"glXSwapBuffers", (void *)glXSwapBuffers, present_glx},
	{"glXSwapBuffersMscOML", (void *)glXSwapBuffersMscOML, present_msc},
	{"eglSwapBuffers", (void *)eglSwapBuffers, present_egl},
	{"eglSwapBuffersWithDamageKHR", (void *)eglSwapBuffersWithDamageKHR, present_damage},
	{"eglSwapBuffersWithDamageEXT", (void *)eglSwapBuffersWithDamageEXT, present_damage},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static void *find_direct(const struct function *function)
{
	return function->linked;
}

static void *find_dlsym(const struct function *function)
{
	return dlsym(fake, function->name);
}

static void *find_default(const struct function *function)
{
	return dlsym(RTLD_DEFAULT, function->name);
}

static void *find_next(const struct function *function)
{
	return dlsym(RTLD_NEXT, function->name);
}

static void *find_self(const struct function *function)
{
	return dlsym(dlopen(NULL, RTLD_NOW), function->name);
}

static void *find_dlvsym(const struct function *function)
{
	return dlvsym(fake, function->name, FAKE);
}

/* Finds @function with the lookup function of its library: @glx_lookup or eglGetProcAddress(). */
static void *find_proc(const struct function *function, const char *glx_lookup, void *way)
{
	get_proc_fn find = (get_proc_fn)dlsym(way, function->name[0] == 'g' ? glx_lookup
									    : "eglGetProcAddress");

	return find ? find(function->name) : NULL;
}

static void *find_proc_dlsym(const struct function *function)
{
	return find_proc(function, "glXGetProcAddress", fake);
}

static void *find_proc_arb(const struct function *function)
{
	return find_proc(function, "glXGetProcAddressARB", RTLD_DEFAULT);
}

/* Finds @function with a lookup function that was itself found with a lookup function. */
static void *find_proc_of_proc(const struct function *function)
{
	get_proc_fn find = (get_proc_fn)dlsym(fake, "glXGetProcAddressARB");

	find = find ? (get_proc_fn)find("glXGetProcAddressARB") : NULL;
	return function->name[0] != 'g' ? find_proc_arb(function)
	       : find			? find(function->name)
					: NULL;
}

static const struct {
	const char *name;
	void *(*find)(const struct function *function);
} ways[] = {
	{"direct", find_direct},   {"dlsym", find_dlsym},	{"RTLD_DEFAULT", find_default},
	{"RTLD_NEXT", find_next},  {"dlopen-NULL", find_self},	{"dlvsym", find_dlvsym},
	{"proc", find_proc_dlsym}, {"proc-arb", find_proc_arb}, {"proc-of-proc", find_proc_of_proc},
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void draw(const struct function *function, size_t way)
{
	void *swap = ways[way].find(function);

	if (!swap)
		fail("function not found");
	for (long i = 0; i < frames; i++)
		function->present(swap, i);
}

static size_t way_of(const char *name)
{
	for (size_t w = 0; w < WAYS; w++)
		if (strcmp(ways[w].name, name) == 0)
			return w;
	fail("unknown WAY");
}

static size_t chosen_way;

static void *draw_thread(void *function)
{
	draw(function, chosen_way);
	return NULL;
}

static void draw_all(void)
{
	pthread_t thread[FUNCTIONS];

	for (size_t f = 0; f < FUNCTIONS; f++)
		if (pthread_create(&thread[f], NULL, draw_thread,
				   (void *)(uintptr_t)&functions[f]) != 0)
			fail("pthread_create");
	for (size_t f = 0; f < FUNCTIONS; f++)
		(void)pthread_join(thread[f], NULL);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		fail("usage: fps-ways FUNCTION WAY FRAMES");
	fake = dlopen(FAKE, RTLD_NOW | RTLD_GLOBAL);
	chosen_way = way_of(argv[2]);
	frames = strtol(argv[3], NULL, 10);
	if (!fake)
		fail("cannot load the fake GL library");
	if (strcmp(argv[1], "all") == 0) {
		draw_all();
		return 0;
	}
	for (size_t f = 0; f < FUNCTIONS; f++) {
		if (strcmp(functions[f].name, argv[1]) != 0)
			continue;
		draw(&functions[f], chosen_way);
		if (((unsigned long (*)(void))dlsym(fake, "fake_gl_presented"))() !=
		    (unsigned long)frames)
			fail("frames did not reach the GL library");
		return 0;
	}
	fail("unknown FUNCTION");
}
