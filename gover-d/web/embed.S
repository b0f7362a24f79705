/* SPDX-License-Identifier: MIT */
/*
 * Embeds the files of the web page, each also compressed with gzip, and the table of them, an array
 * of struct asset (gover-d/api/resource/asset.c). The include path contains gover-d/web/ and the
 * directories of files that the build creates (dygraphs, page.etag, *.gz).
 */
	.macro asset path, file, type
	.section .rodata
.Lpath\@:
	.asciz "\path"
.Lplain\@:
	.incbin "\file"
.Lpacked\@:
	.incbin "\file\().gz"
.Lend\@:
	.section .data.rel.ro, "aw"
	.dc.a .Lpath\@, .L\type
	.dc.a .Lplain\@, .Lpacked\@ - .Lplain\@, .Letag
	.dc.a .Lpacked\@, .Lend\@ - .Lpacked\@, .Letag_gz
	.endm

	.section .data.rel.ro, "aw"
	.balign 8
	.globl web_assets
web_assets:
	asset "/", "index.html", html
	asset "/web/gover.css", "gover.css", css
	asset "/web/icon.svg", "icon.svg", svg
	asset "/web/main.js", "main.js", js
	asset "/web/live.js", "live.js", js
	asset "/web/stream.js", "stream.js", js
	asset "/web/rest.js", "rest.js", js
	asset "/web/dom.js", "dom.js", js
	asset "/web/words.js", "words.js", js
	asset "/web/host.js", "host.js", js
	asset "/web/vgpus.js", "vgpus.js", js
	asset "/web/chart.js", "chart.js", js
	asset "/web/order.js", "order.js", js
	asset "/web/spark.js", "spark.js", js
	asset "/web/strip.js", "strip.js", js
	asset "/web/sign.js", "sign.js", js
	asset "/web/details.js", "details.js", js
	asset "/web/panel.js", "panel.js", js
	asset "/web/series.js", "series.js", js
	asset "/web/decisions.js", "decisions.js", js
	asset "/web/offers.js", "offers.js", js
	asset "/web/alerts.js", "alerts.js", js
	asset "/web/economics.js", "economics.js", js
	asset "/web/theme.js", "theme.js", js
	asset "/web/dygraph.min.js", "dygraph.min.js", js
	asset "/web/dygraph.min.css", "dygraph.min.css", css
	.dc.a 0, 0, 0, 0, 0, 0, 0, 0

	.section .rodata
.Lhtml:
	.asciz "text/html; charset=utf-8"
.Lcss:
	.asciz "text/css; charset=utf-8"
.Lsvg:
	.asciz "image/svg+xml"
.Ljs:
	.asciz "text/javascript; charset=utf-8"
.Letag:
	.ascii "\""
	.incbin "page.etag"
	.asciz "\""
.Letag_gz:
	.ascii "\""
	.incbin "page.etag"
	.asciz "-gz\""
	.section .note.GNU-stack, "", %progbits
