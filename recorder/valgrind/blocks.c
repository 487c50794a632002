/* The table of blocks. A block that is translated again, because its translation was dropped, keeps
   its number. So a long run does not fill the table, and recordings do not depend on the
   translation cache. */
#include "recorder.h"
#include "pub_tool_hashtable.h"

typedef struct _Block {
   struct _Block* next;
   UWord          key; /* the hash of the items */
   UInt           first_pattern, first_reference;
   UInt           words;
   ULong          items[];
} Block;

ULong bl_last[MAX_REFERENCES];

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

static Bool is_reference(ULong item)
{
   return (item & 0xff) == ITEM_LOAD || (item & 0xff) == ITEM_STORE;
}

/* Returns how many numbers follow an item. */
static UInt numbers_after(ULong item)
{
   return is_reference(item) ? 1 : (item & 0xff) == ITEM_CODE ? 2 : 0;
}

/* Counts the instructions of each of the block's patterns, for the clock. */
static void weigh(const Block* b)
{
   UInt pattern = b->first_pattern, instructions = 0;
   for (UInt i = 0; i < b->words; i += 1 + numbers_after(b->items[i])) {
      if ((b->items[i] & 0xff) == ITEM_INSTRUCTION)
         instructions++;
      if ((b->items[i] & 0xff) == ITEM_EXIT)
         bl_clock_pattern(pattern++, instructions);
   }
}

static void describe(const Block* b)
{
   ULong* payload = VG_(malloc)("bl.block.record", (2 + b->words) * sizeof(ULong));
   payload[0] = b->first_pattern;
   payload[1] = b->first_reference;
   VG_(memcpy)(payload + 2, b->items, b->words * sizeof(ULong));
   bl_record(REC_BLOCK, payload, 2 + b->words);
   VG_(free)(payload);
}

/* Writes all block descriptions in a forked child, because the child's reader has none. */
void bl_describe_blocks_again(void)
{
   Word n = in_order ? VG_(sizeXA)(in_order) : 0;
   for (Word i = 0; i < n; i++)
      describe(*(Block**)VG_(indexXA)(in_order, i));
}

UInt bl_block(const ULong* items, UInt words, UInt steps, UInt exits, UInt* reference)
{
   if (!blocks) {
      blocks = VG_(HT_construct)("bl.blocks");
      in_order = VG_(newXA)(VG_(malloc), "bl.order", VG_(free), sizeof(Block*));
   }
   UWord key = hash(items, words);
   for (Block* b = VG_(HT_lookup)(blocks, key); b; b = b->next)
      if (b->key == key && b->words == words
          && VG_(memcmp)(b->items, items, words * sizeof(ULong)) == 0) {
         *reference = b->first_reference;
         return b->first_pattern;
      }

   if (patterns_used + exits > MAX_PATTERNS || references_used + steps > MAX_REFERENCES) {
      if (bl_recording)
         VG_(umsg)("recorder: the program has more kinds of blocks than the recorder's tables; "
                   "the recording ends here\n");
      return NO_PATTERN;
   }
   Block* b = VG_(malloc)("bl.block", sizeof(Block) + words * sizeof(ULong));
   b->key = key;
   b->words = words;
   b->first_pattern = 1 + patterns_used;
   b->first_reference = *reference = references_used;
   VG_(memcpy)(b->items, items, words * sizeof(ULong));
   VG_(HT_add_node)(blocks, b);
   VG_(addToXA)(in_order, &b);
   patterns_used += exits;
   for (UInt i = 0; i < steps; i++)
      bl_last[references_used++] = NOWHERE;
   weigh(b);
   describe(b);
   return b->first_pattern;
}

/* Returns the block with this first pattern. */
static const Block* block_of(UInt pattern)
{
   Word low = 0, high = VG_(sizeXA)(in_order);
   while (high - low > 1) {
      Word middle = low + (high - low) / 2;
      if ((*(Block**)VG_(indexXA)(in_order, middle))->first_pattern <= pattern)
         low = middle;
      else
         high = middle;
   }
   return *(Block**)VG_(indexXA)(in_order, low);
}

/* Records a block that a fault interrupted as another block, which ends at the start of the
   faulting instruction. That instruction will begin again. */
void bl_fault(void)
{
   Midst m = bl_midst;
   UInt  steps = 0, exits = 0, bases = 0, words = 0, all = 0, reference, last = ITEM_EXIT;

   bl_midst.pattern = NO_BLOCK;
   if (m.pattern == NO_BLOCK || !bl_recording)
      return;
   const Block* b = block_of(m.pattern);
   ULong*       items = VG_(malloc)("bl.fault", (b->words + 1 + WIRE_MAX_STEPS) * sizeof(ULong));
   ULong*       values = items + b->words + 1;
   while (words < m.words) {
      ULong item = b->items[words];
      last = item & 0xff;
      exits += last == ITEM_EXIT;
      if (is_reference(item)) {
         UInt base = item >> 32;
         if (base != WIRE_NO_BASE && base >= bases)
            bases = base + 1;
         steps++;
      }
      for (UInt end = words + 1 + numbers_after(item); words < end; words++)
         items[words] = b->items[words];
   }
   for (UInt i = 0; i < bases; i++)
      values[i] = numbers_end(m.where)[-1 - (Int)i];
   bl_rewind(m.where);
   /* The places of its references were noted, although they are not recorded. */
   for (UInt i = 0; i < b->words; i += 1 + numbers_after(b->items[i]))
      if (is_reference(b->items[i]))
         bl_last[b->first_reference + all++] = NOWHERE;
   if (words > 0) {
      if (last != ITEM_EXIT) {
         items[words++] = ITEM_EXIT;
         exits++;
      }
      UInt pattern = bl_block(items, words, steps, exits, &reference);
      if (pattern != NO_PATTERN)
         bl_execution(pattern + exits - 1, values, bases);
   }
   VG_(free)(items);
}

void bl_forget(void)
{
   for (UInt i = 0; i < references_used; i++)
      bl_last[i] = NOWHERE;
}
