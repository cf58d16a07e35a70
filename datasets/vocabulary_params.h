// Parameters of data sets of texts that choose the tokens.
#pragma once
#include <string>

#include "datasets/data_context.h"
#include "neon/core/params.h"

namespace neon {

struct VocabularyParams {
  std::string unit = "characters";
  int64_t vocabulary_size = 0, min_count = 1;
  int64_t usual_size = 0;  // the default of vocabulary_size
  bool lower_case = false;
  std::string merges, vocabulary;
  static void describe(auto&& p) {
    p("unit", &VocabularyParams::unit,
      "Kind of the tokens: characters of UTF-8 text, bytes, words between white space, where a line's end is a word, "
      "or "
      "bpe, bytes that are often together (GPT-2's byte pair encoding).",
      one_of({"characters", "bytes", "words", "bpe"}));
    p("vocabulary_size", &VocabularyParams::vocabulary_size,
      "The most different tokens. The most frequent characters or words stay, <unk> stands for all others; 0: all. "
      "unit: "
      "bpe has the 256 bytes, pairs until there are so many, and <|endoftext|> where the text has it.",
      at_least(0), Alias{"max_vocab_size"}, Alias{"vocab_size"});
    p("min_count", &VocabularyParams::min_count,
      "Characters or words that the training text has more rarely become <unk>. Pairs of bpe occur so often, and "
      "twice.",
      at_least(1));
    p("lower_case", &VocabularyParams::lower_case, "Makes the letters A to Z small.");
    p("merges", &VocabularyParams::merges,
      "A merges.txt, as of GPT-2, that gives the tokens of unit: bpe in place of the training text.");
    p("vocabulary", &VocabularyParams::vocabulary,
      "The vocab.json beside merges, which numbers the tokens. Default: bytes, pairs in their order, <|endoftext|>.");
  }
};

// The vocabulary that the parameters ask for: of files, or of the training text, whose name is `source`. A config error
// where they contradict each other. `unknown`: <unk> is among characters and words in any case.
Vocabulary vocabulary_by(const VocabularyParams& params, std::string_view train, const std::string& source,
                         const DataContext& context, bool unknown = false);
// The same of a merges.txt and a vocab.json, or "".
Vocabulary vocabulary_of_files(const std::string& merges, const std::string& vocabulary, const DataContext& context);

// A config error where the net of `former` was trained with tokens of another kind.
void check_vocabulary_of_run(const Vocabulary& former, const VocabularyParams& params);

}  // namespace neon
