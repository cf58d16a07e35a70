#include "neon/train/shared_rows.h"

namespace neon {

namespace {

bool is_carried(const std::string& name) { return name.ends_with(kCarried) && !belongs_to_evaluation(name); }

// This rank's rows of an array, and how many there are in all.
struct OwnRows {
  int64_t first = 0, count = 0, all = 0;
};

// The split parameter that a variable is, or for which an optimizer keeps it; or null.
const SplitArray* split_of(const std::string& name, const RunSetup& setup) {
  for (const SplitArray& split : setup.split)
    if (name == split.name || name.starts_with(split.name + "/")) return &split;
  return nullptr;
}

// The rows that this rank has of the variable or tensor `name`; none where it is here as a whole.
std::optional<OwnRows> own_rows(const std::string& name, const RunSetup& setup) {
  if (!setup.ranks) return {};
  if (const SplitArray* const split = split_of(name, setup)) return OwnRows{split->first, split->rows, split->all};
  if (!is_carried(name)) return {};
  const BatchShare share = share_of(setup.step.batch, setup.step.batch, setup.rank());
  return OwnRows{share.first, share.counts ? share.count : 0, share.whole};
}

bool has_rows(const Tensor& tensor, int64_t rows) { return tensor.shape().rank() > 0 && tensor.shape()[0] == rows; }

}  // namespace

std::map<std::string, Tensor> with_all_rows(const Variables& variables, const RunSetup& setup) {
  std::map<std::string, Tensor> out;
  for (const auto& [name, own] : variables.all()) {
    const std::optional<OwnRows> rows = own_rows(name, setup);
    if (!rows || own.shape().rank() == 0) continue;
    if (split_of(name, setup) && !has_rows(own, rows->count)) continue;  // a number of the optimizer's
    Tensor all(own.dtype(), own.shape().with(0, rows->all));
    if (rows->count > 0) all.rows(rows->first, rows->count).copy_from(own);
    const Summand sum{all.data(), all.data(), all.elements()};
    setup.ranks->sum(std::span(&sum, 1), all.dtype());  // the rows of others are 0 here
    out.emplace(name, std::move(all));
  }
  return out;
}

double bytes_with_all_rows(const Variables& variables, const RunSetup& setup) {
  double out = 0;
  for (const auto& [name, tensor] : variables.all()) {
    const SplitArray* const split = split_of(name, setup);
    out += double(tensor.bytes()) * (split ? double(split->all) / double(split->rows) : 1);
  }
  return out;
}

TensorFile with_own_rows(const TensorFile& file, const RunSetup& setup) {
  TensorFile out = file;
  for (NamedTensor& named : out.tensors)
    if (const std::optional<OwnRows> rows = own_rows(named.name, setup); rows && has_rows(named.tensor, rows->all))
      named.tensor = named.tensor.rows(rows->first, std::max<int64_t>(rows->count, 1));
  return out;
}

std::string split_text(const RunSetup& setup, const StepGraph& graph) {
  if (!setup.step.split_dense || !setup.ranks) return "";
  std::vector<std::string> layers;
  int64_t split = 0, all = 0;
  for (const Parameter& p : graph.parameters) {
    all += p.whole_shape().elements();
    if (!p.is_split()) continue;
    split += p.whole_shape().elements();
    if (layers.empty() || layers.back() != p.owner) layers.push_back(p.owner);
  }
  const int ranks = setup.ranks->size();
  if (layers.empty())
    fail(ErrorKind::config, "parallel: {dense: model} splits nothing here: no Affine or Linear of samples has an nout ",
         "that is a multiple of ", ranks, "; leave dense out, or take another number of devices");
  if (setup.step.rounding > 0)
    fail(ErrorKind::config, "updates of split weights are not rounded stochastically; leave out -u, or dense: model");
  return text("weights split over ", ranks, " devices: ", list_text(layers), "; ", split, " of ", all, " numbers");
}

std::vector<SplitArray> split_arrays(const std::vector<Parameter>& parameters) {
  std::vector<SplitArray> out;
  for (const Parameter& p : parameters)
    if (p.is_split()) out.push_back({p.name, p.first_row, p.shape[0], p.all_rows});
  return out;
}

}  // namespace neon
