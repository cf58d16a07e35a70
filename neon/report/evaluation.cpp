#include "neon/report/evaluation.h"

#include <nlohmann/json.hpp>

#include "neon/core/error.h"
#include "neon/train/run_folder.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

using Json = nlohmann::json;
using PageJson = nlohmann::ordered_json;

constexpr size_t kMostClasses = 4096;

// A value of the file with its place in it, for messages.
class Found {
 public:
  Found(const Json& value, std::string place, const std::string& path)
      : value_(value), place_(std::move(place)), path_(path) {}

  Found at(const char* key) const {
    if (!value_.is_object() || !value_.contains(key)) wrong(text("'", key, "' is missing"));
    return {value_.at(key), text(place_, place_.empty() ? "" : ".", key), path_};
  }
  bool has(const char* key) const { return value_.is_object() && value_.contains(key); }
  bool has_list(const char* key) const { return has(key) && value_.at(key).is_array(); }
  std::vector<Found> items() const {
    if (!value_.is_array()) wrong("a list is expected");
    std::vector<Found> out;
    for (size_t i = 0; i < value_.size(); ++i) out.emplace_back(value_[i], text(place_, '[', i, ']'), path_);
    return out;
  }
  std::vector<std::pair<std::string, Found>> entries() const {
    if (!value_.is_object()) wrong("an object is expected");
    std::vector<std::pair<std::string, Found>> out;
    for (const auto& [key, value] : value_.items()) out.emplace_back(key, Found(value, text(place_, '.', key), path_));
    return out;
  }
  std::string words() const {
    if (!value_.is_string()) wrong("a text is expected");
    return value_.get<std::string>();
  }
  // JSON has null in place of what is not finite.
  PageJson real() const {
    if (!value_.is_number() && !value_.is_null()) wrong("a number is expected");
    return value_.is_null() ? PageJson() : PageJson(value_.get<double>());
  }
  int64_t whole() const {
    if (!value_.is_number_integer()) wrong("a whole number is expected");
    return value_.get<int64_t>();
  }
  [[noreturn]] void wrong(const std::string& what) const {
    fail(ErrorKind::data, path_, ": ", place_.empty() ? "" : text("at ", place_, ": "), what,
         "; neon writes this file at the end of a run");
  }

 private:
  const Json& value_;
  std::string place_;
  const std::string& path_;
};

PageJson reals_of(const Found& from, const std::vector<const char*>& keys) {
  PageJson out = PageJson::object();
  for (const char* key : keys) out[key] = from.at(key).real();
  return out;
}

// Each row as [column, count] of what is not 0.
PageJson sparse_matrix(const Found& from, size_t classes) {
  PageJson out = PageJson::array();
  const auto rows = from.items();
  if (rows.size() != classes) from.wrong(text("a row for each of ", classes, " classes is expected"));
  for (const Found& row : rows) {
    PageJson& sparse = out.emplace_back(PageJson::array());
    const auto counts = row.items();
    if (counts.size() != classes) row.wrong(text(classes, " numbers are expected"));
    for (size_t k = 0; k < classes; ++k)
      if (const int64_t count = counts[k].whole(); count != 0) sparse.push_back({k, count});
  }
  return out;
}

PageJson class_report(const Found& from) {
  std::vector<const char*> keys = {"precision", "recall", "f1", "support"};
  if (from.at("mean").has("iou")) keys.push_back("iou");
  PageJson out = {{"classes", PageJson::array()}};
  const auto classes = from.at("classes").items();
  if (classes.size() > kMostClasses) from.wrong(text("more than ", kMostClasses, " classes"));
  for (const Found& of : classes) {
    PageJson one = reals_of(of, keys);
    one["class"] = of.at("class").words();
    out["classes"].push_back(std::move(one));
  }
  for (const char* mean : {"mean", "weighted_mean"}) out[mean] = reals_of(from.at(mean), keys);
  out["accuracy"] = from.at("accuracy").real();
  if (from.has("support_of")) out["support_of"] = from.at("support_of").words();
  if (from.has("confusion")) out["confusion"] = sparse_matrix(from.at("confusion"), classes.size());
  if (!from.has("calibration")) return out;
  const Found calibration = from.at("calibration");
  out["calibration"] = {{"error", calibration.at("error").real()}, {"bins", PageJson::array()}};
  for (const Found& bin : calibration.at("bins").items())
    out["calibration"]["bins"].push_back(reals_of(bin, {"low", "high", "output", "right", "samples"}));
  return out;
}

PageJson value_report(const Found& from) {
  PageJson out = {{"outputs", PageJson::array()}};
  for (const Found& of : from.at("outputs").items()) {
    PageJson one = reals_of(of, {"MAE", "RMSE", "R2", "bias", "deviation", "largest"});
    one["output"] = of.at("output").words();
    one["quantiles"] = PageJson::array();
    for (const Found& quantile : of.at("quantiles").items()) one["quantiles"].push_back(quantile.real());
    out["outputs"].push_back(std::move(one));
  }
  return out;
}

PageJson target_report(const std::string& target, const Found& from) {
  return {{"target", target}, {"report", from.has_list("outputs") ? value_report(from) : class_report(from)}};
}

// One report, or reports by the names of targets. A target may have the name of a report's list.
PageJson reports_of(const Found& from) {
  PageJson out = PageJson::array();
  if (from.has_list("classes") || from.has_list("outputs")) out.push_back(target_report("", from));
  else
    for (const auto& [target, report] : from.entries()) out.push_back(target_report(target, report));
  return out;
}

std::string share_text(const PageJson& value) {
  return value.is_null() ? "not finite" : formatted("%.4g", value.get<double>());
}

std::string listed(const Found& from) {
  std::string out;
  for (const Found& one : from.items()) out += text(out.empty() ? "" : ", ", one.words());
  return out.empty() ? "none" : out;
}

// A target beside the output for it, in lines that begin with `begin`.
void add_sides(const Found& one, const std::string& begin, std::vector<std::string>& lines) {
  if (one.has("class")) {
    const std::string of = one.at("class").words(), predicted = one.at("predicted").words();
    lines.push_back(text(begin, of, of == predicted ? ", right" : text(", taken for ", predicted)));
    return;
  }
  if (one.has("labels")) lines.push_back(text(begin, listed(one.at("labels"))));
  if (one.has("labels")) lines.push_back(text(begin, "predicted ", listed(one.at("predicted"))));
  for (const char* side : {"target", "output"})
    if (one.has(side))
      for (const Found& value : one.at(side).items()) lines.push_back(text(begin, side, ' ', share_text(value.real())));
}

std::string values_text(const Found& from) {
  std::string out;
  for (const Found& value : from.items()) out += text(out.empty() ? "" : ", ", share_text(value.real()));
  return out;
}

// The cells of a target beside the output for it, each behind its head, which begins with `begin`.
void add_cells(const Found& one, const std::string& begin, std::vector<std::pair<std::string, std::string>>& cells) {
  if (one.has("class")) {
    cells.emplace_back(begin + "class", one.at("class").words());
    cells.emplace_back(begin + "predicted", one.at("predicted").words());
    if (one.has("output")) cells.emplace_back(begin + "output", share_text(one.at("output").real()));
    return;
  }
  if (one.has("labels"))
    for (const char* side : {"labels", "predicted"}) cells.emplace_back(begin + side, listed(one.at(side)));
  for (const char* side : {"target", "output"})
    if (one.has(side)) cells.emplace_back(begin + side, values_text(one.at(side)));
}

// A row for a sample, with the columns of the first one.
void add_row(const Found& one, ReportedSamples& out) {
  std::vector<std::pair<std::string, std::string>> cells = {
      {"sample", one.has("file") ? one.at("file").words() : std::to_string(one.at("sample").whole())}};
  if (one.has("cost")) cells.emplace_back("cost", share_text(one.at("cost").real()));
  add_cells(one, "", cells);
  if (one.has("targets"))
    for (const auto& [name, target] : one.at("targets").entries()) add_cells(target, name + ": ", cells);
  std::vector<std::string> heads, row;
  for (const auto& [head, cell] : cells) heads.push_back(head), row.push_back(cell);
  if (out.rows.empty()) out.heads = heads;
  if (heads != out.heads) one.wrong("it has other keys than the first sample");
  out.rows.push_back(std::move(row));
}

// The true class, the predicted one and its output, or targets and outputs of values.
std::vector<std::string> caption_of(const Found& one) {
  std::vector<std::string> lines;
  if (!one.has("class")) {
    lines.push_back(one.has("file") ? one.at("file").words() : text("sample ", one.at("sample").whole()));
    if (one.has("cost")) lines.push_back(text("cost ", share_text(one.at("cost").real())));
    add_sides(one, "", lines);
    if (one.has("targets"))
      for (const auto& [name, target] : one.at("targets").entries()) add_sides(target, name + ": ", lines);
    return lines;
  }
  const std::string of = one.at("class").words(), predicted = one.at("predicted").words();
  lines.push_back(of);
  lines.push_back(of == predicted ? "right" : text("taken for ", predicted));
  if (one.has("output")) lines.push_back(text("output ", share_text(one.at("output").real())));
  return lines;
}

// The picture of a damaged sample stays in its place, with a caption that says so. One warning names the first, and
// counts all.
ReportedSamples samples_of(const Found& file, const char* key, std::vector<std::string>& warnings) {
  ReportedSamples out;
  std::string first;
  int64_t damaged = 0;
  const auto guarded = [&](auto&& work) {
    try {
      work();
    } catch (const Error& error) {
      if (damaged++ == 0) first = error.what();
    }
  };
  if (file.has(key))
    guarded([&] {
      for (const Found& one : file.at(key).items()) {
        out.captions.push_back({text("damaged in ", kEvaluationFile)});
        guarded([&] {
          std::vector<std::string> caption = caption_of(one);
          add_row(one, out);
          out.captions.back() = std::move(caption);
        });
      }
    });
  if (damaged > 1) first += text("; ", damaged, " samples of '", key, "' are damaged");
  if (damaged > 0) warnings.push_back(first);
  return out;
}

}  // namespace

ReportedEvaluation read_evaluation(std::string_view content, const std::string& path,
                                   std::vector<std::string>& warnings) {
  const Json parsed = Json::parse(content, nullptr, false);
  const Found file(parsed, "", path);
  if (!parsed.is_object()) file.wrong("it is no JSON object");
  PageJson out = {{"checkpoint", file.at("checkpoint").words()},
                  {"set", file.at("set").words()},
                  {"samples", file.at("samples").whole()},
                  {"results", PageJson::object()},
                  {"reports", file.has("report") ? reports_of(file.at("report")) : PageJson::array()}};
  for (const auto& [name, value] : file.at("results").entries()) out["results"][name] = value.real();
  ReportedEvaluation evaluation{out.dump(-1, ' ', false, PageJson::error_handler_t::replace),
                                samples_of(file, "worst", warnings),
                                samples_of(file, "predictions", warnings),
                                0,
                                0,
                                ""};
  if (file.has("cell")) {  // older files have none
    const std::vector<Found> sides = file.at("cell").items();
    if (sides.size() != 2) file.at("cell").wrong("height and width are expected");
    evaluation.height = sides[0].whole(), evaluation.width = sides[1].whole();
  }
  if (file.has("beside")) evaluation.beside = file.at("beside").words();
  return evaluation;
}

}  // namespace neon
