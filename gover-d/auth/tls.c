/* SPDX-License-Identifier: MIT */
/*
 * Loads a certificate and its key, together called a pair, with the CAs of client certificates. The
 * pair is validated here, because libmicrohttpd would report an invalid pair only as a failed
 * start. The worker reads changed files. A replaced pair is freed when no handshake can use it any
 * longer. The subjects of the sections [client NAME] are parsed here too, because they are compared
 * with those of certificates.
 */
#include <errno.h>
#include <gnutls/x509.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "gover-d/auth/tls.h"
#include "gover-d/util/log.h"
#include "gover-d/util/worker.h"

#define PEM_BYTES_MAX (256 * 1024)
/* limit of certificates in a file; GnuTLS has the same limit */
#define CHAIN_MAX 16
/* A longer chain of a client is not trusted: each certificate costs time of the event loop. */
#define CLIENT_CHAIN_MAX 8
/*
 * Seconds until a replaced pair is freed. Must be longer than CONNECTION_FIRST_REQUEST_S, the
 * longest time for which a handshake can use a pair.
 */
#define KEPT_S 60

struct pair {
	gnutls_pcert_st chain[CHAIN_MAX];
	unsigned int n_chain;
	gnutls_privkey_t key;
	gnutls_x509_trust_list_t trust; /* NULL: clients are not asked for a certificate */
	int64_t expires_s;
	bool exposed;	     /* every user can read the key */
	uint64_t retired_ns; /* time at which the pair was replaced */
	struct pair *next;   /* tls.retired */
};

enum file { CERTIFICATE, KEY, CLIENT_CA, FILES };

/*
 * Identifies the present content of the files. The struct has no padding, so that memcmp() can
 * compare two stamps.
 */
struct stamp {
	struct {
		uint64_t dev, ino, size, changed_s, changed_ns;
	} files[FILES];
};

struct tls {
	/* must be the first member, because check() casts a job to struct tls */
	struct worker_job job;
	bool checking;		     /* the worker is running the check */
	unsigned int periods;	     /* periods since the last check */
	char paths[FILES][PATH_MAX]; /* CLIENT_CA: "" if no client certificates are configured */
	struct pair *current, *retired;
	unsigned int generation; /* number of pairs loaded so far */
	uint64_t now_ns;
	char problem[ERR_MSG_MAX]; /* why the files cannot be used; "": they were loaded */
	/* The worker owns the following members while @checking is true. */
	struct stamp tried; /* stamp of the last load */
	struct stamp seen;  /* stamp of the last check */
	bool again;	    /* the last load failed: load even unchanged files */
	struct pair *fresh; /* the newly loaded pair; NULL: no new pair */
	int result;
	struct err err;
};

/* The TLS instance in use. It is global because the callback of GnuTLS has no userdata. */
static const struct tls *in_force;

static int load(const char *path, const char *what, char **ret_text, struct err *reterr)
{
	int r = file_read(path, PEM_BYTES_MAX, ret_text, NULL);

	return r < 0 ? err_fail(reterr, -r, "[daemon] %s = %s: cannot be read: %s", what, path,
				file_error(r))
		     : 0;
}

/* --- certificates of clients --- */

struct chain {
	gnutls_x509_crt_t certificates[CLIENT_CHAIN_MAX];
	unsigned int n;
};

/* Reads the CAs in the PEM file @path. The caller frees *ret_trust also after an error. */
static int load_trust(const char *path, gnutls_x509_trust_list_t *ret_trust, struct err *reterr)
{
	CLEANUP_FREE char *text = NULL;
	gnutls_datum_t pem;
	int n, r = load(path, "tls_client_ca", &text, reterr);

	if (r < 0)
		return r;
	if (gnutls_x509_trust_list_init(ret_trust, 0) < 0)
		xalloc_fail(0);
	pem = (gnutls_datum_t){(unsigned char *)text, (unsigned int)strlen(text)};
	n = gnutls_x509_trust_list_add_trust_mem(*ret_trust, &pem, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
	if (n > 0)
		return 0;
	return err_fail(reterr, EINVAL,
			"[daemon] tls_client_ca = %s: not a list of CA certificates in PEM format: "
			"%s",
			path, n < 0 ? gnutls_strerror(n) : "no certificate found");
}

/* Imports all certificates of the client, its own first. Returns false if one is not valid. */
static bool import(const gnutls_datum_t *raw, unsigned int n, struct chain *chain)
{
	if (n > CLIENT_CHAIN_MAX)
		return false;
	for (; chain->n < n; chain->n++) {
		gnutls_x509_crt_t *at = &chain->certificates[chain->n];

		if (gnutls_x509_crt_init(at) < 0)
			return false;
		if (gnutls_x509_crt_import(*at, &raw[chain->n], GNUTLS_X509_FMT_DER) < 0) {
			gnutls_x509_crt_deinit(*at);
			return false;
		}
	}
	return true;
}

static bool verify(gnutls_x509_trust_list_t trust, struct chain *chain)
{
	gnutls_typed_vdata_st purpose = {
		.type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT,
	};
	unsigned int status = GNUTLS_CERT_INVALID;
	int r = gnutls_x509_trust_list_verify_crt2(
		trust, chain->certificates, chain->n, &purpose, 1,
		GNUTLS_PROFILE_TO_VFLAGS(GNUTLS_PROFILE_MEDIUM), &status, NULL);

	return r >= 0 && status == 0;
}

static void read_subject(gnutls_x509_crt_t certificate, char ret_subject[CLIENT_SUBJECT_MAX])
{
	gnutls_datum_t name = {NULL, 0};

	ret_subject[0] = '\0';
	/* a NUL in a name must not end the comparison with a section early */
	if (gnutls_x509_crt_get_dn3(certificate, &name, 0) >= 0 && name.size < CLIENT_SUBJECT_MAX &&
	    strlen((const char *)name.data) == name.size)
		snprintf(ret_subject, CLIENT_SUBJECT_MAX, "%s", (const char *)name.data);
	gnutls_free(name.data);
}

/* Returns the certificate of the chain that has issued @certificate; NULL: none. */
static gnutls_x509_crt_t find_issuer(const struct chain *chain, gnutls_x509_crt_t certificate)
{
	for (unsigned int i = 0; i < chain->n; i++)
		if (chain->certificates[i] != certificate &&
		    gnutls_x509_crt_check_issuer(certificate, chain->certificates[i]))
			return chain->certificates[i];
	return NULL;
}

/*
 * Returns the first expiry on the path from the certificate of the client to its CA. A client may
 * send further certificates, which do not count.
 */
static int64_t find_expiry(gnutls_x509_trust_list_t trust, const struct chain *chain)
{
	gnutls_x509_crt_t certificate = chain->certificates[0], ca;
	int64_t first = INT64_MAX;

	for (unsigned int i = 0; i < chain->n && certificate; i++) {
		int64_t at = gnutls_x509_crt_get_expiration_time(certificate);

		first = at < first ? at : first;
		if (gnutls_x509_trust_list_get_issuer(trust, certificate, &ca, 0) >= 0) {
			at = gnutls_x509_crt_get_expiration_time(ca);
			return at < first ? at : first;
		}
		certificate = find_issuer(chain, certificate);
	}
	return first;
}

/*
 * Checks the certificate that the client has sent in the handshake of @session: the chain up to a
 * CA, the validity at the time of the system clock, the extended key usage (client authentication,
 * if the certificate has this extension), and keys of at least 112 bits of security. libmicrohttpd
 * accepts any certificate: only this check makes it a proof.
 */
static void check_certificate(gnutls_x509_trust_list_t trust, gnutls_session_t session,
			      struct client_certificate *ret_certificate)
{
	struct chain chain = {.n = 0};
	unsigned int n = 0;
	const gnutls_datum_t *raw = gnutls_certificate_get_peers(session, &n);

	*ret_certificate = (struct client_certificate){.proof = CLIENT_NO_CERTIFICATE};
	if (!raw || n == 0)
		return;
	ret_certificate->proof = CLIENT_UNTRUSTED;
	if (import(raw, n, &chain) && verify(trust, &chain)) {
		ret_certificate->proof = CLIENT_TRUSTED;
		ret_certificate->expires_s = find_expiry(trust, &chain);
		read_subject(chain.certificates[0], ret_certificate->subject);
	}
	for (unsigned int i = 0; i < chain.n; i++)
		gnutls_x509_crt_deinit(chain.certificates[i]);
}

/* --- the pair --- */

static struct pair *free_pair(struct pair *pair)
{
	if (!pair)
		return NULL;
	for (unsigned int i = 0; i < pair->n_chain; i++)
		gnutls_pcert_deinit(&pair->chain[i]);
	if (pair->key)
		gnutls_privkey_deinit(pair->key);
	if (pair->trust)
		gnutls_x509_trust_list_deinit(pair->trust, /* all= */ 1);
	free(pair);
	return NULL;
}

static int read_expiry(gnutls_pcert_st *certificate, int64_t *ret_expires_s)
{
	gnutls_x509_crt_t crt;
	int r = gnutls_pcert_export_x509(certificate, &crt);

	if (r < 0)
		return r;
	*ret_expires_s = (int64_t)gnutls_x509_crt_get_expiration_time(crt);
	gnutls_x509_crt_deinit(crt);
	return 0;
}

/* Checks that certificate and key match. The credentials object is used only for this check. */
static int check_pair(const gnutls_datum_t *certificate, const gnutls_datum_t *key)
{
	gnutls_certificate_credentials_t credentials;
	int r = gnutls_certificate_allocate_credentials(&credentials);

	if (r < 0)
		return r;
	r = gnutls_certificate_set_x509_key_mem(credentials, certificate, key, GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(credentials);
	return r < 0 ? r : 0;
}

/* Returns 0 or a negative error code of GnuTLS. */
static int parse_pair(char *certificate_text, char *key_text, struct pair *pair)
{
	gnutls_datum_t certificate = {(unsigned char *)certificate_text,
				      (unsigned int)strlen(certificate_text)};
	gnutls_datum_t key = {(unsigned char *)key_text, (unsigned int)strlen(key_text)};
	unsigned int n = CHAIN_MAX;
	int r = check_pair(&certificate, &key);

	if (r >= 0)
		r = gnutls_pcert_list_import_x509_raw(pair->chain, &n, &certificate,
						      GNUTLS_X509_FMT_PEM,
						      GNUTLS_X509_CRT_LIST_SORT);
	if (r >= 0) {
		pair->n_chain = n;
		r = gnutls_privkey_init(&pair->key);
	}
	if (r >= 0)
		r = gnutls_privkey_import_x509_raw(pair->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
	return r < 0 ? r : read_expiry(&pair->chain[0], &pair->expires_s);
}

/* Reads certificate and key into @pair. */
static int read_pair(const char (*paths)[PATH_MAX], struct pair *pair, struct err *reterr)
{
	CLEANUP_FREE char *certificate = NULL;
	char *key = NULL;
	struct stat st;
	int r = load(paths[CERTIFICATE], "tls_certificate", &certificate, reterr);

	if (r >= 0)
		r = load(paths[KEY], "tls_key", &key, reterr);
	if (r >= 0) {
		int tls = parse_pair(certificate, key, pair);

		if (tls < 0)
			r = err_fail(reterr, EINVAL,
				     "[daemon] tls_certificate = %s and tls_key = %s: not a "
				     "certificate and its private key in PEM format: %s",
				     paths[CERTIFICATE], paths[KEY], gnutls_strerror(tls));
	}
	if (key)
		explicit_bzero(key, strlen(key));
	free(key);
	pair->exposed = stat(paths[KEY], &st) == 0 && (st.st_mode & S_IROTH);
	return r;
}

static int load_pair(const char (*paths)[PATH_MAX], struct pair **ret_pair, struct err *reterr)
{
	struct pair *pair = xcalloc(1, sizeof(*pair));
	int r = read_pair(paths, pair, reterr);

	if (r >= 0 && paths[CLIENT_CA][0])
		r = load_trust(paths[CLIENT_CA], &pair->trust, reterr);
	if (r < 0)
		free_pair(pair);
	else
		*ret_pair = pair;
	return r;
}

/*
 * Returns the stamp of the files; all members of a missing file are 0. The stamp contains the
 * ctime, which also changes when permissions change.
 */
static struct stamp read_stamp(const struct tls *tls)
{
	struct stamp stamp = {0};
	struct stat st;

	for (size_t i = 0; i < FILES; i++) {
		if (stat(tls->paths[i], &st) < 0)
			continue;
		stamp.files[i].dev = st.st_dev;
		stamp.files[i].ino = st.st_ino;
		stamp.files[i].size = (uint64_t)st.st_size;
		stamp.files[i].changed_s = (uint64_t)st.st_ctim.tv_sec;
		stamp.files[i].changed_ns = (uint64_t)st.st_ctim.tv_nsec;
	}
	return stamp;
}

static bool same(const struct stamp *a, const struct stamp *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/*
 * Runs in the worker. A changed pair is loaded only after two checks in a row with the same stamp,
 * because certificate and key are replaced one after the other.
 */
static void check(struct worker_job *job)
{
	struct tls *tls = (struct tls *)job;
	struct stamp now = read_stamp(tls);
	bool settled = same(&now, &tls->seen);

	tls->seen = now;
	tls->result = 0;
	if (!settled || (same(&now, &tls->tried) && !tls->again))
		return;
	tls->tried = now;
	tls->result = load_pair(tls->paths, &tls->fresh, &tls->err);
}

static void warn_if_exposed(const struct tls *tls)
{
	if (tls->current->exposed)
		log_warning("%s: private key is readable by every user of this host",
			    tls->paths[KEY]);
}

static void on_checked(struct worker_job *job)
{
	struct tls *tls = (struct tls *)job;

	tls->checking = false;
	if (tls->result < 0) {
		if (strcmp(tls->problem, tls->err.msg) != 0)
			log_error("the previous certificate stays in use: %s", tls->err.msg);
		snprintf(tls->problem, sizeof(tls->problem), "%s", tls->err.msg);
		tls->again = true;
	}
	if (!tls->fresh)
		return;
	tls->problem[0] = '\0';
	tls->again = false;
	tls->current->retired_ns = tls->now_ns;
	tls->current->next = tls->retired;
	tls->retired = tls->current;
	tls->current = tls->fresh;
	tls->fresh = NULL;
	tls->generation++;
	log_notice("%s: new certificate in use%s%s", tls->paths[CERTIFICATE],
		   tls->current->trust ? ", with the client CAs of " : "", tls->paths[CLIENT_CA]);
	warn_if_exposed(tls);
}

/*
 * Frees the pairs that were replaced at least @kept_ns ago. The list is sorted, newest pair first.
 */
static void free_retired(struct tls *tls, uint64_t kept_ns)
{
	struct pair **at = &tls->retired;

	while (*at && tls->now_ns - (*at)->retired_ns < kept_ns)
		at = &(*at)->next;
	while (*at) {
		struct pair *pair = *at;

		*at = pair->next;
		free_pair(pair);
	}
}

void tls_tick(struct tls *tls, struct worker *worker, uint64_t now_ns)
{
	tls->now_ns = now_ns;
	free_retired(tls, KEPT_S * NS_PER_S);
	if (tls->checking || ++tls->periods < TLS_CHECK_PERIODS)
		return;
	tls->periods = 0;
	tls->checking = worker_submit(worker, &tls->job) == 0;
}

const char *tls_problem(const struct tls *tls)
{
	return tls->problem[0] ? tls->problem : NULL;
}

int64_t tls_expires_s(const struct tls *tls)
{
	return tls->current->expires_s;
}

unsigned int tls_generation(const struct tls *tls)
{
	return tls->generation;
}

void tls_check_client(const struct tls *tls, gnutls_session_t session, int64_t now_s,
		      struct tls_client *client)
{
	gnutls_x509_trust_list_t trust = tls->current->trust;
	struct client_certificate *certificate = &client->certificate;

	if (!trust || client->generation != tls->generation) {
		*client = (struct tls_client){.generation = tls->generation};
		if (trust)
			check_certificate(trust, session, certificate);
	}
	if (certificate->proof == CLIENT_TRUSTED && now_s >= certificate->expires_s)
		certificate->proof = CLIENT_UNTRUSTED;
}

int tls_select_certificate(gnutls_session_t session, const gnutls_datum_t *authorities,
			   int n_authorities, const gnutls_pk_algorithm_t *algorithms,
			   int n_algorithms, gnutls_pcert_st **ret_chain, unsigned int *ret_n_chain,
			   gnutls_privkey_t *ret_key)
{
	(void)authorities;
	(void)n_authorities;
	(void)algorithms;
	(void)n_algorithms;
	if (!in_force)
		return -1;
	/*
	 * Ask for a certificate without a list of CAs, because the list of a handshake could be
	 * older than the CAs at the first request, and clients then send no certificate.
	 */
	if (in_force->current->trust) {
		gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
		gnutls_certificate_send_x509_rdn_sequence(session, /* status= */ 1);
	}
	*ret_chain = in_force->current->chain;
	*ret_n_chain = in_force->current->n_chain;
	*ret_key = in_force->current->key;
	return 0;
}

int tls_new(const struct config *config, struct tls **ret_tls, struct err *reterr)
{
	struct tls *tls = xcalloc(1, sizeof(*tls));
	int r;

	tls->job.run = check;
	tls->job.done = on_checked;
	tls->generation = 1;
	strcpy(tls->paths[CERTIFICATE], config->tls_certificate);
	strcpy(tls->paths[KEY], config->tls_key);
	strcpy(tls->paths[CLIENT_CA], config->tls_client_ca);
	/* Read the stamp first: if a file then changes during the load, a later check sees it. */
	tls->tried = tls->seen = read_stamp(tls);
	r = load_pair(tls->paths, &tls->current, reterr);
	if (r < 0) {
		free(tls);
		return r;
	}
	warn_if_exposed(tls);
	in_force = tls;
	*ret_tls = tls;
	return 0;
}

struct tls *tls_free(struct tls *tls)
{
	if (!tls)
		return NULL;
	if (in_force == tls)
		in_force = NULL;
	free_retired(tls, 0);
	free_pair(tls->fresh);
	free_pair(tls->current);
	free(tls);
	return NULL;
}

/* --- the sections [client NAME] --- */

struct clients {
	struct client_rights rights[CLIENTS_MAX];
	unsigned int n;
};

/* Returns 0 or a negative error code of GnuTLS. */
static int parse_subject(const char *text, char ret_subject[CLIENT_SUBJECT_MAX])
{
	gnutls_datum_t printed = {NULL, 0};
	gnutls_x509_dn_t name;
	int r = gnutls_x509_dn_init(&name);

	if (r < 0)
		return r;
	r = gnutls_x509_dn_set_str(name, text, NULL);
	if (r >= 0)
		r = gnutls_x509_dn_get_str2(name, &printed, 0);
	if (r >= 0 && snprintf(ret_subject, CLIENT_SUBJECT_MAX, "%s", (const char *)printed.data) >=
			      CLIENT_SUBJECT_MAX)
		r = GNUTLS_E_SHORT_MEMORY_BUFFER;
	gnutls_free(printed.data);
	gnutls_x509_dn_deinit(name);
	return r < 0 ? r : 0;
}

static int add_client(struct clients *clients, const struct client_section *section,
		      struct err *reterr)
{
	struct client_rights *rights = &clients->rights[clients->n];
	const struct client_rights *other;
	int r = parse_subject(section->subject, rights->subject);

	if (r < 0)
		return err_fail(reterr, EINVAL,
				"[client %s] subject = %s: not a distinguished name: %s (allowed: "
				"TYPE=VALUE pairs with commas, in the order of RFC 4514: "
				"CN=prometheus,O=Example)",
				section->name, section->subject, gnutls_strerror(r));
	other = clients_find(clients, rights->subject);
	if (other)
		return err_fail(reterr, EINVAL,
				"[client %s] subject = %s: also used by [client %s]", section->name,
				section->subject, other->name);
	memcpy(rights->name, section->name, sizeof(rights->name));
	rights->scope = access_scope_find(section->scope);
	rights->number = clients->n++;
	return 0;
}

int clients_new(const struct config *config, struct clients **ret_clients, struct err *reterr)
{
	struct clients *clients = xcalloc(1, sizeof(*clients));
	int r = 0;

	for (int i = 0; r == 0 && i < config->n_clients; i++)
		r = add_client(clients, &config->clients[i], reterr);
	if (r == 0)
		*ret_clients = clients;
	else
		clients_free(clients);
	return r;
}

struct clients *clients_free(struct clients *clients)
{
	free(clients);
	return NULL;
}

const struct client_rights *clients_find(const struct clients *clients, const char *subject)
{
	for (unsigned int i = 0; i < clients->n; i++)
		if (strcmp(clients->rights[i].subject, subject) == 0)
			return &clients->rights[i];
	return NULL;
}
