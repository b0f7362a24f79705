/* SPDX-License-Identifier: MIT */
/*
 * Measures GPU time with pairs of GL timestamps: one after each present, and one before the next
 * present. GL_TIME_ELAPSED is not used, because only one query of this type can be active, and the
 * program may need this query. No call waits for a result or raises a GL error. A new context may
 * have the address of a destroyed context, so the first query of each context gets a label. Before
 * each use, the label shows whether the context is still the same.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/preload/debug.h"
#include "fps-preload/gputime.h"
#include "fps-preload/shared-page.h"
#include "fps-preload/symbol.h"

#define GL_RENDERER		  0x1F01
#define GL_VERSION		  0x1F02
#define GL_EXTENSIONS		  0x1F03
#define GL_NUM_EXTENSIONS	  0x821D
#define GL_QUERY_COUNTER_BITS	  0x8864
#define GL_QUERY_RESULT		  0x8866
#define GL_QUERY_RESULT_AVAILABLE 0x8867
#define GL_TIMESTAMP		  0x8E28
#define GL_QUERY		  0x82E3

#define CONTEXTS  4   /* maximum contexts measured per thread */
#define IN_FLIGHT 4   /* maximum frames with a pending result; further frames are not measured */
#define FORGET	  256 /* an entry that was unused for this number of presents may be reused */
#define MAX_NS	  10000000000ull /* longer times are ignored, because the GPU clock may jump */
#define LABEL	  "gover-fps"

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

/* In GL ES these functions exist only as extensions, under other names. */
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
	void *handle; /* NULL: unused entry */
	bool usable, begun, labelled;
	unsigned int used; /* value of self.presents at the last present of this context */
	unsigned int query[IN_FLIGHT][2]; /* begin and end query of each frame */
	unsigned int oldest;		  /* index of the oldest pending frame */
	unsigned int n;			  /* number of pending frames */
	struct functions gl;
};

static __thread __attribute__((tls_model("initial-exec"))) struct {
	unsigned int presents;
	struct context *context; /* CONTEXTS entries; NULL: not allocated yet, or out of memory */
} self;

static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (; text && (text = strstr(text, word)); text += length)
		if (text[length] == '\0' || text[length] == ' ')
			return true;
	return false;
}

/*
 * OpenGL before version 3 and OpenGL ES return the extensions as one string. OpenGL since version 3
 * returns them as a list, and asking it for the string may raise a GL error.
 */
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

/*
 * Mesa's renderers on the CPU take a timestamp when the command is queued, and draw later, on other
 * threads: the difference of two timestamps is not the time of the work between them.
 */
static bool draws_on_cpu(const char *renderer)
{
	return renderer && (strstr(renderer, "llvmpipe") || strstr(renderer, "softpipe"));
}

static void log_refusal(const char *renderer)
{
	static bool logged;

	if (!__atomic_exchange_n(&logged, true, __ATOMIC_RELAXED))
		debug_log("%s: GOVER_FPS_GPU_TIME is ignored: this renderer has no GPU", renderer);
}

/* Looks up the GL functions. Returns false if the current context cannot measure GPU time. */
static bool functions_find(get_proc_fn proc, struct functions *ret_gl)
{
	const char *(*string)(unsigned int) = (const char *(*)(unsigned int))proc("glGetString");
	const char *version = string ? string(GL_VERSION) : NULL;
	const char *renderer = string ? string(GL_RENDERER) : NULL;
	bool gles = version && strncmp(version, "OpenGL ES ", 10) == 0;
	const char *number = gles ? version + 10 : version;
	int bits = 0;

	if (draws_on_cpu(renderer)) {
		log_refusal(renderer);
		return false;
	}
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
	return bits >= 36; /* a counter of fewer bits wraps in less than a minute */
}

static void *current(enum gputime_api api)
{
	/* relaxed access is enough, because every thread finds the same value */
	static get_current_fn found[2];
	get_current_fn get = __atomic_load_n(&found[api], __ATOMIC_RELAXED);

	if (!get) {
		get = (get_current_fn)symbol_find(api == GPUTIME_GLX ? "glXGetCurrentContext"
								     : "eglGetCurrentContext");
		__atomic_store_n(&found[api], get, __ATOMIC_RELAXED);
	}
	return get ? get() : NULL;
}

static struct context *find_context(void *handle)
{
	for (int i = 0; handle && self.context && i < CONTEXTS; i++)
		if (self.context[i].handle == handle)
			return &self.context[i];
	return NULL;
}

/*
 * Returns an entry for a new context. Returns NULL if all entries are in use or if out of memory.
 */
static struct context *free_entry(void)
{
	struct context *best = NULL;

	if (!self.context)
		self.context = calloc(CONTEXTS, sizeof(struct context));
	for (int i = 0; self.context && i < CONTEXTS && !best; i++)
		if (!self.context[i].handle || self.presents - self.context[i].used > FORGET)
			best = &self.context[i];
	return best;
}

static struct context *add_context(enum gputime_api api, void *handle)
{
	struct context *c = handle ? free_entry() : NULL;
	get_proc_fn proc = (get_proc_fn)symbol_find(api == GPUTIME_GLX ? "glXGetProcAddressARB"
								       : "eglGetProcAddress");

	if (!c)
		return NULL;
	*c = (struct context){.handle = handle};
	c->usable = proc && functions_find(proc, &c->gl);
	if (c->usable)
		c->gl.gen_queries(2 * IN_FLIGHT, c->query[0]);
	debug_log("context %p: %s", handle,
		  c->usable ? "measuring GPU time" : "cannot measure GPU time");
	return c;
}

/* Returns false if the context of @c was destroyed and a new context has its address. */
static bool is_same_context(const struct context *c)
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
	struct context *c = find_context(current(api));

	if (c && c->labelled && !is_same_context(c))
		c->handle = NULL;
	else if (c && c->begun) {
		c->gl.query_counter(c->query[(c->oldest + c->n) % IN_FLIGHT][1], GL_TIMESTAMP);
		c->n++;
		c->begun = false;
	}
	errno = saved_errno;
}

static void collect_results(struct context *c)
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
		if (end >= begin && end - begin <= MAX_NS)
			shared_page_count_gpu_time(end - begin);
		c->oldest = (c->oldest + 1) % IN_FLIGHT;
		c->n--;
	}
}

void gputime_after(enum gputime_api api)
{
	int saved_errno = errno;
	void *handle = current(api);
	struct context *c = find_context(handle);

	self.presents++;
	if (!c)
		c = add_context(api, handle);
	if (c)
		c->used = self.presents;
	if (c && c->usable) {
		collect_results(c);
		if (c->n < IN_FLIGHT && !c->begun) {
			c->gl.query_counter(c->query[(c->oldest + c->n) % IN_FLIGHT][0],
					    GL_TIMESTAMP);
			c->begun = true;
		}
		if (!c->labelled) /* a query can get a label only after its first use */
			c->gl.label(GL_QUERY, c->query[0][0], -1, LABEL);
		c->labelled = true;
	}
	errno = saved_errno;
}
