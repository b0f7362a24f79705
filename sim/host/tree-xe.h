/* SPDX-License-Identifier: MIT */
/* The layout of the tree of an SR-IOV host, except its fixed entries. Internal to tree-*.c. */
#ifndef SIM_HOST_TREE_XE_H
#define SIM_HOST_TREE_XE_H

#include "sim/host/tree-gpus.h"

/* As tree_each() and tree_link_text(). */
int tree_xe_each(struct tree *tree, const struct tree_node *dir, tree_found_fn found,
		 void *userdata);
void tree_xe_link_text(const struct tree_node *link, char text[TREE_LINK_MAX]);

#endif
