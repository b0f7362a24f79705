/* SPDX-License-Identifier: MIT */
/*
 * GPU time by pairs of GL timestamps: one when the GPU begins with what follows a present, one when
 * it is done with all before the next. (Not GL_TIME_ELAPSED: only one of those may run at a time,
 * and the program may want it.) Must never wait for a result, raise a GL error, or touch a query
 * that is not ours: a context may be destroyed and another made at its address, so ours carry a
 * label, which is looked at before each use.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fps-preload/gputime.h"
#include "fps-preload/shared-page.h"
#include "fps-preload/debug.h"
#include "fps-preload/symbol.h"

#define GL_EXTENSIONS		  0x1F03
#define GL_VERSION		  0x1F02
#define GL_NUM_EXTENSIONS	  0x821D
#define GL_QUERY_COUNTER_BITS	  0x8864
#define GL_QUERY_RESULT		  0x8866
#define GL_QUERY_RESULT_AVAILABLE 0x8867
#define GL_TIMESTAMP		  0x8E28
#define GL_QUERY		  0x82E3

#define CONTEXTS   4   /* of one thread that are measured at a time */
#define IN_FLIGHT  4   /* frames whose time is not known yet; further ones are not measured */
#define FORGET	   256 /* presents of the thread after which an unused context gives up its place */
#define LONGEST_NS 10000000000ull /* what cannot be is not counted: a GPU's clock may jump */
#define LABEL	   "gover-fps"

typedef void *(*get_current_fn)(void);
typedef void *(*get_proc_fn)(const char *name);

struct functions {
	void (*gen_queries)(int n, unsigned int *ret_names);
	void (*get_query)(unsigned int target, unsigned int what, int *ret_value);
	void (*query_counter)(unsigned int name, unsigned int target);
	void (*get_int)(unsigned int name, unsigned int what, unsigned int *ret_value);
	void (*get_int64)(unsigned int name, unsigned int what, uint64_t *ret_value);
	unsigned char (*is_query)(unsigned int name);
	void (*label)(unsigned int kind, unsigned int name, int length, const char *text);
	void (*get_label)(unsigned int kind, unsigned int name, int size, int *ret_length,
			  char *ret_text);
};

/* The names that a GL ES context has them under end in EXT and KHR. */
static const struct {
	size_t offset;
	const char *gl, *gles;
} names[] = {
	{offsetof(struct functions, gen_queries), "glGenQueries", "glGenQueriesEXT"},
	{offsetof(struct functions, get_query), "glGetQueryiv", "glGetQueryivEXT"},
	{offsetof(struct functions, query_counter), "glQueryCounter", "glQueryCounterEXT"},
	{offsetof(struct functions, get_int), "glGetQueryObjectuiv", "glGetQueryObjectuivEXT"},
	{offsetof(struct functions, get_int64), "glGetQueryObjectui64v",
	 "glGetQueryObjectui64vEXT"},
	{offsetof(struct functions, is_query), "glIsQuery", "glIsQueryEXT"},
	{offsetof(struct functions, label), "glObjectLabel", "glObjectLabelKHR"},
	{offsetof(struct functions, get_label), "glGetObjectLabel", "glGetObjectLabelKHR"},
};

struct context {
	void *handle; /* NULL: a free place */
	bool usable, begun, labelled;
	unsigned int used;		  /* self.presents when it was last presented */
	unsigned int query[IN_FLIGHT][2]; /* begin and end of a frame */
	unsigned int oldest, n;		  /* of the frames in flight */
	struct functions gl;
};

static __thread __attribute__((tls_model("initial-exec"))) struct {
	unsigned int presents;
	struct context *context; /* CONTEXTS of them; NULL: none yet, or no memory */
} self;

static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (; text && (text = strstr(text, word)); text += length)
		if (text[length] == '\0' || text[length] == ' ')
			return true;
	return false;
}

/* Asks in the way that the context's version has; the other one would be a GL error. */
static bool has_extension(get_proc_fn proc, int major, bool gles, const char *word)
{
	const char *(*string)(unsigned int) = (const char *(*)(unsigned int))proc("glGetString");
	const char *(*string_at)(unsigned int, unsigned int) =
		(const char *(*)(unsigned int, unsigned int))proc("glGetStringi");
	void (*integer)(unsigned int, int *) = (void (*)(unsigned int, int *))proc("glGetIntegerv");
	int n = 0;

	if (gles || major < 3)
		return has_word(string(GL_EXTENSIONS), word);
	if (!integer || !string_at)
		return false;
	integer(GL_NUM_EXTENSIONS, &n);
	for (int i = 0; i < n; i++) {
		const char *one = string_at(GL_EXTENSIONS, (unsigned int)i);

		if (one && strcmp(one, word) == 0)
			return true;
	}
	return false;
}

/* Can the current context do it, in all it takes? */
static bool functions_find(get_proc_fn proc, struct functions *ret_gl)
{
	const char *(*string)(unsigned int) = (const char *(*)(unsigned int))proc("glGetString");
	const char *version = string ? string(GL_VERSION) : NULL;
	bool gles = version && strncmp(version, "OpenGL ES ", 10) == 0;
	const char *number = gles ? version + 10 : version;
	int bits = 0;

	if (!number || number[0] < '1' || number[0] > '9' || number[1] != '.' ||
	    !has_extension(proc, number[0] - '0', gles, "GL_KHR_debug") ||
	    !has_extension(proc, number[0] - '0', gles,
			   gles ? "GL_EXT_disjoint_timer_query" : "GL_ARB_timer_query"))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *found = proc(gles ? names[i].gles : names[i].gl);

		if (!found)
			return false;
		memcpy((char *)ret_gl + names[i].offset, &found, sizeof(found));
	}
	ret_gl->get_query(GL_TIMESTAMP, GL_QUERY_COUNTER_BITS, &bits);
	return bits >= 36; /* a minute of nanoseconds */
}

static void *current(enum gputime_api api)
{
	static get_current_fn found[2]; /* each set to what any thread would find */
	get_current_fn get = __atomic_load_n(&found[api], __ATOMIC_RELAXED);

	if (!get) {
		get = (get_current_fn)symbol_find(api == GPUTIME_GLX ? "glXGetCurrentContext"
								     : "eglGetCurrentContext");
		__atomic_store_n(&found[api], get, __ATOMIC_RELAXED);
	}
	return get ? get() : NULL;
}

static struct context *known(void *handle)
{
	for (int i = 0; handle && self.context && i < CONTEXTS; i++)
		if (self.context[i].handle == handle)
			return &self.context[i];
	return NULL;
}

/* A place for a context that is met for the first time, or NULL. */
static struct context *place(void)
{
	struct context *best = NULL;

	if (!self.context)
		self.context = calloc(CONTEXTS, sizeof(struct context)); /* once a thread */
	for (int i = 0; self.context && i < CONTEXTS && !best; i++)
		if (!self.context[i].handle || self.presents - self.context[i].used > FORGET)
			best = &self.context[i];
	return best;
}

static struct context *meet(enum gputime_api api, void *handle)
{
	struct context *c = handle ? place() : NULL;
	get_proc_fn proc = (get_proc_fn)symbol_find(api == GPUTIME_GLX ? "glXGetProcAddressARB"
								       : "eglGetProcAddress");

	if (!c)
		return NULL;
	*c = (struct context){.handle = handle};
	c->usable = proc && functions_find(proc, &c->gl);
	if (c->usable)
		c->gl.gen_queries(2 * IN_FLIGHT, c->query[0]);
	debug_log("context %p: %s", handle,
		  c->usable ? "GPU time is measured" : "no timestamp queries");
	return c;
}

/* Are the queries of @c still ours? Of another context at the same address they are not. */
static bool still_ours(const struct context *c)
{
	char label[sizeof(LABEL)] = "";
	int length = 0;

	if (!c->gl.is_query(c->query[0][0]))
		return false;
	c->gl.get_label(GL_QUERY, c->query[0][0], sizeof(label), &length, label);
	return strcmp(label, LABEL) == 0;
}

void gputime_before(enum gputime_api api)
{
	int saved_errno = errno;
	struct context *c = known(current(api));

	if (c && c->labelled && !still_ours(c))
		c->handle = NULL;
	else if (c && c->begun) {
		c->gl.query_counter(c->query[(c->oldest + c->n) % IN_FLIGHT][1], GL_TIMESTAMP);
		c->n++;
		c->begun = false;
	}
	errno = saved_errno;
}

static void pick_up(struct context *c)
{
	while (c->n > 0) {
		const unsigned int *query = c->query[c->oldest];
		unsigned int available = 0;
		uint64_t begin = 0, end = 0;

		c->gl.get_int(query[1], GL_QUERY_RESULT_AVAILABLE, &available);
		if (!available)
			return;
		c->gl.get_int64(query[0], GL_QUERY_RESULT, &begin);
		c->gl.get_int64(query[1], GL_QUERY_RESULT, &end);
		if (end >= begin && end - begin <= LONGEST_NS)
			shared_page_count_gpu_time(end - begin);
		c->oldest = (c->oldest + 1) % IN_FLIGHT;
		c->n--;
	}
}

void gputime_after(enum gputime_api api)
{
	int saved_errno = errno;
	void *handle = current(api);
	struct context *c = known(handle);

	self.presents++;
	if (!c)
		c = meet(api, handle);
	if (c)
		c->used = self.presents;
	if (c && c->usable) {
		pick_up(c);
		if (c->n < IN_FLIGHT && !c->begun) {
			c->gl.query_counter(c->query[(c->oldest + c->n) % IN_FLIGHT][0],
					    GL_TIMESTAMP);
			c->begun = true;
		}
		if (!c->labelled) /* a query exists from its first use on */
			c->gl.label(GL_QUERY, c->query[0][0], -1, LABEL);
		c->labelled = true;
	}
	errno = saved_errno;
}
