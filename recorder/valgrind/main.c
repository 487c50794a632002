/* The Broadleaf recorder, a Valgrind tool: options, start and end. Only `broadleaf record` can use
   it. */
#include "sites.h"

UInt         bl_unit_shift = 12;
const HChar* bl_ring_directory = NULL;
Bool         bl_follow_children = False;

#define MOST_WINDOW (1LL << 60)

static Bool option(const HChar* arg)
{
   if VG_STR_CLO(arg, "--ring-dir", bl_ring_directory) {}
   else if VG_BINT_CLO(arg, "--unit-shift", bl_unit_shift, 6, 12) {}
   else if VG_BOOL_CLO(arg, "--follow-children", bl_follow_children) {}
   else if VG_BOOL_CLO(arg, "--sites", bl_sites) {}
   else if VG_BOOL_CLO(arg, "--code", bl_code) {}
   else if VG_BINT_CLO(arg, "--align", bl_align, 0, 1LL << 41) {}
   else if VG_XACT_CLO(arg, "--clock=wall", bl_clock, CLOCK_WALL) {}
   else if VG_XACT_CLO(arg, "--clock=program", bl_clock, CLOCK_PROGRAM) {}
   else if VG_XACT_CLO(arg, "--clock=date", bl_clock, CLOCK_DATE) {}
   else if VG_BINT_CLO(arg, "--clock-rate", bl_clock_rate, 1, 1000000) {}
   else if VG_BINT_CLO(arg, "--window-skip", bl_window_skip, 0, MOST_WINDOW) {}
   else if VG_BINT_CLO(arg, "--window-for", bl_window_for, 0, MOST_WINDOW) {}
   else if VG_BINT_CLO(arg, "--window-every", bl_window_every, 0, MOST_WINDOW) {}
   else if VG_XACT_CLO(arg, "--window-unit=accesses", bl_window_unit, UNIT_ACCESSES) {}
   else if VG_XACT_CLO(arg, "--window-unit=instructions", bl_window_unit, UNIT_INSTRUCTIONS) {}
   else if VG_XACT_CLO(arg, "--window-unit=microseconds", bl_window_unit, UNIT_MICROSECONDS) {}
   else
      return False;
   return True;
}

static void usage(void)
{
   VG_(printf)("    --ring-dir=DIR           folder of the reader's control pipe\n"
               "    --unit-shift=6..12      log2 of the unit in which places are recorded [12]\n"
               "    --follow-children=no|yes record the program's forked children [no]\n"
               "    --sites=no|yes           record the call stacks of allocations [no]\n"
               "    --code=no|yes            record the bytes of instructions [no]\n"
               "    --align=SIZES            sum of the page sizes to align mappings to [0: as the "
               "kernel]\n"
               "    --clock=wall|program|date clocks that the program's instructions drive "
               "[program]\n"
               "    --clock-rate=N           instructions in a microsecond of such a clock "
               "[3500]\n"
               "    --window-skip=N          units before the first window [0]\n"
               "    --window-for=N           units of each window [0: to the end]\n"
               "    --window-every=N         units from window to window [0: one window]\n"
               "    --window-unit=accesses|instructions|microseconds the unit [accesses]\n");
}

static void debug_usage(void) { VG_(printf)("    (none)\n"); }

static void start(void)
{
   if (!bl_ring_directory) {
      VG_(umsg)("recorder: run by `broadleaf record`, which gives it --ring-dir\n");
      VG_(exit)(2);
   }
   bl_windows_init();
   bl_hide_preload();
   bl_show_vdso();
   bl_clock_begin();
   bl_sites_init();
   bl_ring_open(bl_ring_directory);
   bl_process_begins();
   bl_windows_begin();
}

/* The core's argument is zero in any case. */
static void finish(Int always_zero)
{
   ULong word = bl_exit_status;
   bl_program_ends();
   bl_record(REC_EXIT, &word, bl_exit_status >= 0 ? 1 : 0);
   bl_ring_close(1);
}

static void begin(void)
{
   /* Precise registers only where a program can see them, because the tool unwinds no stacks. */
   VG_(clo_vex_control).iropt_register_updates_default = VexRegUpdSpAtMemAccess;
   VG_(clo_px_file_backed) = VexRegUpdSpAtMemAccess;
   VG_(details_name)("Broadleaf");
   VG_(details_version)("1");
   VG_(details_description)("records a program's memory references");
   VG_(details_copyright_author)("The Broadleaf developers.");
   VG_(details_bug_reports_to)("the Broadleaf developers");
   VG_(basic_tool_funcs)(start, bl_instrument, finish);
   VG_(needs_command_line_options)(option, usage, debug_usage);
   bl_events_init();
   bl_tables_init();
}

VG_DETERMINE_INTERFACE_VERSION(begin)
