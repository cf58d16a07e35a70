// Whatever stands in a merges.txt and a vocab.json, they give a vocabulary that gives every text back, or a data error.
#include <cstddef>
#include <cstdint>

#include "datasets/bpe_files.h"
#include "tests/fuzz/given_file.h"

namespace {

void check_vocabulary(neon::Vocabulary vocabulary, const std::string& text) {
  const neon::Tokenizer tokenizer(std::move(vocabulary));
  std::string back;
  for (const int32_t token : tokenizer.encode(text, "input")) {
    NEON_ASSERT(token >= 0 && token < tokenizer.vocabulary().size());
    back += tokenizer.vocabulary().text_of(token);
  }
  NEON_ASSERT(back == text);
}

}  // namespace

// The input is merges.txt, vocab.json or nothing, and a text, with a byte of 0 behind the first two.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string all(reinterpret_cast<const char*>(data), size);
  const size_t first = all.find('\0'), second = first == all.npos ? first : all.find('\0', first + 1);
  if (second == all.npos) return 0;
  const neon_test::GivenFile merges("merges.txt", std::string_view(all).substr(0, first)),
      numbers("vocab.json", std::string_view(all).substr(first + 1, second - first - 1));
  try {
    check_vocabulary(neon::read_bpe(merges.path(), second == first + 1 ? "" : numbers.path()), all.substr(second + 1));
  } catch (const neon::Error& error) {
    if (error.kind() != neon::ErrorKind::data) throw;
  }
  return 0;
}
