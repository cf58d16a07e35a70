#include "datasets/table_json.h"

#include <algorithm>
#include <cmath>

#include "neon/core/error.h"
#include "neon/core/text.h"

namespace neon {

namespace {

using nlohmann::json;

json code_json(const ColumnCode& code) {
  return {{"kind", std::string(name_of(code.kind))},
          {"mean", number(code.mean)},
          {"deviation", number(code.deviation)},
          {"fill", number(code.fill)},
          {"indicator", code.indicator},
          {"categories", code.categories},
          {"form", std::string(name_of(code.form))},
          {"timed", code.timed},
          {"short_years", code.short_years},
          {"embedded", code.embedded}};
}

// The value of an enumeration that has this name.
template <typename T>
T value_named(const json& object, const char* key, std::initializer_list<T> all) {
  const auto name = object.at(key).get<std::string>();
  for (const T value : all)
    if (name_of(value) == name) return value;
  fail(ErrorKind::data, "neon.data has a column with the ", key, " ", in_quotes(name));
}

ColumnCode read_code(const json& object) {
  ColumnCode out;
  out.kind =
      value_named(object, "kind", {ColumnKind::number, ColumnKind::category, ColumnKind::boolean, ColumnKind::date});
  out.mean = read_stored_number(object.at("mean"));
  out.deviation = read_stored_number(object.at("deviation"));
  out.fill = read_stored_number(object.at("fill"));
  out.indicator = object.at("indicator").get<bool>();
  out.categories = object.at("categories").get<std::vector<std::string>>();
  out.form = value_named(object, "form", {DateForm::year_first, DateForm::day_first, DateForm::month_first});
  out.timed = object.at("timed").get<bool>();
  out.short_years = object.value("short_years", true);
  out.embedded = object.value("embedded", int64_t(0));
  const int64_t most = out.kind == ColumnKind::category ? kMostWidth : 0;
  if (out.embedded < 0 || out.embedded > most)
    fail(ErrorKind::data, "neon.data has a column embedded in ", out.embedded, " numbers");
  constexpr double kMostDays = 1e7;
  if (out.kind == ColumnKind::date && (std::abs(out.mean) > kMostDays || std::abs(out.fill) > kMostDays))
    fail(ErrorKind::data, "neon.data has a column of dates around day ", out.mean);
  if (!(out.deviation > 0)) fail(ErrorKind::data, "neon.data has a column with the deviation ", out.deviation);
  if (!std::ranges::is_sorted(out.categories)) fail(ErrorKind::data, "neon.data has categories in no order");
  return out;
}

}  // namespace

double read_stored_number(const json& value) {
  double out = 0;
  if (!parse_number(value.get<std::string>(), out) || !std::isfinite(out))
    fail(ErrorKind::data, "neon.data has ", value.dump(), " in place of a number");
  return out;
}

json table_json(const TableColumns& table) {
  if (table.count == 0) return nullptr;
  json codes = json::array();
  for (const ColumnCode& code : table.codes) codes.push_back(code_json(code));
  return {{"columns", table.count},
          {"features", table.features},
          {"others", table.others},
          {"positions", table.positions},
          {"missing", table.missing},
          {"delimiter", std::string(1, table.delimiter)},
          {"decimal", std::string(1, table.decimal)},
          {"codes", std::move(codes)},
          {"id", table.id}};
}

TableColumns read_table_columns(const json& object) {
  TableColumns out;
  if (object.is_null()) return out;
  out.count = object.at("columns").get<int64_t>();
  out.features = object.at("features").get<std::vector<std::string>>();
  out.others = object.at("others").get<std::vector<std::string>>();
  out.positions = object.value("positions", std::vector<int64_t>());
  out.missing = object.value("missing", default_missing_marks());
  out.id = object.value("id", "");
  int64_t before = -1;
  for (const int64_t position : out.positions) {
    if (position <= before || position >= out.count) fail(ErrorKind::data, "neon.data has a column ", position);
    before = position;
  }
  const auto delimiter = object.at("delimiter").get<std::string>(), decimal = object.value("decimal", ".");
  if (delimiter.size() != 1) fail(ErrorKind::data, "neon.data has the delimiter ", in_quotes(delimiter));
  if (decimal != "." && decimal != ",")
    fail(ErrorKind::data, "neon.data has the decimal character ", in_quotes(decimal));
  out.delimiter = delimiter[0];
  out.decimal = decimal[0];
  for (const json& code : object.value("codes", json::array())) out.codes.push_back(read_code(code));
  const size_t codes = out.codes.size();
  if (codes > 0 && (out.positions.size() != codes || (!out.features.empty() && out.features.size() != codes)))
    fail(ErrorKind::data, "neon.data has ", codes, " kinds for ", out.positions.size(), " columns");
  return out;
}

}  // namespace neon
