// A priority queue that is filled and emptied: the paths of a binary heap.
#include <cstdint>
#include <cstdio>
#include <queue>
#include <vector>

int main() {
  std::vector<uint64_t> room;
  room.reserve(4 << 20);
  std::priority_queue<uint64_t> heap({}, std::move(room));
  uint64_t state = 11, sum = 0;
  for (long i = 0; i < 4 << 20; i++) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    heap.push(state >> 8);
  }
  for (long i = 0; i < 3 << 20; i++) sum ^= heap.top() + i, heap.pop();
  std::printf("%llu\n", (unsigned long long)sum);
}
