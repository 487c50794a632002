/* The filled ranges of the part of the address space in which mappings are placed. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

typedef struct { Addr start, end; } Filled;

static Filled* filled; /* in order, without overlaps */
static UInt    n, room;

/* Returns the number of ranges that end at or below an address. */
static UInt below(Addr address)
{
   UInt low = 0, high = n;
   while (low < high) {
      UInt middle = low + (high - low) / 2;
      if (filled[middle].end <= address)
         low = middle + 1;
      else
         high = middle;
   }
   return low;
}

static void insert(UInt at, Addr start, Addr end)
{
   if (n == room) {
      room = room ? 2 * room : 1024;
      filled = realloc(filled, room * sizeof *filled);
      if (!filled)
         abort();
   }
   memmove(filled + at + 1, filled + at, (n - at) * sizeof *filled);
   filled[at] = (Filled){start, end};
   n++;
}

void bl_empty(Addr start, ULong len)
{
   Addr end = start + PAGE_UP(len);
   UInt at = below(start);
   while (at < n && filled[at].start < end) {
      Filled f = filled[at];
      if (f.start < start && f.end > end) {
         filled[at].end = start;
         insert(at + 1, end, f.end);
         return;
      }
      if (f.start < start) {
         filled[at++].end = start;
      } else if (f.end > end) {
         filled[at].start = end;
         return;
      } else {
         memmove(filled + at, filled + at + 1, (n - at - 1) * sizeof *filled);
         n--;
      }
   }
}

void bl_fill(Addr start, ULong len)
{
   Addr end = start + PAGE_UP(len);
   if (len == 0)
      return;
   bl_empty(start, len);
   UInt at = below(start);
   bool joins_lower = at > 0 && filled[at - 1].end == start;
   bool joins_upper = at < n && filled[at].start == end;
   if (joins_lower && joins_upper) {
      filled[at - 1].end = filled[at].end;
      memmove(filled + at, filled + at + 1, (n - at - 1) * sizeof *filled);
      n--;
   } else if (joins_lower) {
      filled[at - 1].end = end;
   } else if (joins_upper) {
      filled[at].start = start;
   } else {
      insert(at, start, end);
   }
}

bool bl_is_free(Addr start, ULong len)
{
   UInt at = below(start);
   return at == n || filled[at].start >= start + len;
}

/* Returns the highest hole of that length between floor and top, or 0. */
Addr bl_highest_hole(ULong len, Addr top, Addr floor)
{
   Addr ceiling = top;
   for (UInt i = n; i > 0 && ceiling >= floor + len; i--) {
      if (filled[i - 1].start >= ceiling)
         continue;
      if (filled[i - 1].end + len <= ceiling)
         return ceiling - len;
      ceiling = filled[i - 1].start;
   }
   return ceiling >= floor + len ? ceiling - len : 0;
}
