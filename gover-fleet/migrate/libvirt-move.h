/* SPDX-License-Identifier: MIT */
/*
 * Live migration of a virtual machine by libvirt, for a host without Nova. The libvirt daemon of
 * this host sends the machine to the one at the configured URI (VIR_MIGRATE_PEER2PEER). Disks must
 * be on storage that both hosts use.
 */
#ifndef GOVER_FLEET_MIGRATE_LIBVIRT_MOVE_H
#define GOVER_FLEET_MIGRATE_LIBVIRT_MOVE_H

#include "base/err.h"

struct libvirt_move;

/*
 * @uri: libvirt of this host. @to_uri: libvirt of the other host, as this host's daemon reaches it.
 * Both must stay valid. The connection is opened by libvirt_move_run().
 */
struct libvirt_move *libvirt_move_new(const char *uri, const char *to_uri);
struct libvirt_move *libvirt_move_free(struct libvirt_move *move); /* accepts NULL; returns NULL */

/*
 * Migrates the machine with the name or UUID @vm and waits until it has left. After @limit_s, the
 * migration is aborted. Returns 0; LIBVIRT_MOVE_REFUSED if it did not begin; -ECANCELED if it was
 * aborted; or -EIO if it failed.
 */
#define LIBVIRT_MOVE_REFUSED 1
int libvirt_move_run(struct libvirt_move *move, const char *vm, int limit_s, struct err *reterr);

enum libvirt_place {
	LIBVIRT_HERE,	 /* the machine runs on this host, and no job of libvirt moves it */
	LIBVIRT_LEAVING, /* a job of libvirt, such as a migration, goes on */
	LIBVIRT_GONE,	 /* it does not run on this host */
};

/* Finds the machine with the name or UUID @vm. Returns 0, or -EIO if libvirt does not answer. */
int libvirt_move_look(struct libvirt_move *move, const char *vm, enum libvirt_place *ret_place,
		      struct err *reterr);

/* Aborts the migration in progress, and makes later ones fail. Any thread may call this. */
void libvirt_move_stop(struct libvirt_move *move);

#endif
