// Text for language models: a file, or all files of a folder or an archive.
#include <algorithm>
#include <filesystem>
#include <tuple>

#include "datasets/file.h"
#include "datasets/same_file.h"
#include "datasets/text_file.h"
#include "datasets/text_pieces.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

struct TextFilesParams : TextParams {
  std::string path, validation_path, test_path;
  bool end_of_text = false;
  static void describe(auto&& p) {
    p("path", &TextFilesParams::path,
      "The training text, plain or gzip: a file, or a folder or an archive (.tar, .tar.gz, .zip) whose files follow "
      "one another by name. A line's end stands between two of them, except with unit: bytes.",
      Required{});
    TextParams::describe(p);
    p("validation_path", &TextFilesParams::validation_path, "Text to evaluate with while training goes on.");
    p("test_path", &TextFilesParams::test_path, "Text to evaluate with at the end.");
    p("end_of_text", &TextFilesParams::end_of_text,
      "With unit: bpe, whether each file is a document, with the token <|endoftext|> behind it; neon sample stops at "
      "the "
      "token. A text that has <|endoftext|> itself needs no option.");
  }
};

struct FoundText {
  std::string path, text;
};

// Puts kEndOfText behind a text that does not end in it, whatever white space follows.
void end_document(std::string& text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  const std::string_view used(text.data(), last == text.npos ? 0 : last + 1);
  if (!used.ends_with(kEndOfText)) text += kEndOfText;
}

// Puts a line's end behind a text that ends in none, nor in a document's end, so that its last word is not part of the
// next text's first.
void end_line(std::string& text, std::string_view unit) {
  const bool ended = text.ends_with('\n') || (unit == name_of(TextUnit::bpe) && text.ends_with(kEndOfText));
  if (!text.empty() && !ended) text += '\n';
}

// `document`: the name of the text in an archive; otherwise "".
void check_utf8(std::string_view text, const std::string& file, const std::string& document) {
  if (const std::string place = place_of_no_utf8(text); !place.empty())
    fail(ErrorKind::data, file, ": ", document, document.empty() ? "" : ": ", place,
         " begins no UTF-8 character; convert the text to UTF-8, or give unit: bytes");
}

void warn_of_no_utf8(std::string_view text, const std::string& file, const std::string& document,
                     const DataContext& context) {
  if (const std::string place = place_of_no_utf8(text); !place.empty())
    context.warn(neon::text(file, ": ", document, document.empty() ? "" : ": ", place, " begins no UTF-8 character; ",
                            "words are taken as they are: letters look otherwise in UTF-8"));
}

// "" as path where it is missing; then `looked_for` lists the places.
FoundText find_text(const std::string& path, const TextFilesParams& params, const DataContext& context,
                    std::string& looked_for) {
  const bool bytes = params.unit == name_of(TextUnit::byte);
  const auto read = [&](const std::string& file, std::string& to) {
    std::vector<NamedText> documents = texts_of_archive(file);
    if (documents.empty()) documents.push_back({"", std::string(TextFile(file).text())});
    for (NamedText& document : documents) {
      if (params.end_of_text) end_document(document.text);
      const bool as_it_is = bytes || context.rules < kRulesOfMarks;
      const std::string_view text = as_it_is ? document.text : utf8_text(document.text, file);
      if (params.unit == name_of(TextUnit::character)) check_utf8(text, file, document.name);
      if (params.unit == name_of(TextUnit::word)) warn_of_no_utf8(text, file, document.name, context);
      if (!text.empty() && !bytes && context.rules >= kRulesOfLines) end_line(to, params.unit);
      to += text;
    }
  };
  for (const std::string& place : context.places_of(path)) {
    if (!folder_exists(place)) continue;
    FoundText out{place, ""};
    const std::vector<std::string> files = files_below(place, context.rules >= kRulesOfDeepTexts);
    if (files.empty()) fail(ErrorKind::data, place, ": no files are in this folder");
    for (const std::string& file : files) {
      context.check_may_read(file, path);
      read(file, out.text);
    }
    return out;
  }
  FoundText out{find_data_file(path, context, looked_for), ""};
  if (!out.path.empty()) read(out.path, out.text);
  return out;
}

class Text : public Parametrized<Dataset, TextFilesParams> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    std::string missing;
    const TextParts parts = read(context, missing);
    if (!missing.empty()) fail(ErrorKind::data, "no such file; looked for ", missing);
    return data_of(parts, context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    const TextParts parts = read(context, out.missing);
    if (!out.missing.empty()) return out;
    return check_of(data_of(parts, context));
  }

 private:
  Data data_of(const TextParts& parts, const DataContext& context) const {
    Data out = pieces_of_text(parts, params, common.validation, context);
    if (params.end_of_text && end_of_text(out.vocabulary) < 0)
      fail(ErrorKind::config, "end_of_text: true puts ", kEndOfText, " behind each file, but ",
           context.vocabulary       ? "the net was trained without this token"
           : !params.merges.empty() ? text(params.vocabulary, " has no such token")
                                    : "all of these are in the validation text",
           "; leave it out");
    return finish(std::move(out), context);
  }

  TextParts read(const DataContext& context, std::string& missing) const {
    if (params.end_of_text && params.unit != name_of(TextUnit::bpe))
      fail(ErrorKind::config, "end_of_text: true is for unit: bpe, not for unit: ", params.unit, "; leave it out");
    TextParts out;
    const auto take = [&](const std::string& path, std::string& to) {
      if (path.empty() || !missing.empty()) return std::string();
      FoundText found = find_text(path, params, context, missing);
      to = std::move(found.text);
      return found.path;
    };
    out.source = take(params.path, out.train);
    out.validation_source = take(params.validation_path, out.validation);
    warn_of_same_file(out.source, out.validation_source, "validation_path", context);
    out.test_source = take(params.test_path, out.test);
    warn_of_same_file(out.source, out.test_source, "test_path", context);
    return out;
  }
};

NEON_REGISTER(Dataset, Text,
              "A text as tokens, in pieces of so many steps; the target of a step is the next token. Recurrent layers "
              "carry their state from piece to piece.");

}  // namespace

}  // namespace neon
