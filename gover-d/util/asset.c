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

#define EMBEDDED(name) extern char web_##name[], web_##name##_end[]
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
EMBEDDED(decisions);
EMBEDDED(offers);
EMBEDDED(alerts);
EMBEDDED(economics);
EMBEDDED(theme);
EMBEDDED(dygraph);
EMBEDDED(dygraph_style);
extern const char web_etag[];

static const struct file {
	const char *path, *type;
	char *begin, *end;
} files[] = {
	{"/", "text/html; charset=utf-8", web_index, web_index_end},
	{"/web/gover.css", TYPE_STYLE, web_style, web_style_end},
	{"/web/icon.svg", "image/svg+xml", web_icon, web_icon_end},
	{"/web/main.js", TYPE_SCRIPT, web_main, web_main_end},
	{"/web/live.js", TYPE_SCRIPT, web_live, web_live_end},
	{"/web/stream.js", TYPE_SCRIPT, web_stream, web_stream_end},
	{"/web/rest.js", TYPE_SCRIPT, web_rest, web_rest_end},
	{"/web/dom.js", TYPE_SCRIPT, web_dom, web_dom_end},
	{"/web/words.js", TYPE_SCRIPT, web_words, web_words_end},
	{"/web/host.js", TYPE_SCRIPT, web_host, web_host_end},
	{"/web/vgpus.js", TYPE_SCRIPT, web_vgpus, web_vgpus_end},
	{"/web/chart.js", TYPE_SCRIPT, web_chart, web_chart_end},
	{"/web/decisions.js", TYPE_SCRIPT, web_decisions, web_decisions_end},
	{"/web/offers.js", TYPE_SCRIPT, web_offers, web_offers_end},
	{"/web/alerts.js", TYPE_SCRIPT, web_alerts, web_alerts_end},
	{"/web/economics.js", TYPE_SCRIPT, web_economics, web_economics_end},
	{"/web/theme.js", TYPE_SCRIPT, web_theme, web_theme_end},
	{"/web/dygraph.min.js", TYPE_SCRIPT, web_dygraph, web_dygraph_end},
	{"/web/dygraph.min.css", TYPE_STYLE, web_dygraph_style, web_dygraph_style_end},
};

int asset_find(const char *path, struct asset *ret_asset)
{
	for (const struct file *f = files; f < files + ARRAY_SIZE(files); f++) {
		if (strcmp(f->path, path) != 0)
			continue;
		*ret_asset = (struct asset){
			.path = f->path,
			.type = f->type,
			.bytes = f->begin,
			.size = (size_t)(f->end - f->begin),
			.etag = web_etag,
		};
		return 0;
	}
	return -ENOENT;
}
