#include "datasets/sample_meaning_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "neon/core/error.h"
#include "neon/core/text.h"

namespace neon {

namespace {

using nlohmann::json;

// Numbers are stored as the shortest text that reads back to the same bits.
std::vector<std::string> stored_numbers(const std::vector<double>& values) {
  std::vector<std::string> out;
  for (const double value : values) out.push_back(number(value));
  return out;
}

double read_number(const json& value) {
  double out = 0;
  if (!parse_number(value.get<std::string>(), out) || !std::isfinite(out))
    fail(ErrorKind::data, "neon.data has ", value.dump(), " in place of a number");
  return out;
}

std::vector<double> read_numbers(const json& object, const char* key) {
  std::vector<double> out;
  for (const json& value : object.value(key, json::array())) out.push_back(read_number(value));
  return out;
}

json table_json(const TableColumns& table) {
  if (table.count == 0) return nullptr;
  return {{"columns", table.count},       {"features", table.features}, {"others", table.others},
          {"positions", table.positions}, {"missing", table.missing},   {"delimiter", std::string(1, table.delimiter)}};
}

TableColumns read_table(const json& object) {
  TableColumns out;
  if (object.is_null()) return out;
  out.count = object.at("columns").get<int64_t>();
  out.features = object.at("features").get<std::vector<std::string>>();
  out.others = object.at("others").get<std::vector<std::string>>();
  out.positions = object.value("positions", std::vector<int64_t>());
  out.missing = object.value("missing", default_missing_marks());
  int64_t before = -1;
  for (const int64_t position : out.positions) {
    if (position <= before || position >= out.count) fail(ErrorKind::data, "neon.data has a column ", position);
    before = position;
  }
  const auto delimiter = object.at("delimiter").get<std::string>();
  if (delimiter.size() != 1) fail(ErrorKind::data, "neon.data has the delimiter ", in_quotes(delimiter));
  out.delimiter = delimiter[0];
  return out;
}

void check_meaning(const SampleMeaning& m) {
  if (!m.subtracted.empty() && m.sample.elements() % int64_t(m.subtracted.size()))
    fail(ErrorKind::data, "neon.data subtracts ", m.subtracted.size(), " numbers from samples ", m.sample);
  if (m.means.size() != m.deviations.size()) fail(ErrorKind::data, "neon.data has other means than deviations");
  if (!m.means.empty() && (!m.is_image() || int64_t(m.means.size()) != m.sample[0]))
    fail(ErrorKind::data, "neon.data has ", m.means.size(), " means for samples ", m.sample);
  if (m.channels_last && !m.is_image()) fail(ErrorKind::data, "neon.data has images of shape ", m.sample);
  if (m.rules < 1 || m.rules > kDataRules) fail(ErrorKind::data, "neon.data has the rules ", m.rules);
}

}  // namespace

MeaningTexts write_meaning(const SampleMeaning& meaning, const std::string& source) {
  // All facts by their order: a new one does not compile until it is stored.
  const auto& [sample, channels_last, rows_channels_last, image_size, table, dtype, scale, shift, means, deviations,
               subtracted, classes, class_names, pixel_classes, whole_targets, target_names, rules] = meaning;
  const json data = {{"source", source},
                     {"sample", std::vector<int64_t>(sample.begin(), sample.end())},
                     {"channels_last", channels_last},
                     {"rows_channels_last", rows_channels_last},
                     {"image_size", image_size},
                     {"table", table_json(table)},
                     {"type", std::string(name_of(dtype))},
                     {"scale", number(double(scale))},
                     {"shift", number(double(shift))},
                     {"means", stored_numbers(means)},
                     {"deviations", stored_numbers(deviations)},
                     {"subtracted", stored_numbers(subtracted)},
                     {"classes", classes},
                     {"pixel_classes", pixel_classes},
                     {"whole_targets", whole_targets},
                     {"target_names", target_names},
                     {"rules", rules}};
  const auto text_of = [](const json& object) { return object.dump(-1, ' ', false, json::error_handler_t::replace); };
  return {text_of(data), text_of(json(class_names))};
}

SampleMeaning read_meaning(const MeaningTexts& texts) try {
  const json data = json::parse(texts.data);
  SampleMeaning out;
  out.sample = Shape(data.at("sample").get<std::vector<int64_t>>());
  out.channels_last = data.value("channels_last", false);
  out.rows_channels_last = data.value("rows_channels_last", false);
  out.image_size = data.value("image_size", int64_t(0));
  out.table = read_table(data.value("table", json()));
  out.dtype = dtype_from_name(data.value("type", "f32"));
  out.scale = float(read_number(data.at("scale")));
  out.shift = float(read_number(data.at("shift")));
  out.means = read_numbers(data, "means");
  out.deviations = read_numbers(data, "deviations");
  out.subtracted = read_numbers(data, "subtracted");
  out.classes = data.at("classes").get<int64_t>();
  out.class_names = json::parse(texts.classes).get<std::vector<std::string>>();
  out.pixel_classes = data.value("pixel_classes", false);
  out.whole_targets = data.value("whole_targets", false);
  out.target_names = data.value("target_names", std::vector<std::string>());
  out.rules = data.value("rules", 1);
  check_meaning(out);
  return out;
} catch (const json::exception&) {
  fail(ErrorKind::data, "neon.data and neon.classes do not describe samples");
}

}  // namespace neon
