/* SPDX-License-Identifier: MIT */
/* The kernel sources in cl/, as texts. */
	.macro source name
	.globl source_\name
source_\name:
	.incbin "\name\().cl"
	.byte 0
	.endm

	.section .rodata
	source matmul
	source blackscholes
	source stencil
	source many
	source scan
	source histogram
	source reduction
	source nbody
	source long
	source bfs
	.section .note.GNU-stack, "", %progbits
