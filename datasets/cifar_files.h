// Where CIFAR-10 and CIFAR-100 may be, and how they are fetched: the binary version, as its .tar.gz or unpacked.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "datasets/dataset.h"

namespace neon {

// What CIFAR10 and CIFAR100 differ in.
struct CifarKind {
  const char* name;
  std::vector<const char*> folders;  // under the data folder; the first is made, and under the cache, too
  const char* unpacked;              // folder that the archive unpacks to
  const char* archive;               // its name
  const char* url;
  const char* sha256;
  int64_t bytes;                          // of the archive
  std::vector<const char*> train, test;   // files of records
  int labels;                             // bytes of labels before the pixels of a record
  std::vector<const char*> names;         // files of class names, one for each of the labels
  const char *pickled, *pickled_archive;  // folder and archive of the version for Python
};

const CifarKind& cifar10_kind();
const CifarKind& cifar100_kind();

constexpr int64_t kCifarPixels = 3 * 32 * 32;

// A folder of the files, or the archive; "" when there is neither.
std::string find_cifar(const CifarKind& kind, const DataContext& context);
// Folders that are looked through, the likeliest first.
std::vector<std::string> cifar_folders(const CifarKind& kind, const DataContext& context);
// The archive, into the data folder; throws a data error (see download).
std::string fetch_cifar(const CifarKind& kind, const DataContext& context);
// A shell command that gets it there without neon.
std::string cifar_command(const CifarKind& kind, const DataContext& context);

// Where a folder has that file of the kind; throws a data error when it has none.
std::string cifar_file(const CifarKind& kind, const std::string& folder, const char* name);
// The number of records in so many bytes; a record is `labels` bytes and its pixels. Throws a data error if the bytes
// are no whole records. `source` starts messages, `start` holds the first bytes.
int64_t cifar_record_count(int64_t bytes, int labels, const std::string& source, std::string_view start = {});
// The contents of files of the kind, in the order asked for, from a folder or the archive. Throws a data error for one
// that is not there.
std::vector<std::string> read_cifar_files(const CifarKind& kind, const std::string& place,
                                          const std::vector<const char*>& names);

// Records of `labels` bytes and 3072 of pixels, planes of red, green and blue -> images (n,32,32,3) and the label that
// is asked for, (n) below `classes`. `source` starts messages.
Split read_cifar_records(std::string_view bytes, int labels, int label, int64_t classes, const std::string& source);

// A name a line.
std::vector<std::string> read_class_names(const std::string& content);

}  // namespace neon
