/* The table of blocks. A block that is translated again (its translation was thrown out, or it was discarded) keeps its
   number, so that a long run does not fill the table and recordings do not depend on the translation cache. */
#include "recorder.h"
#include "pub_tool_hashtable.h"

typedef struct _Block {
   struct _Block* next;
   UWord          key; /* of the items */
   UInt           first_pattern, first_reference;
   UInt           words;
   ULong          items[];
} Block;

ULong bl_begin[MAX_REFERENCES];

static UInt         patterns_used, references_used;
static VgHashTable* blocks;
static XArray*      in_order; /* of Block* */

static UWord hash(const ULong* items, UInt words)
{
   ULong h = 0x9e3779b97f4a7c15ULL ^ words;
   for (UInt i = 0; i < words; i++) {
      h = (h ^ items[i]) * 0xff51afd7ed558ccdULL;
      h ^= h >> 32;
   }
   return h;
}

#define NOWHERE (1ULL << 63) /* farther from every address than any reach */

static void tell(const Block* b)
{
   ULong* payload = VG_(malloc)("bl.block.record", (2 + b->words) * sizeof(ULong));
   payload[0] = b->first_pattern;
   payload[1] = b->first_reference;
   VG_(memcpy)(payload + 2, b->items, b->words * sizeof(ULong));
   bl_record(REC_BLOCK, payload, 2 + b->words);
   VG_(free)(payload);
}

/* In a forked child, whose reader has seen none of them. */
void bl_tell_blocks_again(void)
{
   Word n = in_order ? VG_(sizeXA)(in_order) : 0;
   for (Word i = 0; i < n; i++)
      tell(*(Block**)VG_(indexXA)(in_order, i));
}

UInt bl_block(const ULong* items, UInt words, UInt steps, UInt exits, UInt* reference)
{
   if (!blocks) {
      blocks = VG_(HT_construct)("bl.blocks");
      in_order = VG_(newXA)(VG_(malloc), "bl.order", VG_(free), sizeof(Block*));
   }
   UWord key = hash(items, words);
   for (Block* b = VG_(HT_lookup)(blocks, key); b; b = b->next)
      if (b->key == key && b->words == words && VG_(memcmp)(b->items, items, words * sizeof(ULong)) == 0) {
         *reference = b->first_reference;
         return b->first_pattern;
      }

   if (patterns_used + exits > MAX_PATTERNS || references_used + steps > MAX_REFERENCES) {
      if (bl_recording)
         VG_(umsg)("recorder: the program has more kinds of blocks than the recorder's tables; the recording ends here\n");
      bl_end_chunk();
      bl_ring_close(2);
      return NO_PATTERN;
   }
   Block* b = VG_(malloc)("bl.block", sizeof(Block) + words * sizeof(ULong));
   b->key = key;
   b->words = words;
   b->first_pattern = patterns_used;
   b->first_reference = *reference = references_used;
   VG_(memcpy)(b->items, items, words * sizeof(ULong));
   VG_(HT_add_node)(blocks, b);
   VG_(addToXA)(in_order, &b);
   patterns_used += exits;
   for (UInt i = 0; i < steps; i++)
      bl_begin[references_used++] = NOWHERE;
   tell(b);
   return b->first_pattern;
}

void bl_forget(void)
{
   for (UInt i = 0; i < references_used; i++)
      bl_begin[i] = NOWHERE;
}
