// The four files of MNIST and of FashionMNIST: what they are, where they may be, how they are fetched.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace neon {

// One of the four files as it is distributed.
struct DistributedFile {
  const char* name;  // without .gz
  const char* sha256;
  int64_t bytes;  // of the .gz
};
// What MNIST and FashionMNIST differ in.
struct MnistKind {
  const char* name;
  std::vector<const char*> folders;    // under the data folder; the first is made, and under the cache, too
  std::vector<const char*> places;     // absolute
  std::vector<const char*> mirrors;    // each ends in a slash
  std::vector<DistributedFile> files;  // training images and labels, test images and labels
  const char* command;                 // gets it without neon; "" when curl is the way
  std::vector<const char*> class_names;
  std::vector<uint8_t> first_labels;  // of the training set, to tell the two apart: their files are named alike
};

const MnistKind& mnist_kind();
const MnistKind& fashion_mnist_kind();

// The four files of one folder, in the order of MnistKind::files.
struct MnistFiles {
  std::string folder;
  std::vector<std::string> paths;
  explicit operator bool() const { return !paths.empty(); }
};

// Folders that may have them, the likeliest first.
std::vector<std::string> mnist_folders(const MnistKind& kind, const DataContext& context);

// The first folder that has all four; none: `partial` says which folder had some of them, for the message.
MnistFiles find_mnist(const MnistKind& kind, const DataContext& context, std::string& partial);

// Into the data folder, from the first mirror that has them; throws a data error (see download).
MnistFiles fetch_mnist(const MnistKind& kind, const DataContext& context);

// A shell command that gets them there without neon.
std::string mnist_command(const MnistKind& kind, const DataContext& context);

}  // namespace neon
