/* The recorder for whole systems, a plugin of qemu-system-x86_64: options, marks, start and end.
   Only `broadleaf record` starts it. */
#define _GNU_SOURCE
#include "system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) int qemu_plugin_version = PLUGIN_API;

Settings           bl_set;
static const char *memory, *symbols, *summary;

#if PLUGIN_API >= 4
static struct qemu_plugin_register* registers[16];

void bl_find_registers(void)
{
   static const char* const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                       "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};
   GArray* all = qemu_plugin_get_registers();
   for (unsigned i = 0; all && i < all->len; i++) {
      const qemu_plugin_reg_descriptor* one = (qemu_plugin_reg_descriptor*)all->data + i;
      for (int n = 0; n < 16; n++)
         if (strcmp(one->name, names[n]) == 0)
            registers[n] = one->handle;
   }
}

bool bl_register(UInt cpu, int number, ULong* value)
{
   static GByteArray* bytes;
   (void)cpu;
   if (!bytes)
      bytes = g_byte_array_new();
   g_byte_array_set_size(bytes, 0);
   if (number < 0 || number > 15 || !registers[number]
       || qemu_plugin_read_register(registers[number], bytes) != sizeof *value)
      return false;
   memcpy(value, bytes->data, sizeof *value);
   return true;
}
#else
void bl_find_registers(void) {}

bool bl_register(UInt cpu, int number, ULong* value)
{
   (void)cpu;
   (void)number;
   (void)value;
   return false;
}
#endif

static void option(const char* argument)
{
   const char* value = strchr(argument, '=');
   size_t      n = value ? (size_t)(value - argument) : 0;
   const struct { const char* name; const char** to; } texts[] = {
      {"ring", &bl_set.ring}, {"memory", &memory}, {"symbols", &symbols}, {"summary", &summary},
   };
   if (n == 0)
      return;
   value++;
   for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
      if (strlen(texts[i].name) == n && strncmp(argument, texts[i].name, n) == 0)
         *texts[i].to = strdup(value);
   if (strncmp(argument, "shift", n) == 0)
      bl_set.shift = atoi(value);
   else if (strncmp(argument, "check", n) == 0)
      bl_check = strcmp(value, "on") == 0;
   else if (strncmp(argument, "code", n) == 0)
      bl_code = strcmp(value, "on") == 0;
   else if (strncmp(argument, "events", n) == 0)
      bl_events_expected = strcmp(value, "on") == 0;
}

static void write_summary(void)
{
   const struct { const char* name; ULong value; } values[] = {
      {"checked", bl_counts.checked}, {"different", bl_counts.different},
      {"devices", bl_counts.devices}, {"untranslated", bl_counts.untranslated},
      {"leaves", bl_counts.leaves}, {"huge-pages", bl_counts.huge},
      {"walks", bl_counts.walks}, {"fault-exceptions", bl_counts.faults},
      {"faults", bl_counts.handled}, {"switches", bl_counts.switches},
      {"page-invalidations", bl_counts.pages}, {"full-invalidations", bl_counts.everything},
      {"kernel-events", bl_counts.events}, {"invalid-kernel-events", bl_counts.invalid_events},
      {"homeless-kernel-events", bl_counts.homeless_events},
      {"events-page", bl_events_frame != 0},
   };
   FILE* to = summary ? fopen(summary, "we") : NULL;
   for (size_t i = 0; to && i < sizeof values / sizeof *values; i++)
      fprintf(to, "%s %llu\n", values[i].name, (unsigned long long)values[i].value);
   if (to)
      fclose(to);
}

void bl_system_begins(void)
{
   ULong kernel[] = {0xffff800000000000ULL, 0x00007ffffffff000ULL, 7, 1, BACK_KERNEL, 0, 0};
   bl_ring_open();
   if (!bl_recording)
      return;
   bl_counts = (Counts){0};
   bl_begin_blocks();
   bl_send_number(REC_SPACE, KERNEL_SPACE);
   bl_record(REC_MAP, kernel, 7);
   bl_send_number(REC_CORE, bl_cpu_number);
   bl_send_number(REC_PRIVILEGE, 1);
   bl_on = true;
   bl_spaces_begin();
   bl_finds_events();
}

void bl_system_ends(void)
{
   if (!bl_on)
      return;
   bl_end_blocks();
   bl_on = false;
   bl_ring_close(1);
   write_summary();
}

static void on_cpu(qemu_plugin_id_t id, unsigned cpu)
{
   (void)id;
   if (cpu >= MOST_CPUS) {
      bl_say("the guest has more than 64 processors");
      exit(125);
   }
   bl_find_registers();
   if (!bl_cpu)
      bl_cpu_begins(cpu);
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void* data)
{
   (void)id;
   (void)data;
   bl_system_ends();
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id,
                                                                const qemu_info_t* info, int argc,
                                                                char** argv)
{
   for (int i = 0; i < argc; i++)
      option(argv[i]);
   if (!info->system_emulation || strcmp(info->target_name, "x86_64") != 0 || !bl_set.ring
       || !memory || !symbols) {
      bl_say("run by `broadleaf record --engine qemu-system`, which gives it its options");
      return 1;
   }
   if (!bl_read_symbols(symbols)) {
      bl_say("the guest's file of symbols is incomplete: build the guest again");
      return 1;
   }
   if (!bl_map_memory(memory)) {
      bl_say("the guest's memory could not be mapped");
      return 1;
   }
   bl_unit_mask = ~((1ULL << bl_set.shift) - 1);
   qemu_plugin_register_vcpu_init_cb(id, on_cpu);
   qemu_plugin_register_vcpu_tb_trans_cb(id, bl_translates);
   qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
   return 0;
}
