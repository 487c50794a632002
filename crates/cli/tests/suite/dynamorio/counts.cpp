/* Prints the hits and misses of DynamoRIO's TLB simulator for one offline trace: for each shape of
   the TLBs and each replacement policy, with all references and with data references alone.
   README.md beside this file has the commands. */

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "file_reader.h"
#include "memref.h"
#include "policy_bit_plru.h"
#include "tlb_simulator.h"

using namespace dynamorio::drmemtrace;

namespace {

/* The seed of the random choices of BIT_PLRU, which the command line cannot set. */
const int SEED = 1;

struct level_shape {
    unsigned entries, ways;
};

struct tlb_shape {
    unsigned page_size;
    level_shape instructions, data, second;
};

/* The first is DynamoRIO's default. */
const tlb_shape SHAPES[] = {
    { 4096, { 32, 32 }, { 32, 32 }, { 1024, 4 } },
    { 4096, { 32, 4 }, { 32, 4 }, { 1024, 4 } },
    { 4096, { 16, 2 }, { 16, 2 }, { 128, 2 } },
    { 4096, { 128, 8 }, { 64, 4 }, { 1536, 12 } },
    { 16384, { 8, 8 }, { 16, 4 }, { 64, 4 } },
    { 65536, { 4, 4 }, { 8, 4 }, { 32, 4 } },
    { 2097152, { 2, 2 }, { 4, 2 }, { 8, 4 } },
};

const char *const POLICIES[] = { "LRU", "FIFO", "LFU", "BIT_PLRU" };

class counting_simulator_t : public tlb_simulator_t {
public:
    counting_simulator_t(const tlb_simulator_knobs_t &knobs)
        : tlb_simulator_t(knobs)
    {
    }

    void
    seed_bit_plru()
    {
        for (tlb_t *tlb : tlbs()) {
            int ways = tlb->get_associativity();
            int sets = static_cast<int>(tlb->get_num_blocks()) / ways;
            /* With two ways, one bit at most is clear, and no number is drawn. */
            if (ways > 2) {
                tlb->set_replace_policy(std::unique_ptr<cache_replacement_policy_t>(
                    new policy_bit_plru_t(sets, ways, SEED)));
            }
        }
    }

    void
    print() const
    {
        for (tlb_t *tlb : tlbs()) {
            const caching_device_stats_t *stats = tlb->get_stats();
            printf(" %8lld %7lld",
                   static_cast<long long>(stats->get_metric(metric_name_t::HITS)),
                   static_cast<long long>(stats->get_metric(metric_name_t::MISSES)));
        }
        printf("\n");
    }

private:
    std::vector<tlb_t *>
    tlbs() const
    {
        return { itlbs_[0], dtlbs_[0], lltlbs_[0] };
    }
};

bool
count(const std::vector<memref_t> &memrefs, bool fetches, const tlb_shape &shape,
      const char *policy)
{
    tlb_simulator_knobs_t knobs;
    knobs.num_cores = 1;
    knobs.page_size = shape.page_size;
    knobs.TLB_L1I_entries = shape.instructions.entries;
    knobs.TLB_L1I_assoc = shape.instructions.ways;
    knobs.TLB_L1D_entries = shape.data.entries;
    knobs.TLB_L1D_assoc = shape.data.ways;
    knobs.TLB_L2_entries = shape.second.entries;
    knobs.TLB_L2_assoc = shape.second.ways;
    knobs.TLB_replace_policy = policy;
    counting_simulator_t simulator(knobs);
    if (!simulator)
        return false;
    if (strcmp(policy, "BIT_PLRU") == 0)
        simulator.seed_bit_plru();
    for (const memref_t &memref : memrefs) {
        if ((fetches || !type_is_instr(memref.instr.type)) && !simulator.process_memref(memref))
            return false;
    }
    printf("%-4s %-8s %5u", fetches ? "all" : "data", policy, shape.page_size);
    for (const level_shape &level : { shape.instructions, shape.data, shape.second })
        printf(" %4u %2u", level.entries, level.ways);
    simulator.print();
    return true;
}

} // namespace

int
main(int count_of_arguments, char **arguments)
{
    if (count_of_arguments != 2) {
        fprintf(stderr, "usage: counts TRACE\n");
        return 2;
    }
    file_reader_t<std::ifstream *> reader(arguments[1]), end;
    std::vector<memref_t> memrefs;
    if (!reader.init())
        return 1;
    for (; reader != end; ++reader)
        memrefs.push_back(*reader);
    printf("# references, policy, page size; entries and ways of L1I, L1D and L2;\n"
           "# hits and misses of L1I, L1D and L2\n");
    for (bool fetches : { true, false }) {
        for (const tlb_shape &shape : SHAPES) {
            for (const char *policy : POLICIES) {
                if (!count(memrefs, fetches, shape, policy))
                    return 1;
            }
        }
    }
    return 0;
}
