/* SPDX-License-Identifier: MIT */
/*
 * The table of the embedded files. gover-d/web/embed.S must contain each file of the table;
 * otherwise linking fails.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/util/asset.h"

#define TYPE_SCRIPT "text/javascript; charset=utf-8"
#define TYPE_STYLE  "text/css; charset=utf-8"

#define EMBEDDED(name) \
	extern char web_##name[], web_##name##_end[], web_##name##_gz[], web_##name##_gz_end[]
EMBEDDED(index);
EMBEDDED(style);
EMBEDDED(icon);
EMBEDDED(main);
EMBEDDED(live);
EMBEDDED(stream);
EMBEDDED(rest);
EMBEDDED(dom);
EMBEDDED(words);
EMBEDDED(host);
EMBEDDED(vgpus);
EMBEDDED(chart);
EMBEDDED(order);
EMBEDDED(spark);
EMBEDDED(strip);
EMBEDDED(sign);
EMBEDDED(details);
EMBEDDED(panel);
EMBEDDED(series);
EMBEDDED(decisions);
EMBEDDED(offers);
EMBEDDED(alerts);
EMBEDDED(economics);
EMBEDDED(theme);
EMBEDDED(dygraph);
EMBEDDED(dygraph_style);
extern const char web_etag[], web_etag_gz[];

#define FORMS(name) web_##name, web_##name##_end, web_##name##_gz, web_##name##_gz_end

static const struct file {
	const char *path, *type;
	char *begin, *end, *packed, *packed_end;
} files[] = {
	{"/", "text/html; charset=utf-8", FORMS(index)},
	{"/web/gover.css", TYPE_STYLE, FORMS(style)},
	{"/web/icon.svg", "image/svg+xml", FORMS(icon)},
	{"/web/main.js", TYPE_SCRIPT, FORMS(main)},
	{"/web/live.js", TYPE_SCRIPT, FORMS(live)},
	{"/web/stream.js", TYPE_SCRIPT, FORMS(stream)},
	{"/web/rest.js", TYPE_SCRIPT, FORMS(rest)},
	{"/web/dom.js", TYPE_SCRIPT, FORMS(dom)},
	{"/web/words.js", TYPE_SCRIPT, FORMS(words)},
	{"/web/host.js", TYPE_SCRIPT, FORMS(host)},
	{"/web/vgpus.js", TYPE_SCRIPT, FORMS(vgpus)},
	{"/web/chart.js", TYPE_SCRIPT, FORMS(chart)},
	{"/web/order.js", TYPE_SCRIPT, FORMS(order)},
	{"/web/spark.js", TYPE_SCRIPT, FORMS(spark)},
	{"/web/strip.js", TYPE_SCRIPT, FORMS(strip)},
	{"/web/sign.js", TYPE_SCRIPT, FORMS(sign)},
	{"/web/details.js", TYPE_SCRIPT, FORMS(details)},
	{"/web/panel.js", TYPE_SCRIPT, FORMS(panel)},
	{"/web/series.js", TYPE_SCRIPT, FORMS(series)},
	{"/web/decisions.js", TYPE_SCRIPT, FORMS(decisions)},
	{"/web/offers.js", TYPE_SCRIPT, FORMS(offers)},
	{"/web/alerts.js", TYPE_SCRIPT, FORMS(alerts)},
	{"/web/economics.js", TYPE_SCRIPT, FORMS(economics)},
	{"/web/theme.js", TYPE_SCRIPT, FORMS(theme)},
	{"/web/dygraph.min.js", TYPE_SCRIPT, FORMS(dygraph)},
	{"/web/dygraph.min.css", TYPE_STYLE, FORMS(dygraph_style)},
};

int asset_find(const char *path, struct asset *ret_asset)
{
	for (const struct file *f = files; f < files + ARRAY_SIZE(files); f++) {
		if (strcmp(f->path, path) != 0)
			continue;
		*ret_asset = (struct asset){
			.path = f->path,
			.type = f->type,
			.plain = {f->begin, (size_t)(f->end - f->begin), web_etag},
			.packed = {f->packed, (size_t)(f->packed_end - f->packed), web_etag_gz},
		};
		return 0;
	}
	return -ENOENT;
}
