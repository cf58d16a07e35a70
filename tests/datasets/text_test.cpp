// Texts as tokens and as pieces of streams, against their definitions.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "datasets/vocabulary.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

std::vector<std::string> units_of(TextUnit unit, std::string_view text) {
  TextUnits units(unit, text, "a text");
  std::vector<std::string> out;
  for (std::string_view one; units.next(one);) out.emplace_back(one);
  return out;
}

using Texts = std::vector<std::string>;

Texts vocabulary(TextUnit unit, std::string_view text, const VocabularyLimits& limits = {}, bool lower_case = false) {
  return vocabulary_of(unit, lower_case, text, "a text", limits).texts;
}

std::string message(const Keys& keys) {
  return error_of([&] { make("Text", keys)->load(offline()); });
}

}  // namespace

TEST_CASE("units of a text") {
  CHECK(units_of(TextUnit::character, "a\xc3\xa4 \n\xe2\x82\xac") == Texts{"a", "\xc3\xa4", " ", "\n", "\xe2\x82\xac"});
  CHECK(units_of(TextUnit::byte, "a\xc3\xa4") == Texts{"a", "\xc3", "\xa4"});
  CHECK(units_of(TextUnit::word, "  so it\tgoes,\r\non\n\n") == Texts{"so", "it", "goes,", "\n", "on", "\n", "\n"});
  for (const TextUnit unit : {TextUnit::character, TextUnit::byte, TextUnit::word}) CHECK(units_of(unit, "").empty());
  CHECK(error_of([] { units_of(TextUnit::character, "ab\xff"); }) ==
        "data: a text: byte 2 (255), in line 1, begins no UTF-8 character; convert the text to UTF-8, or give unit: "
        "bytes");
  CHECK(place_of_no_utf8("a\n\n\xe2\x82") == "byte 3 (226), in line 3,");
  CHECK(place_of_no_utf8("a\n\xe2\x82\xac").empty());
}

TEST_CASE("vocabularies") {
  CHECK(vocabulary(TextUnit::character, "banana\xc3\xa4") == Texts{"a", "b", "n", "\xc3\xa4"});
  CHECK(vocabulary(TextUnit::byte, "banana").empty());
  CHECK(vocabulary_of(TextUnit::byte, false, "banana", "a text", {}).size() == 256);
  // By number, then by their bytes.
  CHECK(vocabulary(TextUnit::word, "b c a c b c d") == Texts{"c", "b", "a", "d"});
  CHECK(vocabulary(TextUnit::word, "B b A a a", {}, true) == Texts{"a", "b"});
  CHECK(vocabulary(TextUnit::word, "b c a c b c d", {.min_count = 2}) == Texts{"<unk>", "c", "b"});
  CHECK(vocabulary(TextUnit::word, "b c a c b c d", {.size = 3}) == Texts{"<unk>", "c", "b"});
  CHECK(vocabulary(TextUnit::word, "b c a c b c d", {.size = 4}) == Texts{"c", "b", "a", "d"});
  // <unk> takes the place of the rarest one, whatever the order.
  CHECK(vocabulary(TextUnit::word, "b c a c b c d", {.size = 4, .unknown = true}) == Texts{"<unk>", "c", "b", "a"});
  CHECK(vocabulary(TextUnit::word, "b c a c b c d", {.unknown = true}) == Texts{"<unk>", "c", "b", "a", "d"});
  CHECK(vocabulary(TextUnit::character, "azzzbba", {.size = 3, .unknown = true}) == Texts{"<unk>", "a", "z"});
  CHECK(vocabulary(TextUnit::character, "azzzbb", {.size = 3, .unknown = true}) == Texts{"<unk>", "b", "z"});
  CHECK(vocabulary(TextUnit::word, "a <unk> a", {.size = 2, .unknown = true}) == Texts{"a", "<unk>"});
  // A text may have the word itself.
  CHECK(vocabulary(TextUnit::word, "a a b <unk>", {.min_count = 2}) == Texts{"a", "<unk>"});
}

TEST_CASE("texts as tokens, and back") {
  const Tokenizer words(Vocabulary{TextUnit::word, true, {"<unk>", "to", "be", "\n"}});
  CHECK(words.encode("To be\nor to", "a text") == std::vector<int32_t>{1, 2, 3, 0, 1});
  std::string back;
  int32_t before = -1;
  for (const int32_t token : {1, 2, 3, 2, 0}) back += words.appended(token, before), before = token;
  CHECK(back == "to be\nbe <unk>");
  const Tokenizer characters(Vocabulary{TextUnit::character, false, {"a", "\xc3\xa4"}});
  CHECK(characters.encode("a\xc3\xa4"
                          "a",
                          "a text") == std::vector<int32_t>{0, 1, 0});
  CHECK(characters.appended(1, 0) == "\xc3\xa4");
  CHECK(error_of([&] { characters.encode("aab", "a text"); }) ==
        "data: a text: 'b', number 3 of its characters, is not in the vocabulary of 2, which has no <unk> for such; "
        "remove it from the text");
  CHECK(Tokenizer(Vocabulary{TextUnit::byte, false, {}}).encode("\xff\x01", "") == std::vector<int32_t>{255, 1});
}

TEST_CASE("a text in pieces: the target of each token is the one after it, and none is lost") {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 47; ++i) text += char('a' + i * i % 7);
  const auto set = make("Text", {{"path", dir.write("a.txt", text)}, {"steps", "5"}, {"validation", "0.25"}});
  const Data data = set->load(offline());
  CHECK(agrees(set->check(offline()), data));
  CHECK((data.sequence && data.streams && data.label_of == LabelOf::step && data.sample == Shape{5}));
  // 12 of the 47 characters are validation text: a quarter, rounded up.
  const auto check_part = [&](const Split& split, const std::string& part) {
    const auto targets = int64_t(part.size()) - 1;
    REQUIRE(split.inputs.shape() == Shape{(targets + 4) / 5, 5});
    REQUIRE(split.targets.shape() == split.inputs.shape());
    const auto token = [&](int64_t i) { return data.vocabulary.texts[size_t(i)]; };
    for (int64_t i = 0; i < split.targets.elements(); ++i) {
      INFO("step " << i);
      if (i >= targets) CHECK((split.inputs.at(i) == 0 && split.targets.at(i) == -1));
      else
        CHECK((token(int64_t(split.inputs.at(i))) == part.substr(size_t(i), 1) &&
               token(int64_t(split.targets.at(i))) == part.substr(size_t(i) + 1, 1)));
    }
  };
  check_part(data.train, text.substr(0, 35));
  check_part(data.validation, text.substr(35));
  CHECK(data.test.size() == 0);
  const auto half = make("Text", {{"path", dir / "a.txt"}, {"steps", "5"}, {"subset_pct", "50"}})->load(offline());
  CHECK((half.train.size() == 5 && half.train.inputs.at(0) == data.train.inputs.at(0)));
}

TEST_CASE("pieces that are drawn are those of the streams") {
  const TempDir dir;
  const Keys keys = {
      {"path", dir.write("a.txt", "to be or not to be, that is the question")}, {"steps", "4"}, {"validation", "0.25"}};
  Keys drawn_keys = keys;
  drawn_keys.push_back({"streams", "false"});
  const auto set = make("Text", drawn_keys);
  const Data streams = make("Text", keys)->load(offline()), drawn = set->load(offline());
  CHECK((streams.streams && !drawn.streams && drawn.label_of == LabelOf::step));
  CHECK(agrees(set->check(offline()), drawn));
  CHECK(values(drawn.train.inputs) == values(streams.train.inputs));
  CHECK(values(drawn.train.targets) == values(streams.train.targets));
  CHECK(values(drawn.validation.inputs) == values(streams.validation.inputs));
}

TEST_CASE("pieces that overlap begin so many tokens apart, and the last holds the last token") {
  const TempDir dir;
  const std::string alphabet = "abcdefghijklmnopqrstuvwxyz";
  for (const int64_t length : {2, 4, 5, 6, 7, 8, 9, 26})
    for (const int64_t stride : {1, 2, 3, 4}) {
      const std::string path = dir.write("a.txt", alphabet.substr(0, size_t(length)));
      const auto set = make("Text", {{"path", path}, {"steps", "4"}, {"streams", "false"}, {"stride", text(stride)}});
      const Data data = set->load(offline());
      INFO(length << " tokens, stride " << stride);
      CHECK(agrees(set->check(offline()), data));
      int64_t piece = 0, seen = 0;  // characters are tokens by their place in the alphabet
      for (; seen < length - 1; ++piece) {
        REQUIRE(piece < data.train.size());
        for (int64_t step = 0; step < 4; ++step) {
          const int64_t token = piece * stride + step;
          const bool there = token < length - 1;
          CHECK(data.train.inputs.at(piece * 4 + step) == (there ? token : 0));
          CHECK(data.train.targets.at(piece * 4 + step) == (there ? token + 1 : -1));
          if (there) seen = std::max(seen, token + 1);
        }
      }
      CHECK(data.train.size() == piece);
    }
}

TEST_CASE("a folder's files follow one another; other texts are evaluated with") {
  const TempDir dir;
  dir.write("book/2.txt", "cab");
  dir.write("book/1/1.txt", "abc");
  dir.write("book/.hidden", "zzz");
  const std::string test = dir.write("test.txt", "abd");
  DataContext context = offline();
  std::vector<std::string> warnings;
  context.warnings = &warnings;
  const Data data = make("Text", {{"path", dir / "book"}, {"test_path", test}, {"steps", "9"}})->load(context);
  CHECK(data.vocabulary.texts == Texts{"<unk>", "\n", "a", "b", "c"});
  CHECK(values(data.train.inputs) == std::vector<double>{2, 3, 4, 1, 4, 2, 0, 0, 0});
  CHECK(values(data.train.targets) == std::vector<double>{3, 4, 1, 4, 2, 3, -1, -1, -1});
  CHECK(values(data.test.targets) == std::vector<double>{3, 0, -1, -1, -1, -1, -1, -1, -1});
  CHECK(warnings ==
        Texts{test +
              ": of the evaluated text's characters, 1 (as 'd') do not occur in the training text; they count as "
              "<unk>"});
}

TEST_CASE("a line's end stands between the files of a text") {
  const TempDir dir;
  dir.write("book/1.txt", "one two");
  dir.write("book/2.txt", "three\n");
  dir.write("book/3.txt", "");
  dir.write("book/4.txt", "four\r\n");
  dir.write("book/5.txt", "one");
  const auto tokens = [&](const char* unit, int rules, Keys more = {}) {
    more.insert(more.end(), {{"path", dir / "book"}, {"unit", unit}, {"steps", "100"}});
    DataContext context = offline();
    context.rules = rules;
    const Data data = make("Text", more)->load(context);
    Texts out = {data.vocabulary.text_of(int64_t(data.train.inputs.at(0)))};
    for (const double token : values(data.train.targets))
      if (token >= 0) out.push_back(data.vocabulary.text_of(int64_t(token)));
    return out;
  };
  CHECK(tokens("words", kDataRules) == Texts{"one", "two", "\n", "three", "\n", "four", "\n", "one"});
  CHECK(tokens("words", 7) == Texts{"one", "twothree", "\n", "four", "\n", "one"});  // of a run that began so
  CHECK(join(tokens("characters", kDataRules), "") == "one two\nthree\nfour\r\none");
  CHECK(join(tokens("bytes", kDataRules), "") == "one twothree\nfour\r\none");
  const Texts documents = tokens("bpe", kDataRules, {{"end_of_text", "true"}, {"vocabulary_size", "260"}});
  CHECK(join(documents, "") ==
        "one two<|endoftext|>three\n<|endoftext|><|endoftext|>four\r\n<|endoftext|>one<|endoftext|>");
}

TEST_CASE("a byte order mark is no part of a text, and UTF-16 is refused, unless bytes are asked for") {
  const TempDir dir;
  const std::string mark = "\xef\xbb\xbf";
  dir.write("book/1.txt", mark + "ab ab ");
  dir.write("book/2.txt", mark + "ab c");
  const Data book = make("Text", {{"path", dir / "book"}})->load(offline());
  CHECK(book.vocabulary.texts == Texts{"\n", " ", "a", "b", "c"});
  CHECK(make("Text", {{"path", dir / "book"}, {"unit", "bytes"}, {"steps", "1"}})->load(offline()).train.size() == 15);
  DataContext former = offline();  // of a run that began with the mark as a character
  former.rules = 6;
  CHECK(make("Text", {{"path", dir / "book"}})->load(former).vocabulary.texts == Texts{" ", "a", "b", "c", mark});
  dir.write("good/good/1.txt", mark + "ab");
  dir.write("good/bad/1.txt", "ab c");
  const Data classes = make("TextClasses", {{"path", dir / "good"}, {"test", "0"}, {"steps", "2"}})->load(offline());
  CHECK(values(classes.train.inputs) == std::vector<double>{1, 2, 1, -1});
  for (const std::string& wide : {std::string("\xff\xfe\x61\x4e\x62\x4e", 6), std::string("a\0b\0 \0a\0", 8)}) {
    const auto path = dir.write("wide.txt", wide), in_folder = dir.write("good/bad/2.txt", wide);
    for (const char* unit : {"words", "characters", "bpe"}) {
      CHECK(message({{"path", path}, {"unit", unit}}) == "data: " + path + ": is UTF-16 text: save it as UTF-8");
      const auto load = [&] { make("TextClasses", {{"path", dir / "good"}, {"unit", unit}})->load(offline()); };
      CHECK(error_of(load) == "data: " + in_folder + ": is UTF-16 text: save it as UTF-8");
    }
    CHECK(make("Text", {{"path", path}, {"unit", "bytes"}})->load(offline()).train.size() == 1);
  }
}

TEST_CASE("texts that cannot be trained with") {
  const TempDir dir;
  const std::string empty = dir.write("empty.txt", ""), one = dir.write("one.txt", "a"),
                    same = dir.write("same.txt", "aaa"), fine = dir.write("fine.txt", "abcab");
  CHECK(message({{"path", empty}}) == "data: " + empty + ": the text is empty");
  CHECK(message({{"path", one}}) == "data: " + one +
                                        ": the training text has 1 token; expected at least 2, of which the second is "
                                        "the target of the first");
  CHECK(message({{"path", same}}) ==
        "data: " + same + ": all characters of the training text are alike; expected at least 2 tokens");
  CHECK(message({{"path", fine}, {"validation", "0.1"}}) ==
        "config: validation: 0.1 leaves fewer than 2 tokens of the 5 in " + fine + " for training or validation");
  CHECK(message({{"path", fine}, {"test_path", fine}, {"validation_path", fine}, {"validation", "0.5"}}) ==
        "config: validation: 0.5 takes the end of the training text, but " + fine +
            " has a validation text of its own; leave it out");
  CHECK(message({{"path", fine}, {"autoencoder", "true"}}) ==
        "config: autoencoder: the samples of " + fine +
            " are tokens, which a net cannot give as numbers; leave it out");
  CHECK(message({{"path", fine}, {"stride", "3"}}) ==
        "config: stride: 3 lets samples overlap, but in streams each goes on where the one before it ends; add "
        "streams: false");
  CHECK(message({{"path", fine}, {"streams", "false"}, {"steps", "2"}, {"stride", "3"}}) ==
        "config: stride: 3 is larger than steps: 2, so that some tokens would be in no sample; give at most 2");
  CHECK(message({{"path", dir / "none.txt"}}).find("no such file") != std::string::npos);
}

TEST_CASE("a text stands in for a set that is missing, and the set's own parts are those of its files") {
  const TempDir dir;
  const std::string text = dir.write("a.txt", "to be or not to be, that is the question");
  DataContext context = offline(dir.path());
  std::vector<std::string> warnings;
  context.warnings = &warnings;
  const auto set = make("Shakespeare", {{"steps", "4"}, {"fallback", text}});
  const Data data = set->load(context);
  CHECK(data.source == text + " in place of Shakespeare");
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0] == "Shakespeare is not here; " + text + " stands in, so results say nothing about Shakespeare");
  // 40 characters, of which 4 are validation text.
  CHECK((data.train.size() == 9 && data.validation.size() == 1));
  const DataCheck check = set->check(context);
  CHECK((!check.found && check.train_size == 9 && check.validation_size == 1));
  CHECK(error_of([&] {
          make("PTB")->load(context);
        }).starts_with("data: PTB: ptb.train.txt is in none of " + dir / "ptb"));
  dir.write("ptb/ptb.train.txt", "a b\nc a\n");
  dir.write("ptb/ptb.valid.txt", "b a\n");
  dir.write("ptb/ptb.test.txt", "c c b\n");
  const Data ptb = make("PTB", {{"steps", "8"}})->load(context);
  CHECK(ptb.vocabulary.texts == Texts{"\n", "a", "b", "c"});
  CHECK(values(ptb.train.targets) == std::vector<double>{2, 0, 3, 1, 0, -1, -1, -1});
  CHECK(values(ptb.validation.targets) == std::vector<double>{1, 0, -1, -1, -1, -1, -1, -1});
  CHECK(values(ptb.test.targets) == std::vector<double>{3, 2, 0, -1, -1, -1, -1, -1});
  std::string letters;  // 220 bytes: the last 5 % begin inside a character
  for (int i = 0; i < 55; ++i) letters += "\xc3\xa9\xc3\xa8";
  dir.write("enwik8/enwik8", letters);
  const Data cut = make("HutterPrize", {{"steps", "6"}, {"unit", "characters"}})->load(context);
  CHECK(values(cut.test.targets) == std::vector<double>{0, 1, 0, 1, 0, -1});
}

TEST_CASE("texts with classes: of folders and tables, padded") {
  const TempDir dir;
  for (const auto& [file, content] : {std::pair{"train/bad/1.txt", "poor poor film"},
                                      {"train/good/1.txt", "Fine"},
                                      {"train/good/2.txt", "a fine film"},
                                      {"train/unsup/1.txt", "who knows"},
                                      {"test/bad/1.txt", "a poor actor in a film"},
                                      {"test/good/1.txt", "fine actor"}})
    dir.write(text("reviews/", file), content);
  DataContext context = offline();
  std::vector<std::string> warnings;
  context.warnings = &warnings;
  const Data data = make("TextClasses", {{"path", dir / "reviews"}, {"steps", "4"}})->load(context);
  CHECK(data.class_names == Texts{"bad", "good"});
  // film, fine and poor twice each, a once.
  CHECK(data.vocabulary.texts == Texts{"<unk>", "film", "fine", "poor", "a"});
  CHECK(values(data.train.inputs) == std::vector<double>{3, 3, 1, -1, 2, -1, -1, -1, 4, 2, 1, -1});
  CHECK(values(data.train.targets) == std::vector<double>{0, 1, 1});
  CHECK(values(data.test.inputs) == std::vector<double>{4, 3, 0, 0, 2, 0, -1, -1});
  CHECK((data.ragged && !data.streams && data.label_of == LabelOf::sample));
  CHECK(warnings == Texts{dir / "reviews" + ": no test text is of class 'unsup', so its 1 training text is left out",
                          dir / "reviews" + ": 1 of 5 texts is longer than 4 words, and its end is left out"});
  const std::string table = dir.write("a.csv", "kind,review\ngood,\"fine, fine\"\nbad,poor\n");
  const Data rows =
      make("TextClasses", {{"path", table}, {"text", "review"}, {"label", "kind"}, {"test", "0"}, {"steps", "3"}})
          ->load(context);
  CHECK(rows.vocabulary.texts == Texts{"<unk>", "fine", "fine,", "poor"});
  CHECK(values(rows.train.inputs) == std::vector<double>{2, 1, -1, 3, -1, -1});
  CHECK(values(rows.train.targets) == std::vector<double>{1, 0});
  const auto refused = [&](const Keys& keys) { return error_of([&] { make("TextClasses", keys)->load(context); }); };
  CHECK(refused({{"path", table}, {"text", "reviews"}, {"label", "kind"}}) ==
        "config: text: 'reviews' is no column of " + table + ", which has kind, review; did you mean review?");
  CHECK(refused({{"path", table}, {"text", "2"}}) ==
        "config: text: '2' is no column of " + table + ", which has 2 columns without names, 0 to 1");
  const std::string odd = dir.write("b.csv", "fine,good\n,bad\n");
  CHECK(refused({{"path", odd}, {"test", "0"}}) == "data: " + odd + ":2:1: the text is empty");
}

TEST_CASE("the columns of a table of texts are found by their names, and nothing is guessed") {
  const TempDir dir;
  const auto read = [&](const std::string& content) {
    return make("TextClasses", {{"path", dir.write("t.csv", content)}, {"test", "0"}, {"steps", "2"}})->load(offline());
  };
  const std::string rows = "fine,pos\npoor,neg\ngood,pos\nbad,neg\n";
  for (const std::string& content :
       {rows, "text,label\n" + rows, std::string("label,text\npos,fine\nneg,poor\npos,good\nneg,bad\n"),
        std::string("id,text,label\n1,fine,pos\n2,poor,neg\n3,good,pos\n4,bad,neg\n"),
        std::string("sort,text\npos,fine\nneg,poor\npos,good\nneg,bad\n")}) {
    INFO(content);
    const Data data = read(content);
    CHECK(data.class_names == Texts{"neg", "pos"});
    CHECK(values(data.train.targets) == std::vector<double>{1, 0, 1, 0});
    CHECK(data.vocabulary.texts == Texts{"<unk>", "bad", "fine", "good", "poor"});
  }
  const auto refused = [&](const std::string& content) { return error_of([&] { read(content); }); };
  CHECK_THAT(refused("film,sort\n" + rows),
             Catch::Contains("t.csv:1:1: this line may name the columns or be a sample") &&
                 Catch::Contains("header: true or header: false"));
  CHECK_THAT(refused("sort,film\npos,fine\nneg,poor\npos,good\n"), Catch::Contains("each text has a class of its own"));
  CHECK_THAT(refused("id,text,sort\n1,fine,pos\n"),
             Catch::Contains("label: name its column of ") && Catch::Contains("which has id, text, sort"));
}

TEST_CASE("symbols to copy and curves to go on with") {
  const Data copies =
      make("CopyTask", {{"length", "3"}, {"symbols", "4"}, {"ntrain", "50"}, {"reverse", "true"}})->load(offline());
  REQUIRE(copies.train.inputs.shape() == Shape{50, 7});
  bool shorter = false;
  for (int64_t i = 0; i < 50; ++i) {
    std::vector<double> symbols;
    int64_t t = 0;
    const auto input = [&](int64_t at) { return copies.train.inputs.at(i * 7 + at); };
    const auto target = [&](int64_t at) { return copies.train.targets.at(i * 7 + at); };
    for (; input(t) < 4; ++t) {
      symbols.push_back(input(t));
      CHECK(target(t) == -1);
    }
    CHECK((input(t) == 4 && target(t) == -1));
    shorter = shorter || t < 3;
    for (size_t k = 0; k < symbols.size(); ++k)
      CHECK((input(++t) == 5 && target(t) == symbols[symbols.size() - 1 - k]));
    for (++t; t < 7; ++t) CHECK((input(t) == -1 && target(t) == -1));
  }
  CHECK(shorter);
  const Data curve =
      make("Lissajous", {{"steps", "5"}, {"points", "8"}, {"ntrain", "4"}, {"ntest", "1"}})->load(offline());
  for (int64_t point = 0; point < 20; ++point) {
    CHECK(curve.train.inputs.at(2 * point) == Approx(std::sin(2 * M_PI * double(point) / 8)).margin(1e-6));
    CHECK(curve.train.targets.at(2 * point + 1) ==
          Approx(std::sin(2 * M_PI * double(point + 1) / 6 + M_PI / 4)).margin(1e-6));
  }
  CHECK(curve.test.inputs.at(0) == curve.train.targets.at(38));
}

TEST_CASE("symbols to give back several times") {
  const Data data =
      make("RepeatCopyTask", {{"length", "3"}, {"repeats", "2"}, {"symbols", "4"}, {"ntrain", "60"}})->load(offline());
  const int64_t steps = 3 + 1 + 3 * 2 + 1;
  REQUIRE(data.train.inputs.shape() == Shape{60, steps});
  CHECK((data.tokens == 7 && data.classes == 5));
  std::set<std::pair<size_t, int>> drawn;
  for (int64_t i = 0; i < 60; ++i) {
    const auto input = [&](int64_t t) { return int(data.train.inputs.at(i * steps + t)); };
    const auto target = [&](int64_t t) { return int(data.train.targets.at(i * steps + t)); };
    std::vector<int> wanted;
    int64_t t = 0;
    for (; input(t) < 4; ++t) wanted.push_back(input(t));
    const int copies = input(t) - 3;
    REQUIRE((copies == 1 || copies == 2));
    drawn.insert({wanted.size(), copies});
    if (copies == 2) wanted.insert(wanted.end(), wanted.begin(), wanted.begin() + t);
    wanted.push_back(4);
    for (int64_t k = 0; k <= t; ++k) CHECK(target(k) == -1);
    for (const int symbol : wanted) CHECK((input(++t) == 6 && target(t) == symbol));
    for (++t; t < steps; ++t) CHECK((input(t) == -1 && target(t) == -1));
  }
  CHECK(drawn.size() == 6);
}
