// What the tests of data sets share: temporary folders, bytes, errors, data sets from parameters.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datasets/dataset.h"
#include "neon/core/error.h"
#include "tests/support/temp_folder.h"
#include "tests/support/variable.h"

namespace neon_test {

// Code that a sanitizer watches takes ten times as long: what is large, to be slow where time grows with the square, is
// so many times smaller.
#ifdef NEON_WATCHED
constexpr int kSmaller = 8;
#else
constexpr int kSmaller = 1;
#endif

class TempDir : public TempFolder {
 public:
  // Writes a file in it and returns its path.
  std::string write(const std::string& name, const std::string& content) const;
};

std::string golden(const std::string& name);  // path of a committed file
void copy_file(const std::string& from, const std::string& to);

// The message of the error that `action` throws, after "data: " or "config: "; "no error" when it throws none.
template <typename F>
std::string error_of(F&& action) {
  try {
    action();
  } catch (const neon::Error& error) {
    switch (error.kind()) {
      case neon::ErrorKind::data: return std::string("data: ") + error.what();
      case neon::ErrorKind::config: return std::string("config: ") + error.what();
      case neon::ErrorKind::memory: return std::string("memory: ") + error.what();
      default: return std::string("other: ") + error.what();
    }
  }
  return "no error";
}

using Keys = std::vector<std::pair<std::string, std::string>>;
// {Name: {key: value, ...}}; a value in brackets is a list of texts: "[a, b]".
neon::Setting object(const std::string& name, const Keys& keys = {});
std::unique_ptr<neon::Dataset> make(const std::string& name, const Keys& keys = {});

// A context that never downloads and whose data folder is `folder`.
neon::DataContext offline(const std::string& folder = "/nonexistent", uint64_t seed = 0);

std::vector<double> values(const neon::Tensor& tensor);

// Same sizes, sample and classes from the headers as from the data.
bool agrees(const neon::DataCheck& check, const neon::Data& data);

}  // namespace neon_test
