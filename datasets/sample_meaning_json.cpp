#include "datasets/sample_meaning_json.h"

#include <algorithm>
#include <cmath>

#include "datasets/bpe_files.h"
#include "datasets/table_json.h"
#include "neon/core/error.h"
#include "neon/core/text.h"

namespace neon {

namespace {

using nlohmann::json;

std::vector<std::string> stored_numbers(const std::vector<double>& values) {
  std::vector<std::string> out;
  for (const double value : values) out.push_back(number(value));
  return out;
}

std::vector<double> read_numbers(const json& object, const char* key) {
  std::vector<double> out;
  for (const json& value : object.value(key, json::array())) out.push_back(read_stored_number(value));
  return out;
}

json standard_json(const Standard& standard) {
  if (standard.empty()) return nullptr;
  return {{"means", stored_numbers(standard.means)}, {"deviations", stored_numbers(standard.deviations)}};
}

Standard read_standard(const json& object) {
  Standard out;
  if (object.is_null()) return out;
  out.means = read_numbers(object, "means");
  out.deviations = read_numbers(object, "deviations");
  if (out.means.size() != out.deviations.size()) fail(ErrorKind::data, "neon.data has other means than deviations");
  return out;
}

json targets_json(const std::vector<NamedTarget>& targets) {
  json out = json::array();
  for (const auto& [name, kind, width, names, standard] : targets)
    out.push_back({{"name", name},
                   {"kind", std::string(name_of(kind))},
                   {"width", width},
                   {"names", names},
                   {"standard", standard_json(standard)}});
  return out;
}

TargetKind read_kind(const std::string& name) {
  for (const TargetKind kind : {TargetKind::number, TargetKind::classes, TargetKind::labels})
    if (name_of(kind) == name) return kind;
  fail(ErrorKind::data, "neon.data has a target of the kind ", in_quotes(name));
}

std::vector<NamedTarget> read_targets(const json& list) {
  std::vector<NamedTarget> out;
  for (const json& from : list) {
    NamedTarget& target = out.emplace_back();
    target.name = from.at("name").get<std::string>();
    target.kind = read_kind(from.at("kind").get<std::string>());
    target.width = from.at("width").get<int64_t>();
    target.names = from.at("names").get<std::vector<std::string>>();
    target.standard = read_standard(from.at("standard"));
    const auto count = int64_t(target.names.size()), means = int64_t(target.standard.means.size());
    if (target.width < 1 || (count > 0 && count != target.width) || (means > 0 && means != target.width))
      fail(ErrorKind::data, "neon.data has the target ", in_quotes(target.name), " of ", target.width, " outputs, ",
           count, " names and ", means, " means");
  }
  return out;
}

// Texts that need not be UTF-8.
std::vector<std::string> letters_of(std::vector<std::string> texts) {
  for (std::string& text : texts) text = bpe_letters(text);
  return texts;
}
void read_letters(std::vector<std::string>& texts) {
  for (std::string& text : texts) text = bytes_of_letters(text, "neon.data");
}

// Texts as letters; pairs as numbers, one after the other.
json bpe_json(const Vocabulary& v) {
  std::vector<int32_t> merges;
  for (const TokenPair& pair : v.merges) merges.insert(merges.end(), {pair.left, pair.right});
  return {{"unit", std::string(name_of(v.unit))},
          {"lower_case", v.lower_case},
          {"texts", letters_of(v.texts)},
          {"merges", std::move(merges)},
          {"ends_documents", v.ends_documents}};
}

void read_merges(const json& object, Vocabulary& v) {
  read_letters(v.texts);
  const auto merges = object.at("merges").get<std::vector<int32_t>>();
  if (merges.size() % 2) fail(ErrorKind::data, "neon.data has a pair of one token");
  for (size_t i = 0; i < merges.size(); i += 2) v.merges.push_back({merges[i], merges[i + 1]});
  check_bpe(v, "neon.data");
}

json vocabulary_json(const Vocabulary& v) {
  if (v.empty()) return nullptr;
  if (v.unit == TextUnit::bpe) return bpe_json(v);
  const bool as_letters = std::ranges::any_of(v.texts, [](const std::string& text) { return !is_utf8(text); });
  return {{"unit", std::string(name_of(v.unit))},
          {"lower_case", v.lower_case},
          {"points_apart", v.points_apart},
          {"keeps_end", v.keeps_end},
          {"as_letters", as_letters},
          {"texts", as_letters ? letters_of(v.texts) : v.texts}};
}

Vocabulary read_vocabulary(const json& object) {
  Vocabulary out;
  if (object.is_null()) return out;
  out.unit = text_unit(object.at("unit").get<std::string>());
  out.lower_case = object.at("lower_case").get<bool>();
  out.texts = object.at("texts").get<std::vector<std::string>>();
  out.points_apart = object.value("points_apart", false);
  out.keeps_end = object.value("keeps_end", false);
  out.ends_documents = object.value("ends_documents", false);
  if (out.unit == TextUnit::bpe) read_merges(object, out);
  else if (object.value("as_letters", false)) read_letters(out.texts);
  return out;
}

// Checkpoints of older versions have `pixel_classes`.
// A side, or [height, width].
json size_json(const SampleSize& size) {
  return size.is_square() ? json(size.height) : json::array({size.height, size.width});
}
SampleSize read_size(const json& data) {
  const json size = data.value("image_size", json(int64_t(0)));
  return size.is_array() ? SampleSize(size.at(0).get<int64_t>(), size.at(1).get<int64_t>())
                         : SampleSize(size.get<int64_t>());
}

LabelOf read_label_of(const json& data) {
  const std::string name = data.value("label_of", data.value("pixel_classes", false) ? "pixel" : "sample");
  for (const LabelOf of : {LabelOf::sample, LabelOf::pixel, LabelOf::step, LabelOf::sequence, LabelOf::box})
    if (name_of(of) == name) return of;
  fail(ErrorKind::data, "neon.data has labels of a ", in_quotes(name));
}

void check_meaning(const SampleMeaning& m) {
  if (!m.subtracted.empty() && m.sample.elements() % int64_t(m.subtracted.size()))
    fail(ErrorKind::data, "neon.data subtracts ", m.subtracted.size(), " numbers from samples ", m.sample);
  if (m.means.size() != m.deviations.size()) fail(ErrorKind::data, "neon.data has other means than deviations");
  if (!m.means.empty() && (!m.is_image() || int64_t(m.means.size()) != m.sample[0]))
    fail(ErrorKind::data, "neon.data has ", m.means.size(), " means for samples ", m.sample);
  if (!m.standard.empty() && m.sample.elements() % int64_t(m.standard.means.size()))
    fail(ErrorKind::data, "neon.data has ", m.standard.means.size(), " means for samples ", m.sample);
  if (!m.table.codes.empty() && (m.sample.rank() != 1 || width_of(m.table.codes) != m.sample[0]))
    fail(ErrorKind::data, "neon.data has columns of ", width_of(m.table.codes), " numbers for samples ", m.sample);
  if (m.channels_last && !m.is_image()) fail(ErrorKind::data, "neon.data has images of shape ", m.sample);
  if (m.tokens < 0 || (m.tokens > 0 && (!m.sequence || m.sample.rank() != 1)))
    fail(ErrorKind::data, "neon.data has ", m.tokens, " tokens for samples ", m.sample);
  if (!m.vocabulary.empty() && m.vocabulary.size() != m.tokens)
    fail(ErrorKind::data, "neon.data has ", m.vocabulary.size(), " texts for ", m.tokens, " tokens");
  if (m.texts < 1 || (m.texts > 1 && m.vocabulary.empty()))
    fail(ErrorKind::data, "neon.data has ", m.texts, " texts in each sample of ", m.tokens, " tokens");
  if (m.target_steps < 0 || m.end_class < -1 || m.end_class >= std::max<int64_t>(m.classes, 1))
    fail(ErrorKind::data, "neon.data has targets of ", m.target_steps, " labels that class ", m.end_class, " ends");
  if (m.rules < 1 || m.rules > kDataRules) fail(ErrorKind::data, "neon.data has the rules ", m.rules);
}

}  // namespace

MeaningTexts write_meaning(const SampleMeaning& meaning, const std::string& source) {
  // All facts by their order: a new one does not compile until it is stored.
  const auto& [sample, sequence, ragged, streams, channels_last, rows_channels_last, image_size, table, tokens,
               vocabulary, texts, dtype, scale, shift, means, deviations, subtracted, standard, target_standard,
               targets, classes, class_names, label_of, target_steps, end_class, whole_targets, target_names,
               seen_later, rules] = meaning;
  const json data = {{"source", source},
                     {"sample", std::vector<int64_t>(sample.begin(), sample.end())},
                     {"sequence", sequence},
                     {"ragged", ragged},
                     {"streams", streams},
                     {"channels_last", channels_last},
                     {"rows_channels_last", rows_channels_last},
                     {"image_size", size_json(image_size)},
                     {"table", table_json(table)},
                     {"tokens", tokens},
                     {"vocabulary", vocabulary_json(vocabulary)},
                     {"texts", texts},
                     {"type", std::string(name_of(dtype))},
                     {"scale", number(double(scale))},
                     {"shift", number(double(shift))},
                     {"means", stored_numbers(means)},
                     {"deviations", stored_numbers(deviations)},
                     {"subtracted", stored_numbers(subtracted)},
                     {"standard", standard_json(standard)},
                     {"target_standard", standard_json(target_standard)},
                     {"targets", targets_json(targets)},
                     {"classes", classes},
                     {"label_of", std::string(name_of(label_of))},
                     {"target_steps", target_steps},
                     {"end_class", end_class},
                     {"whole_targets", whole_targets},
                     {"target_names", target_names},
                     {"seen_later", seen_later},
                     {"rules", rules}};
  const auto text_of = [](const json& object) { return object.dump(-1, ' ', false, json::error_handler_t::replace); };
  return {text_of(data), text_of(json(class_names))};
}

SampleMeaning read_meaning(const MeaningTexts& texts) try {
  const json data = json::parse(texts.data);
  SampleMeaning out;
  out.sample = Shape(data.at("sample").get<std::vector<int64_t>>());
  out.sequence = data.value("sequence", false);
  out.ragged = data.value("ragged", false);
  out.streams = data.value("streams", false);
  out.channels_last = data.value("channels_last", false);
  out.rows_channels_last = data.value("rows_channels_last", false);
  out.image_size = read_size(data);
  out.table = read_table_columns(data.value("table", json()));
  out.tokens = data.value("tokens", int64_t(0));
  out.vocabulary = read_vocabulary(data.value("vocabulary", json()));
  out.texts = data.value("texts", int64_t(1));
  out.dtype = dtype_from_name(data.value("type", "f32"));
  out.scale = float(read_stored_number(data.at("scale")));
  out.shift = float(read_stored_number(data.at("shift")));
  out.means = read_numbers(data, "means");
  out.deviations = read_numbers(data, "deviations");
  out.subtracted = read_numbers(data, "subtracted");
  out.standard = read_standard(data.value("standard", json()));
  out.target_standard = read_standard(data.value("target_standard", json()));
  out.targets = read_targets(data.value("targets", json::array()));
  out.classes = data.at("classes").get<int64_t>();
  out.class_names = json::parse(texts.classes).get<std::vector<std::string>>();
  out.label_of = read_label_of(data);
  out.target_steps = data.value("target_steps", int64_t(0));
  out.end_class = data.value("end_class", int64_t(-1));
  out.whole_targets = data.value("whole_targets", false);
  out.target_names = data.value("target_names", std::vector<std::string>());
  out.seen_later = data.value("seen_later", int64_t(0));
  out.rules = data.value("rules", 1);
  check_meaning(out);
  return out;
} catch (const json::exception&) {
  fail(ErrorKind::data, "neon.data and neon.classes do not describe samples");
}

}  // namespace neon
