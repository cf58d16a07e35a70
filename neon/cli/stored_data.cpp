#include "neon/cli/stored_data.h"

#include <nlohmann/json.hpp>

namespace neon {

namespace {

TableColumns table_from(const nlohmann::json& json) {
  TableColumns out;
  out.count = json.at("columns").get<int64_t>();
  out.features = json.at("features").get<std::vector<std::string>>();
  out.others = json.at("others").get<std::vector<std::string>>();
  out.positions = json.value("positions", std::vector<int64_t>());  // not in old checkpoints
  out.missing = json.value("missing", default_missing_marks());
  int64_t before = -1;
  for (const int64_t position : out.positions) {
    if (position <= before || position >= out.count) fail(ErrorKind::data, "neon.data has a column ", position);
    before = position;
  }
  const auto delimiter = json.at("delimiter").get<std::string>();
  if (delimiter.size() != 1) fail(ErrorKind::data, "neon.data has the delimiter ", in_quotes(delimiter));
  out.delimiter = delimiter[0];
  return out;
}

// A parameter of the spec's data set; null where it has none of that name.
const Setting* parameter_of_data(const Setting& spec, std::string_view name) {
  const Setting* set = spec.find("dataset");
  if (!set || !set->is_map() || set->entries.size() != 1 || !set->entries[0].value.is_map()) return nullptr;
  return set->entries[0].value.find(name);
}

void take_text(const Setting& spec, std::string_view name, std::string& to) {
  if (const Setting* value = parameter_of_data(spec, name); value && value->is_scalar()) to = value->value;
}

}  // namespace

StoredData stored_data(const StoredRun& run, const Setting& spec, const std::string& path) {
  try {
    const auto json = nlohmann::json::parse(run.file.metadata.at("neon.data"));
    StoredData out;
    out.sample = Shape(json.at("sample").get<std::vector<int64_t>>());
    out.scale = std::strtof(json.at("scale").get<std::string>().c_str(), nullptr);
    out.shift = std::strtof(json.at("shift").get<std::string>().c_str(), nullptr);
    out.classes = json.at("classes").get<int64_t>();
    out.pixel_classes = json.value("pixel_classes", false);
    out.channels_last = json.value("channels_last", false);
    out.rows_channels_last = json.value("rows_channels_last", false);
    out.image_size = json.value("image_size", int64_t(0));
    if (const auto table = json.find("table"); table != json.end() && !table->is_null()) out.table = table_from(*table);
    take_text(spec, "on_bad_sample", out.on_bad_sample);
    take_text(spec, "x_train", out.x_train);
    take_text(spec, "x_test", out.x_test);
    out.means = run.means;
    out.deviations = run.deviations;
    out.subtracted = run.subtracted;
    if (!out.subtracted.empty() && out.sample.elements() % int64_t(out.subtracted.size()))
      fail(ErrorKind::data, path, ": neon.data subtracts ", out.subtracted.size(), " numbers from samples ",
           out.sample);
    if (!out.means.empty() && (out.sample.rank() != 3 || int64_t(out.means.size()) != out.sample[0]))
      fail(ErrorKind::data, path, ": neon.data has ", out.means.size(), " means for samples ", out.sample);
    if (out.channels_last && out.sample.rank() != 3) fail(ErrorKind::data, "images of shape ", out.sample);
    return out;
  } catch (const nlohmann::json::exception&) {
    fail(ErrorKind::data, path, ": neon.data in its metadata cannot be read: it does not describe samples");
  } catch (const std::out_of_range&) {
    fail(ErrorKind::data, path, ": no neon.data in its metadata: this is not a checkpoint of neon");
  }
}

Tensor without_mean(const Tensor& samples, const StoredData& stored) {
  if (stored.subtracted.empty()) return samples;
  Tensor out = samples.dtype() == DType::f32 ? samples.clone() : samples.converted(DType::f32);
  const auto values = out.as<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] -= float(stored.subtracted[i % stored.subtracted.size()]);
  return out;
}

}  // namespace neon
