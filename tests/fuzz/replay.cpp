// Runs every file of a folder through a fuzz target, in an ordinary build: what once was found stays fixed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: %s FOLDER\n", arguments[0]), 2;
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(arguments[1])) files.push_back(file.path());
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream in(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    if (!in.good() && !in.eof()) return std::fprintf(stderr, "cannot read %s\n", path.c_str()), 1;
    try {
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    } catch (const std::exception& error) {
      return std::fprintf(stderr, "%s: %s\n", path.c_str(), error.what()), 1;
    }
  }
  std::printf("%zu inputs\n", files.size());
  return files.empty();
}
