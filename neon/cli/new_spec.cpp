// neon new photos FOLDER, new table FILE, new text FILE: a spec with comments for the user's own data, which trains at
// once. The sizes of net, batch and run follow from the data.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "datasets/file.h"
#include "datasets/image_samples.h"
#include "datasets/labelled_texts.h"
#include "datasets/text_file.h"
#include "neon/cli/new_data.h"
#include "neon/cli/verb.h"
#include "neon/core/counted.h"
#include "neon/core/paths.h"
#include "neon/spec/yaml.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// A name of the user's in the spec, which is UTF-8.
std::string in_spec(const std::string& name) {
  if (!is_utf8(name)) fail(ErrorKind::config, in_quotes(name), " is not UTF-8, as a spec must be; rename it");
  return yaml_text(name);
}

Setting::Entry entry(const char* key, const std::string& value) { return {key, Setting::scalar(value), {}}; }

// So many passes over the samples are about `work` samples.
int64_t epochs_for(double work, int64_t samples, int64_t least, int64_t most) {
  return std::clamp(int64_t(work / double(samples)), least, most);
}

// At most `most` samples, and no last batch of one sample, which batch norm refuses.
int64_t batch_for(int64_t samples, int64_t most) {
  int64_t batch = std::min(samples, most);
  while (batch > 2 && samples % batch == 1) --batch;
  return batch;
}

const std::string& operand_for_new(const CommandLine& line, size_t most) {
  const std::string usage = text("; usage: ", usage_of(*find_verb(line.verb)));
  if (line.operands.empty()) fail(ErrorKind::config, "nothing to look at", usage);
  if (line.operands.size() > most)
    fail(ErrorKind::config, in_quotes(line.operands[most]), " is one operand too many after ",
         in_quotes(line.operands[most - 1]), usage);
  if (is_read_once(line.operands[0]))
    fail(ErrorKind::config, line.operands[0], " is a pipe, which a spec cannot read again; give a file", usage);
  return line.operands[0];
}

void print_spec(const CommandLine& line, const std::string& facts, const std::string& spec) {
  std::vector<std::string> words;
  for (const std::string& operand : line.operands) words.push_back(shell_word(operand));
  for (const Override& given : line.overrides) words.push_back("--set " + shell_word(given.assignment));
  print_data(text("# neon ", line.verb, " ", join(words, " "), "\n# ", printable(facts),
                  "\n# Save this as a file NAME.yaml; neon check NAME.yaml explains it, neon NAME.yaml trains it.\n",
                  spec));
}

std::string conv(int64_t maps) {
  return text("  - Conv: {fshape: 3, nofm: ", maps,
              ", padding: 1, init: Kaiming, batch_norm: true, activation: Rectlin}\n");
}

// The shorter side of an image as it is.
int64_t side_of(ImageSet set) {
  set.params.size = {};
  const Shape shape = image_sample_shape(set);
  return std::min(shape[1], shape[2]);
}

// Each halves the side of an image; the convolutions keep it.
std::string layers_for(int64_t side) {
  const char* const halving = "  - Pooling: 2\n";
  return text(conv(32), side >= 2 ? halving : "", conv(64), side >= 4 ? halving : "", conv(128));
}

// An image of a folder that holds nothing else, or "". Hidden files do not count.
std::string image_of_folder(const std::string& path) {
  constexpr int kLooks = 100;
  std::error_code ignored;
  std::string out;
  int looks = 0;
  for (std::filesystem::recursive_directory_iterator at(path, ignored), end; at != end && looks < kLooks;
       at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (!at->is_regular_file(ignored) || name.starts_with('.')) continue;
    if (!is_image_name(name)) return "";
    out = at->path().string(), ++looks;
  }
  return out;
}

// Names the command for data of another kind.
void check_is_no_folder_of_images(const std::string& path) {
  const std::string image = folder_exists(path) ? image_of_folder(path) : "";
  if (!image.empty())
    fail(ErrorKind::config, path, ": holds images, such as ", in_quotes(image), "; neon new photos ", shell_word(path),
         " prints a spec for them");
}
void check_is_no_table(const std::string& path) {
  if (file_exists(path) && (path.ends_with(".csv") || path.ends_with(".tsv")))
    fail(ErrorKind::config, path, ": is a table, not a folder; neon new table ", shell_word(path),
         " prints a spec for it");
}

int run_new_photos(const CommandLine& line) {
  constexpr int64_t kSide = 64, kCrop = 56;
  const std::string& path = operand_for_new(line, 1);
  check_is_no_table(path);
  // All images of one size, as the data set wants them here.
  const NewData data(line, "ImageFolder",
                     {entry("path", path), entry("size", std::to_string(kSide)), entry("test", "none")});
  const DataCheck& check = data.check();
  const auto set = data.set().images(data.context());
  const bool split = check.test_size + check.validation_size > 0, sized = data.given("size");
  const int64_t count = split ? check.train_size : check.train_size * 4 / 5;
  const SampleSize size =
      sized && set->params.size.given() ? set->params.size : SampleSize(std::min(side_of(*set), kSide));
  const int64_t side = std::min(size.height, size.width);
  const bool crops = size == SampleSize(kSide);
  std::vector<NewData::Line> lines = {
      {"path", in_spec(path), ""},
      {"size", size.to_string(), "            # pixels; a larger size sees more and takes longer"}};
  if (!split)
    lines.push_back({"test", "auto", "          # a fifth of the images is kept for the test; none trains with all"});
  const std::string spec =
      text("# neon data check SPEC reads every image; on_bad_sample: skip, in the data set, leaves damaged ones out\n",
           data.spec(lines), "augment:               # random changes of the training images\n  - RandomCrop: ",
           crops ? text("{size: ", kCrop, "}") : "{pad: 2}",
           "\n  - Flip               # leave this out where left and right differ, as in writing\n"
           "normalize: true        # channels to mean 0 and deviation 1\nlayers:\n",
           layers_for(crops ? kCrop : side),
           "  - Pooling: {fshape: all, op: avg}\n"
           "  - Affine: {nout: classes, init: Kaiming, bias: {Constant: 0}, activation: Softmax}\n"
           "cost: CrossEntropyMulti\n"
           "optimizer: {Adam: {learning_rate: 0.002, schedule: OneCycle}}    # neon schedule draws the rate\n"
           "# callbacks: [EarlyStop: {patience: 5}]                         # ends a run that gets no better\n"
           "batch_size: ",
           batch_for(count, count < 5000 ? 32 : 128), "\nepochs: ", epochs_for(1e5, count, 5, 40),
           "             # passes over the images\n");
  print_spec(line,
             text(check.source, ": ", set->images.size(), " images of ", check.classes,
                  " classes: ", list_text(check.class_names)),
             spec);
  return 0;
}

// The table; a fault of its target says which column was taken.
NewData table_for_new(const CommandLine& line, const std::string& path, const std::string& target) try {
  return {line, "CSV", {entry("path", path), entry("target", target)}};
} catch (const Error& error) {
  if (line.operands.size() > 1 || std::string_view(error.what()).find("target") == std::string_view::npos) throw;
  fail(error.kind(), error.what(), "; the target is the last column, unless another is named: neon new table ",
       shell_word(path), " COLUMN");
}

int run_new_table(const CommandLine& line) {
  const std::string& path = operand_for_new(line, 2);
  check_is_no_folder_of_images(path);
  const std::string target = line.operands.size() > 1 ? line.operands[1] : "last";
  const NewData data = table_for_new(line, path, target);
  const DataCheck& check = data.check();
  const bool classes = check.classes > 0;
  const int64_t count = check.train_size, features = seen_width_of(check.table.codes);
  const int64_t width = std::clamp<int64_t>(2 * features, 16, 128), outputs = check.target.elements();
  const std::string last =
      classes ? "  - Affine: {nout: classes, init: Kaiming, bias: {Constant: 0}, activation: Softmax}\n"
                "cost: CrossEntropyMulti\n"
              : text("  - Affine: {nout: ", outputs,
                     ", init: Kaiming, bias: {Constant: 0}}\n"
                     "cost: MeanSquared\nmetrics: [RMSE, R2]    # RMSE in the units of the column; R2: 1 is perfect\n");
  const std::string name = line.operands.size() > 1 || check.table.others.empty() ? target : check.table.others.back();
  print_spec(line,
             text(check.source, ": ", counted(count + check.test_size, "row"), "; columns become ",
                  counted(features, "number"), "; ",
                  classes ? text("classes: ", list_text(check.class_names)) : "the target is a value"),
             text(data.spec({{"path", in_spec(path), ""},
                             {"target", in_spec(name), "       # the column to predict"},
                             {"test", "0.2", "          # a fifth of the rows is kept for the test"}}),
                  data.given("ignore") ? "" : "    # ignore: [id]     # columns to leave out\n",
                  "layers:\n  - Affine: {nout: ", width,
                  ", init: Kaiming, bias: {Constant: 0}, activation: Rectlin}\n  - Affine: {nout: ", width,
                  ", init: Kaiming, bias: {Constant: 0}, activation: Rectlin}\n", last,
                  "optimizer: {Adam: {learning_rate: 0.005, schedule: Cosine}}      # neon schedule draws the rate\n"
                  "callbacks: [EarlyStop: {patience: 20}]                           # ends a run that gets no better\n"
                  "batch_size: ",
                  batch_for(count, count < 1000    ? 16
                                   : count < 20000 ? 64
                                                   : 256),
                  "\nepochs: ", epochs_for(3e5, count, 5, 100), "\n"));
  return 0;
}

// Folders of a folder, by name; without hidden ones.
std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored))
    if (const std::string name = at->path().filename().string(); at->is_directory() && !name.starts_with('.'))
      out.push_back(name);
  return out;
}

// Whether files of an archive, perhaps below a folder that holds all of them, lie as texts with classes do.
bool have_classes(const std::vector<NamedText>& files) {
  std::vector<std::vector<std::string>> paths;
  for (const NamedText& file : files) {
    paths.emplace_back();
    for (const std::filesystem::path& part : std::filesystem::path(file.name))
      if (part != ".") paths.back().push_back(part.string());
  }
  const auto folders_at = [&](size_t depth, const std::string& above) {
    std::set<std::string> out;
    for (const auto& path : paths)
      if (path.size() > depth + 1 && (above.empty() || path[depth - 1] == above)) out.insert(path[depth]);
    return out;
  };
  size_t depth = 0;
  const auto lies_deeper = [&](const auto& path) { return path.size() > depth + 1; };
  while (folders_at(depth, "").size() == 1 && std::ranges::all_of(paths, lies_deeper) &&
         !folders_at(depth, "").contains("train"))
    ++depth;
  if (folders_at(depth, "").contains("train")) return folders_at(depth + 1, "train").size() > 1;
  return folders_at(depth, "").size() > 1 && std::ranges::all_of(paths, lies_deeper);
}

// Whether texts have classes: a table, or a folder or archive with train/CLASS, or with folders alone.
bool have_classes(const std::string& path) {
  const std::string small = lower(path);
  if (small.ends_with(".csv") || small.ends_with(".tsv")) return true;
  if (file_exists(path)) return have_classes(texts_of_archive(path));
  const std::vector<std::string> folders = folders_in(path);
  if (std::ranges::count(folders, "train")) return folders_in(join_path(path, "train")).size() > 1;
  std::error_code ignored;
  std::ptrdiff_t all = 0;
  for (std::filesystem::directory_iterator at(path, ignored), end; at != end; at.increment(ignored))
    all += !at->path().filename().string().starts_with('.');
  return folders.size() > 1 && all == std::ssize(folders);
}

Setting list_of(const std::vector<std::string>& names) {
  std::vector<Setting> out;
  for (const std::string& name : names) out.push_back(Setting::scalar(name));
  return Setting::list(std::move(out));
}

// The columns of a table that names them otherwise than text and label, unless --set says them.
std::optional<TextRoles> roles_for(const CommandLine& line, const std::string& path) {
  for (const Override& given : line.overrides)
    for (const char* const key : {"dataset.text=", "dataset.label=", "dataset.header=", "dataset.delimiter="})
      if (given.assignment.starts_with(key)) return {};
  return file_exists(path) && texts_of_archive(path).empty() ? roles_of_columns(path) : std::nullopt;
}

int run_new_text_classes(const CommandLine& line, const std::string& path) {
  std::vector<Setting::Entry> params = {entry("path", path), entry("steps", "128")};
  std::vector<NewData::Line> lines = {{"path", in_spec(path), ""}};
  if (const auto roles = roles_for(line, path)) {
    const Setting texts = list_of(roles->texts);
    params.push_back({"text", texts, {}});
    params.push_back(entry("label", roles->label));
    lines.push_back({"text", texts.to_string(), "    # the columns whose texts make a sample"});
    lines.push_back({"label", in_spec(roles->label), "    # the column of the classes"});
  }
  const NewData data(line, "TextClasses", params);
  const DataCheck& check = data.check();
  lines.push_back({"steps", "128",
                   "         # the most " + std::string(name_of(check.vocabulary.unit)) +
                       " of a text; what is behind them is left out"});
  print_spec(
      line,
      text(check.source, ": ", check.train_size + check.test_size, " texts of ", check.classes,
           " classes: ", list_text(check.class_names)),
      text(data.spec(lines),
           "layers:\n"
           "  - Embedding: 64\n"
           "  - BiLSTM: {output_size: 32, init: GlorotUniform}\n"
           "  - RecurrentMax         # of each feature the largest of all steps\n"
           "  - Dropout: 0.8         # share of the numbers that stays\n"
           "  - Affine: {nout: classes, init: GlorotUniform, bias: {Constant: 0}, activation: Softmax}\n"
           "cost: CrossEntropyMulti\n"
           "optimizer: {Adam: {learning_rate: 0.005, gradient_clip_norm: 1, schedule: Cosine}}\nbatch_size: ",
           batch_for(check.train_size, check.train_size < 1000 ? 8 : 64),
           "\nepochs: ", epochs_for(1e5, check.train_size, 3, 30),
           "\n# neon predict CHECKPOINT FILE then prints the class of each line of a text, row of a table or file "
           "of a folder.\n"));
  return 0;
}

int run_new_text(const CommandLine& line) {
  const std::string& path = operand_for_new(line, 1);
  check_is_no_folder_of_images(path);
  if (have_classes(path)) return run_new_text_classes(line, path);
  // With one step a sample, each token is one, and the last only a target.
  const NewData data(line, "Text", {entry("path", path), entry("steps", "1")}, {entry("steps", "1")});
  const DataCheck& check = data.check();
  const TextUnit unit = check.vocabulary.unit;
  const std::string units = unit == TextUnit::bpe ? "tokens" : std::string(name_of(unit));
  const int64_t tokens = check.train_size + 1, steps = std::clamp<int64_t>(tokens / 512, 8, 64);
  const int64_t pieces = tokens * 9 / 10 / steps;  // without those for the evaluation
  if (pieces < 2) fail(ErrorKind::data, path, ": a text of ", tokens, " ", units, " is too short; give a longer one");
  const int64_t width = tokens < 100'000 ? 64 : 256;
  print_spec(
      line, text(check.source, ": ", tokens, " ", units, ", ", check.tokens, " different ones"),
      text(data.spec({{"path", in_spec(path), ""},
                      {"steps", std::to_string(steps), "          # " + units + " that the net learns from at a time"},
                      {"validation", "0.1", "    # the last tenth is kept for the evaluation"}}),
           "layers:\n  - LSTM: {output_size: ", width,
           ", init: GlorotUniform}\n"
           "  - Dropout: 0.8         # share of the numbers that stays\n"
           "  - Affine: {nout: classes, init: GlorotUniform, bias: {Constant: 0}, activation: Softmax}\n"
           "cost: CrossEntropyMulti\n",
           unit == TextUnit::character || unit == TextUnit::byte
               ? "metrics: [BitsPerCharacter]    # less is better; text that the net cannot foretell has log2 of the "
                 "letters\n"
               : "metrics: [Perplexity]    # less is better; 1 is perfect\n",
           "optimizer: {Adam: {learning_rate: 0.005, gradient_clip_norm: 1, schedule: OneCycle}}\nbatch_size: ",
           std::clamp<int64_t>(pieces / 16, 1, 32), "\nepochs: ", epochs_for(2e6, tokens, 3, 30),
           "\n# neon sample CHECKPOINT --prompt \"The \" then goes on with a text.\n"));
  return 0;
}

}  // namespace

NEON_VERB(run_new_photos, "new photos", 5, takes_data, "FOLDER",
          "print a spec for photos in FOLDER/train/CLASS and FOLDER/test/CLASS, or in FOLDER/CLASS");
NEON_VERB(run_new_table, "new table", 6, takes_data, "FILE [COLUMN]",
          "print a spec for a table (CSV) whose last column, or COLUMN, is to be predicted");
NEON_VERB(run_new_text, "new text", 7, takes_data, "FILE",
          "print a spec for a text to learn and to go on with; for texts in folders of classes, or in a table, one for "
          "their classes");

}  // namespace neon
