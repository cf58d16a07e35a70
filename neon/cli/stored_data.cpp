#include "neon/cli/stored_data.h"

#include "datasets/tar.h"

namespace neon {

namespace {

// A parameter of the spec's data set; null where it has none of that name.
const Setting* parameter_of_data(const Setting& spec, std::string_view name) {
  const Setting* set = spec.find("dataset");
  if (!set || !set->is_map() || set->entries.size() != 1 || !set->entries[0].value.is_map()) return nullptr;
  return set->entries[0].value.find(name);
}

void take_text(const Setting& spec, std::string_view name, std::string& to) {
  if (const Setting* value = parameter_of_data(spec, name); value && value->is_scalar()) to = value->value;
}

// Says how texts and sequences were read: of TextClasses whether from a file each, where tables have endings.
void say_texts(const Setting& spec, StoredData& out) {
  const Setting* set = spec.find("dataset");
  if (!set || !set->is_map() || set->entries.size() != 1) return;
  const std::string& name = set->entries[0].key;
  double steps = 0;
  std::string given;
  take_text(spec, "steps", given);
  if (name == "TextClasses" || name == "IMDB" || name == "BABI" || name == "Sequences")
    if (parse_number(given, steps)) out.most_steps = int64_t(steps);
  std::string label, horizon;
  take_text(spec, "label", label), take_text(spec, "horizon", horizon);
  if (double rows = 1; name == "Windows" && !label.empty() && parse_number(horizon, rows))
    out.rows_ahead = int64_t(rows);
  if (name != "TextClasses") return;
  std::string path;
  take_text(spec, "path", path);
  const std::string small = lower(path);
  const auto ends = [&](const char* ending) { return small.ends_with(ending); };
  out.txt_is_table = ends(".txt") || ends(".txt.gz");
  out.texts_are_rows = out.txt_is_table || ends(".csv") || ends(".tsv") || ends(".csv.gz") || ends(".tsv.gz");
  out.texts_are_files = is_tar_name(path) || !(ends(".csv") || ends(".tsv") || ends(".txt") || ends(".gz"));
}

bool is_true(const Setting* value) { return value && value->is_scalar() && value->value == "true"; }

// Whether the last phase compares outputs with targets of their own, as arrays have them: not with the samples.
bool has_target_arrays(const Setting& spec) {
  const Setting *const set = spec.find("dataset"), *const phases = spec.find("phases");
  if (!set || !set->is_map() || set->entries.size() != 1 || is_true(parameter_of_data(spec, "autoencoder")))
    return false;
  if (phases && phases->is_list() && !phases->items.empty() && is_true(phases->items.back().find("reconstruct")))
    return false;
  const std::string& name = set->entries[0].key;
  std::string targets;
  take_text(spec, name == "NPY" ? "targets" : "y_train", targets);
  return name == "HDF5" || ((name == "NPY" || name == "NPZ") && !targets.empty());
}

}  // namespace

StoredData stored_data(const StoredRun& run, const Setting& spec) {
  StoredData out;
  out.meaning() = run.meaning;
  out.checkpoint = run.file.path;
  if (const Setting* const outputs = spec.find("outputs"); outputs && outputs->is_map())
    for (const auto& entry : outputs->entries)
      for (const NamedTarget& target : out.targets)
        if (target.name == entry.key) out.outputs.push_back(target);
  take_text(spec, "decimal", out.decimal);
  take_text(spec, "on_bad_sample", out.on_bad_sample);
  take_text(spec, "x_train", out.x_train);
  take_text(spec, "x_test", out.x_test);
  take_text(spec, "array", out.series_array);
  if (!out.vocabulary.empty())
    for (const auto& [name, to] :
         {std::pair{"label", &out.texts.label}, {"header", &out.texts.header}, {"delimiter", &out.texts.delimiter}})
      take_text(spec, name, *to);
  if (const Setting* const text = parameter_of_data(spec, "text"); text && !out.vocabulary.empty()) {
    Problems ignored;
    Value_of<TextColumns>::read(*text, out.texts.text, {}, ignored);
  }
  out.has_target_arrays = has_target_arrays(spec);
  say_texts(spec, out);
  return out;
}

namespace {

// Arrays have the columns of a table in their order; they can have no texts.
Tensor coded(const Tensor& samples, const std::vector<ColumnCode>& codes) {
  for (const ColumnCode& code : codes)
    if (code.kind != ColumnKind::number || code.indicator)
      fail(ErrorKind::data,
           "the net was trained with a table of more than numbers: it takes a table (CSV), and no array");
  Tensor out = samples.dtype() == DType::f32 ? samples.clone() : samples.converted(DType::f32);
  const auto values = out.as<float>();
  for (size_t i = 0; i < values.size(); ++i) codes[i % codes.size()].put_number(double(values[i]), &values[i]);
  return out;
}

}  // namespace

Tensor without_mean(const Tensor& samples, const StoredData& stored) {
  if (!stored.table.codes.empty()) return coded(samples, stored.table.codes);
  if (stored.subtracted.empty() && stored.standard.empty()) return samples;
  Tensor out = samples.dtype() == DType::f32 ? samples.clone() : samples.converted(DType::f32);
  const auto values = out.as<float>();
  if (!stored.subtracted.empty())
    for (size_t i = 0; i < values.size(); ++i) values[i] -= float(stored.subtracted[i % stored.subtracted.size()]);
  const Standard& standard = stored.standard;
  if (!standard.empty())
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t k = i % standard.means.size();
      values[i] = float((double(values[i]) - standard.means[k]) / standard.deviations[k]);
    }
  return out;
}

}  // namespace neon
