/* SPDX-License-Identifier: MIT */
/*
 * Finds the kernels of an OpenCL C program and the kinds of their arguments. Nothing else of the
 * program is understood: bodies, other functions, types and preprocessor lines are skipped, and
 * macros are not expanded. A kernel head must have the form
 *	[__attribute__((...))] __kernel [__attribute__((...))] void NAME(ARGUMENT, ...) {
 * in which an argument is a pointer with an address space, or a value.
 */
#ifndef TESTS_DOUBLE_DEVICE_SOURCE_H
#define TESTS_DOUBLE_DEVICE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_KERNELS	 128
#define SOURCE_ARGUMENTS 1024 /* of all kernels of a program */
#define SOURCE_NAME	 64
#define SOURCE_LOG	 160

enum source_kind {
	SOURCE_VALUE,
	SOURCE_GLOBAL,
	SOURCE_CONSTANT,
	SOURCE_LOCAL,
};

struct source_argument {
	enum source_kind kind;
	bool is_const, is_volatile, is_restrict;
	size_t size;		/* bytes of a value; 0: a type that is not known */
	char type[SOURCE_NAME]; /* without qualifiers, with '*' if a pointer */
	char name[SOURCE_NAME];
};

struct source_kernel {
	char name[SOURCE_NAME];
	unsigned n_arguments, first; /* first: index in source.arguments */
	size_t group[3];	     /* reqd_work_group_size, or zeros */
};

struct source {
	unsigned n_kernels, n_arguments;
	struct source_kernel kernels[SOURCE_KERNELS];
	struct source_argument arguments[SOURCE_ARGUMENTS];
	char log[SOURCE_LOG]; /* the error as "line N: ...", or empty */
};

/* Parses @text of @size bytes. Returns 0, or -EINVAL with a sentence in ret_source->log. */
int source_parse(const char *text, size_t size, struct source *ret_source);

/* Returns the kernel @name, or NULL. */
const struct source_kernel *source_find(const struct source *source, const char *name);

#endif
