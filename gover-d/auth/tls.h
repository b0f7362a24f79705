/* SPDX-License-Identifier: MIT */
/*
 * The TLS certificate for TCP, with its key, and the CAs of client certificates. They are read from
 * files, reloaded when a file changes, and used by each handshake. The key is never logged.
 */
#ifndef GOVER_D_AUTH_TLS_H
#define GOVER_D_AUTH_TLS_H

#include <gnutls/abstract.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "gover-d/auth/access.h"
#include "gover-d/config/config.h"

/* What a client has proved with its certificate. */
enum client_proof {
	CLIENT_NO_CERTIFICATE,
	CLIENT_UNTRUSTED, /* expired, for another purpose, too weak, or not issued by a CA */
	CLIENT_TRUSTED,
};

struct client_certificate {
	enum client_proof proof;
	/* the following members are set if @proof is CLIENT_TRUSTED */
	char subject[CLIENT_SUBJECT_MAX]; /* as GnuTLS prints it (RFC 4514); "": not usable */
	int64_t expires_s;		  /* seconds since 1970 at which it or an issuer expires */
};

struct tls;
struct worker;

/*
 * Reads the files that tls_certificate, tls_key and tls_client_ca of @config name, and checks with
 * GnuTLS that certificate and key match. Returns a negative errno with a message that names the
 * file. Only one instance may exist, because tls_select_certificate() uses a global variable.
 */
int tls_new(const struct config *config, struct tls **ret_tls, struct err *reterr);
/*
 * Must not be called while a handshake or a job of @tls is running. @tls may be NULL. Returns NULL.
 */
struct tls *tls_free(struct tls *tls);

/*
 * To be called once per period. Every TLS_CHECK_PERIODS periods, @worker checks whether the files
 * have changed. A changed pair is logged. If it is valid, new handshakes use it, otherwise the
 * files are read again at each check.
 */
#define TLS_CHECK_PERIODS 10
void tls_tick(struct tls *tls, struct worker *worker, uint64_t now_ns);

/*
 * Returns why the files cannot be used, so that the previous certificate stays in use; NULL: the
 * files were loaded. Valid until the next call of tls_tick().
 */
const char *tls_problem(const struct tls *tls);

/* Returns the expiry of the certificate in use, in seconds since 1970. */
int64_t tls_expires_s(const struct tls *tls);

/* The certificate of the client of a connection; zeroed when the connection begins. */
struct tls_client {
	struct client_certificate certificate;
	unsigned int generation; /* of the CAs that have checked @certificate; 0: not checked yet */
};

/*
 * Returns the number of times that the files were loaded, from 1. A client certificate must be
 * checked again when it has changed.
 */
unsigned int tls_generation(const struct tls *tls);

/*
 * Checks the certificate of a client at its first request, after the CAs were reloaded, and when it
 * expires. @session: its connection, after the handshake.
 */
void tls_check_client(const struct tls *tls, gnutls_session_t session, int64_t now_s,
		      struct tls_client *client);

/*
 * For MHD_OPTION_HTTPS_CERT_CALLBACK: selects the certificate of a handshake, and asks the client
 * for its certificate if CAs are configured.
 */
int tls_select_certificate(gnutls_session_t session, const gnutls_datum_t *authorities,
			   int n_authorities, const gnutls_pk_algorithm_t *algorithms,
			   int n_algorithms, gnutls_pcert_st **ret_chain, unsigned int *ret_n_chain,
			   gnutls_privkey_t *ret_key);

/* --- the sections [client NAME]: the scope of each certificate subject --- */

struct clients;

struct client_rights {
	char name[ID_MAX]; /* NAME of [client NAME] */
	char subject[CLIENT_SUBJECT_MAX];
	enum access_scope scope;
	unsigned int number; /* position of the section, from 0 */
};

/*
 * Reads the sections of @config, and writes each subject in the form in which GnuTLS prints it, so
 * that two forms of one name are equal. -EINVAL with a message: a subject is not a distinguished
 * name of RFC 4514, or two sections have the same subject.
 */
int clients_new(const struct config *config, struct clients **ret_clients, struct err *reterr);
struct clients *clients_free(struct clients *clients); /* accepts NULL; returns NULL */

/* Returns the rights of a subject; NULL: no section has this subject. */
const struct client_rights *clients_find(const struct clients *clients, const char *subject);

#endif
