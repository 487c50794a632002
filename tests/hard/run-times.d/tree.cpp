// Look-ups in a balanced tree of nodes from the heap.
#include <cstdint>
#include <cstdio>
#include <map>

int main() {
  std::map<uint32_t, uint32_t> tree;
  uint32_t state = 1;
  auto next = [&] { return state = state * 1664525u + 1013904223u; };
  for (int i = 0; i < 700000; i++) tree[next() >> 4] = i;
  uint64_t sum = 0;
  for (int i = 0; i < 900000; i++) {
    auto found = tree.lower_bound(next() >> 4);
    if (found != tree.end()) sum += found->second;
  }
  printf("%llu\n", (unsigned long long)sum);
}
