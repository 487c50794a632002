// Two structures. The first argument names the one that is used at random; the other is filled once.
// The structures are a vector and a map of small nodes.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct Tables {
    std::vector<std::uint64_t> numbers;
    std::map<std::uint64_t, std::uint64_t> nodes;

    void fill_numbers() {
        numbers.resize(3 << 20); // first
    }
    void fill_nodes() {
        for (std::uint64_t i = 0; i < 200000; i++)
            nodes.emplace(i * 2654435761u % 1000003, i); // second
    }
};

int main(int, char **argv) {
    Tables tables;
    tables.fill_numbers();
    tables.fill_nodes();
    std::uint64_t state = 1, sum = 0;
    bool first = argv[1] == std::string("first");
    for (int i = 0; i < 150000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        if (first)
            sum += tables.numbers[(state >> 33) % tables.numbers.size()]++;
        else
            sum += tables.nodes.lower_bound((state >> 33) % 1000003)->second;
    }
    return sum == 1;
}
