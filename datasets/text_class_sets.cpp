// Reviews of films, and questions about small stories: texts with classes that are distributed as files.
#include <algorithm>
#include <filesystem>
#include <set>

#include "datasets/file.h"
#include "datasets/labelled_texts.h"
#include "datasets/text_file.h"
#include "neon/core/counted.h"
#include "neon/core/message.h"
#include "neon/core/paths.h"
#include "neon/core/random.h"

namespace neon {

namespace {

// The first of some folders below the data folder that `is_it` accepts; "" without one.
std::string folder_of_set(const DataContext& context, std::initializer_list<const char*> names, auto&& is_it) {
  for (const char* name : names) {
    const std::string place = join_path(context.data_folder(), name);
    if (!folder_exists(place) || !is_it(place)) continue;
    context.check_may_read(place, "");
    return place;
  }
  return "";
}

struct ImdbParams : LabelledTextParams {
  std::string fallback;
  static void describe(auto&& p) {
    LabelledTextParams::describe(p);
    p("fallback", &ImdbParams::fallback,
      "A folder or table of texts, as of TextClasses, that stands in where the reviews are missing.");
  }
};

class IMDB : public Parametrized<Dataset, ImdbParams> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    check_params(context);
    std::string path = find(context);
    if (path.empty() && params.fallback.empty())
      fail(ErrorKind::data, "IMDB: ", missing(context), " is not there; to get it: ", command(context));
    if (path.empty()) {
      context.warn_of_stand_in("IMDB", params.fallback);
      path = stand_in(context);
    }
    return read(path, context);
  }

  DataCheck check(const DataContext& context) const override {
    check_params(context);
    const std::string path = find(context);
    if (!path.empty()) return check_of(read(path, context));
    DataCheck out;
    if (!params.fallback.empty()) out = check_of(read(stand_in(context), context));
    out.found = false;
    out.missing = missing(context);
    out.command = command(context);
    return out;
  }

 private:
  void check_params(const DataContext& context) const {
    if (context.rules < kRulesOfDeepTexts || !params.fallback.empty()) return;
    for (const auto& [name, value] : {std::pair{"header", params.header},
                                      {"text", list_text(params.text.columns)},
                                      {"label", params.label},
                                      {"delimiter", params.delimiter},
                                      {"test", params.test}})
      if (value != kAutoColumn)
        fail(ErrorKind::config, name, ": ", value, " is for the texts of fallback, which is not given; leave it out");
  }
  static std::string find(const DataContext& context) {
    return folder_of_set(context, {"aclImdb", "imdb/aclImdb", "imdb"},
                         [](const std::string& place) { return folder_exists(join_path(place, "train/pos")); });
  }
  static std::string missing(const DataContext& context) {
    return join_path(context.data_folder(), "aclImdb/train/pos");
  }
  static std::string command(const DataContext& context) {
    const std::string place = shell_word(context.data_folder());
    return text("mkdir -p ", place,
                " && curl -fL https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz | tar "
                "-xz -C ",
                place);
  }
  std::string stand_in(const DataContext& context) const {
    for (const std::string& place : context.places_of(params.fallback))
      if (folder_exists(place)) return place;
    return find_data_file(params.fallback, context);
  }
  Data read(const std::string& path, const DataContext& context) const {
    LabelledTextParams own = params;
    own.test = test_part(params.test, common);
    return finish(data_of_texts(labelled_texts_at(path, own, context), own, context), context);
  }
};

NEON_REGISTER(Dataset, IMDB, "50,000 reviews of films, good or bad, half of them to test with (Maas et al. 2011).");

struct BabiParams {
  int64_t task = 1, steps = 0;
  std::string subset = "en", path, fallback = "none";
  static void describe(auto&& p) {
    p("task", &BabiParams::task, "Kind of the questions: 1 has one supporting fact, 20 asks for motives.",
      closed(1, 20));
    p("subset", &BabiParams::subset, "Folder of the files, as en or en-10k.");
    p("path", &BabiParams::path,
      "Folder with files as qa1_NAME_train.txt and qa1_NAME_test.txt. Default: babi in the data folder.");
    p("steps", &BabiParams::steps,
      "The most words of a story with its question; the first words of longer ones are left out. 0: those of the "
      "longest.",
      at_least(0), Alias{"time_steps"});
    p("fallback", &BabiParams::fallback,
      "drawn: stories that neon draws, in the form of task 1, stand in where the files are missing.",
      one_of({"none", "drawn"}));
  }
};

// "1 Mary moved to the bathroom." and "3 Where is Mary? \tbathroom\t1"; the number 1 begins a story.
std::vector<LabelledText> questions_in(std::string_view content, const std::string& source) {
  std::vector<LabelledText> out;
  std::string story;
  int64_t line_number = 0;
  while (!content.empty()) {
    const size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::string place = text(source, ":", line_number);
    const size_t space = line.find(' ');
    double number = 0;
    if (space == line.npos || !parse_number(line.substr(0, space), number) || number < 1)
      fail(ErrorKind::data, place, ": expected a number and a sentence, got ", in_quotes(line));
    if (number == 1) story.clear();
    line.remove_prefix(space + 1);
    const size_t tab = line.find('\t');
    if (tab == line.npos) {
      story += with_points_apart(line) + " ";
      continue;
    }
    std::string_view answer = line.substr(tab + 1);
    answer = answer.substr(0, answer.find('\t'));
    if (answer.empty()) fail(ErrorKind::data, place, ": the question has no answer");
    out.push_back({story + with_points_apart(line.substr(0, tab)) + " ", std::string(answer), place});
  }
  if (out.empty()) fail(ErrorKind::data, source, ": has no questions");
  return out;
}

// Stories of task 1: people go to places, and after every two moves one of those who moved is asked for.
std::string drawn_stories(int64_t questions, Stream stream) {
  const std::vector<const char*> people = {"Mary", "John", "Daniel", "Sandra"};
  const std::vector<const char*> places = {"bathroom", "hallway", "kitchen", "garden", "office", "bedroom"};
  std::vector<int64_t> place_of(people.size(), -1);
  std::string out;
  for (int64_t question = 0, line = 1; question < questions; ++question) {
    if (question % 5 == 0) line = 1, place_of.assign(people.size(), -1);
    size_t who = 0;
    for (int move = 0; move < 2; ++move) {
      who = stream.below(uint32_t(people.size()));
      place_of[who] = int64_t(stream.below(uint32_t(places.size())));
      out += text(line++, " ", people[who], " moved to the ", places[size_t(place_of[who])], ".\n");
    }
    do who = stream.below(uint32_t(people.size()));
    while (place_of[who] < 0);
    out += text(line++, " Where is ", people[who], "? \t", places[size_t(place_of[who])], "\t1\n");
  }
  return out;
}

class BABI : public Parametrized<Dataset, BabiParams> {
 public:
  using Parametrized::Parametrized;

  Data load(const DataContext& context) const override {
    const std::string folder = find(context);
    if (folder.empty() && params.fallback == "none")
      fail(ErrorKind::data, "BABI: ", missing(context), " is not there; to get it: ", command(context));
    if (folder.empty()) context.warn("BABI is not here; drawn stories stand in, so results say nothing about BABI");
    return read(folder, context);
  }

  DataCheck check(const DataContext& context) const override {
    const std::string folder = find(context);
    if (!folder.empty()) return check_of(read(folder, context));
    DataCheck out;
    if (params.fallback != "none") out = check_of(read("", context));
    out.found = false;
    out.missing = missing(context);
    out.command = command(context);
    return out;
  }

 private:
  // The file of the task in a folder; "" without one.
  std::string file_in(const std::string& folder, const char* part) const {
    const std::string begin = text("qa", params.task, "_"), end = text("_", part, ".txt");
    std::vector<std::string> found;
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), last; !error && at != last; at.increment(error))
      if (const std::string name = at->path().filename().string(); name.starts_with(begin) && name.ends_with(end))
        found.push_back(at->path().string());
    std::ranges::sort(found);
    return found.empty() ? "" : found.front();
  }

  std::string find(const DataContext& context) const {
    const auto has_task = [&](const std::string& place) { return !file_in(place, "train").empty(); };
    if (!params.path.empty()) {
      for (const std::string& place : context.places_of(params.path))
        if (has_task(place)) return place;
      return "";
    }
    const std::string archive = "tasks_1-20_v1-2/" + params.subset;
    return folder_of_set(
        context, {archive.c_str(), text("babi/", archive).c_str(), text("babi/", params.subset).c_str(), "babi"},
        has_task);
  }

  std::string missing(const DataContext& context) const {
    const std::string folder =
        params.path.empty() ? join_path(context.data_folder(), "tasks_1-20_v1-2/" + params.subset) : params.path;
    return join_path(folder, text("qa", params.task, "_*_train.txt"));
  }

  static std::string command(const DataContext& context) {
    const std::string place = shell_word(context.data_folder());
    return text("mkdir -p ", place,
                " && curl -fL http://www.thespermwhale.com/jaseweston/babi/tasks_1-20_v1-2.tar.gz | ", "tar -xz -C ",
                place);
  }

  std::vector<LabelledText> questions(const std::string& folder, const char* part, const DataContext& context) const {
    if (folder.empty())
      return questions_in(
          drawn_stories(std::string_view(part) == "train" ? 1000 : 200, Stream(context.seed, text("babi/", part))),
          "drawn stories");
    const std::string path = file_in(folder, part);
    if (path.empty())
      fail(ErrorKind::data, folder, ": has no qa", params.task, "_*_", part, ".txt beside the other file of the task");
    context.check_may_read(path, params.path);
    return questions_in(TextFile(path).text(), path);
  }

  Data read(const std::string& folder, const DataContext& context) const {
    LabelledTexts texts;
    texts.source = folder.empty() ? text("drawn stories in place of BABI") : text(folder, ", task ", params.task);
    texts.train = questions(folder, "train", context);
    texts.test = questions(folder, "test", context);
    std::set<std::string> answers;
    for (const LabelledText& one : texts.train) answers.insert(one.label);
    const size_t unknown =
        std::erase_if(texts.test, [&](const LabelledText& one) { return !answers.contains(one.label); });
    if (unknown > 0)
      context.warn(text(texts.source, ": ", counted(int64_t(unknown), "test question"), unknown == 1 ? " has" : " have",
                        " an answer that no training question has; ", unknown == 1 ? "it is" : "they are",
                        " left out"));
    texts.points_apart = texts.keeps_end = true;
    LabelledTextParams words;
    words.steps = cut_stories(texts, context);
    words.vocabulary_size = 0;
    return finish(data_of_texts(std::move(texts), words, context), context);
  }

  // The end, where the question is, stays. Returns the steps.
  int64_t cut_stories(LabelledTexts& texts, const DataContext& context) const {
    int64_t longest = 1, cut = 0;
    for (std::vector<LabelledText>* part : {&texts.train, &texts.test})
      for (LabelledText& one : *part) {
        std::vector<size_t> begins;
        for (size_t i = 0; i < one.text.size(); ++i)
          if (one.text[i] != ' ' && (i == 0 || one.text[i - 1] == ' ')) begins.push_back(i);
        const auto words = int64_t(begins.size());
        longest = std::max(longest, words);
        if (params.steps == 0 || words <= params.steps) continue;
        one.text.erase(0, begins[size_t(words - params.steps)]);
        ++cut;
      }
    if (cut > 0)
      context.warn(
          texts.source + ": " +
          warning_of_cut(cut, int64_t(texts.train.size() + texts.test.size()), "stories", params.steps, "words", true));
    return params.steps > 0 ? params.steps : longest;
  }
};

NEON_REGISTER(
    Dataset, BABI,
    "Small stories and questions about them, whose answer is a word (Weston et al. 2015); a sample is the words "
    "of the story and of the question.");

}  // namespace

}  // namespace neon
