/* SPDX-License-Identifier: MIT */
/*
 * The hooks of libgover-fps.so: they replace functions that present a frame, and functions that
 * return the addresses of such functions. A hook never changes the results that the program sees.
 * If it cannot count a frame, it only calls the real function.
 *
 * A process may contain several functions of the same name, for example one in libGL and one in
 * libGLX, or one in a translator (ANGLE) and one in the system library that the translator calls.
 * Each real function therefore has its own hook. The number of hooks is fixed. If no hook is free,
 * the program gets the real address, and frames presented through this address are not counted.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/preload/debug.h"
#include "fps-preload/frame.h"
#include "fps-preload/gputime.h"
#include "fps-preload/jump.h"
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

/*
 * The hooked functions. @shape (parameters and result) and @hook (a number) identify the hook that
 * is exported under @name.
 */
static const struct hooked {
	const char *name;
	enum shape shape;
	unsigned int hook;
} hooked_names[] = {
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

/*
 * The real function of each hook. NULL: the hook is unused, or the function was not looked up yet.
 */
static void *reals[SHAPES][HOOKS];

/* Written by the constructor, constant afterwards. */
static bool off;
static bool gpu_time;

__attribute__((constructor)) static void hook_start(void)
{
	struct setup setup;

	setup_read(&setup);
	debug_enable(setup.debug ? "gover-fps" : NULL);
	off = !frame_setup(&setup);
	gpu_time = setup.gpu_time && setup.transport != SETUP_OFF;
}

SYMBOL_EARLY static const struct hooked *hooked_find(const char *name)
{
	if (!name || (name[0] != 'g' && name[0] != 'e'))
		return NULL;
	for (size_t i = 0; i < sizeof(hooked_names) / sizeof(hooked_names[0]); i++)
		if (symbol_same(hooked_names[i].name, name))
			return &hooked_names[i];
	return NULL;
}

/*
 * Looks up the real function of an exported hook. Called when a program that is linked to the GL
 * library first calls the hook.
 */
static __attribute__((noinline)) void *real_find(enum shape shape, unsigned int hook)
{
	int saved_errno = errno;
	void *found = NULL;

	for (size_t i = 0; i < sizeof(hooked_names) / sizeof(hooked_names[0]); i++)
		if (hooked_names[i].shape == shape && hooked_names[i].hook == hook)
			found = symbol_find(hooked_names[i].name);
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

static inline void end_frame(uint64_t begin, bool presented, enum gputime_api api)
{
	if (frame_end(begin, presented) && gpu_time)
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
	end_frame(begin, true, GPUTIME_GLX);
}

#define UNPACK(...) __VA_ARGS__

/*
 * Defines a hook like glx_swap() for a function that returns a result. @failure: the result if the
 * real function is missing. @success: true if the function has presented the frame.
 */
#define PRESENT(name, type, shape, api, failure, success, parameters, arguments) \
	static inline type name(unsigned int hook, UNPACK parameters)            \
	{                                                                        \
		name##_fn real = (name##_fn)real_of(shape, hook);                \
		type result;                                                     \
		uint64_t begin;                                                  \
                                                                                 \
		if (!real)                                                       \
			return failure;                                          \
		if (off)                                                         \
			return real arguments;                                   \
		begin = begin_frame(api);                                        \
		result = real arguments;                                         \
		end_frame(begin, success, api);                                  \
		return result;                                                   \
	}

/* 0 is a success too, because software renderers do not count swaps. */
PRESENT(glx_swap_msc, int64_t, GLX_SWAP_MSC, GPUTIME_GLX, -1, result != -1,
	(void *display, unsigned long drawable, int64_t target_msc, int64_t divisor,
	 int64_t remainder),
	(display, drawable, target_msc, divisor, remainder))
PRESENT(egl_swap, unsigned int, EGL_SWAP, GPUTIME_EGL, 0, result, (void *display, void *surface),
	(display, surface))
PRESENT(egl_damage, unsigned int, EGL_DAMAGE, GPUTIME_EGL, 0, result,
	(void *display, void *surface, int *rects, int n_rects), (display, surface, rects, n_rects))

static void *hook_for(enum shape shape, void *real);

static inline void *get_proc(unsigned int hook, const char *name)
{
	get_proc_fn real = (get_proc_fn)real_of(GET_PROC, hook);
	void *found = real ? real(name) : NULL;
	const struct hooked *hooked = found && !off ? hooked_find(name) : NULL;

	return hooked ? hook_for(hooked->shape, found) : found;
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

/* Returns the hook for @real. Returns @real itself if @real is a hook or if no hook is free. */
static void *hook_for(enum shape shape, void *real)
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

static void *hooked_result(const struct hooked *hooked, void *found)
{
	/*
	 * The lookup may have found the exported hook although no GL library is loaded. Repeat the
	 * lookup in the libraries after this library, so that it fails and sets dlerror(). This
	 * call must not become a tail call, because RTLD_NEXT depends on the caller.
	 */
	if (found == hooks[hooked->shape][hooked->hook] && !real_of(hooked->shape, hooked->hook))
		found = symbol_dlsym()(RTLD_NEXT, hooked->name);
	return found ? hook_for(hooked->shape, found) : NULL;
}

static void *hooked_dlsym(void *handle, const char *name)
{
	return hooked_result(hooked_find(name), symbol_dlsym()(handle, name));
}

static void *hooked_dlvsym(void *handle, const char *name, const char *version)
{
	return hooked_result(hooked_find(name), symbol_dlvsym()(handle, name, version));
}

/*
 * The results of dlsym() and dlvsym() depend on the caller: RTLD_NEXT means the next library after
 * the caller, and a library loaded with RTLD_LOCAL finds symbols that the program does not find.
 * The exported dlsym() and dlvsym() therefore call their _target function, which returns an
 * address, and jump to this address with unchanged stack and arguments. The called function sees
 * the original caller. The _target functions return the address of the real dlsym() or dlvsym() if
 * the name is not hooked. They also return it for RTLD_NEXT, because a program that uses RTLD_NEXT
 * wraps the function itself.
 */
symbol_dlsym_fn hook_dlsym_target(void *handle, const char *name);
symbol_dlvsym_fn hook_dlvsym_target(void *handle, const char *name);

SYMBOL_EARLY symbol_dlsym_fn hook_dlsym_target(void *handle, const char *name)
{
	if (off || handle == RTLD_NEXT || !hooked_find(name))
		return symbol_dlsym();
	return hooked_dlsym;
}

SYMBOL_EARLY symbol_dlvsym_fn hook_dlvsym_target(void *handle, const char *name)
{
	if (off || handle == RTLD_NEXT || !hooked_find(name))
		return symbol_dlvsym();
	return hooked_dlvsym;
}

/*
 * The Vulkan layer in the same process calls these functions, so that a frame that passes through
 * the library and the layer counts once.
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
