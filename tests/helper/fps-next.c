/* SPDX-License-Identifier: MIT */
/*
 * Link: -shared -fPIC -ldl
 *
 * Another preload beside ours: hands getppid() and glXSwapBuffers() on to the next one, as preloads
 * do. Calls itself without end if RTLD_NEXT is answered from anybody's place but its own.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

void glXSwapBuffers(void *display, unsigned long drawable);

/* Volatile: a call in the last place must not become a jump that hides who calls. */
static void *next(const char *name, void *self)
{
	void *volatile found = dlsym(RTLD_NEXT, name);

	if (!found || found == self)
		abort();
	return found;
}

pid_t getppid(void)
{
	return ((pid_t(*)(void))next("getppid", (void *)getppid))();
}

void glXSwapBuffers(void *display, unsigned long drawable)
{
	((void (*)(void *, unsigned long))next("glXSwapBuffers", (void *)glXSwapBuffers))(display,
											  drawable);
}
