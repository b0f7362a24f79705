/* SPDX-License-Identifier: MIT */
/*
 * The functions that libgover-fps.so puts before the host program's own: those that present a
 * frame, and all that can be asked for their address. Must never change what the program sees; on
 * any doubt the real function is called and nothing else.
 *
 * A program may hold several functions of one name: libGL's and libGLX's, or those of a translator
 * (ANGLE) and the system's that it calls in turn. Each real function therefore gets a hook of its
 * own, out of a fixed number; one too many is handed out bare.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fps-preload/frame.h"
#include "fps-preload/gputime.h"
#include "fps-preload/jump.h"
#include "fps-preload/debug.h"
#include "fps-preload/setup.h"
#include "fps-preload/symbol.h"

#define EXPORT __attribute__((visibility("default")))

typedef void (*glx_swap_fn)(void *display, unsigned long drawable);
typedef int64_t (*glx_swap_msc_fn)(void *display, unsigned long drawable, int64_t target_msc,
				   int64_t divisor, int64_t remainder);
typedef unsigned int (*egl_swap_fn)(void *display, void *surface);
typedef unsigned int (*egl_damage_fn)(void *display, void *surface, int *rects, int n_rects);
typedef void *(*get_proc_fn)(const char *name);

enum shape { GLX_SWAP, GLX_SWAP_MSC, EGL_SWAP, EGL_DAMAGE, GET_PROC, SHAPES };

#define HOOKS 8

/* What may be asked for; the hook of that shape and number is also what we export under the name.
 */
static const struct covered {
	const char *name;
	enum shape shape;
	unsigned int hook;
} covered_names[] = {
	{"glXSwapBuffers", GLX_SWAP, 0},
	{"glXSwapBuffersMscOML", GLX_SWAP_MSC, 0},
	{"eglSwapBuffers", EGL_SWAP, 0},
	{"eglSwapBuffersWithDamageKHR", EGL_DAMAGE, 0},
	{"eglSwapBuffersWithDamageEXT", EGL_DAMAGE, 1},
	{"glXGetProcAddress", GET_PROC, 0},
	{"glXGetProcAddressARB", GET_PROC, 1},
	{"eglGetProcAddress", GET_PROC, 2},
};
static const unsigned int exported[SHAPES] = {
	[GLX_SWAP] = 1, [GLX_SWAP_MSC] = 1, [EGL_SWAP] = 1, [EGL_DAMAGE] = 2, [GET_PROC] = 3,
};

/* The function behind each hook: written once, by compare-and-swap; NULL: unused or not looked up.
 */
static void *reals[SHAPES][HOOKS];

/* Written by the constructor, constant after it. */
static bool off;
static bool gpu_time;

__attribute__((constructor)) static void hook_start(void)
{
	struct setup setup;

	setup_read(&setup);
	debug_enable(setup.debug);
	frame_setup(&setup);
	gpu_time = setup.gpu_time && setup.transport != SETUP_OFF;
	off = setup.transport == SETUP_OFF && setup.period_ns == 0;
}

SYMBOL_EARLY static const struct covered *covered_find(const char *name)
{
	if (!name || (name[0] != 'g' && name[0] != 'e'))
		return NULL;
	for (size_t i = 0; i < sizeof(covered_names) / sizeof(covered_names[0]); i++)
		if (symbol_same(covered_names[i].name, name))
			return &covered_names[i];
	return NULL;
}

/* An exported hook is called for the first time, by a program linked to it. */
static __attribute__((noinline)) void *real_find(enum shape shape, unsigned int hook)
{
	int saved_errno = errno;
	void *found = NULL;

	for (size_t i = 0; i < sizeof(covered_names) / sizeof(covered_names[0]); i++)
		if (covered_names[i].shape == shape && covered_names[i].hook == hook)
			found = symbol_find(covered_names[i].name);
	__atomic_store_n(&reals[shape][hook], found, __ATOMIC_RELAXED);
	errno = saved_errno;
	return found;
}

static inline void *real_of(enum shape shape, unsigned int hook)
{
	void *real = __atomic_load_n(&reals[shape][hook], __ATOMIC_RELAXED);

	return real ? real : real_find(shape, hook);
}

static inline uint64_t begin_frame(enum gputime_api api)
{
	if (gpu_time)
		gputime_before(api);
	return frame_begin();
}

static inline void end_frame(uint64_t begin, enum gputime_api api)
{
	if (frame_end(begin, 1) && gpu_time)
		gputime_after(api);
}

static inline void glx_swap(unsigned int hook, void *display, unsigned long drawable)
{
	glx_swap_fn real = (glx_swap_fn)real_of(GLX_SWAP, hook);
	uint64_t begin;

	if (!real)
		return;
	if (off) {
		real(display, drawable);
		return;
	}
	begin = begin_frame(GPUTIME_GLX);
	real(display, drawable);
	end_frame(begin, GPUTIME_GLX);
}

static inline int64_t glx_swap_msc(unsigned int hook, void *display, unsigned long drawable,
				   int64_t target_msc, int64_t divisor, int64_t remainder)
{
	glx_swap_msc_fn real = (glx_swap_msc_fn)real_of(GLX_SWAP_MSC, hook);
	int64_t swap_count;
	uint64_t begin;

	if (!real)
		return -1;
	if (off)
		return real(display, drawable, target_msc, divisor, remainder);
	begin = begin_frame(GPUTIME_GLX);
	swap_count = real(display, drawable, target_msc, divisor, remainder);
	if (swap_count != -1) /* 0 is what a renderer that counts no swaps says */
		end_frame(begin, GPUTIME_GLX);
	return swap_count;
}

static inline unsigned int egl_swap(unsigned int hook, void *display, void *surface)
{
	egl_swap_fn real = (egl_swap_fn)real_of(EGL_SWAP, hook);
	unsigned int presented;
	uint64_t begin;

	if (!real)
		return 0;
	if (off)
		return real(display, surface);
	begin = begin_frame(GPUTIME_EGL);
	presented = real(display, surface);
	if (presented)
		end_frame(begin, GPUTIME_EGL);
	return presented;
}

static inline unsigned int egl_damage(unsigned int hook, void *display, void *surface, int *rects,
				      int n_rects)
{
	egl_damage_fn real = (egl_damage_fn)real_of(EGL_DAMAGE, hook);
	unsigned int presented;
	uint64_t begin;

	if (!real)
		return 0;
	if (off)
		return real(display, surface, rects, n_rects);
	begin = begin_frame(GPUTIME_EGL);
	presented = real(display, surface, rects, n_rects);
	if (presented)
		end_frame(begin, GPUTIME_EGL);
	return presented;
}

static void *hook_over(enum shape shape, void *real);

static inline void *get_proc(unsigned int hook, const char *name)
{
	get_proc_fn real = (get_proc_fn)real_of(GET_PROC, hook);
	void *found = real ? real(name) : NULL;
	const struct covered *covered = found && !off ? covered_find(name) : NULL;

	return covered ? hook_over(covered->shape, found) : found;
}

#define EACH_HOOK(x) x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7)

#define GLX_SWAP_HOOK(n)                                                \
	static void glx_swap_##n(void *display, unsigned long drawable) \
	{                                                               \
		glx_swap(n, display, drawable);                         \
	}
#define GLX_SWAP_MSC_HOOK(n)                                                                       \
	static int64_t glx_swap_msc_##n(void *display, unsigned long drawable, int64_t target_msc, \
					int64_t divisor, int64_t remainder)                        \
	{                                                                                          \
		return glx_swap_msc(n, display, drawable, target_msc, divisor, remainder);         \
	}
#define EGL_SWAP_HOOK(n)                                               \
	static unsigned int egl_swap_##n(void *display, void *surface) \
	{                                                              \
		return egl_swap(n, display, surface);                  \
	}
#define EGL_DAMAGE_HOOK(n)                                                                        \
	static unsigned int egl_damage_##n(void *display, void *surface, int *rects, int n_rects) \
	{                                                                                         \
		return egl_damage(n, display, surface, rects, n_rects);                           \
	}
#define GET_PROC_HOOK(n)                            \
	static void *get_proc_##n(const char *name) \
	{                                           \
		return get_proc(n, name);           \
	}
#define GLX_SWAP_ADDRESS(n)	(void *)glx_swap_##n,
#define GLX_SWAP_MSC_ADDRESS(n) (void *)glx_swap_msc_##n,
#define EGL_SWAP_ADDRESS(n)	(void *)egl_swap_##n,
#define EGL_DAMAGE_ADDRESS(n)	(void *)egl_damage_##n,
#define GET_PROC_ADDRESS(n)	(void *)get_proc_##n,

EACH_HOOK(GLX_SWAP_HOOK)
EACH_HOOK(GLX_SWAP_MSC_HOOK)
EACH_HOOK(EGL_SWAP_HOOK)
EACH_HOOK(EGL_DAMAGE_HOOK)
EACH_HOOK(GET_PROC_HOOK)

static void *const hooks[SHAPES][HOOKS] = {
	[GLX_SWAP] = {EACH_HOOK(GLX_SWAP_ADDRESS)},
	[GLX_SWAP_MSC] = {EACH_HOOK(GLX_SWAP_MSC_ADDRESS)},
	[EGL_SWAP] = {EACH_HOOK(EGL_SWAP_ADDRESS)},
	[EGL_DAMAGE] = {EACH_HOOK(EGL_DAMAGE_ADDRESS)},
	[GET_PROC] = {EACH_HOOK(GET_PROC_ADDRESS)},
};

/* The hook that leads to @real; @real itself where it is a hook, or none is left. */
static void *hook_over(enum shape shape, void *real)
{
	for (unsigned int i = 0; i < HOOKS; i++)
		if (hooks[shape][i] == real)
			return real;
	for (unsigned int i = 0; i < HOOKS; i++) {
		void *taken = __atomic_load_n(&reals[shape][i], __ATOMIC_RELAXED);

		if (!taken && i >= exported[shape] &&
		    __atomic_compare_exchange_n(&reals[shape][i], &taken, real, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			taken = real;
		if (taken == real)
			return hooks[shape][i];
	}
	return real;
}

EXPORT __attribute__((alias("glx_swap_0"))) void glXSwapBuffers(void *display,
								unsigned long drawable);
EXPORT __attribute__((alias("glx_swap_msc_0"))) int64_t glXSwapBuffersMscOML(void *display,
									     unsigned long drawable,
									     int64_t target_msc,
									     int64_t divisor,
									     int64_t remainder);
EXPORT __attribute__((alias("egl_swap_0"))) unsigned int eglSwapBuffers(void *display,
									void *surface);
EXPORT __attribute__((alias("egl_damage_0"))) unsigned int eglSwapBuffersWithDamageKHR(
	void *display, void *surface, int *rects, int n_rects);
EXPORT __attribute__((alias("egl_damage_1"))) unsigned int eglSwapBuffersWithDamageEXT(
	void *display, void *surface, int *rects, int n_rects);
EXPORT __attribute__((alias("get_proc_0"))) void *glXGetProcAddress(const char *name);
EXPORT __attribute__((alias("get_proc_1"))) void *glXGetProcAddressARB(const char *name);
EXPORT __attribute__((alias("get_proc_2"))) void *eglGetProcAddress(const char *name);

/* What a lookup of a covered name gives: @found, asked for with the real function, or its hook. */
static void *covered_answer(const struct covered *covered, void *found)
{
	/* We export the name, so a search of the whole program finds us, GL or no GL. (RTLD_NEXT
	 * after us: this call has a return address in here, as it is not the last thing done.) */
	if (found == hooks[covered->shape][covered->hook] &&
	    !real_of(covered->shape, covered->hook))
		found = symbol_dlsym()(RTLD_NEXT, covered->name); /* NULL, and dlerror() says why */
	return found ? hook_over(covered->shape, found) : NULL;
}

static void *covered_dlsym(void *handle, const char *name)
{
	return covered_answer(covered_find(name), symbol_dlsym()(handle, name));
}

static void *covered_dlvsym(void *handle, const char *name, const char *version)
{
	return covered_answer(covered_find(name), symbol_dlvsym()(handle, name, version));
}

/*
 * dlsym() and dlvsym() look at their return address: RTLD_NEXT means next after the caller, and a
 * library loaded RTLD_LOCAL sees more than the program does. So ours do not call the real one, they
 * jump to it with stack and arguments as they came: to the function that the _target names, which
 * is the real one for all but the covered names. RTLD_NEXT is never answered with a hook: who asks
 * for it stands in for the function himself, perhaps behind us.
 */
symbol_dlsym_fn hook_dlsym_target(void *handle, const char *name);
symbol_dlvsym_fn hook_dlvsym_target(void *handle, const char *name);

SYMBOL_EARLY symbol_dlsym_fn hook_dlsym_target(void *handle, const char *name)
{
	if (off || handle == RTLD_NEXT || !covered_find(name))
		return symbol_dlsym();
	return covered_dlsym;
}

SYMBOL_EARLY symbol_dlvsym_fn hook_dlvsym_target(void *handle, const char *name)
{
	if (off || handle == RTLD_NEXT || !covered_find(name))
		return symbol_dlvsym();
	return covered_dlvsym;
}

/* The Vulkan layer in the same process counts in our page, and once what is presented through both.
 */
EXPORT uint64_t gover_fps_frame_begin(void);
EXPORT bool gover_fps_frame_end(uint64_t begin, unsigned int frames);

uint64_t gover_fps_frame_begin(void)
{
	return frame_begin();
}

bool gover_fps_frame_end(uint64_t begin, unsigned int frames)
{
	return frame_end(begin, frames);
}

EXPORT_JUMP(dlsym, hook_dlsym_target);
EXPORT_JUMP(dlvsym, hook_dlvsym_target);
