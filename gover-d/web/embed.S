/* SPDX-License-Identifier: MIT */
/*
 * Embeds the files of the web page, each also compressed with gzip. The include path contains
 * gover-d/web/ and the directories of files that the build creates (dygraphs, page.etag, *.gz).
 */
	.section .rodata
	.macro asset name, file
	.globl web_\name, web_\name\()_end, web_\name\()_gz, web_\name\()_gz_end
web_\name:
	.incbin "\file"
web_\name\()_end:
web_\name\()_gz:
	.incbin "\file\().gz"
web_\name\()_gz_end:
	.endm

	asset index, "index.html"
	asset style, "gover.css"
	asset icon, "icon.svg"
	asset main, "main.js"
	asset live, "live.js"
	asset stream, "stream.js"
	asset rest, "rest.js"
	asset dom, "dom.js"
	asset words, "words.js"
	asset host, "host.js"
	asset vgpus, "vgpus.js"
	asset chart, "chart.js"
	asset order, "order.js"
	asset spark, "spark.js"
	asset strip, "strip.js"
	asset sign, "sign.js"
	asset details, "details.js"
	asset panel, "panel.js"
	asset series, "series.js"
	asset decisions, "decisions.js"
	asset offers, "offers.js"
	asset alerts, "alerts.js"
	asset economics, "economics.js"
	asset theme, "theme.js"
	asset dygraph, "dygraph.min.js"
	asset dygraph_style, "dygraph.min.css"

	.globl web_etag, web_etag_gz
web_etag:
	.ascii "\""
	.incbin "page.etag"
	.asciz "\""
web_etag_gz:
	.ascii "\""
	.incbin "page.etag"
	.asciz "-gz\""
	.section .note.GNU-stack, "", %progbits
