/* SPDX-License-Identifier: MIT */
/*
 * Defines an exported function of up to three arguments. It calls @target to get an address, and
 * jumps to this address with unchanged stack and arguments. The function at this address sees the
 * original caller. C code cannot guarantee this, because a compiler need not turn a tail call into
 * a jump.
 */
#ifndef FPS_PRELOAD_JUMP_H
#define FPS_PRELOAD_JUMP_H

#if defined(__x86_64__)
#define JUMP_BY(target)                         \
	"endbr64\n"                             \
	"push %rdi; .cfi_adjust_cfa_offset 8\n" \
	"push %rsi; .cfi_adjust_cfa_offset 8\n" \
	"push %rdx; .cfi_adjust_cfa_offset 8\n" \
	"call " target "\n"                     \
	"pop %rdx; .cfi_adjust_cfa_offset -8\n" \
	"pop %rsi; .cfi_adjust_cfa_offset -8\n" \
	"pop %rdi; .cfi_adjust_cfa_offset -8\n" \
	"jmp *%rax\n"
#elif defined(__i386__)
/* i386 passes arguments on the stack: push the first two arguments again for @target. */
#define JUMP_BY(target)                               \
	"endbr32\n"                                   \
	"sub $4, %esp; .cfi_adjust_cfa_offset 4\n"    \
	"pushl 12(%esp); .cfi_adjust_cfa_offset 4\n"  \
	"pushl 12(%esp); .cfi_adjust_cfa_offset 4\n"  \
	"call " target "\n"                           \
	"add $12, %esp; .cfi_adjust_cfa_offset -12\n" \
	"jmp *%eax\n"
#elif defined(__aarch64__)
/* Hint 34 is "bti c": without it, an indirect call is a fault where BTI is enforced. */
#define JUMP_BY(target)                                      \
	"hint 34\n"                                          \
	"stp x29, x30, [sp, -48]!; .cfi_def_cfa_offset 48\n" \
	".cfi_offset 29, -48; .cfi_offset 30, -40\n"         \
	"stp x0, x1, [sp, 16]; str x2, [sp, 32]\n"           \
	"bl " target "\n"                                    \
	"mov x16, x0\n"                                      \
	"ldp x0, x1, [sp, 16]; ldr x2, [sp, 32]\n"           \
	"ldp x29, x30, [sp], 48; .cfi_def_cfa_offset 0\n"    \
	".cfi_restore 29; .cfi_restore 30\n"                 \
	"br x16\n"
#else
/* cppcheck-suppress preprocessorErrorDirective ; cppcheck defines no architecture */
#error "JUMP_BY() is not implemented for this architecture"
#endif

#define EXPORT_JUMP(name, target)                                                                 \
	__asm__(".text; .globl " #name "; .type " #name ", %function\n" #name                     \
		": .cfi_startproc\n" JUMP_BY(#target) ".cfi_endproc; .size " #name ", . - " #name \
						      "\n")

#endif
