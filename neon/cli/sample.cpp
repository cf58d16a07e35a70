// neon sample CHECKPOINT: a text that the net goes on with, printed as it comes.
#include "neon/cli/heeded_parts.h"
#include "neon/cli/kept_parameters.h"
#include "neon/cli/sample_made.h"
#include "neon/cli/session.h"
#include "neon/cli/stored_data.h"
#include "neon/cli/untrained_phase.h"
#include "neon/cli/verb.h"
#include "neon/core/random.h"
#include "neon/train/generator.h"
#include "neon/train/run_folder.h"
#include "neon/train/terminal.h"
#include "neon/train/token_draw.h"

namespace neon {

namespace {

// Prints texts as they come. Bytes wait until they are whole characters.
class TextPrinter {
 public:
  void add(std::string_view text) {
    waiting_ += text;
    while (!waiting_.empty()) {
      const size_t length = utf8_length(waiting_);
      if (length == 0 && waiting_.size() < kLongestCharacter) break;
      put(std::max<size_t>(length, 1));
    }
  }
  void end() {
    while (!waiting_.empty()) put(1);
    print_part("\n");
  }

 private:
  static constexpr size_t kLongestCharacter = 4;
  void put(size_t count) {
    print_part(waiting_.substr(0, count));
    waiting_.erase(0, count);
  }
  std::string waiting_;
};

// About a prompt in the encoding of another terminal or file.
constexpr const char* kNoCharacter = " begins no UTF-8 character";
constexpr const char* kMendPrompt = "convert it, as with --prompt \"$(iconv -f LATIN1 -t UTF-8 prompt.txt)\"";

class Sampling {
 public:
  Sampling(const CommandLine& line, const OpenedRun& opened, const std::string& path)
      : line_(line), opened_(opened), tokenizer_(vocabulary(path)) {
    check_caffe(line, opened_, path);
    const TensorFile weights = sound_weights(opened_, path);
    RunOptions options = options_of(line, opened_), asked = line.run();
    options.rounding = 0;  // of updates alone
    // A few tokens are done before a GPU has woken up, so it is used only where it is asked for.
    if (asked.backend.empty()) asked.backend = "cpu";
    choose_backend(line, asked, *opened_.experiment);
    DeviceOptions device = device_options(asked, *opened_.experiment);
    device.timed = false;
    const StepOptions step = step_options(options, opened_.experiment->params);
    check_graph_heeded(line.verb, opened_, [&](const Experiment& of) {
      DataLayout layout;
      layout.meaning() = opened_.run.meaning;
      return generation_graph(of.network(), layout, {.steps = layout.sample[0]}, step).graph;
    });
    generator_ = std::make_unique<Generator>(opened_.experiment->network(), opened_.run.meaning, step, variables_,
                                             device, line.of_verb.beam);
    restore_variables(weights, path, variables_, true);
    variables_.to_device();
    seed_ = uint64_t(asked.rng_seed.value_or(0));
  }

  void run() {
    const VerbOptions& asked = line_.of_verb;
    const std::vector<int32_t> prompt = prompt_tokens();
    Tensor probabilities;
    for (const int32_t token : prompt) probabilities = next(token);
    print(asked.prompt.empty() ? std::vector<int32_t>() : prompt);
    if (asked.beam > 1) {
      print(beam_search(*generator_, probabilities, asked.length, end_));
    } else {
      const DrawOptions options{asked.temperature, asked.top_k.value_or(0), asked.top_p};
      for (int64_t i = 0; i < asked.length; ++i) {
        if (i > 0) probabilities = next(before_);
        const int32_t token = draw(probabilities, options, i);
        if (token == end_) break;
        print({token});
      }
    }
    printer_.end();
  }

 private:
  Vocabulary vocabulary(const std::string& path) const {
    const Vocabulary& out = opened_.run.meaning.vocabulary;
    if (out.empty() && opened_.run.meaning.foretells_tokens())
      fail(ErrorKind::config, path, ": its tokens have no texts to print; give the data set merges: FILE, which names ",
           "them, and train the net");
    if (out.empty())
      fail(ErrorKind::config, path,
           ": its net was not trained on a text, so it cannot go on with one; the data set Text "
           "trains such nets");
    if (!opened_.run.meaning.foretells_tokens())
      fail(ErrorKind::config, path, ": its net gives classes to texts and predicts no next token, so it cannot go on ",
           "with one; neon predict prints its classes");
    return out;
  }

  // Without a prompt a text begins after the end of another, after a line's end, or else with the first token. Nothing
  // prints this token.
  std::vector<int32_t> prompt_tokens() const {
    const std::string& prompt = line_.of_verb.prompt;
    if (prompt.empty()) return {tokenizer_.vocabulary().ends_documents ? end_ : std::max(tokenizer_.find("\n"), 0)};
    const TextUnit unit = tokenizer_.vocabulary().unit;
    const std::string no_utf8 = place_of_no_utf8(prompt);
    if (unit == TextUnit::character && !no_utf8.empty())
      fail(ErrorKind::config, "option --prompt: ", no_utf8, kNoCharacter, "; the net reads characters; ", kMendPrompt);
    std::vector<int32_t> out = tokenizer_.encode(prompt, "option --prompt");
    if (out.empty()) fail(ErrorKind::config, "option --prompt: holds no word");
    if (const int64_t unknown = tokenizer_.count_unknown(out); unknown > 0) {
      print_message(text("note: option --prompt: ", unknown, " of its ", out.size(), " ", name_of(unit),
                         unknown == 1 ? " does" : " do", " not occur in the training text; the net reads ",
                         kUnknownText, " there"));
      if (!no_utf8.empty()) print_message(text("note: option --prompt: ", no_utf8, kNoCharacter, "; ", kMendPrompt));
    }
    return out;
  }

  Tensor next(int32_t token) { return generator_->next(std::vector<int32_t>(size_t(line_.of_verb.beam), token)); }

  int32_t draw(const Tensor& y, const DrawOptions& options, int64_t number) const {
    check_probabilities(y);
    std::vector<double> p;
    for (int64_t k = 0; k < y.elements(); ++k) p.push_back(y.at(k));
    Stream stream(seed_, "sample", uint64_t(number));
    return draw_token(narrowed(p, options), uniform_from_bits(stream.bits()));
  }

  void print(const std::vector<int32_t>& tokens) {
    for (const int32_t token : tokens) {
      printer_.add(tokenizer_.appended(token, before_));
      before_ = token;
    }
  }

  const CommandLine& line_;
  const OpenedRun& opened_;
  const Tokenizer tokenizer_;
  Variables variables_;
  std::unique_ptr<Generator> generator_;
  TextPrinter printer_;
  int32_t before_ = -1;
  int32_t end_ = end_of_text(tokenizer_.vocabulary());
  uint64_t seed_ = 0;
};

// Refuses options that the net's kind of samples leaves without a meaning.
void check_sampling(const VerbOptions& given, bool makes_images) {
  const VerbOptions usual;
  const bool of_texts = given.prompt != usual.prompt || given.length != usual.length || given.beam != usual.beam ||
                        given.temperature != usual.temperature || given.top_p != usual.top_p || given.top_k;
  if (makes_images && of_texts)
    fail(ErrorKind::config,
         "the net makes images; --prompt, --length, --temperature, --top_k, --top_p and --beam are for texts, leave "
         "them out");
  if (!makes_images && given.count)
    fail(ErrorKind::config, "option --count: it is for images that a net makes, and this net goes on with texts; ",
         "leave it out, or give --length");
  if (given.beam > 1 && (given.temperature != 1 || given.top_k || given.top_p != 1))
    fail(ErrorKind::config,
         "option --beam finds the likeliest text and draws nothing; leave out --temperature, --top_k and --top_p");
}

int run_sample(const CommandLine& line) {
  const bool draws = line.operands.size() == 2;
  const std::string path = checkpoint_at(draws ? line.operands[0] : only_operand(line), kNetFiles);
  const OpenedRun opened = open_checkpoint(line, path);
  check_heeded(line.verb, opened);
  const bool makes = makes_samples(opened);
  if (makes && !draws)
    fail(ErrorKind::config, path, ": its net makes samples; give a PNG file for them, as in neon sample ",
         shell_word(path), " samples.png");
  if (draws && !makes)
    fail(ErrorKind::config, path, ": its net has no generator, so it makes no images; leave ",
         in_quotes(line.operands[1]), " out");
  check_sampling(line.of_verb, makes);
  warn_of_untrained_phase(*opened.experiment, opened.run.position, path);
  if (makes) print_result(draw_made_samples(line, opened, path, line.operands[1]));
  else Sampling(line, opened, path).run();
  return 0;
}

}  // namespace

NEON_VERB(run_sample, "sample", 82, takes_device | takes_seed | computes, "CHECKPOINT [PNG]",
          "print a text that a net trained on texts goes on with, or draw images that a generator makes");

}  // namespace neon
