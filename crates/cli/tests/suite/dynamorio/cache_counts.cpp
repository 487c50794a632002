/* Prints the hits and misses of DynamoRIO's cache simulator for one offline trace: for each shape
   of the caches, each replacement policy and each kind of hierarchy. README.md beside this file
   says how the counts were made. */

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cache_simulator.h"
#include "file_reader.h"
#include "memref.h"

using namespace dynamorio::drmemtrace;

namespace {

struct cache_shape {
    unsigned kibibytes, ways;
};

struct hierarchy_shape {
    unsigned levels;
    cache_shape instructions, data, lower[2];
};

const hierarchy_shape SHAPES[] = {
    { 1, { 32, 8 }, { 32, 8 } },
    { 1, { 4, 1 }, { 8, 2 } },
    { 2, { 32, 4 }, { 32, 8 }, { { 256, 4 } } },
    { 2, { 2, 2 }, { 2, 4 }, { { 16, 8 } } },
    { 3, { 32, 8 }, { 32, 8 }, { { 256, 8 }, { 2048, 16 } } },
    { 3, { 4, 4 }, { 4, 4 }, { { 32, 8 }, { 192, 12 } } },
    { 2, { 4, 1 }, { 8, 1 }, { { 16, 8 } } },
    { 3, { 2, 1 }, { 4, 1 }, { { 8, 1 }, { 64, 16 } } },
};

const char *const REFERENCES[] = { "all", "reads", "data" };
const char *const KINDS[] = { "neither", "inclusive", "exclusive" };
const char *const POLICIES[] = { "LRU", "RRIP" };

/* Whether both simulators have the same rules for a row. */
bool
is_compared(const std::string &references, const hierarchy_shape &shape,
            const std::string &kind, const std::string &policy)
{
    if (shape.levels == 1)
        return kind == "neither";
    /* Broadleaf writes modified lines back to a level that may have lost them. */
    if (kind == "neither")
        return references == "reads";
    /* RRIP treats lines that a level above lost in a way of its own. */
    if (kind == "exclusive")
        return policy == "LRU";
    /* A level chooses the line that makes room before the level below drops lines. With one way,
       the choice is the same afterwards. */
    return shape.data.ways == 1 && (shape.levels == 2 || shape.lower[0].ways == 1);
}

std::string
cache_text(const std::string &name, const cache_shape &shape, const std::string &parent,
           const std::string &policy, const std::string &more)
{
    std::ostringstream text;
    text << name << " {\n size " << shape.kibibytes << "K\n assoc " << shape.ways
         << "\n parent " << parent << "\n " << more << "\n";
    /* With this period, each new line is predicted to be used late, and none last (SRRIP). */
    if (policy == "RRIP") {
        text << " replace_policy {\n  type RRIP\n  rrpv_bits 2\n  rrpv_period 1\n"
             << "  rrpv_long_per_period 1\n }\n";
    } else {
        text << " replace_policy " << policy << "\n";
    }
    text << "}\n";
    return text.str();
}

std::string
configuration(const hierarchy_shape &shape, const std::string &kind, const std::string &policy)
{
    const std::string inclusion = kind == "neither" ? "" : kind + " true";
    const std::string below = shape.levels == 1 ? "memory" : "L2";
    std::string text = "num_cores 1\nline_size 64\n";
    text += cache_text("L1I", shape.instructions, below, policy, "type instruction\n core 0");
    text += cache_text("L1D", shape.data, below, policy, "type data\n core 0");
    if (shape.levels > 1) {
        text += cache_text("L2", shape.lower[0], shape.levels > 2 ? "L3" : "memory", policy,
                           inclusion);
    }
    if (shape.levels > 2)
        text += cache_text("L3", shape.lower[1], "memory", policy, inclusion);
    return text;
}

bool
count(const std::vector<memref_t> &memrefs, const std::string &references,
      const hierarchy_shape &shape, const std::string &kind, const std::string &policy)
{
    std::istringstream text(configuration(shape, kind, policy));
    cache_simulator_t simulator(&text);
    if (!simulator)
        return false;
    for (memref_t memref : memrefs) {
        /* Broadleaf imports no prefetches. */
        if (type_is_prefetch(memref.data.type) ||
            (references == "data" && type_is_instr(memref.instr.type)))
            continue;
        if (references == "reads" && memref.data.type == TRACE_TYPE_WRITE)
            memref.data.type = TRACE_TYPE_READ;
        if (!simulator.process_memref(memref))
            return false;
    }
    printf("%-5s %-4s %-9s %u", references.c_str(), policy.c_str(), kind.c_str(), shape.levels);
    const cache_shape shapes[] = { shape.instructions, shape.data, shape.lower[0],
                                   shape.lower[1] };
    for (unsigned number = 0; number <= shape.levels; ++number)
        printf(" %u %u", shapes[number].kibibytes, shapes[number].ways);
    printf(" :");
    for (unsigned number = 0; number <= shape.levels; ++number) {
        const cache_split_t split =
            number == 0 ? cache_split_t::INSTRUCTION : cache_split_t::DATA;
        const unsigned level = number == 0 ? 1 : number;
        for (metric_name_t metric : { metric_name_t::HITS, metric_name_t::MISSES }) {
            printf(" %lld",
                   static_cast<long long>(simulator.get_cache_metric(metric, level, 0, split)));
        }
    }
    printf("\n");
    return true;
}

} // namespace

int
main(int count_of_arguments, char **arguments)
{
    if (count_of_arguments != 2) {
        fprintf(stderr, "usage: cache_counts TRACE\n");
        return 2;
    }
    file_reader_t<std::ifstream *> reader(arguments[1]), end;
    std::vector<memref_t> memrefs;
    if (!reader.init())
        return 1;
    for (; reader != end; ++reader)
        memrefs.push_back(*reader);
    printf("# references, policy, kind, levels; KiB and ways of L1I, L1D, L2, L3 : hits and\n"
           "# misses of L1I, L1D, L2, L3\n");
    for (const char *references : REFERENCES) {
        for (const hierarchy_shape &shape : SHAPES) {
            for (const char *kind : KINDS) {
                for (const char *policy : POLICIES) {
                    if (!is_compared(references, shape, kind, policy))
                        continue;
                    if (!count(memrefs, references, shape, kind, policy))
                        return 1;
                }
            }
        }
    }
    return 0;
}
