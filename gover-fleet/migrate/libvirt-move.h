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
int libvirt_move_new(const char *uri, const char *to_uri, struct libvirt_move **ret_move);
struct libvirt_move *libvirt_move_free(struct libvirt_move *move); /* accepts NULL; returns NULL */

/*
 * Migrates the machine with the name or UUID @vm and waits until it has left. After @limit_s, the
 * migration is aborted. Returns 0; LIBVIRT_MOVE_REFUSED if it did not begin; -ECANCELED if it was
 * aborted; or -EIO if it failed.
 */
#define LIBVIRT_MOVE_REFUSED 1
int libvirt_move_run(struct libvirt_move *move, const char *vm, int limit_s, struct err *reterr);

/* Aborts the migration in progress, and makes later ones fail. Any thread may call this. */
void libvirt_move_stop(struct libvirt_move *move);

#endif
