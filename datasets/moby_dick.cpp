// MobyDick: the novel's first million letters, with the 96 tokens that neon 0.9 gave them.
#include "datasets/file.h"
#include "datasets/text_file.h"
#include "datasets/text_pieces.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

constexpr size_t kTrainLetters = 1000000, kTestLetters = 10000;
constexpr const char* kNovel = "pg2701.txt";
constexpr const char* kNovelUrl = "http://www.gutenberg.org/cache/epub/2701/pg2701.txt";
constexpr const char* kNovelFolders[] = {"MOBYDICK", "mobydick"};

struct MobyDickParams {
  int64_t steps = 5;
  bool streams = true;
  std::string fallback;
  static void describe(auto&& p) {
    p("steps", &MobyDickParams::steps, "Tokens of a sample: so many steps are trained through.", at_least(1),
      Alias{"time_steps"});
    p("streams", &MobyDickParams::streams,
      "true: a batch has the next piece of each stream, and recurrent layers carry their state on. false: pieces are "
      "drawn anew in each epoch, and every piece begins without a state.");
    p("fallback", &MobyDickParams::fallback, "A text file that stands in where the novel is missing.");
  }
};

// Token 1 is the space, and so on to '~', 95; token 0 is every other letter.
Vocabulary printable_letters() {
  Vocabulary out;
  out.unit = TextUnit::character;
  out.texts.push_back(kUnknownText);
  for (char c = ' '; c <= '~'; ++c) out.texts.emplace_back(1, c);
  return out;
}

std::string with_spaces_for_line_ends(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool line_end = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    out += line_end ? ' ' : text[i];
    i += line_end;
  }
  return out;
}

class MobyDick : public Parametrized<Dataset, MobyDickParams> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    if (const std::string path = find(context); !path.empty()) return pieces(path, path, context);
    if (params.fallback.empty())
      fail(ErrorKind::data, "MobyDick: ", kNovel, " is in neither of ", place(context), ", ",
           join_path(context.data_folder(), kNovelFolders[1]), "; to get it: ", command(context));
    context.warn_of_stand_in("MobyDick", params.fallback);
    return stand_in(find_data_file(params.fallback, context), context);
  }

  DataCheck check(const DataContext& context) const override {
    if (const std::string path = find(context); !path.empty()) return check_of(pieces(path, path, context));
    DataCheck out;
    std::string looked_for;
    const std::string instead = params.fallback.empty() ? "" : find_data_file(params.fallback, context, looked_for);
    if (!instead.empty()) out = check_of(stand_in(instead, context));
    out.found = false;
    out.missing = join_path(place(context), kNovel);
    out.command = command(context);
    return out;
  }

 private:
  static std::string place(const DataContext& context) { return join_path(context.data_folder(), kNovelFolders[0]); }
  static std::string command(const DataContext& context) {
    return text("curl -fL --create-dirs -o ", shell_word(join_path(place(context), kNovel)), ' ', kNovelUrl);
  }
  static std::string find(const DataContext& context) {
    for (const char* folder : kNovelFolders) {
      const std::string path = join_path(join_path(context.data_folder(), folder), kNovel);
      if (!file_exists(path)) continue;
      context.check_may_read(path, "");
      return path;
    }
    return "";
  }
  Data stand_in(const std::string& path, const DataContext& context) const {
    return pieces(path, text(path, " in place of MobyDick"), context);
  }

  Data pieces(const std::string& path, const std::string& source, DataContext context) const {
    const std::string all = with_spaces_for_line_ends(TextFile(path).text());
    // A shorter text keeps the proportion.
    const size_t whole = kTrainLetters + kTestLetters;
    const size_t train = all.size() < whole
                             ? all.size() * (kTrainLetters / kTestLetters) / (kTrainLetters / kTestLetters + 1)
                             : kTrainLetters;
    TextParts parts;
    parts.source = source;
    parts.train = all.substr(0, train);
    parts.test = all.substr(train, kTestLetters);
    TextParams text_params;
    text_params.steps = params.steps;
    text_params.streams = params.streams;
    if (!context.vocabulary) context.vocabulary = printable_letters();
    return finish(pieces_of_text(parts, text_params, common.validation, context), context);
  }
};
NEON_REGISTER(
    Dataset, MobyDick,
    "The first million letters of Melville's novel as 96 tokens, and 10,000 to test with, as neon 0.9 had them.",
    {"MOBYDICK"});

}  // namespace

}  // namespace neon
