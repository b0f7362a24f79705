/* SPDX-License-Identifier: MIT */
/* Checks client certificates with a trust list of GnuTLS. */
#include <errno.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "gover-d/auth/client-trust.h"

#define PEM_BYTES_MAX (256 * 1024)
/* A longer chain is not trusted, because each certificate costs time of the event loop. */
#define CHAIN_MAX 8

struct client_trust {
	gnutls_x509_trust_list_t list;
};

struct chain {
	gnutls_x509_crt_t certificates[CHAIN_MAX];
	unsigned int n;
};

static int load(struct client_trust *trust, const char *path, struct err *reterr)
{
	CLEANUP_FREE char *text = NULL;
	gnutls_datum_t pem;
	int n, r = file_read(path, PEM_BYTES_MAX, &text, NULL);

	if (r < 0)
		return err_fail(reterr, -r, "[daemon] tls_client_ca = %s: cannot be read: %s", path,
				strerror(-r));
	pem = (gnutls_datum_t){(unsigned char *)text, (unsigned int)strlen(text)};
	n = gnutls_x509_trust_list_add_trust_mem(trust->list, &pem, NULL, GNUTLS_X509_FMT_PEM, 0,
						 0);
	if (n <= 0)
		return err_fail(reterr, EINVAL,
				"[daemon] tls_client_ca = %s: not a list of CA certificates in PEM "
				"format: %s",
				path, n < 0 ? gnutls_strerror(n) : "no certificate found");
	return 0;
}

int client_trust_load(const char *path, struct client_trust **ret_trust, struct err *reterr)
{
	struct client_trust *trust = xcalloc(1, sizeof(*trust));
	int r;

	if (gnutls_x509_trust_list_init(&trust->list, 0) < 0)
		xalloc_fail(0);
	r = load(trust, path, reterr);
	if (r < 0)
		client_trust_free(trust);
	else
		*ret_trust = trust;
	return r;
}

struct client_trust *client_trust_free(struct client_trust *trust)
{
	if (!trust)
		return NULL;
	gnutls_x509_trust_list_deinit(trust->list, /* all= */ 1);
	free(trust);
	return NULL;
}

/* Imports all certificates of the client, its own first. Returns false if one is not valid. */
static bool import(const gnutls_datum_t *raw, unsigned int n, struct chain *chain)
{
	if (n > CHAIN_MAX)
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

static bool verify(const struct client_trust *trust, struct chain *chain)
{
	gnutls_typed_vdata_st purpose = {
		.type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT,
	};
	unsigned int status = GNUTLS_CERT_INVALID;
	int r = gnutls_x509_trust_list_verify_crt2(
		trust->list, chain->certificates, chain->n, &purpose, 1,
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
static int64_t find_expiry(const struct client_trust *trust, const struct chain *chain)
{
	gnutls_x509_crt_t certificate = chain->certificates[0], ca;
	int64_t first = INT64_MAX;

	for (unsigned int i = 0; i < chain->n && certificate; i++) {
		int64_t at = gnutls_x509_crt_get_expiration_time(certificate);

		first = at < first ? at : first;
		if (gnutls_x509_trust_list_get_issuer(trust->list, certificate, &ca, 0) >= 0) {
			at = gnutls_x509_crt_get_expiration_time(ca);
			return at < first ? at : first;
		}
		certificate = find_issuer(chain, certificate);
	}
	return first;
}

void client_trust_check(const struct client_trust *trust, gnutls_session_t session,
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
