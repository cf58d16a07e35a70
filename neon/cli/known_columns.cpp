#include "neon/cli/known_columns.h"

#include "neon/core/error.h"

namespace neon {

namespace {

// As in the parameters of CSV, Windows and Sequences.
constexpr const char* kOfColumns[] = {"columns", "ignore", "standardize", "impute", "most_categories"};

// The parameters of the spec's data set; null where it has none.
const Setting* data_of(const Setting& spec) {
  const Setting* const data = spec.find("dataset");
  if (!data || !data->is_map() || data->entries.size() != 1) return nullptr;
  const Setting& params = data->entries[0].value;
  return params.is_map() ? &params : nullptr;
}

}  // namespace

void check_columns_stay(const OpenedRun& opened, const Setting& before) {
  const Setting* const now = data_of(opened.spec);
  const SampleMeaning& meaning = opened.run.meaning;
  if (!now || (meaning.table.count == 0 && meaning.standard.empty())) return;
  const Setting* const then = data_of(before);
  for (const char* name : kOfColumns) {
    const Setting *const set = now->find(name), *const old = then ? then->find(name) : nullptr;
    if (set && (!old || old->to_string() != set->to_string()))
      fail(ErrorKind::config, "--set dataset.", name, ": the checkpoint has the columns of the table as the net was ",
           "trained with them, and they stay so; leave it out, or train a net anew");
  }
}

}  // namespace neon
