/* The kernel's address spaces. With version 1 of the interface no register can be read, so CR3
   comes from the kernel's memory: the function that loads spaces stores the new mm_struct to the
   processor's cpu_tlbstate.loaded_mm, right after it wrote CR3. Between the two it refers to the
   kernel's addresses alone, which all spaces share. Version 4 reads the register, and takes the
   mm_struct alone from memory.

   A space is an mm_struct with its number of context, because both the structure and its top table
   are used again by later programs. */
#define _GNU_SOURCE
#include "system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_IMAGE 0xffffffff80000000ULL

Cpu* bl_cpu;
UInt bl_cpu_number;
Addr bl_events_symbol;
static Cpu* cpus[MOST_CPUS];

static struct {
   Addr  per_cpu, tlbstate, top, switch_from, switch_to, fault_entry, fault_work;
   ULong pgd, context, owner, users, tgid, comm;
} symbols;
static Addr top; /* the physical address of the kernel's own top table */

bool bl_read_symbols(const char* file)
{
   const struct { const char* name; ULong* to; } wanted[] = {
      {"__per_cpu_offset", &symbols.per_cpu},
      {"cpu_tlbstate", &symbols.tlbstate},
      {"init_top_pgt", &symbols.top},
      {"switch_mm_irqs_off", &symbols.switch_from},
      {"switch_mm_irqs_off.end", &symbols.switch_to},
      {"asm_exc_page_fault", &symbols.fault_entry},
      {"handle_mm_fault", &symbols.fault_work},
      {"mm_struct.pgd", &symbols.pgd},
      {"mm_struct.context", &symbols.context},
      {"mm_struct.owner", &symbols.owner},
      {"mm_struct.mm_users", &symbols.users},
      {"task_struct.tgid", &symbols.tgid},
      {"task_struct.comm", &symbols.comm},
   };
   size_t found = 0, all = sizeof wanted / sizeof *wanted;
   char   name[64], value[64];
   FILE*  from = fopen(file, "re");
   while (from && fscanf(from, "%63s %63s", name, value) == 2)
      for (size_t i = 0; i < all; i++)
         if (strcmp(name, wanted[i].name) == 0) {
            *wanted[i].to = strtoull(value, NULL, 16);
            found++;
         } else if (strcmp(name, "broadleaf_events") == 0) {
            bl_events_symbol = strtoull(value, NULL, 16);
         }
   if (from)
      fclose(from);
   top = symbols.top - KERNEL_IMAGE;
   return found == all;
}

bool bl_is_in_switch(Addr a) { return a >= symbols.switch_from && a < symbols.switch_to; }
bool bl_is_fault_entry(Addr a) { return a == symbols.fault_entry; }
bool bl_is_fault_work(Addr a) { return a == symbols.fault_work; }

bool bl_read_kernel(Addr address, void* to, UInt bytes)
{
   ULong leaf = bl_walk(top, address);
   return leaf && (address & (PAGE - 1)) + bytes <= PAGE
          && bl_read_physical((leaf & ADDRESS_BITS) | (address & (PAGE - 1)), to, bytes);
}

static ULong kernel_word(Addr address)
{
   ULong value = 0;
   bl_read_kernel(address, &value, sizeof value);
   return value;
}

/* A space that the trace has. */
typedef struct { Addr mm; ULong context; UInt number; bool named, alive; char comm[16]; } Space;
static Space* spaces;
static UInt   spaces_number, spaces_room;
static UInt   numbers = KERNEL_SPACE;

static ULong context_of(Addr mm) { return kernel_word(mm + symbols.context); }

static void read_task(Addr mm, UInt* tgid, char* comm)
{
   Addr task = kernel_word(mm + symbols.owner);
   *tgid = 0;
   memset(comm, 0, 16);
   if (task) {
      bl_read_kernel(task + symbols.tgid, tgid, sizeof *tgid);
      bl_read_kernel(task + symbols.comm, comm, 15);
   }
}

void bl_tell_space(void) { bl_send_number(REC_SPACE, bl_cpu->space); }

/* Ends the spaces whose program has ended. The kernel may use their structures again. */
static void end_spaces(void)
{
   for (UInt i = 0; i < spaces_number; i++) {
      Space* s = &spaces[i];
      UInt   users = 1;
      bool   is_same = context_of(s->mm) == s->context;
      bl_read_kernel(s->mm + symbols.users, &users, sizeof users);
      if (!s->alive || (is_same && users > 0))
         continue;
      bl_orphan_huge(s->number);
      bl_send_number(REC_SPACE, s->number);
      bl_record(REC_SPACE_END, NULL, 0);
      *s = spaces[--spaces_number];
      i--;
   }
}

static Space* space_of(Addr mm)
{
   ULong context = context_of(mm);
   for (UInt i = 0; i < spaces_number; i++)
      if (spaces[i].mm == mm && spaces[i].context == context)
         return &spaces[i];
   if (spaces_number == spaces_room) {
      spaces_room = spaces_room ? 2 * spaces_room : 256;
      spaces = realloc(spaces, spaces_room * sizeof *spaces);
      if (!spaces)
         abort();
   }
   Space* s = &spaces[spaces_number++];
   *s = (Space){mm, context, ++numbers, false, true, {0}};
   return s;
}

void bl_flush_all(void)
{
   Cpu* running = bl_cpu;
   for (UInt i = 0; i < MOST_CPUS; i++)
      if ((bl_cpu = cpus[i])) {
         bl_flush(0);
         bl_flush(1);
      }
   bl_cpu = running;
}

static bool maps(const Space* s, Addr block, ULong frame)
{
   if (context_of(s->mm) != s->context)
      return false;
   ULong root = bl_walk(top, kernel_word(s->mm + symbols.pgd)) & ADDRESS_BITS;
   ULong leaf = bl_walk(root, block);
   return (leaf & LEAF_2M) && (leaf & ADDRESS_BITS) == frame;
}

bool bl_still_maps(UInt space, Addr block, ULong frame)
{
   for (UInt i = 0; i < spaces_number; i++)
      if (spaces[i].number == space)
         return maps(&spaces[i], block, frame);
   return false;
}

static void begin_space(Space* s)
{
   static Payload p;
   UInt           tgid;
   read_task(s->mm, &tgid, s->comm);
   bl_send_number(REC_SPACE, s->number);
   p.words = 0;
   put(&p, tgid);
   put(&p, 0);
   put(&p, 1);
   put_text(&p, s->comm[0] ? s->comm : "kernel");
   bl_send(REC_PROCESS, &p);
}

/* The mm_struct that a processor has loaded, or 0 while it loads one. */
static Addr loaded(const Cpu* cpu)
{
   Addr mm = cpu->loaded ? kernel_word(cpu->loaded) : 0;
   return mm >> 63 ? mm : 0;
}

static void enter(Cpu* cpu)
{
   Addr mm = loaded(cpu);
   if (!mm)
      return;
   ULong leaf = bl_walk(top, kernel_word(mm + symbols.pgd));
   Addr  root = leaf & ADDRESS_BITS;
   if (leaf && root != cpu->root) {
      cpu->root = root;
      bl_flush(0);
   }
   if (!bl_on)
      return;
   end_spaces();
   UInt   before = numbers;
   Space* s = space_of(mm);
   bl_counts.switches += s->number != cpu->space;
   cpu->space = s->number;
   if (numbers > before)
      begin_space(s);
   bl_tell_space();
}

static UInt space_of_root(Addr root)
{
   for (UInt i = 0; i < spaces_number; i++) {
      ULong leaf = bl_walk(top, kernel_word(spaces[i].mm + symbols.pgd));
      if (leaf && (leaf & ADDRESS_BITS) == root
          && context_of(spaces[i].mm) == spaces[i].context)
         return spaces[i].number;
   }
   return KERNEL_SPACE;
}

UInt bl_space_named(ULong name)
{
   if (!(name >> 63))
      return space_of_root(name & ADDRESS_BITS);
   if (!kernel_word(name + symbols.pgd))
      return KERNEL_SPACE;
   UInt   before = numbers;
   Space* s = space_of(name);
   UInt   number = s->number;
   if (numbers > before) {
      begin_space(s); /* a forked child that has not run */
      bl_tell_space();
   }
   return number;
}

void bl_loads_space(Addr address)
{
   if (address == bl_cpu->loaded)
      enter(bl_cpu);
}

void bl_cpu_begins(UInt number)
{
   Cpu* cpu = number < MOST_CPUS ? cpus[number] : NULL;
   if (number >= MOST_CPUS)
      exit(125);
   if (!cpu)
      cpu = cpus[number] = calloc(1, sizeof(Cpu));
   if (!cpu)
      abort();
   bl_cpu = cpu;
   bl_cpu_number = number;
   if (cpu->known)
      return;
   cpu->known = true;
   cpu->root = top;
   bl_flush(0);
   bl_flush(1);
}

/* Notes where the kernel keeps the loaded space of a processor. The kernel has set itself up. */
static void find_loaded(UInt number, Cpu* cpu)
{
   Addr offset = kernel_word(symbols.per_cpu + 8 * number);
   cpu->loaded = offset ? offset + symbols.tlbstate : 0;
}

void bl_spaces_begin(void)
{
   if ((bl_walk(top, symbols.top) & ADDRESS_BITS) != top) {
      bl_say("the guest's kernel is not at the addresses of the file of symbols: build the guest "
             "again, and boot it with nokaslr");
      exit(125);
   }
   Cpu* running = bl_cpu;
   UInt number = bl_cpu_number;
   for (UInt i = 0; i < MOST_CPUS; i++)
      if (cpus[i]) {
         bl_cpu = cpus[i];
         bl_cpu_number = i;
         find_loaded(i, cpus[i]);
         bl_flush(0);
         bl_flush(1);
         enter(cpus[i]);
      }
   bl_cpu = running;
   bl_cpu_number = number;
   bl_tell_space();
}

void bl_enters_program(void)
{
   static Payload p;
   for (UInt i = 0; i < spaces_number; i++) {
      Space* s = &spaces[i];
      char   comm[16];
      UInt   tgid;
      if (s->number != bl_cpu->space || s->named)
         continue;
      s->named = true;
      read_task(s->mm, &tgid, comm);
      if (memcmp(comm, s->comm, sizeof comm) != 0) {
         p.words = 0;
         put_text(&p, comm);
         bl_send(REC_EXEC, &p);
      }
   }
}
