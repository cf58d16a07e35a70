// Macrobatches of neon 0.8 and 0.9: dataset_cache.pkl and data_batch_0 and so on, in one folder.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datasets/image_store.h"
#include "neon/core/params.h"

namespace neon {

// The first rules of data (sample_meaning.h) by which the cache says how many macrobatches there are.
constexpr int kRulesOfMacrobatches = 12;

// The numbers of the macrobatches to use. The folder's dataset_cache.pkl has those that the spec leaves open.
struct Macrobatches {
  std::optional<int64_t> train_start, ntrain, val_start, nval;
  bool counts_of_cache = true;  // else all macrobatches that are there, before val_start and from it on
  static void describe(auto&& p) {
    p("ntrain", &Macrobatches::ntrain, "Number of macrobatches to train with.", at_least(1));
    p("train_start", &Macrobatches::train_start, "Number of the first of them.", at_least(0));
    p("nval", &Macrobatches::nval, "Number of macrobatches to validate with.", at_least(0));
    p("val_start", &Macrobatches::val_start, "Number of the first of them.", at_least(0));
  }
  bool is_given() const { return train_start || ntrain || val_start || nval; }
};

template <>
struct Value_of<Macrobatches> {
  static std::string type() { return "map of ntrain, train_start, nval, val_start"; }
  static void read(const Setting& s, Macrobatches& out, const Constraint&, Problems& problems) {
    out = {};
    if (s.is_null()) return;
    if (!s.is_map()) return detail::wrong_type(s, "a map, as {ntrain: 6, train_start: 0}", problems);
    schema_of<Macrobatches>().read(s, &out, problems);
  }
  static Setting write(const Macrobatches& value) {
    return value.is_given() ? schema_of<Macrobatches>().write(&value) : Setting();
  }
};

bool has_macrobatches(const std::string& folder);
// The files `names` of the folder. The store's are train/CLASS/IMAGE.jpg and val/CLASS/IMAGE.jpg; CLASS is a number.
std::unique_ptr<ImageStore> open_macrobatches(const std::string& folder, const std::vector<std::string>& names,
                                              const Macrobatches& chosen);

}  // namespace neon
