/* SPDX-License-Identifier: MIT */
/*
 * A program without OpenGL, which must not find GL functions through the preload. Exits with 0, or
 * with 1 and a message.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
	"glXSwapBuffers",	"glXGetProcAddress",	       "glXGetProcAddressARB",
	"eglSwapBuffers",	"eglGetProcAddress",	       "no_such_function",
	"glXSwapBuffersMscOML", "eglSwapBuffersWithDamageKHR", "eglSwapBuffersWithDamageEXT",
};

static int missing(void *handle, const char *where)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *why;

		(void)dlerror();
		if (dlsym(handle, names[i])) {
			fprintf(stderr, "fps-plain: %s was found in %s\n", names[i], where);
			return 1;
		}
		why = dlerror();
		if (!why || !strstr(why, names[i])) {
			fprintf(stderr, "fps-plain: dlerror() does not name %s: %s\n", names[i],
				why ? why : "(none)");
			return 1;
		}
	}
	return 0;
}

int main(void)
{
	if (missing(RTLD_DEFAULT, "the program") ||
	    missing(dlopen(NULL, RTLD_NOW), "the program itself") ||
	    missing(dlopen("libc.so.6", RTLD_NOW), "the C library"))
		return 1;
	if (dlsym(RTLD_DEFAULT, "getpid") != (void *)getpid ||
	    dlvsym(RTLD_DEFAULT, "getpid", "NONE_1.0")) {
		fprintf(stderr, "fps-plain: wrong address of getpid\n");
		return 1;
	}
	return 0;
}
