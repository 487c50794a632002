// A cache with the least recently used entry as victim: a hash table and a list of its entries.
#include <cstdint>
#include <cstdio>
#include <list>
#include <unordered_map>

int main() {
  using Entry = std::pair<uint32_t, uint64_t>;
  std::list<Entry> order;
  std::unordered_map<uint32_t, std::list<Entry>::iterator> places;
  uint64_t state = 17, hits = 0;
  for (long i = 0; i < 3000000; i++) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    uint32_t key = (state >> 40) % ((state >> 20) % 8 ? 200000 : 4000000);
    auto found = places.find(key);
    if (found != places.end()) {
      hits++, order.splice(order.begin(), order, found->second);
      continue;
    }
    order.emplace_front(key, state);
    places[key] = order.begin();
    if (places.size() > 400000) places.erase(order.back().first), order.pop_back();
  }
  std::printf("%llu\n", (unsigned long long)hits);
}
