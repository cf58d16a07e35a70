// Several targets of the images of a list, in the columns behind that of the files.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datasets/csv.h"
#include "datasets/csv_dialect.h"
#include "datasets/csv_meant.h"
#include "datasets/csv_targets.h"
#include "datasets/image_samples.h"

namespace neon {

// `targets` of an ImageList: columns by name or index, and the kind of each.
using ListTargets = std::vector<std::pair<std::string, std::string>>;

// Whether a target is a name, so that a list has a header.
bool has_names(const ListTargets& targets);

// The cells of a list that are targets.
class ListCells {
 public:
  // `head` is the first line of the list, whether it is a header or not; `reader` reads it, for messages.
  ListCells(const ListTargets& targets, const CsvReader& reader, const std::string& path, CsvDialect dialect,
            const std::vector<CsvCell>& head, bool is_header);
  // Throws a data error for a line of more or fewer cells than the first, and for a decimal point among decimal commas.
  void add(const CsvReader& reader, const std::vector<CsvCell>& cells);
  // Throws a data error where the marks of decimals may stand between groups of three digits, as in 3.518 beside 366.
  void check_groups(const CsvReader& reader, const DataContext& context) const;
  const Table& table() const { return table_; }
  // Reads the file, so that messages tell places in it.
  void know_file() { table_.file = std::make_shared<TextFile>(table_.path); }
  // The columns that are neither the file nor a target: "a, b".
  std::string left_out() const;

 private:
  // A number with the point in place of the comma.
  std::string with_point(const CsvReader& reader, const CsvCell& cell, size_t k);
  Table table_;
  std::vector<bool> is_number_;    // by target
  std::vector<SeenNumbers> seen_;  // by target
};

// The targets of all images, those of the training list first.
struct ListedTargets {
  CsvTargets targets;
  std::vector<NamedTarget> named;
  Tensor rows;  // (images, columns) f32
};
// `test` may be null. Throws a data error for a cell that is no target of its kind.
std::shared_ptr<ListedTargets> listed_targets(const ListTargets& targets, const std::vector<std::string>& missing,
                                              const Table& train, const Table* test, const DataContext& context);

}  // namespace neon
