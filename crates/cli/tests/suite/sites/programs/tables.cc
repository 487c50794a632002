// A vector and a map of small nodes, of 6 MiB each. The argument names the one that is used at
// random; the other is filled once, in order.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

constexpr std::uint64_t NODES = 130000;

struct Tables {
    std::vector<std::uint64_t> numbers;
    std::map<std::uint64_t, std::uint64_t> nodes;

    void fill_numbers() {
        numbers.resize(3 << 18); // first
    }
    void fill_nodes() {
        for (std::uint64_t i = 0; i < NODES; i++)
            nodes.emplace_hint(nodes.end(), i, i); // second
    }
};

int main(int, char **argv) {
    Tables tables;
    tables.fill_numbers();
    tables.fill_nodes();
    std::uint64_t state = 1, sum = 0;
    bool first = argv[1] == std::string("first");
    for (int i = 0; i < 50000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        if (first)
            sum += tables.numbers[(state >> 33) % tables.numbers.size()]++;
        else
            sum += tables.nodes.find((state >> 33) % NODES)->second;
    }
    std::exit(sum == 1);
}
