/* SPDX-License-Identifier: MIT */
/*
 * The description of REST in gover-d as a struct asset (gover-d/api/resource/asset.c): openapi.json
 * and openapi.json.gz, found by the include path.
 */
	.section .rodata
.Lplain:
	.incbin "openapi.json"
.Lpacked:
	.incbin "openapi.json.gz"
.Lend:
.Lpath:
	.asciz "/openapi.json"
.Ltype:
	.asciz "application/json"
.Letag:
	.ascii "\""
	.incbin "openapi.etag"
	.asciz "\""
.Letag_gz:
	.ascii "\""
	.incbin "openapi.etag"
	.asciz "-gz\""

	.section .data.rel.ro, "aw"
	.balign 8
	.globl openapi_asset
openapi_asset:
	.dc.a .Lpath, .Ltype
	.dc.a .Lplain, .Lpacked - .Lplain, .Letag
	.dc.a .Lpacked, .Lend - .Lpacked, .Letag_gz
	.section .note.GNU-stack, "", %progbits
