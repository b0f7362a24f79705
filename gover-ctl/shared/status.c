/* SPDX-License-Identifier: MIT */
/* Prints the daemon, GPUs, vGPUs, alerts and offers, from GET /v1/host. */
#include <string.h>

#include "base/rfc3339.h"
#include "base/terminal/field.h"
#include "base/terminal/writer.h"
#include "gover-ctl/shared/describe.h"
#include "gover-ctl/shared/status.h"
#include "gover-ctl/shared/tables.h"

#define INDENT 4 /* of further lines */

static void print_daemon(struct ctl *ctl, const json_t *host)
{
	char up[WRITER_SPAN_MAX];

	writer_format_span(field_number(host, "uptime_s"), up);
	writer_line(&ctl->writer,
		    "gover-d %s (pid %.0f) at %s: up %s, %.0f ticks of %.0f ms, %.0f late, "
		    "%.0f gaps",
		    field_text(host, "version"), field_number(host, "pid"),
		    client_address(ctl->client), up, field_number(host, "ticks"),
		    field_number(host, "period_ms"), field_number(host, "late_ticks"),
		    field_number(host, "gaps"));
	if (!field_true(host, "ready"))
		writer_line(&ctl->writer, "Not ready: the first tick is not complete.");
	if (field_true(host, "dry_run"))
		writer_line(&ctl->writer, "Dry run: decisions are logged, caps are not written.");
}

static void print_alerts(const struct writer *writer, const json_t *host)
{
	const json_t *alerts = json_object_get(host, "alerts"), *alert;
	char age[AGE_MAX], head[DESCRIBE_MAX];
	size_t i;

	json_array_foreach (alerts, i, alert) {
		const char *next = field_text(alert, "next");

		age_tell(field_text(alert, "raised_at"), writer->now_ms, age);
		snprintf(head, sizeof(head), "alert %.0f, %s, %s: %s: ", field_number(alert, "id"),
			 field_text(alert, "severity"), age, field_text(alert, "name"));
		writer_paragraph(writer, head, INDENT, field_text(alert, "text"));
		if (next[0])
			writer_line(writer, "%*s%s", INDENT, "", next);
	}
}

static void print_offer(const struct writer *writer, const json_t *offer)
{
	double id = field_number(offer, "id");
	const char *gpu = field_text(offer, "gpu"), *state = field_text(offer, "state");
	char expires[AGE_MAX], smaller[DESCRIBE_MAX], text[2 * DESCRIBE_MAX];

	describe_smaller_flavors(offer, smaller);
	age_tell(field_text(offer, "expires_at"), writer->now_ms, expires);
	if (strcmp(state, "open") == 0)
		snprintf(text, sizeof(text),
			 "offer %.0f: one more vGPU of %.0f %% on %s, starting with a cap of "
			 "%.0f %%%s%s, expires %s (gover-ctl claim %.0f --id NAME%s)",
			 id, field_number(offer, "initial_cap_pct"), gpu,
			 field_number(offer, "fundable_pct"), smaller[0] ? ", or " : "", smaller,
			 expires, id, smaller[0] ? " [--flavor NAME]" : "");
	else
		snprintf(text, sizeof(text), "offer %.0f: sold as vGPU %s on %s, %s%s%s", id,
			 field_text(offer, "vgpu"), gpu, state,
			 field_text(offer, "reason")[0] ? ": " : "", field_text(offer, "reason"));
	writer_paragraph(writer, "", INDENT, text);
}

static void print_history(const struct writer *writer, const json_t *history)
{
	const char *error = field_text(history, "error");

	if (!field_true(history, "enabled"))
		writer_line(writer, "History: off%s%s", error[0] ? ": " : "", error);
	else if (error[0] || field_number(history, "dropped") > 0)
		writer_line(writer, "History: %.0f rows lost%s%s", field_number(history, "dropped"),
			    error[0] ? ": " : "", error);
}

/* Prints why the busy times of a GPU are unknown, and why nothing is sold although selling is on.
 */
static void print_problems(const struct writer *writer, const json_t *gpus)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach (gpus, i, gpu) {
		if (field_text(gpu, "problem")[0])
			writer_paragraph(writer, "", INDENT, field_text(gpu, "problem"));
		if (strcmp(describe_selling(gpu), DESCRIBE_PAUSED) == 0)
			writer_paragraph(writer, "nothing is sold: ", INDENT,
					 field_text(gpu, "no_sale_reason"));
	}
}

void status_print(struct ctl *ctl, const json_t *host)
{
	const json_t *offers = json_object_get(host, "offers"), *offer;
	const json_t *gpus = json_object_get(host, "gpus");
	size_t i;

	(void)rfc3339_parse(field_text(host, "time"), &ctl->writer.now_ms);
	print_daemon(ctl, host);
	writer_line(&ctl->writer, "%s", "");
	tables_print_rows(&ctl->writer, &table_gpus, host);
	print_problems(&ctl->writer, gpus);
	if (json_array_size(gpus) > 0) {
		writer_line(&ctl->writer, "%s", "");
		tables_print_rows(&ctl->writer, &table_vgpus, host);
	}
	if (json_array_size(offers) + json_array_size(json_object_get(host, "alerts")) > 0)
		writer_line(&ctl->writer, "%s", "");
	print_alerts(&ctl->writer, host);
	json_array_foreach (offers, i, offer) {
		print_offer(&ctl->writer, offer);
	}
	print_history(&ctl->writer, json_object_get(host, "history"));
}
