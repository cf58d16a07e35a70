// Tokens that another program made of a text, for language models.
#include "datasets/archive_names.h"
#include "datasets/file.h"
#include "datasets/streaming.h"
#include "datasets/text_pieces.h"
#include "datasets/token_files.h"

namespace neon {

namespace {

struct TokensParams {
  std::string path, validation_path, test_path, type = "auto", merges, vocabulary;
  int64_t steps = 64, stride = 0, tokens = 0;
  bool streams = true;
  static void describe(auto&& p) {
    p("path", &TokensParams::path,
      "The training tokens: a .bin file of whole numbers of 16 or 32 bits, or .npy (n). A pattern such as "
      "\"train_*.bin\" means files that follow one another by name.",
      Required{});
    p("validation_path", &TokensParams::validation_path, "Tokens to evaluate with while training goes on.");
    p("test_path", &TokensParams::test_path, "Tokens to evaluate with at the end.");
    p("type", &TokensParams::type,
      "Numbers of a .bin file. auto: what its header says, if it has that of llm.c, else uint16.",
      one_of({"auto", "uint16", "uint32"}));
    p("tokens", &TokensParams::tokens, "Different tokens, from 0: 50257 are GPT-2's. 0: those up to the largest.",
      closed(0, 1e8), Alias{"vocabulary_size"});
    p("merges", &TokensParams::merges,
      "A merges.txt, as of GPT-2: the texts of the tokens, so that neon sample can go on with a text. Default: none.");
    p("vocabulary", &TokensParams::vocabulary,
      "The vocab.json beside merges, which numbers the tokens. Default: bytes, pairs in their order, <|endoftext|>.");
    p("steps", &TokensParams::steps, "Tokens of a sample: so many steps are trained through.", at_least(1),
      Alias{"time_steps"});
    p("streams", &TokensParams::streams,
      "true: a batch has the next piece of each stream, and recurrent layers carry their state on. false: pieces are "
      "drawn anew in each epoch, and every piece begins without a state.");
    p("stride", &TokensParams::stride, kStrideHelp, at_least(0));
  }
};

class Tokens : public Parametrized<Dataset, TokensParams> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    std::string missing;
    const Parts parts = open(context, missing);
    if (!missing.empty()) fail(ErrorKind::data, "no such file; looked for ", missing);
    return finish(data_of(parts, context, true), context);
  }

  DataCheck check(const DataContext& context) const override {
    DataCheck out;
    const Parts parts = open(context, out.missing);
    if (!out.missing.empty()) return out;
    const Data data = data_of(parts, context, false);
    out = check_of(finish(data, context));
    out.target = {params.steps};
    out.dtype = DType::i32;
    out.label_of = LabelOf::step;
    out.streamed = streamed(parts, context);
    return out;
  }

 private:
  using Files = std::shared_ptr<const TokenFiles>;
  struct Parts {
    Files train, validation, test;
    std::string source, validation_source, test_source;
  };

  static std::vector<std::string> paths_of(const std::string& path, const DataContext& context, std::string& missing) {
    if (is_pattern(path)) {
      for (const std::string& place : context.places_of(path)) {
        std::vector<std::string> out = expand_pattern(place);
        if (out.empty() || !file_exists(out.front())) continue;
        for (const std::string& file : out) context.check_may_read(file, path);
        return out;
      }
    }
    const std::string found = find_data_file(path, context, missing);
    return found.empty() ? std::vector<std::string>{} : std::vector{found};
  }

  Parts open(const DataContext& context, std::string& missing) const {
    Parts out;
    const auto take = [&](const std::string& path, std::string& source) -> Files {
      if (path.empty() || !missing.empty()) return nullptr;
      const std::vector<std::string> paths = paths_of(path, context, missing);
      if (paths.empty()) return nullptr;
      auto files = std::make_shared<const TokenFiles>(paths, params.type);
      source = text(paths.size() == 1 ? paths[0] : path, " (", files->form(), ")");
      return files;
    };
    out.train = take(params.path, out.source);
    out.validation = take(params.validation_path, out.validation_source);
    out.test = take(params.test_path, out.test_source);
    return out;
  }

  bool streamed(const Parts& parts, const DataContext& context) const {
    // Samples that overlap hold a token several times.
    double tokens = double(parts.train->size()) * double(params.steps) / double(stride());
    for (const Files& files : {parts.validation, parts.test}) tokens += files ? double(files->size()) : 0;
    return is_streamed({}, tokens * 2 * sizeof(int32_t), common.memory_share, {}, context);
  }

  // The stride of training samples.
  int64_t stride() const { return params.stride > 0 ? params.stride : params.steps; }

  // The number of different tokens: of the net that goes on, else the spec's, else by the training tokens.
  int64_t count_tokens(const Parts& parts, const DataContext& context) const {
    if (context.tokens > 0 && params.tokens == 0) return context.tokens;
    if (params.tokens > 0) return params.tokens;
    int64_t largest = 1;
    for (const Files& files : {parts.train, parts.validation, parts.test})
      if (files) largest = std::max(largest, files->largest());
    return largest + 1;
  }

  // Programs that write such files put the token behind or before each document.
  Vocabulary vocabulary_of_tokens(const DataContext& context) const {
    Vocabulary out = vocabulary_of_files(params.merges, params.vocabulary, context);
    out.ends_documents = end_of_text(out) >= 0;
    return out;
  }

  // Without `held` all parts are read as they are asked for.
  Data data_of(const Parts& parts, const DataContext& context, bool held) const {
    Data out;
    out.source = parts.source, out.test_source = parts.test_source, out.validation_source = parts.validation_source;
    out.sample = {params.steps};
    out.sequence = true;
    out.streams = params.streams;
    out.took_validation = true;
    check_stride(params.stride, params.steps, params.streams);
    if (parts.train->size() == 0) fail(ErrorKind::data, parts.source, ": there are no tokens");
    if (context.vocabulary) out.vocabulary = *context.vocabulary;
    else if (!params.merges.empty()) out.vocabulary = vocabulary_of_tokens(context);
    else if (!params.vocabulary.empty())
      fail(ErrorKind::config, "vocabulary: ", params.vocabulary,
           " numbers the tokens of a merges.txt; give merges, too");
    out.tokens = out.classes = out.vocabulary.empty() ? count_tokens(parts, context) : out.vocabulary.size();
    if (!out.vocabulary.empty() && params.tokens > 0 && params.tokens != out.tokens)
      fail(ErrorKind::config, "tokens: ", params.tokens, ", but the vocabulary has ", out.tokens, "; leave it out");
    held = held && !streamed(parts, context);
    const int64_t count = parts.train->size();
    if (common.validation > 0 && parts.validation)
      fail(ErrorKind::config, "validation: ", common.validation, " takes the end of the training tokens, but ",
           "validation_path names tokens of their own; leave one of them out");
    const int64_t apart = validation_tokens(common.validation, count, params.steps, parts.source);
    const auto split = [&](const Files& files, TokenPieces::Part part, int64_t stride, const char* name) {
      return files && part.count > 0 ? split_of(files, part, stride, out, held, name) : Split{};
    };
    const auto whole = [](const Files& files) { return files ? files->size() : 0; };
    out.train = split(parts.train, {0, count - apart}, stride(), "training");
    const TokenPieces::Part end{count - apart, apart};
    out.validation = apart > 0 ? split(parts.train, end, params.steps, "validation")
                               : split(parts.validation, {0, whole(parts.validation)}, params.steps, "validation");
    out.test = split(parts.test, {0, whole(parts.test)}, params.steps, "test");
    return out;
  }

  Split split_of(const Files& files, TokenPieces::Part part, int64_t stride, const Data& data, bool held,
                 const char* name) const {
    Split out;
    if (held || part.count < 2) {
      std::vector<int32_t> tokens(size_t(part.count));
      files->read(part.first, tokens, data.tokens);
      out = pieces_of(tokens, params.steps, stride, data.source_of(name), name);
    } else {
      out.rows = std::make_shared<TokenPieces>(files, part, params.steps, stride, data.tokens);
    }
    out.identity = text(files->identity(), part.first, ' ', part.count, ' ', data.tokens);
    if (stride < params.steps) out.identity += text(" every ", stride);
    return out;
  }
};

NEON_REGISTER(
    Dataset, Tokens,
    "Tokens that another program made of a text, in pieces of so many steps; the target of a step is the next "
    "token. Files larger than memory are read while the run goes on.");

}  // namespace

}  // namespace neon
