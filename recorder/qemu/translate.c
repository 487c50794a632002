/* Callbacks that are added to translated code. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

#define MOST_INSNS 4096

/* The vector extension SVE has gathers, scatters and masks. A store-exclusive may store nothing. */
static UInt kind_aarch64(const UChar* code, size_t bytes)
{
   UChar top = bytes == 4 ? code[3] & 0xfe : 0;
   if (top == 0x84 || top == 0xa4 || top == 0xc4 || top == 0xe4)
      return LOOSE | CONDITIONAL;
   return bytes == 4 && (code[3] & 0x3f) == 0x08 ? CONDITIONAL : 0;
}

static UInt kind_of(const UChar* code, size_t bytes)
{
   return strcmp(bl_set.target, "x86_64") == 0 ? bl_kind_x86(code, bytes)
                                               : kind_aarch64(code, bytes);
}

/* The recorder reads the program's memory at the program's own addresses. */
static void check_base(const struct qemu_plugin_insn* insn)
{
   const void* host = qemu_plugin_insn_haddr(insn);
   if (host && (Addr)host != qemu_plugin_insn_vaddr(insn)) {
      bl_say("QEMU gave the program other addresses than its own; the program needs memory that "
             "QEMU itself uses");
      exit(125);
   }
}

void bl_on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb* tb)
{
   static Insn insns[MOST_INSNS]; /* QEMU translates one block at a time */
   size_t      n = qemu_plugin_tb_n_insns(tb);
   bool        in_turn = bl_parallel;
   (void)id;
   if (n == 0 || n > MOST_INSNS)
      return;
   for (size_t i = 0; i < n; i++) {
      const struct qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(tb, i);
      insns[i] = (Insn){.address = qemu_plugin_insn_vaddr(insn), .index = i,
                        .kind = kind_of(qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn))};
   }
   check_base(qemu_plugin_tb_get_insn(tb, 0));
   Block* b = bl_block(insns, n);
   qemu_plugin_register_vcpu_tb_exec_cb(tb, in_turn ? bl_on_block_in_turn : bl_on_block,
                                        QEMU_PLUGIN_CB_NO_REGS, b);
   for (size_t i = 0; i < n; i++)
      qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i),
                                       in_turn ? bl_on_reference_in_turn : bl_on_reference,
                                       QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, &b->insns[i]);
}
