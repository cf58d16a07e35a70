#include "datasets/labelled_texts.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "datasets/file.h"
#include "datasets/same_file.h"
#include "datasets/stratify.h"
#include "datasets/text_file.h"
#include "neon/core/counted.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

std::vector<std::string> classes_of(const std::vector<LabelledText>& texts, const std::string& source,
                                    const DataContext& context) {
  std::vector<std::string> out;
  for (const LabelledText& one : texts) out.push_back(one.label);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (out.size() < 2 && !context.some_classes)
    fail(ErrorKind::data, source, ": every text is of class ", in_quotes(out.front()), "; expected at least 2 classes");
  return out;
}

Vocabulary vocabulary_of_texts(const std::vector<LabelledText>& texts, const LabelledTextParams& params,
                               const std::string& source, const DataContext& context) {
  // Between two texts stands what is no token itself, and joins no tokens of theirs.
  const char* const between = params.unit == "words" ? " " : params.unit == "bpe" ? "\n" : "";
  std::string all;
  for (const LabelledText& one : texts) all += one.text + between;
  Vocabulary out =
      vocabulary_by(params, all, source, context, true);  // other texts have words that no training text has
  if (out.size() < 2)
    fail(ErrorKind::data, source, ": min_count: ", params.min_count, " and vocabulary_size: ", params.vocabulary_size,
         " leave out all ", params.unit, " of the training texts; expected at least 1 of them");
  return out;
}

class TextSplits {
 public:
  TextSplits(const Tokenizer& tokenizer, const std::vector<std::string>& classes, const LabelledTextParams& params)
      : tokenizer_(tokenizer), classes_(classes), steps_(params.steps), several_(params.text.are_several()) {}

  Split split_of(const std::vector<LabelledText>& texts) {
    Split out;
    if (texts.empty()) return out;
    const auto n = int64_t(texts.size());
    out.inputs = Tensor(DType::i32, {n, steps_});
    out.targets = Tensor(DType::i32, {n});
    std::ranges::fill(out.inputs.as<int32_t>(), -1);
    for (int64_t i = 0; i < n; ++i) {
      const LabelledText& one = texts[size_t(i)];
      std::vector<int32_t> tokens = tokenizer_.encode(one.text, one.place);
      if (tokens.empty()) fail(ErrorKind::data, one.place, ": the text is empty");
      if (int64_t(tokens.size()) > steps_)
        ++cut_, tokens = first_tokens(tokenizer_, std::move(tokens), steps_, several_);
      std::ranges::copy(tokens, out.inputs.as<int32_t>().begin() + i * steps_);
      out.targets.set(i, double(class_of(one)));
    }
    return out;
  }
  int64_t cut() const { return cut_; }

 private:
  int64_t class_of(const LabelledText& one) const {
    const auto found = std::ranges::find(classes_, one.label);
    if (found == classes_.end())
      fail(ErrorKind::data, one.place, ": class ", in_quotes(one.label), " is not one of the training texts'",
           did_you_mean(one.label, classes_));
    return found - classes_.begin();
  }

  const Tokenizer& tokenizer_;
  const std::vector<std::string>& classes_;
  const int64_t steps_;
  const bool several_;
  int64_t cut_ = 0;  // texts longer than that
};

// The last `share` of the training texts, drawn by the seed, as test texts.
void draw_test(Data& data, double share, const DataContext& context) {
  const int64_t n = data.train.size(), count = std::llround(share * double(n));
  if (share == 0) return;
  if (count == 0 || count == n)
    fail(ErrorKind::config, "test: ", n, " texts are too few to keep a share of ", share, " apart");
  Split all = std::move(data.train);
  split_rows(all, order_to_take(all, data, count, context, "texts/test"), n - count, data.train, data.test);
}

// Not of bytes, which may be those of anything.
void drop_marks(LabelledTexts& all) {
  for (std::vector<LabelledText>* texts : {&all.train, &all.test, &all.validation})
    for (LabelledText& one : *texts) one.text = std::string(utf8_text(one.text, one.place));
}

}  // namespace

std::vector<int32_t> first_tokens(const Tokenizer& tokenizer, std::vector<int32_t> tokens, int64_t steps,
                                  bool several) {
  if (!several) {
    tokens.resize(size_t(std::min(int64_t(tokens.size()), steps)));
    return tokens;
  }
  const int32_t between = tokenizer.encode("\n", "").at(0);
  std::vector<std::vector<int32_t>> texts(1);
  for (const int32_t token : tokens)
    if (token == between) texts.emplace_back();
    else texts.back().push_back(token);
  for (auto count = int64_t(tokens.size()); count > steps; --count)
    std::ranges::max_element(texts | std::views::reverse, {}, &std::vector<int32_t>::size)->pop_back();
  std::vector<int32_t> out;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out.push_back(between);
    out.insert(out.end(), texts[i].begin(), texts[i].end());
  }
  return out;
}

namespace {

// The texts of a folder or table to test with, and its path in `source`.
std::vector<LabelledText> texts_to_test(const std::string& path, const LabelledTextParams& params,
                                        const DataContext& context, std::string& source) {
  for (const std::string& place : context.places_of(params.test))
    if (folder_exists(place)) return source = place, texts_of_folder(place, context).train;
  const std::string test = find_data_file(params.test, context);
  source = test;
  warn_of_same_file(path, test, "test", context);
  if (auto files = texts_of_archive(test); !files.empty())
    return texts_in_archive(std::move(files), test, context).train;
  return texts_of_table(test, params, context);
}

}  // namespace

LabelledTexts labelled_texts_at(const std::string& path, const LabelledTextParams& params, const DataContext& context) {
  LabelledTexts out;
  if (folder_exists(path)) out = texts_of_folder(path, context);
  else if (auto files = texts_of_archive(path); !files.empty()) out = texts_in_archive(std::move(files), path, context);
  else out.source = path, out.train = texts_of_table(path, params, context), out.is_table = true;
  double part = 0;
  if (!out.has_test && !parse_number(params.test, part))
    out.test = texts_to_test(path, params, context, out.test_source);
  return out;
}

void check_folder_params(const LabelledTextParams& params, const std::string& path, const LabelledTexts& texts,
                         const DataContext& context) {
  if (context.rules < kRulesOfDeepTexts || texts.is_table) return;
  for (const auto& [name, given] : {std::pair{"header", params.header},
                                    {"text", list_text(params.text.columns)},
                                    {"label", params.label},
                                    {"delimiter", params.delimiter}})
    if (given != kAutoColumn)
      fail(ErrorKind::config, name, ": ", given, " is for a table, and ", path,
           folder_exists(path) ? " is a folder" : " is an archive", "; leave it out");
  if (double share = 1; parse_number(params.test, share) && share == 0) return;  // none of the training texts
  if (texts.has_test && params.test != kAutoColumn)
    fail(ErrorKind::config, "test: ", params.test, ": ", path, " has texts to test with in a folder of their own; ",
         "leave test out, or move that folder elsewhere");
}

std::string warning_of_no_utf8(const std::string& first, int64_t count) {
  return text(first, " begins no UTF-8 character; ", counted(count, "text"), count == 1 ? " is" : " are",
              " no UTF-8, and words are taken as they are: letters look otherwise in UTF-8");
}

std::string warning_of_cut(int64_t cut, int64_t all, const std::string& noun, int64_t steps, std::string_view unit,
                           bool keeps_end) {
  const std::string lost = keeps_end ? "beginning" : "end";
  return text(cut, " of ", all, " ", noun, cut == 1 ? " is" : " are", " longer than ", steps, " ", unit, ", and ",
              cut == 1 ? "its " + lost + " is" : "their " + lost + "s are", " left out");
}

namespace {

// Refuses characters that are no UTF-8, and warns of such words, by the text that has them.
void check_utf8(const LabelledTexts& all, const std::string& unit, const DataContext& context) {
  if (unit != name_of(TextUnit::character) && unit != name_of(TextUnit::word)) return;
  int64_t count = 0;
  std::string first;
  for (const std::vector<LabelledText>* texts : {&all.train, &all.test, &all.validation})
    for (const LabelledText& one : *texts) {
      const std::string place = place_of_no_utf8(one.text);
      if (place.empty()) continue;
      if (count++ == 0) first = text(one.place, ": ", place);
    }
  if (count > 0 && unit == name_of(TextUnit::character))
    fail(ErrorKind::data, first, " begins no UTF-8 character; convert the text to UTF-8, or give unit: bytes");
  if (count > 0) context.warn(warning_of_no_utf8(first, count));
}

}  // namespace

Data data_of_texts(LabelledTexts given, const LabelledTextParams& params, const DataContext& context) {
  const auto texts = int64_t(params.text.columns.size());
  if (params.steps < 2 * texts - 1)
    fail(ErrorKind::config, "steps: ", params.steps, " are too few for ", texts, " texts with a line's end between ",
         "them; expected at least ", 2 * texts - 1);
  Data out;
  out.source = given.source, out.test_source = given.test_source;
  out.class_names = classes_of(given.train, given.source, context);
  out.classes = int64_t(out.class_names.size());
  if (context.vocabulary) check_vocabulary_of_run(*context.vocabulary, params);
  if (params.unit != name_of(TextUnit::byte) && context.rules >= kRulesOfMarks) drop_marks(given);
  check_utf8(given, params.unit, context);
  Vocabulary vocabulary =
      context.vocabulary ? *context.vocabulary : vocabulary_of_texts(given.train, params, given.source, context);
  if (!context.vocabulary) vocabulary.points_apart = given.points_apart, vocabulary.keeps_end = given.keeps_end;
  const Tokenizer tokenizer(std::move(vocabulary));
  if (texts > 1 && tokenizer.count_unknown(tokenizer.encode("\n", given.source)) > 0)
    fail(ErrorKind::config, "text: the vocabulary has no token for the line's end between two texts; give a larger ",
         "vocabulary_size, and a smaller min_count");
  TextSplits splits(tokenizer, out.class_names, params);
  out.train = splits.split_of(given.train);
  out.test = splits.split_of(given.test);
  out.validation = splits.split_of(given.validation);
  if (splits.cut() > 0)
    context.warn(given.source + ": " +
                 warning_of_cut(splits.cut(), int64_t(given.train.size() + given.test.size() + given.validation.size()),
                                "texts", params.steps, params.unit, false));
  out.sample = {params.steps};
  out.sequence = out.ragged = true;
  out.vocabulary = tokenizer.vocabulary();
  out.texts = texts;
  out.tokens = out.vocabulary.size();
  double share = 0;
  if (given.test.empty() && parse_number(params.test, share)) draw_test(out, share, context);
  return out;
}

namespace {

struct TextClassesParams : LabelledTextParams {
  std::string path;
  static void describe(auto&& p) {
    p("path", &TextClassesParams::path,
      "A folder or archive (.tar, .tar.gz, .zip) with train/CLASS/FILE, test/CLASS/FILE and val/CLASS/FILE, or with "
      "CLASS/FILE; or a table (.csv, .tsv) with a text and its class in each row.",
      Required{});
    LabelledTextParams::describe(p);
  }
};

class TextClasses : public Parametrized<Dataset, TextClassesParams> {
 public:
  explicit TextClasses(TextClassesParams given) : Parametrized(std::move(given)) { check_test_part(params.test); }

  Data load(const DataContext& context) const override {
    std::string missing;
    const std::string path = find(context, missing);
    if (path.empty()) fail(ErrorKind::data, params.path, ": no such file or folder; looked for ", missing);
    return read(path, context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    const std::string path = find(context, out.missing);
    if (path.empty()) return out;
    return check_of(read(path, context));
  }

 private:
  Data read(const std::string& path, const DataContext& context) const {
    LabelledTextParams own = params;
    own.test = test_part(params.test, common);
    LabelledTexts texts = labelled_texts_at(path, own, context);
    check_folder_params(params, path, texts, context);
    return finish(data_of_texts(std::move(texts), own, context), context);
  }
  std::string find(const DataContext& context, std::string& missing) const {
    for (const std::string& place : context.places_of(params.path))
      if (folder_exists(place)) return place;
    return find_data_file(params.path, context, missing);
  }
};

NEON_REGISTER(Dataset, TextClasses, "Texts that each have a class: of a folder for each class, or of a table.");

}  // namespace

}  // namespace neon
