/* Solves a position of Connect-4 by alpha-beta search with a table of positions. Boards are bits:
   seven columns of six cells, each with one more bit above. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 7, HEIGHT = 6, ENTRIES = 1 << 18, DEPTH = 13 };

struct entry {
    uint64_t key;
    int32_t depth, value;
};

static struct entry *table;
static uint64_t nodes;

static int wins(uint64_t board)
{
    static const int shifts[] = {1, HEIGHT, HEIGHT + 1, HEIGHT + 2};
    for (int i = 0; i < 4; i++) {
        uint64_t pairs = board & (board >> shifts[i]);
        if (pairs & (pairs >> 2 * shifts[i]))
            return 1;
    }
    return 0;
}

static int search(uint64_t mine, uint64_t all, int depth, int alpha, int beta)
{
    static const int order[WIDTH] = {3, 2, 4, 1, 5, 0, 6};
    uint64_t bottom = 0, key = mine + all;
    nodes++;
    if (wins(mine ^ all))
        return -100 - depth;
    if (depth == 0)
        return 0;
    struct entry *entry = &table[key * 0x9e3779b97f4a7c15u >> 46];
    if (entry->key == key && entry->depth == depth)
        return entry->value;
    int best = -1000, first = alpha;
    for (int i = 0; i < WIDTH; i++) {
        int column = order[i] * (HEIGHT + 1);
        bottom = 1ull << column;
        uint64_t next = (all + bottom) & (((1ull << HEIGHT) - 1) << column);
        if (!next)
            continue;
        int value = -search(all ^ mine, all | next, depth - 1, -beta, -alpha);
        if (value > best)
            best = value;
        if (value > alpha)
            alpha = value;
        if (alpha >= beta)
            break;
    }
    if (best == -1000)
        best = 0;
    if (best > first && best < beta)
        *entry = (struct entry){key, depth, best};
    return best;
}

int main(void)
{
    table = calloc(ENTRIES, sizeof *table);
    if (!table)
        return 1;
    int value = search(0, 0, DEPTH, -1000, 1000);
    printf("%d %llu\n", value, (unsigned long long)nodes);
    return 0;
}
