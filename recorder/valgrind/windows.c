/* Recordings in windows. In a window all references are recorded. In the gap before the next one
   only events are, and the pages that became resident.

   The position of the program is exact: the translated code of windows and gaps counts accesses and
   instructions. A window begins and ends at the first block with at least the wanted number before
   it. No block asks for that. The core stops a thread after a number of blocks; this file lowers
   the number so that they cannot do more than what is left, and asks again. */
#include "recorder.h"
#include "libvex_guest_amd64.h"

#define STOPPED_BY_COUNTER 0xffffffffu /* the event counter, after it stopped the thread */
#define TRC_INNER_FASTMISS 37          /* the core looks up the next block, and goes on */
#define ENDLESS (~0ULL)
#define MOST_ACCESSES ((1u << ACCESS_BITS) - 1)

Bool     bl_windows = False, bl_in_window = True;
UInt     bl_window_unit = UNIT_ACCESSES;
Long     bl_window_skip, bl_window_for, bl_window_every;
Position bl_position, bl_largest = {1, 1};

static ULong number; /* of the present or next window */
static ULong began; /* microseconds before the process began */
static ULong border; /* the end of the present window, or the start of the next, in the unit */

static void set_border(void)
{
   if (!bl_in_window && (number == 0 || bl_window_every))
      border = bl_window_skip + number * bl_window_every;
   else if (bl_in_window && bl_window_for)
      border = bl_window_skip + number * bl_window_every + bl_window_for;
   else
      border = ENDLESS;
}

static void show(void)
{
   bl_ring_show(2 * number + bl_in_window);
}

static void send(UInt kind)
{
   Payload p;
   p.words = 0;
   put(&p, bl_position.accesses);
   put(&p, bl_position.instructions);
   if (kind == REC_WINDOW_START)
      put(&p, number);
   bl_send(kind, &p);
}

/* Switches from a gap to a window, or back. */
static void cross(void)
{
   bl_other_table();
   if (bl_in_window) {
      send(REC_WINDOW_END);
      bl_in_window = False;
      number++;
   } else {
      bl_residents_find();
      send(REC_WINDOW_START);
      bl_in_window = True;
   }
   set_border();
   show();
   bl_ring_flush();
}

static ULong reached(void)
{
   switch (bl_window_unit) {
      case UNIT_ACCESSES: return bl_position.accesses;
      case UNIT_INSTRUCTIONS: return bl_position.instructions;
      default: return bl_clock_microseconds() - began;
   }
}

/* Returns a number of blocks, at most `wanted`, that cannot go further than to the border, but for
   the last of them. Returns 0 at the border. */
static UInt blocks_to_border(UInt wanted)
{
   ULong at = reached(), most = bl_largest.instructions;
   UInt  safe = MOST_ACCESSES / bl_largest.accesses;
   if (at >= border)
      return 0;
   ULong left = border - at;
   if (bl_window_unit == UNIT_ACCESSES)
      most = bl_largest.accesses;
   else if (bl_window_unit == UNIT_MICROSECONDS)
      left = left < ENDLESS / bl_clock_rate ? left * bl_clock_rate : ENDLESS;
   left /= most;
   if (left == 0)
      left = 1;
   if (left > safe)
      left = safe;
   return left < wanted ? left : wanted;
}

static void add(ULong* count)
{
   bl_position.accesses += *count & MOST_ACCESSES;
   bl_position.instructions += *count >> ACCESS_BITS;
   bl_clock_advances(*count >> ACCESS_BITS);
   *count = 0;
}

void bl_windows_fold(ThreadId tid)
{
   ULong count;
   if (!bl_windows)
      return;
   VG_(get_shadow_regs_area)(tid, (UChar*)&count, 1, COUNT_PLACE, sizeof count);
   add(&count);
   VG_(set_shadow_regs_area)(tid, 1, COUNT_PLACE, sizeof count, (const UChar*)&count);
}

extern void __real_vgPlain_disp_run_translations(HWord* result, volatile void* guest, Addr code);

/* Runs translated code until the border at most. The core's own count of blocks, which decides when
   another thread runs, stays as without windows. */
void __wrap_vgPlain_disp_run_translations(HWord* result, volatile void* guest, Addr code)
{
   volatile VexGuestAMD64State* state = guest;
   if (!bl_windows) {
      __real_vgPlain_disp_run_translations(result, guest, code);
      return;
   }
   ULong* count = (ULong*)((UChar*)(state + 1) + COUNT_PLACE);
   add(count); /* of a run that a fault ended */
   const UInt wanted = state->host_EvC_COUNTER, blocks = blocks_to_border(wanted);
   state->host_EvC_COUNTER = blocks;
   __real_vgPlain_disp_run_translations(result, guest, code);
   add(count);
   const Bool stopped = state->host_EvC_COUNTER == STOPPED_BY_COUNTER;
   if (stopped && blocks < wanted) {
      state->host_EvC_COUNTER = wanted - blocks;
      result[0] = TRC_INNER_FASTMISS;
      if (reached() >= border)
         cross();
   } else if (!stopped) {
      state->host_EvC_COUNTER += wanted - blocks;
   }
   show();
}

void bl_windows_init(void)
{
   bl_windows = bl_window_skip || bl_window_for;
}

void bl_windows_begin(void)
{
   if (!bl_windows)
      return;
   bl_residents_begin();
   number = 0;
   bl_position = (Position){0, 0};
   began = bl_window_unit == UNIT_MICROSECONDS ? bl_clock_microseconds() : 0;
   bl_in_window = bl_window_skip == 0;
   set_border();
   if (bl_in_window)
      send(REC_WINDOW_START);
   show();
}

void bl_windows_in_child(void)
{
   if (!bl_windows)
      return;
   if (bl_in_window != (bl_window_skip == 0))
      bl_other_table();
   bl_residents_in_child();
   bl_windows_begin();
}

void bl_windows_total(void)
{
   if (!bl_windows || !bl_recording)
      return;
   if (!bl_in_window)
      bl_residents_find();
   send(REC_TOTAL);
}
