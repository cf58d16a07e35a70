#include "neon/train/rank_agreement.h"

#include <algorithm>
#include <charconv>

#include "neon/core/version.h"
#include "neon/train/checkpoint_verify.h"
#include "neon/train/fingerprint.h"
#include "neon/train/run_folder.h"
#include "neon/train/shared_rows.h"

namespace neon {

namespace {

// The lines of a text; it has none behind its last line end.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// Texts of all ranks are a line, or several. The message has the first line that differs.
void check_alike(Ranks& ranks, const std::string& what, const std::string& own) {
  const std::vector<std::string> all = ranks.gather_texts(own);
  for (size_t k = 1; k < all.size(); ++k) {
    if (all[k] == all[0]) continue;
    const std::vector<std::string> first = lines_of(all[0]), other = lines_of(all[k]);
    const auto place = size_t(std::ranges::mismatch(first, other).in1 - first.begin());
    const auto line = [&](const std::vector<std::string>& of) {
      return place < of.size() ? of[place] : "nothing more";
    };
    fail(ErrorKind::config, "the ranks of a run must have the same ", what, ", but rank ", k, " of ", all.size(),
         " has ", line(other), ", and rank 0 has ", line(first),
         "; start all of them with the same program, spec, options and data");
  }
}

// A line for each value, as "layers[3].rate: 0.5".
void add_lines(const Setting& of, std::string& to) {
  for (const Setting& item : of.items) add_lines(item, to);
  for (const Setting::Entry& entry : of.entries) add_lines(entry.value, to);
  if (of.items.empty() && of.entries.empty()) to += text(of.path, ": ", of.to_string(), "\n");
}

std::string lines_of(Setting settings) {
  settings.set_paths("");
  std::string out;
  add_lines(settings, out);
  return out;
}

// The spec and the options, without names of files, which may be of one rank or its host alone; but whether the ranks
// save, and where they take weights from files, as all do that together.
std::string work_of_run(const RunSetup& setup) {
  RunOptions options = setup.options;
  const char* const saves = options.save_path.empty() ? "nowhere" : saves_in_run_folder(options) ? "folder" : "file";
  const bool takes = !options.model_file.empty();
  for (std::string* const own : {&options.data_dir, &options.save_path, &options.model_file, &options.output_file,
                                 &options.log_file, &options.run_folder, &options.spec_dir, &options.run_dir})
    own->clear();
  options.backend = setup.gpu ? "gpu" : "cpu";
  options.progress_bar = true;
  options.device_id = 0;
  options.history = 1;
  return text(lines_of(setup.experiment.resolved(options)), lines_of(write_params(options)), "save_path: ", saves,
              "\nmodel_file: ", takes ? "a file" : "none", "\n");
}

// A sample that was left out, as "INDEX LENGTH TROUBLE".
std::string text_of(const LeftOut& left_out) {
  std::string out;
  for (const auto& [index, trouble] : left_out.all()) out += text(index, " ", trouble.size(), " ", trouble);
  return out;
}

void add_from(const std::string& given, LeftOut& left_out) {
  const char* at = given.data();
  const char* const end = at + given.size();
  while (at < end) {
    int64_t index = 0, length = 0;
    at = std::from_chars(at, end, index).ptr + 1;
    at = std::from_chars(at, end, length).ptr + 1;
    left_out.add(index, std::string(at, size_t(length)));
    at += length;
  }
}

}  // namespace

void check_ranks(const RunSetup& setup, const Position& position) {
  Ranks& ranks = *setup.ranks;
  check_alike(ranks, "version of neon", std::string(version()));
  check_alike(ranks, "spec and options", work_of_run(setup));
  check_alike(
      ranks, "place to begin at",
      text("step ", position.step, " of a run with seed ", position.seed, " and batches of ", setup.step.batch));
  check_alike(ranks, "data", position.data.empty() ? fingerprint(setup.data) : position.data);
  ranks.set_started();
}

void check_taken(const RunSetup& setup, const Variables& variables) {
  std::string own;
  for (const auto& [name, tensor] : variables.all())
    if (is_whole(name, setup) && !name.starts_with(kLearned))
      own += text(name, " ", tensor.dtype(), tensor.shape(), " ", checksum(tensor.data(), tensor.bytes()), "\n");
  check_alike(*setup.ranks, "weights to begin with", own);
}

void share_left_out(Ranks& ranks, const Split& split) {
  LeftOut* const left_out = split.reader ? split.reader->left_out() : nullptr;
  if (!left_out) return;
  for (const std::string& of_rank : ranks.gather_texts(text_of(*left_out))) add_from(of_rank, *left_out);
}

std::string first_of_ranks(Ranks& ranks, const Nonfinite& own) {
  constexpr double kNowhere = 1e18;
  const double place = own.text.empty() ? kNowhere : double(own.place);
  const std::vector<double> places = ranks.gather({&place, 1});
  const std::vector<std::string> texts = ranks.gather_texts(own.text), names = ranks.gather_texts(ranks.name());
  const auto first = size_t(std::ranges::min_element(places) - places.begin());
  const bool all = std::ranges::count(texts, texts[first]) == std::ptrdiff_t(texts.size());
  return all ? texts[first] : text("on ", names[first], ", ", texts[first]);
}

std::string first_text(Ranks& ranks, const std::string& own) {
  for (const std::string& text : ranks.gather_texts(own))
    if (!text.empty()) return text;
  return "";
}

}  // namespace neon
