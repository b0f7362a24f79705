/* SPDX-License-Identifier: MIT */
/* Registers observers. */
#include <errno.h>

#include "gover-d/core/observer.h"

int observers_add(struct observers *observers, const struct observer *observer, void *userdata)
{
	if (observers->n == OBSERVERS_MAX)
		return -ENOSPC;
	observers->list[observers->n].observer = observer;
	observers->list[observers->n++].userdata = userdata;
	return 0;
}
