// Tokens that another program wrote as whole numbers: .bin files of 16 or 32 bits each, and NumPy's .npy. They are read
// where they lie, so that a set may be larger than memory.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "datasets/file.h"
#include "datasets/sample_reader.h"
#include "datasets/text_pieces.h"

namespace neon {

// Files that follow one another, as one row of tokens.
class TokenFiles {
 public:
  // `type` is uint16, uint32 or auto: uint16, unless a file says otherwise, as .npy does, and .bin files that begin as
  // llm.c's do, with a header of 1024 bytes. Throws a data error where a file is neither, or is cut off, and a config
  // error where numbers of 16 bits seem to be halves of others.
  TokenFiles(const std::vector<std::string>& paths, const std::string& type);

  int64_t size() const { return size_; }
  // Tokens `first` and on, by any thread. A data error that names file and place for one that is below 0, or not below
  // `limit`; 0: any will do.
  void read(int64_t first, std::span<int32_t> to, int64_t limit) const;
  int64_t largest() const;
  // "uint16, behind a header of 1024 bytes"
  const std::string& form() const { return form_; }
  // The names and sizes of the files.
  std::string identity() const;

 private:
  struct File {
    std::unique_ptr<FileSource> source;
    int64_t begin = 0;   // of its tokens, among those of all files
    int64_t count = 0;   // tokens
    int64_t header = 0;  // bytes before them
    int item = 2;        // bytes of each
    bool is_signed = false;
    bool swapped = false;  // big-endian
  };
  static File open(const std::string& path, const std::string& type, std::string& form);
  static void read_file_part(const File& file, int64_t first, std::span<int32_t> to, int64_t limit);

  std::vector<File> files_;
  int64_t size_ = 0;
  std::string form_;
};

// Pieces of some of the tokens, each so many tokens behind the one before: inputs (T) and targets (T), the token after
// each. They are those of pieces_of().
class TokenPieces final : public RowReader {
 public:
  struct Part {
    int64_t first = 0, count = 0;  // tokens; at least 2
  };
  TokenPieces(std::shared_ptr<const TokenFiles> files, Part part, int64_t steps, int64_t stride, int64_t limit);
  int64_t size() const override { return count_pieces(part_.count, steps_, stride_); }
  size_t input_bytes() const override { return size_t(steps_) * sizeof(int32_t); }
  size_t target_bytes() const override { return input_bytes(); }
  void read_row(int64_t index, std::span<std::byte> input, std::span<std::byte> target,
                ReadScratch& scratch) const override;

 private:
  const std::shared_ptr<const TokenFiles> files_;
  const Part part_;
  const int64_t steps_, stride_, limit_;
};

}  // namespace neon
