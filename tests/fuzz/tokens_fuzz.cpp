// Whatever bytes stand in a file of tokens, reading it gives tokens below the limit, and pieces of them, or an error.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "datasets/token_files.h"
#include "tests/fuzz/given_file.h"

namespace {

constexpr size_t kHead = 3;  // bytes that choose the kind of file and of pieces
constexpr int64_t kMostPieces = 64;

// Piece `index` against the tokens that it is of.
void check_piece(const neon::TokenPieces& pieces, int64_t index, int64_t stride, const std::vector<int32_t>& tokens) {
  const size_t steps = pieces.input_bytes() / sizeof(int32_t);
  std::vector<int32_t> input(steps), target(steps);
  neon::ReadScratch scratch;
  pieces.read_row(index, std::as_writable_bytes(std::span(input)), std::as_writable_bytes(std::span(target)), scratch);
  for (size_t t = 0; t < steps; ++t) {
    const size_t place = size_t(index * stride) + t;
    const bool there = place + 1 < tokens.size();
    NEON_ASSERT(input[t] == (there ? tokens[place] : 0));
    NEON_ASSERT(target[t] == (there ? tokens[place + 1] : -1));
  }
}

void read_tokens(const std::string& path, const std::string& type, int64_t bytes, int64_t steps, int64_t stride) {
  const auto files = std::make_shared<const neon::TokenFiles>(std::vector<std::string>{path}, type);
  NEON_ASSERT(files->size() >= 0 && files->size() <= bytes);
  if (files->size() < 2) return;
  const int64_t limit = files->largest() + 1;
  std::vector<int32_t> tokens(size_t(files->size()));
  files->read(0, tokens, limit);
  for (const int32_t token : tokens) NEON_ASSERT(token >= 0 && token < limit);
  const neon::TokenPieces pieces(files, {0, files->size()}, steps, stride, limit);
  NEON_ASSERT(pieces.size() > 0);
  for (int64_t i = 0; i < std::min(pieces.size(), kMostPieces); ++i) check_piece(pieces, i, stride, tokens);
  check_piece(pieces, pieces.size() - 1, stride, tokens);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kHead) return 0;
  const int64_t steps = 1 + data[1] % 16, stride = 1 + data[2] % steps;
  const char* const types[] = {"auto", "uint16", "uint32"};
  const neon_test::GivenFile file(data[0] & 1 ? "t.npy" : "t.bin",
                                  {reinterpret_cast<const char*>(data) + kHead, size - kHead});
  try {
    read_tokens(file.path(), types[data[0] / 2 % 3], int64_t(size), steps, stride);
  } catch (const neon::Error& error) {  // a type that the file says is another is an error of the spec
    if (error.kind() != neon::ErrorKind::data && error.kind() != neon::ErrorKind::config) throw;
  }
  return 0;
}
