#include "datasets/text_pieces.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace neon {

int64_t count_pieces(int64_t tokens, int64_t steps, int64_t stride) {
  return 1 + (std::max<int64_t>(tokens - 1 - steps, 0) + stride - 1) / stride;
}

Split pieces_of(std::span<const int32_t> tokens, int64_t steps, int64_t stride, const std::string& source,
                const char* part) {
  if (tokens.empty()) return {};
  if (tokens.size() < 2)
    fail(ErrorKind::data, source, ": the ", part, " text has ", tokens.size(),
         " token; expected at least 2, of which the second is the target of the first");
  const int64_t targets = int64_t(tokens.size()) - 1;
  const int64_t pieces = count_pieces(int64_t(tokens.size()), steps, stride);
  Split out;
  out.inputs = Tensor(DType::i32, {pieces, steps});
  out.targets = Tensor(DType::i32, {pieces, steps});
  const auto inputs = out.inputs.as<int32_t>(), labels = out.targets.as<int32_t>();
  std::ranges::fill(inputs, 0);
  std::ranges::fill(labels, -1);
  for (int64_t i = 0; i < pieces; ++i) {
    const auto first = tokens.begin() + i * stride;
    const int64_t count = std::min(steps, targets - i * stride);
    std::copy_n(first, count, inputs.begin() + i * steps);
    std::copy_n(first + 1, count, labels.begin() + i * steps);
  }
  return out;
}

void check_stride(int64_t stride, int64_t steps, bool streams) {
  if (stride > 0 && streams)
    fail(ErrorKind::config, "stride: ", stride,
         " lets samples overlap, but in streams each goes on where the one before it ends; add streams: false");
  if (stride > steps)
    fail(ErrorKind::config, "stride: ", stride, " is larger than steps: ", steps,
         ", so that some tokens would be in no sample; give at most ", steps);
}

int64_t validation_tokens(double validation, int64_t count, int64_t steps, const std::string& source) {
  if (validation == 0) return 0;
  if (validation >= 1 && validation != std::floor(validation))
    fail(ErrorKind::config, "validation: ", validation, " is neither a number of samples nor a share below 1");
  const double wanted = validation < 1 ? validation * double(count) : validation * double(steps);
  if (wanted < 2 || double(count) - wanted < 2)
    fail(ErrorKind::config, "validation: ", validation, " leaves fewer than 2 tokens of the ", count, " in ", source,
         " for training or validation");
  return int64_t(std::ceil(wanted));
}

size_t start_of_unit(std::string_view text, size_t place) {
  while (place > 0 && place < text.size() && (uint8_t(text[place]) & 0xc0) == 0x80) --place;
  const size_t before = place - std::min(place, kEndOfText.size() - 1);
  const size_t found = text.substr(0, place + kEndOfText.size() - 1).find(kEndOfText, before);
  return found < place ? found : place;
}

namespace {

// The share of a text whose length is not yet known in tokens, in bytes: the last tokens need not be those of a share.
std::string_view without_end(std::string_view text, TextUnit unit, int64_t tokens, const std::string& source) {
  TextUnits units(unit, text, source);
  std::string_view one;
  for (int64_t i = 0; i < tokens; ++i) units.next(one);
  return text.substr(0, size_t(one.data() - text.data()) + one.size());
}

int64_t count_units(std::string_view text, TextUnit unit, const std::string& source) {
  TextUnits units(unit, text, source);
  int64_t out = 0;
  for (std::string_view one; units.next(one);) ++out;
  return out;
}

// The units of a text that the vocabulary has not.
std::set<std::string> strangers(const Tokenizer& tokenizer, const std::string& given, const std::string& source) {
  const bool lowered = tokenizer.vocabulary().lower_case;
  const std::string text = lowered ? lower(given) : given;
  std::set<std::string> out;
  TextUnits units(tokenizer.vocabulary().unit, text, source);
  for (std::string_view one; units.next(one);)
    if (tokenizer.find(one) < 0) out.emplace(one);
  return out;
}

// Moves the end of the training text to the validation text. Tokens of bpe are not known yet: bytes stand for them.
void take_validation(TextParts& parts, TextUnit unit, double validation, int64_t steps) {
  if (!parts.validation.empty())
    fail(ErrorKind::config, "validation: ", validation, " takes the end of the training text, but ", parts.source,
         " has a validation text of its own; leave it out");
  const bool bpe = unit == TextUnit::bpe;
  if (bpe && validation >= 1)
    fail(ErrorKind::config, "validation: ", validation,
         " is a number of samples, which are not known before the tokens are; with unit: bpe give a share below 1");
  if (bpe) unit = TextUnit::byte;
  const int64_t count = count_units(parts.train, unit, parts.source);
  const int64_t apart = validation_tokens(validation, count, steps, parts.source);
  size_t length = without_end(parts.train, unit, count - apart, parts.source).size();
  if (bpe) length = start_of_unit(parts.train, length);
  parts.validation = parts.train.substr(length);
  parts.train.resize(length);
}

// The vocabulary of the training text, with <unk> where other texts need it.
Tokenizer tokenizer_of(const TextParts& parts, std::string_view train, const TextParams& params,
                       const DataContext& context) {
  if (context.vocabulary) return Tokenizer(*context.vocabulary);
  Vocabulary vocabulary = vocabulary_by(params, train, parts.source, context);
  Tokenizer out(vocabulary);
  if (vocabulary.unit == TextUnit::bpe) return out;  // which has tokens for all texts
  std::set<std::string> unknown = strangers(out, parts.validation, parts.source_of(parts.validation));
  const std::string& source = parts.source_of(unknown.empty() ? parts.test : parts.validation);
  unknown.merge(strangers(out, parts.test, parts.source_of(parts.test)));
  if (unknown.empty()) return out;
  context.warn(text(source, ": of the evaluated text's ", params.unit, ", ", unknown.size(), " (as ",
                    in_quotes(*unknown.begin()), ") do not occur in the training text; they count as ", kUnknownText));
  vocabulary.texts.insert(vocabulary.texts.begin(), kUnknownText);
  return Tokenizer(std::move(vocabulary));
}

// Why a training text gives fewer than 2 tokens.
std::string cause_of_few_tokens(const TextParams& params, std::string_view train, const std::string& source) {
  const auto count = [&](int64_t least) {
    return vocabulary_of(text_unit(params.unit), params.lower_case, train, source, {.min_count = least}).size();
  };
  if (count(1) < 2) return text("all ", params.unit, " of the training text are alike");
  const std::string cause = count(params.min_count) < 2 ? text("min_count: ", params.min_count)
                                                        : text("vocabulary_size: ", params.vocabulary_size);
  return text(cause, " leaves out all ", params.unit, " of the training text");
}

}  // namespace

Data pieces_of_text(const TextParts& given, const TextParams& params, double validation, const DataContext& context) {
  const TextUnit unit = text_unit(params.unit);
  TextParts parts = given;
  if (parts.train.empty()) fail(ErrorKind::data, parts.source, ": the text is empty");
  if (context.vocabulary) check_vocabulary_of_run(*context.vocabulary, params);
  if (validation > 0) take_validation(parts, unit, validation, params.steps);
  check_stride(params.stride, params.steps, params.streams);
  const Tokenizer tokenizer = tokenizer_of(parts, parts.train, params, context);
  const auto split = [&](const std::string& text, const char* part, int64_t stride) {
    const std::string& source = parts.source_of(text);
    return pieces_of(tokenizer.encode(text, source), params.steps, stride, source, part);
  };
  Data out;
  out.source = parts.source, out.test_source = parts.test_source, out.validation_source = parts.validation_source;
  out.train = split(parts.train, "training", params.stride > 0 ? params.stride : params.steps);
  out.validation = split(parts.validation, "validation", params.steps);
  out.test = split(parts.test, "test", params.steps);
  out.sample = {params.steps};
  out.sequence = true;
  out.streams = params.streams;
  out.took_validation = true;
  out.vocabulary = tokenizer.vocabulary();
  out.tokens = out.classes = out.vocabulary.size();
  if (out.classes < 2)
    fail(ErrorKind::data, parts.source, ": ", cause_of_few_tokens(params, parts.train, parts.source),
         "; expected at least 2 tokens");
  return out;
}

DataCheck check_of(const Data& data) {
  DataCheck out;
  out.meaning() = data.meaning();
  out.found = true;
  out.source = data.source;
  const Shape& targets = data.train.targets.shape();
  if (!data.train.targets.empty()) out.target = targets.rank() > 1 ? targets.slice(1, targets.rank()) : Shape{1};
  out.train_size = data.train.size();
  out.validation_size = data.validation.size();
  out.test_size = data.test.size();
  return out;
}

}  // namespace neon
