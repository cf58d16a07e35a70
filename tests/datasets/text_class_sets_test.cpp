// Reviews of films, and questions about stories, in the forms of their files.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

using Texts = std::vector<std::string>;

// The words of a sample, without its padding.
Texts words_in(const Data& data, const Split& split, int64_t sample) {
  Texts out;
  for (int64_t t = 0; t < data.sample[0]; ++t) {
    const auto token = int64_t(split.inputs.at(sample * data.sample[0] + t));
    if (token >= 0) out.push_back(data.vocabulary.text_of(token));
  }
  return out;
}

std::string answer(const Data& data, const Split& split, int64_t sample) {
  return data.class_names[size_t(split.targets.at(sample))];
}

const char* const kStory =
    "1 Mary moved to the bathroom.\n2 John went to the hallway.\n3 Where is Mary? \tbathroom\t1\n"
    "4 Mary went out.\r\n5 Where is John? \thallway\t2\n1 It rains.\n2 What is it? \train,water\t1\n";

}  // namespace

TEST_CASE("reviews of films are a folder of texts") {
  const TempDir dir;
  for (const auto& [file, content] : {std::pair{"train/pos/0_9.txt", "Fine film"},
                                      {"train/neg/0_1.txt", "poor film"},
                                      {"train/unsup/0_0.txt", "unknown"},
                                      {"test/pos/0_8.txt", "fine"},
                                      {"test/neg/0_2.txt", "poor"}})
    dir.write(text("imdb/aclImdb/", file), content);
  const auto set = make("IMDB", {{"steps", "4"}});
  const Data data = set->load(offline(dir.path()));
  CHECK(agrees(set->check(offline(dir.path())), data));
  CHECK((data.class_names == Texts{"neg", "pos"} && data.train.size() == 2 && data.test.size() == 2));
  CHECK(words_in(data, data.train, 1) == Texts{"fine", "film"});

  const std::string missing = error_of([&] { set->load(offline()); });
  CHECK(missing.starts_with("data: IMDB: /nonexistent/aclImdb/train/pos is not there; to get it: mkdir -p "));
  DataContext context = offline();
  std::vector<std::string> warnings;
  context.warnings = &warnings;
  const auto stood_in = make("IMDB", {{"fallback", dir / "imdb/aclImdb"}, {"steps", "4"}});
  CHECK(stood_in->load(context).train.size() == 2);
  CHECK((!warnings.empty() && warnings[0].find("stands in, so results say nothing about IMDB") != std::string::npos));
  CHECK((!stood_in->check(context).found && stood_in->check(context).train_size == 2));
}

TEST_CASE("folders of texts say their part in one word of their names") {
  const TempDir dir;
  for (const char* file : {"training_set/x/1.txt", "training_set/y/1.txt", "test_set/x/1.txt", "test_set/y/1.txt"})
    dir.write(file, "one two");
  std::vector<std::string> warnings;
  DataContext context = offline();
  context.warnings = &warnings;
  const Data data = make("TextClasses", {{"path", dir.path()}, {"steps", "4"}})->load(context);
  CHECK((data.class_names == Texts{"x", "y"} && data.train.size() == 2 && data.test.size() == 2));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::EndsWith("'test_set' is read as test, 'training_set' as training"));
}

TEST_CASE("a folder of texts may have some to validate with, and a warning names what lies beside its parts") {
  const TempDir dir;
  for (const auto& [file, content] : {std::pair{"a/Train/x/1.txt", "one"},
                                      {"a/Train/y/1.txt", "two"},
                                      {"a/val/x/1.txt", "three one"},
                                      {"a/test/y/1.txt", "two"},
                                      {"a/test/x/1.txt", "one"},
                                      {"a/notes/1.txt", "none"},
                                      {"b/train/x/1.txt", "one"},
                                      {"b/train/y/1.txt", "two"},
                                      {"b/valid/x/1.txt", "one"},
                                      {"b/valid/y/1.txt", "two"}})
    dir.write(file, content);
  std::vector<std::string> warnings;
  DataContext context = offline();
  context.warnings = &warnings;
  const auto set = make("TextClasses", {{"path", dir / "a"}, {"steps", "4"}});
  const Data data = set->load(context);
  CHECK(agrees(set->check(offline()), data));
  CHECK((data.train.size() == 2 && data.validation.size() == 1 && data.test.size() == 2));
  CHECK(answer(data, data.validation, 0) == "x");
  CHECK(warnings ==
        Texts{dir / "a" + ": has texts to train with in a folder of their own; left out beside it: 'notes'"});
  // Texts to validate with are what there is to test with, as images are.
  const Data other = make("TextClasses", {{"path", dir / "b"}, {"steps", "4"}})->load(offline());
  CHECK((other.train.size() == 2 && other.validation.size() == 0 && other.test.size() == 2));
}

TEST_CASE("texts lie in the folder of a class or deeper, and hidden ones are left out") {
  const TempDir dir;
  for (const auto& [file, content] : {std::pair{"a/train/x/1.txt", "one"},
                                      {"a/train/x/more/and/2.txt", "two"},
                                      {"a/train/x/more/.3.txt", "three"},
                                      {"a/train/y/.git/4.txt", "four"},
                                      {"a/train/y/b/5.txt", "five"},
                                      {"a/train/y/9.txt", "nine"},
                                      {"a/test/x/8.txt", "eight"},
                                      {"a/test/x/deep/6.txt", "six"},
                                      {"a/test/y/7.txt", "seven"}})
    dir.write(file, content);
  std::filesystem::create_directory_symlink(dir / "a/train/x/more", dir / "a/train/y/linked");
  const auto set = make("TextClasses", {{"path", dir / "a"}, {"steps", "4"}});
  const Data data = set->load(offline());
  CHECK(agrees(set->check(offline()), data));
  Texts found;
  for (int64_t i = 0; i < data.train.size(); ++i)
    found.push_back(answer(data, data.train, i) + " " + words_in(data, data.train, i)[0]);
  CHECK(found == Texts{"x one", "x two", "y nine", "y five", "y two"});
  CHECK(data.test.size() == 3);
  DataContext former = offline();
  former.rules = kRulesOfDeepTexts - 1;
  const Data before = make("TextClasses", {{"path", dir / "a"}, {"steps", "4"}})->load(former);
  CHECK((before.train.size() == 2 && before.test.size() == 2));

  std::filesystem::create_directory_symlink(dir / "a", dir / "a/train/y/up");
  CHECK(error_of([&] { set->load(offline()); }).ends_with("folders deep; does a link lead back up?"));
}

TEST_CASE("hidden folders of a text count by former rules alone, and folders behind links by those of today") {
  const TempDir dir;
  dir.write("book/1.txt", "abc");
  dir.write("book/.hidden/2.txt", "d");
  dir.write("other/3.txt", "e");
  std::filesystem::create_directory_symlink(dir / "other", dir / "book/linked");
  const auto set = make("Text", {{"path", dir / "book"}, {"steps", "9"}});
  CHECK(set->load(offline()).vocabulary.texts == Texts{"\n", "a", "b", "c", "e"});
  DataContext former = offline();
  former.rules = kRulesOfDeepTexts - 1;
  const Data before = set->load(former);
  CHECK(before.vocabulary.texts == Texts{"\n", "a", "b", "c", "d"});
  CHECK(agrees(set->check(former), before));
}

TEST_CASE("parameters of a table are refused for a folder of texts, and other texts to test with beside its own") {
  const TempDir dir;
  for (const char* part : {"a/train", "a/test", "b", "c"})
    for (const char* label : {"x", "y"}) dir.write(text(part, "/", label, "/1.txt"), text("text ", label));
  const auto refusal = [&](Keys keys, const char* name = "TextClasses") {
    return error_of([&] { make(name, keys)->load(offline()); });
  };
  for (const char* key : {"header", "text", "label"})
    CHECK(refusal({{"path", dir / "b"}, {key, "true"}}).find("is for a table, and ") != std::string::npos);
  for (const std::string& test : {std::string("0.5"), dir / "b"})
    CHECK(refusal({{"path", dir / "a"}, {"test", test}}) ==
          text("config: test: ", test, ": ", dir / "a",
               " has texts to test with in a folder of their own; leave test out, or move that folder elsewhere"));
  CHECK(refusal({{"label", "1"}}, "IMDB") ==
        "config: label: 1 is for the texts of fallback, which is not given; leave it out");
  // Runs from before had such parameters, which had no effect.
  DataContext former = offline();
  former.rules = kRulesOfDeepTexts - 1;
  const Data before = make("TextClasses", {{"path", dir / "a"}, {"test", "0.5"}, {"label", "1"}})->load(former);
  CHECK((before.train.size() == 2 && before.test.size() == 2));
  CHECK(error_of([&] { make("IMDB", {{"label", "1"}})->load(former); }).starts_with("data: IMDB: "));
  // A folder without such texts takes those of another one.
  const auto set = make("TextClasses", {{"path", dir / "b"}, {"test", dir / "c"}});
  const Data data = set->load(offline());
  CHECK(agrees(set->check(offline()), data));
  CHECK((data.train.size() == 2 && data.test.size() == 2));
}

TEST_CASE("a warning names classes of texts that mark a missing value, and columns of one name are refused") {
  const TempDir dir;
  std::vector<std::string> warnings;
  DataContext context = offline();
  context.warnings = &warnings;
  const auto load = [&](const std::string& content) {
    return make("TextClasses", {{"path", dir.write("a.csv", content)}, {"test", "0"}})->load(context);
  };
  load("text,label\none,a\ntwo,b\nthree,nan\nfour,NA\nfive,a\n");
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0],
             Catch::Contains("a.csv:4:1: the class is 'nan', a mark of missing values in tables; 2 rows of"));
  CHECK_THAT(error_of([&] { load("text,label,label\none,a,c\ntwo,b,c\n"); }),
             Catch::EndsWith("a.csv: two columns are named 'label'; rename one of them"));
}

TEST_CASE("limits of a vocabulary whose tokens are known beforehand are refused") {
  const TempDir dir;
  const std::string path = dir.write("t.txt", "some text to read");
  const auto refusal = [&](Keys more) {
    Keys keys = {{"path", path}, {"unit", "bytes"}, {"steps", "4"}};
    for (const auto& [key, value] : more) keys.emplace_back(key, value);
    return error_of([&] { make("Text", keys)->load(offline()); });
  };
  const std::string why = " changes nothing: unit: bytes has all 256 bytes as tokens; leave it out";
  CHECK(refusal({}) == "no error");
  CHECK(refusal({{"vocabulary_size", "20"}}) == "config: vocabulary_size: 20" + why);
  CHECK(refusal({{"min_count", "2"}}) == "config: min_count: 2" + why);
}

TEST_CASE("stories and their questions") {
  const TempDir dir;
  dir.write("tasks_1-20_v1-2/en/qa1_single_train.txt", kStory);
  dir.write("tasks_1-20_v1-2/en/qa1_single_test.txt", std::string(kStory) + "3 Who? \tnobody\t1\n");
  dir.write("tasks_1-20_v1-2/en/qa10_other_train.txt", "");
  DataContext context = offline(dir.path());
  std::vector<std::string> warnings;
  context.warnings = &warnings;
  const auto set = make("BABI");
  const Data data = set->load(context);
  CHECK(agrees(set->check(context), data));
  CHECK((data.ragged && data.label_of == LabelOf::sample && data.sample == Shape{20}));
  CHECK(data.class_names == Texts{"bathroom", "hallway", "rain,water"});
  CHECK(words_in(data, data.train, 0) == Texts{"mary", "moved", "to", "the", "bathroom", ".", "john", "went", "to",
                                               "the", "hallway", ".", "where", "is", "mary", "?"});
  CHECK(words_in(data, data.train, 2) == Texts{"it", "rains", ".", "what", "is", "it", "?"});
  CHECK((answer(data, data.train, 0) == "bathroom" && answer(data, data.train, 1) == "hallway"));
  CHECK((data.test.size() == 3 && !warnings.empty() &&
         warnings[0].ends_with("1 test question has an answer that no training question has; it is left out")));
  // The question stays where a story is cut; the shortest has 7 words.
  warnings.clear();
  const Data cut = make("BABI", {{"steps", "6"}})->load(context);
  CHECK((!warnings.empty() &&
         warnings.back().ends_with("6 of 6 stories are longer than 6 words, and their beginnings are left out")));
  CHECK(words_in(cut, cut.train, 0) == Texts{"hallway", ".", "where", "is", "mary", "?"});
  CHECK(words_in(cut, cut.train, 2) == Texts{"rains", ".", "what", "is", "it", "?"});
}

TEST_CASE("questions that cannot be read") {
  const TempDir dir;
  const auto refused = [&](const std::string& content) {
    dir.write("own/qa3_x_train.txt", content);
    return error_of([&] { make("BABI", {{"task", "3"}, {"path", dir / "own"}})->load(offline()); });
  };
  const std::string file = dir / "own/qa3_x_train.txt";
  CHECK(refused("Mary moved.\n") == "data: " + file + ":1: expected a number and a sentence, got 'Mary moved.'");
  CHECK(refused("1 Mary moved.\n2 Where? \t\t1\n") == "data: " + file + ":2: the question has no answer");
  CHECK(refused("1 Mary moved.\n") == "data: " + file + ": has no questions");
  CHECK(refused(kStory) == "data: " + dir / "own" + ": has no qa3_*_test.txt beside the other file of the task");
  CHECK(error_of([&] {
          make("BABI", {{"task", "4"}, {"path", dir / "own"}})->load(offline());
        }).starts_with("data: BABI: " + dir / "own" + "/qa4_*_train.txt is not there; to get it: "));
}

TEST_CASE("drawn stories stand in, and their answers are true") {
  DataContext context = offline();
  std::vector<std::string> warnings;
  context.warnings = &warnings;
  const auto set = make("BABI", {{"fallback", "drawn"}});
  const Data data = set->load(context);
  CHECK((data.train.size() == 1000 && data.test.size() == 200 && data.classes == 6 && !set->check(context).found));
  CHECK(warnings[0] == "BABI is not here; drawn stories stand in, so results say nothing about BABI");
  for (int64_t i = 0; i < 1000; ++i) {
    const Texts words = words_in(data, data.train, i);  // "mary moved to the kitchen . ... where is mary ?"
    std::map<std::string, std::string> place_of;
    for (size_t k = 0; k + 4 < words.size(); k += 6) place_of[words[k]] = words[k + 4];
    REQUIRE(place_of.at(words[words.size() - 2]) == answer(data, data.train, i));
  }
}

TEST_CASE("texts of several columns are one sample, with a line's end between them") {
  const TempDir dir;
  const std::string rows =
      "a man sleeps,a man rests,yes\na man sleeps,\"a man\nruns \",no\na dog,a man rests,no\na dog,a dog,yes\n";
  const auto read = [&](const std::string& content, Keys keys) {
    keys.insert(keys.end(), {{"path", dir.write("pairs.csv", content)}, {"test", "0"}});
    return make("TextClasses", keys)->load(offline());
  };
  const Data data = read("premise,hypothesis,label\n" + rows, {{"text", "[premise, hypothesis]"}, {"steps", "7"}});
  // By count, and by the alphabet: a 8, man 5, a line's end 4, dog 3, rests and sleeps 2, runs 1.
  CHECK(data.vocabulary.texts == Texts{"<unk>", "a", "man", "\n", "dog", "rests", "sleeps", "runs"});
  CHECK(values(data.train.inputs) == std::vector<double>{1, 2, 6, 3, 1, 2, 5,  1, 2, 6, 3, 1, 2,  7,  //
                                                         1, 4, 3, 1, 2, 5, -1, 1, 4, 3, 1, 4, -1, -1});
  CHECK(values(data.train.targets) == std::vector<double>{1, 0, 0, 1});
  // The longest text loses its end, of two that are as long the last one.
  const Data cut = read("premise,hypothesis,label\n" + rows, {{"text", "[premise, hypothesis]"}, {"steps", "5"}});
  CHECK(values(cut.train.inputs) == std::vector<double>{1, 2, 3, 1, 2, 1, 2, 3, 1, 2, 1, 4, 3, 1, 2, 1, 4, 3, 1, 4});
  // The class is the third column beside two by index.
  const Data bare = read(rows, {{"text", "[1, 0]"}, {"steps", "7"}});
  CHECK(values(bare.train.inputs.rows(2, 1)) == std::vector<double>{1, 2, 5, 3, 1, 4, -1});
  const auto refused = [&](const std::string& content, const Keys& keys) {
    return error_of([&] { read(content, keys); });
  };
  const std::string table = dir / "pairs.csv";
  CHECK(refused(rows, {{"text", "[0, 0]"}}) == "config: text: column '0' is named twice");
  CHECK(refused(rows, {{"text", "[0, 1]"}, {"steps", "2"}}) ==
        "config: steps: 2 are too few for 2 texts with a line's end between them; expected at least 3");
  CHECK(refused("a,b,c,d\n1,2,3,4\n", {{"text", "[a, b]"}}) ==
        "config: label: name its column of " + table + ", which has a, b, c, d");
  for (const auto& [key, value] : {std::pair{"vocabulary_size", "2"}, {"min_count", "5"}})
    CHECK(refused(rows, {{"text", "[0, 1]"}, {key, value}}).find("no token for the line's end between two texts") !=
          std::string::npos);
  CHECK(refused("a,b,c\nx, ,y\n", {{"text", "[a, b]"}}) ==
        "data: " + table + ":2:4: the text of column 'b' is missing");
}
