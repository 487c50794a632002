// A sort of strings from the heap, by pointers.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

int main() {
  std::vector<std::unique_ptr<std::string>> words;
  uint64_t state = 13;
  for (int i = 0; i < 1400000; i++) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    words.push_back(std::make_unique<std::string>("a common beginning " + std::to_string(state)));
  }
  std::sort(words.begin(), words.end(), [](auto &one, auto &other) { return *one < *other; });
  std::printf("%s\n", words[words.size() / 2]->c_str());
}
