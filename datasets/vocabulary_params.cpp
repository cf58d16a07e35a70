#include "datasets/vocabulary_params.h"

#include "datasets/bpe_files.h"
#include "neon/core/error.h"

namespace neon {

namespace {

constexpr int64_t kBytes = 256;

}  // namespace

Vocabulary vocabulary_of_files(const std::string& merges, const std::string& vocabulary, const DataContext& context) {
  return read_bpe(find_data_file(merges, context), vocabulary.empty() ? "" : find_data_file(vocabulary, context));
}

namespace {

// Refuses limits where all tokens are known beforehand.
void refuse_limits(const VocabularyParams& params, const std::string& why) {
  if (params.vocabulary_size != params.usual_size)
    fail(ErrorKind::config, "vocabulary_size: ", params.vocabulary_size, " changes nothing: ", why, "; leave it out");
  if (params.min_count > 1)
    fail(ErrorKind::config, "min_count: ", params.min_count, " changes nothing: ", why, "; leave it out");
}

Vocabulary chosen_vocabulary(const VocabularyParams& params, std::string_view train, const std::string& source,
                             const DataContext& context, bool unknown) {
  const TextUnit unit = text_unit(params.unit);
  for (const auto& [name, path] : {std::pair{"merges", params.merges}, {"vocabulary", params.vocabulary}})
    if (!path.empty() && unit != TextUnit::bpe)
      fail(ErrorKind::config, name, ": ", path, " is for unit: bpe, not for unit: ", params.unit, "; leave it out");
  if (!params.vocabulary.empty() && params.merges.empty())
    fail(ErrorKind::config, "vocabulary: ", params.vocabulary, " numbers the tokens of a merges.txt; give merges, too");
  if (unit == TextUnit::byte) refuse_limits(params, "unit: bytes has all 256 bytes as tokens");
  if (!params.merges.empty()) {
    refuse_limits(params, "the tokens are those of merges");
    Vocabulary out = vocabulary_of_files(params.merges, params.vocabulary, context);
    out.lower_case = params.lower_case;
    return out;
  }
  if (unit == TextUnit::bpe && params.vocabulary_size <= kBytes)
    fail(ErrorKind::config, "vocabulary_size: ", params.vocabulary_size,
         " leaves no tokens for pairs; unit: bpe needs ", "more than the ", kBytes, " bytes, as 1024, or merges: FILE");
  return vocabulary_of(unit, params.lower_case, train, source, {params.vocabulary_size, params.min_count, unknown});
}

}  // namespace

Vocabulary vocabulary_by(const VocabularyParams& params, std::string_view train, const std::string& source,
                         const DataContext& context, bool unknown) {
  Vocabulary out = chosen_vocabulary(params, train, source, context, unknown);
  out.ends_documents = end_of_text(out) >= 0 && train.find(kEndOfText) != train.npos;
  return out;
}

void check_vocabulary_of_run(const Vocabulary& former, const VocabularyParams& params) {
  const auto refuse = [](const char* name, std::string_view here, std::string_view there) {
    fail(ErrorKind::config, name, ": ", here, ", but the net was trained with ", there, "; leave it as it was");
  };
  if (name_of(former.unit) != params.unit) refuse("unit", params.unit, name_of(former.unit));
  if (former.lower_case != params.lower_case)
    refuse("lower_case", params.lower_case ? "true" : "false", former.lower_case ? "true" : "false");
}

}  // namespace neon
