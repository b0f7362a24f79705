/* SPDX-License-Identifier: MIT */
/*
 * fps-sdl FRAMES: a program that loads SDL2 at run time and draws FRAMES frames. Exits with 77
 * without SDL2 or a window.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SDL_INIT_VIDEO	  0x20u
#define SDL_WINDOW_OPENGL 0x2u

static void *sdl;

static void *function(const char *name)
{
	void *found = dlsym(sdl, name);

	if (!found) {
		fprintf(stderr, "fps-sdl: no %s\n", name);
		exit(77);
	}
	return found;
}

int main(int argc, char **argv)
{
	long frames = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	void *window;

	sdl = dlopen("libSDL2-2.0.so.0", RTLD_NOW);
	if (!sdl || ((int (*)(uint32_t))function("SDL_Init"))(SDL_INIT_VIDEO) != 0)
		return 77;
	window = ((void *(*)(const char *, int, int, int, int, uint32_t))function(
		"SDL_CreateWindow"))("fps", 0, 0, 64, 64, SDL_WINDOW_OPENGL);
	if (!window || !((void *(*)(void *))function("SDL_GL_CreateContext"))(window))
		return 77;
	for (long i = 0; i < frames; i++)
		((void (*)(void *))function("SDL_GL_SwapWindow"))(window);
	((void (*)(void))function("SDL_Quit"))();
	return 0;
}
