/* SPDX-License-Identifier: MIT */
/* The table of all files of the tree. Internal to tree-*.c. */
#ifndef SIM_HOST_TREE_FILES_H
#define SIM_HOST_TREE_FILES_H

#include "sim/host/tree-gpus.h"

struct tree_attr {
	enum tree_kind in;
	const char *name;
	mode_t mode;
	/* show is NULL if the file is not readable, store is NULL if it is not writable. @text
	 * ends with NUL and has no newline. */
	void (*show)(const struct tree_node *node, char text[TREE_TEXT_MAX]);
	int (*store)(struct tree *tree, const struct tree_node *node, const char *text);
};

/* The files of a GVT-g host, and those of an SR-IOV host. The last row has a NULL name. */
extern const struct tree_attr tree_attrs[];
extern const struct tree_attr tree_xe_attrs[];
extern const struct tree_attr tree_xe_load; /* the files pf, vf1, ... in gover_sim */

/* Returns 0, or the error of any reading or writing of @attr, a file of an SR-IOV host. */
int tree_xe_check(const struct tree_node *attr, bool writes);

#endif
