// Texts as pieces of so many steps, each of which goes on where the one before it ends. The target of a step is the
// token that follows it.
#pragma once
#include <span>
#include <string>

#include "datasets/dataset.h"
#include "datasets/vocabulary_params.h"

namespace neon {

// Parameters of sets of pieces.
constexpr const char* kStrideHelp =
    "With streams: false, tokens from the start of a training sample to that of the next; with fewer than `steps` they "
    "overlap, and a net sees a token at several places. 0: `steps`.";

struct TextParams : VocabularyParams {
  int64_t steps = 64, stride = 0;
  bool streams = true;
  static void describe(auto&& p) {
    p("steps", &TextParams::steps, "Tokens of a sample: so many steps are trained through.", at_least(1),
      Alias{"time_steps"});
    VocabularyParams::describe(p);
    p("streams", &TextParams::streams,
      "true: a batch has the next piece of each stream, and recurrent layers carry their state on. false: pieces are "
      "drawn anew in each epoch, and every piece begins without a state.");
    p("stride", &TextParams::stride, kStrideHelp, at_least(0));
  }
};

// The texts of a set; those that are empty are not there.
struct TextParts {
  std::string train, validation, test;
  std::string source;                          // for messages: a file or folder
  std::string validation_source, test_source;  // of these parts; "": they come from there, too
  const std::string& source_of(const std::string& part) const {
    const std::string& own = &part == &test ? test_source : &part == &validation ? validation_source : source;
    return own.empty() ? source : own;
  }
};

// The last tokens of the training text as validation text: their share below 1, or their number of samples.
// Throws a config error where the text is too short for that, a data error where a part has fewer than two tokens.
// Training texts give the vocabulary; <unk> joins it, with a warning, where another part has tokens that it lacks.
Data pieces_of_text(const TextParts& parts, const TextParams& params, double validation, const DataContext& context);

// Tokens (L) as inputs (n,T) and targets (n,T). Sample i begins at token i `stride`, at most `steps`, and n is the
// least with which each token but the first is a target. Steps past the end have the target -1, which counts nowhere.
// No tokens give no samples; one is a data error, which names `source` and the part.
int64_t count_pieces(int64_t tokens, int64_t steps, int64_t stride);
Split pieces_of(std::span<const int32_t> tokens, int64_t steps, int64_t stride, const std::string& source,
                const char* part);
// A config error for a `stride` that streams or steps do not allow.
void check_stride(int64_t stride, int64_t steps, bool streams);
// The tokens at the end of so many that the parameter `validation` keeps apart: their share below 1, or their number of
// samples. A config error where that leaves too few.
int64_t validation_tokens(double validation, int64_t count, int64_t steps, const std::string& source);

// `place`, or where the character or kEndOfText begins inside which it is.
size_t start_of_unit(std::string_view text, size_t place);

// The data as headers would describe it.
DataCheck check_of(const Data& data);

}  // namespace neon
