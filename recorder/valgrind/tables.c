/* Two tables of translations: one for windows, one for gaps. An exchange of the tables is a copy of
   about a megabyte. To discard the translations at each border of a window instead would translate
   the program's blocks again each time, which for a compiler takes longer than the gap.

   The core's table of translations is the static data of one file of the core, which the linker
   script transtab.ld puts between the names below. A table knows nothing of the other: its code
   jumps into its own code alone, and the core looks nothing up in the other. */
#include "recorder.h"

extern UChar bl_table[], bl_table_end[];             /* zero at first */
extern UChar bl_table_settings[], bl_table_settings_end[];
extern void VG_(init_tt_tc)(void);
extern Bool VG_(ok_to_discard_translations);
extern UInt VG_(clo_num_transtab_sectors), VG_(clo_avg_transtab_entry_size);
extern void __real_vgPlain_discard_translations(Addr start, ULong range, const HChar* who);

#define MOST_SETTINGS 256u
#define MOST_STALE 1024u

static UChar  settings[MOST_SETTINGS]; /* before the core initialised the table */
static UChar* other;                   /* the other table; NULL until it is first needed */
/* Ranges that are to be discarded in the other table. */
static struct { Addr start; ULong range; } stale[MOST_STALE];
static UInt stales;

static SizeT settings_bytes(void) { return bl_table_settings_end - bl_table_settings; }
static SizeT bytes(void) { return bl_table_end - bl_table; }

void bl_tables_init(void)
{
   tl_assert(settings_bytes() <= MOST_SETTINGS);
   VG_(memcpy)(settings, bl_table_settings, settings_bytes());
}

static void exchange(UChar* a, UChar* b, SizeT n)
{
   UChar part[4096];
   while (n > 0) {
      SizeT here = n < sizeof part ? n : sizeof part;
      VG_(memcpy)(part, a, here);
      VG_(memcpy)(a, b, here);
      VG_(memcpy)(b, part, here);
      a += here;
      b += here;
      n -= here;
   }
}

static void begin_other(void)
{
   const UInt sectors = VG_(clo_num_transtab_sectors), size = VG_(clo_avg_transtab_entry_size);
   other = VG_(malloc)("bl.table", bytes() + settings_bytes());
   VG_(memcpy)(other, bl_table, bytes());
   VG_(memcpy)(other + bytes(), bl_table_settings, settings_bytes());
   VG_(memset)(bl_table, 0, bytes());
   VG_(memcpy)(bl_table_settings, settings, settings_bytes());
   VG_(clo_num_transtab_sectors) = sectors;
   VG_(clo_avg_transtab_entry_size) = size;
   VG_(init_tt_tc)();
}

void bl_other_table(void)
{
   const Bool ok = VG_(ok_to_discard_translations);
   if (!other) {
      begin_other();
   } else {
      exchange(bl_table, other, bytes());
      exchange(bl_table_settings, other + bytes(), settings_bytes());
   }
   VG_(ok_to_discard_translations) = True;
   while (stales > 0) {
      stales--;
      __real_vgPlain_discard_translations(stale[stales].start, stale[stales].range, "recorder");
   }
   VG_(ok_to_discard_translations) = ok;
}

/* Discards translations of both tables. */
void __wrap_vgPlain_discard_translations(Addr start, ULong range, const HChar* who)
{
   __real_vgPlain_discard_translations(start, range, who);
   if (!other || range == 0)
      return;
   if (stales == MOST_STALE) {
      bl_other_table();
      bl_other_table();
   }
   stale[stales].start = start;
   stale[stales].range = range;
   stales++;
}
