/* SPDX-License-Identifier: MIT */
/*
 * While jansson runs, the blocks that it allocates are listed, and the blocks that it frees are
 * freed afterwards. If an allocation fails, longjmp() leaves jansson, and all listed blocks are
 * freed. Blocks are plain blocks of malloc(), so that other code can free them.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-text.h"

struct blocks {
	void **list;
	size_t n, max;
};

/* A call of jansson: its parameters and its result. */
struct call {
	const char *text;
	size_t length;
	const json_t *json;
	size_t flags;
	json_error_t *reterr;
	void *result;
	jmp_buf no_memory;
	struct blocks allocated, released;
};

/* The call of jansson that runs in this thread; NULL: jansson was not called by this module. */
static _Thread_local struct call *running;

/* Makes room for one more block, or leaves jansson. */
static void reserve(struct blocks *blocks)
{
	size_t max = blocks->max ? 2 * blocks->max : 64;
	void **list;

	if (blocks->n < blocks->max)
		return;
	list = realloc(blocks->list, max * sizeof(*list));
	if (!list)
		longjmp(running->no_memory, 1);
	blocks->list = list;
	blocks->max = max;
}

static void *allocate(size_t size)
{
	void *block;

	if (!running)
		return malloc(size);
	reserve(&running->allocated);
	block = malloc(size);
	if (!block)
		longjmp(running->no_memory, 1);
	running->allocated.list[running->allocated.n++] = block;
	return block;
}

static void release(void *block)
{
	if (!running) {
		free(block);
	} else if (block) {
		reserve(&running->released);
		running->released.list[running->released.n++] = block;
	}
}

/* Runs before main(), because jansson reads these pointers in every thread without a lock. */
__attribute__((constructor)) static void install(void)
{
	json_set_alloc_funcs(allocate, release);
}

/* Returns false if memory is short. */
static bool run(struct call *call, void (*function)(struct call *call))
{
	running = call;
	if (setjmp(call->no_memory) != 0) {
		running = NULL;
		return false;
	}
	function(call);
	running = NULL;
	return true;
}

/* Calls @function. Returns its result; NULL: memory is short. */
static void *call_jansson(struct call *call, void (*function)(struct call *call), bool *ret_done)
{
	bool done = run(call, function);
	struct blocks *unused = done ? &call->released : &call->allocated;

	for (size_t i = 0; i < unused->n; i++)
		free(unused->list[i]);
	free(call->allocated.list);
	free(call->released.list);
	*ret_done = done;
	return done ? call->result : NULL;
}

static void parse(struct call *call)
{
	call->result = json_loadb(call->text, call->length, call->flags, call->reterr);
}

static void print(struct call *call)
{
	call->result = json_dumps(call->json, call->flags);
}

json_t *json_text_parse(const char *text, size_t length, size_t flags, json_error_t *reterr)
{
	struct call call = {.text = text, .length = length, .flags = flags, .reterr = reterr};
	bool done;
	json_t *json = call_jansson(&call, parse, &done);

	if (!done && reterr) {
		memset(reterr, 0, sizeof(*reterr));
		strcpy(reterr->text, "out of memory");
		/* where json_error_code() reads the code */
		reterr->text[JSON_ERROR_TEXT_LENGTH - 1] = json_error_out_of_memory;
	}
	return json;
}

bool json_text_no_memory(const json_error_t *err)
{
	return json_error_code(err) == json_error_out_of_memory;
}

char *json_text_print(const json_t *json, size_t flags)
{
	struct call call = {.json = json, .flags = flags};
	bool done;

	return call_jansson(&call, print, &done);
}

json_t *json_text_copy_object(json_t *object)
{
	json_t *copy = json_is_object(object) ? json_object() : NULL, *value;
	const char *key;

	if (!copy)
		return NULL;
	json_object_foreach (object, key, value) {
		if (json_object_set(copy, key, value) == 0)
			continue;
		json_decref(copy);
		return NULL;
	}
	return copy;
}
