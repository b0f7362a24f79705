/* SPDX-License-Identifier: MIT */
/* Finds the rights of the subject of a client certificate. */
#include <errno.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "gover-d/auth/clients.h"

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

static int add(struct clients *clients, const struct client_section *section, struct err *reterr)
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
		r = add(clients, &config->clients[i], reterr);
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
