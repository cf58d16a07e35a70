// Texts that each have a class: the files of a folder, or the rows of a table.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "datasets/text_file.h"
#include "datasets/text_pieces.h"

namespace neon {

constexpr const char* kAutoColumn = "auto";

// The columns of a table whose texts make a sample, one after the other.
struct TextColumns {
  std::vector<std::string> columns = {kAutoColumn};
  bool operator==(const std::string& one) const { return columns.size() == 1 && columns[0] == one; }
  bool are_several() const { return columns.size() > 1; }
};

template <>
struct Value_of<TextColumns> {
  static std::string type() { return "text, or list of text"; }
  static void read(const Setting& s, TextColumns& out, const Constraint& constraint, Problems& problems) {
    Value_of<std::vector<std::string>>::read(s, out.columns, constraint, problems);
    if (out.columns.empty()) detail::wrong_type(s, "a column, or a list of columns", problems);
  }
  static Setting write(const TextColumns& value) {
    if (!value.are_several()) return Value_of<std::string>::write(value.columns[0]);
    return Value_of<std::vector<std::string>>::write(value.columns);
  }
};

struct LabelledTextParams : VocabularyParams {
  int64_t steps = 128;
  TextColumns text;
  std::string label = kAutoColumn, header = "auto", test = "auto";
  std::string delimiter = kAutoColumn;
  LabelledTextParams() {
    unit = "words";
    vocabulary_size = usual_size = 20000;
    lower_case = true;
  }
  static void describe(auto&& p) {
    p("steps", &LabelledTextParams::steps, "The most tokens of a text; what is behind them is left out.", at_least(1),
      Alias{"sentence_length"});
    VocabularyParams::describe(p);
    p("text", &LabelledTextParams::text,
      "Column of the texts in a table: its name, or its index from 0. auto: the one named text, else the first. "
      "Several columns, as [premise, hypothesis]: the texts of a row are one sample, with a line's end between them; "
      "where they exceed `steps`, the longest ones lose their ends.");
    p("label", &LabelledTextParams::label,
      "Column of the classes in a table: its name, or its index from 0. auto: the one named label, else the second.");
    p("header", &LabelledTextParams::header,
      "Whether the first line of a table names the columns. auto: it does where `text`, `label` or the names given for "
      "them are among its cells; a first line whose class occurs in no other line is refused as unclear.",
      one_of({"auto", "true", "false"}));
    p("delimiter", &LabelledTextParams::delimiter,
      "The character between the cells of a table, or tab. auto: tab in a file named .tsv, else a comma; where the "
      "first "
      "line has no comma, semicolon or tab.");
    p("test", &LabelledTextParams::test,
      "Texts to test with, where no folder is named test: a table like this one, or the share (0 to 1) of these texts, "
      "drawn by the seed, from each class in proportion. auto: 0.2, or none with folds.");
  }
};

struct LabelledText {
  std::string text, label;
  std::string place;  // for messages: a file, or a line of a table
};

struct LabelledTexts {
  std::vector<LabelledText> train, test, validation;
  std::string source;                            // a folder or table
  std::string test_source;                       // of the texts to test with, as of Data
  bool points_apart = false, keeps_end = false;  // as of their Vocabulary
  bool is_table = false;
  bool has_test = false;  // a folder has texts to test with apart from the others
};

// The texts of a folder with train/CLASS/FILE, test/CLASS/FILE and val/CLASS/FILE, or with CLASS/FILE. Other folders
// beside these are left out, with a warning; those in the folder of a class are read. Where there are test texts, only
// their classes count; warnings name the others. A data error where a folder has no texts.
LabelledTexts texts_of_folder(const std::string& folder, const DataContext& context);
// The same of an archive's files, perhaps below a folder that holds all of them.
LabelledTexts texts_in_archive(std::vector<NamedText> files, const std::string& archive, const DataContext& context);
// The columns of a table of texts as its first rows show them: most texts of a column have several words, and a class
// has two rows or more in the mean.
struct TextRoles {
  std::vector<std::string> texts;
  std::string label;
};
// Nothing for a table of fewer than three columns, with a column named text or label, or with another number of columns
// of classes than one; and where the first line may be a sample.
std::optional<TextRoles> roles_of_columns(const std::string& path);

// The texts of a table. A config error where the first line may name the columns or be a text.
std::vector<LabelledText> texts_of_table(const std::string& path, const LabelledTextParams& params,
                                         const DataContext& context);
// The texts of the table `content`, whose classes may be missing: they are left out. A note says which column was taken
// of several without names.
std::vector<LabelledText> texts_without_classes(std::string_view content, const std::string& name,
                                                const LabelledTextParams& params, std::vector<std::string>& notes);

// Whether the first line of `content` has the names of the columns of texts.
bool names_texts(std::string_view content, const std::string& name, const LabelledTextParams& params);
// Whether a table has columns without names, because the parameters give each text by its index.
bool are_indices(const TextColumns& columns);
// Whether the first lines of `content` have cells, and one of these classes in the column of the label.
bool has_rows_of_classes(std::string_view content, const std::string& name, const LabelledTextParams& params,
                         const std::vector<std::string>& classes);

// The texts of any of these. Texts to test with are those of params.test, unless the folder has its own.
LabelledTexts labelled_texts_at(const std::string& path, const LabelledTextParams& params, const DataContext& context);
// A config error where a parameter is for a table, and these texts are of the folder `path`; or where it asks for other
// texts to test with than those that the folder has apart. Not before kRulesOfDeepTexts.
void check_folder_params(const LabelledTextParams& params, const std::string& path, const LabelledTexts& texts,
                         const DataContext& context);

// The first `steps` of a text's tokens. Where it is `several` texts, with a line's end between them, the longest ones
// lose their last tokens.
std::vector<int32_t> first_tokens(const Tokenizer& tokenizer, std::vector<int32_t> tokens, int64_t steps, bool several);

// A warning of so many texts of words that are no UTF-8; `first` is the place in the first of them.
std::string warning_of_no_utf8(const std::string& first, int64_t count);

// A warning of `cut` of `all` texts, named `noun`, which are longer than the steps taken: "1 of 5 texts is longer ..".
std::string warning_of_cut(int64_t cut, int64_t all, const std::string& noun, int64_t steps, std::string_view unit,
                           bool keeps_end);

// The texts as tokens, padded. Training texts give vocabulary and classes; test texts are those of `given`, or a share
// of its training texts.
Data data_of_texts(LabelledTexts given, const LabelledTextParams& params, const DataContext& context);

}  // namespace neon
