// Byte pair encoding against tests/datasets/golden/bpe.json: GPT-2's own expression, and the plainest program.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "datasets/bpe_files.h"
#include "datasets/bpe_split.h"
#include "datasets/file.h"
#include "datasets/sample_meaning_json.h"
#include "neon/core/random.h"
#include "support.h"

using namespace neon;
using namespace neon_test;
using nlohmann::json;

namespace {

using Texts = std::vector<std::string>;

const json& golden_bpe() {
  static const json out = json::parse(read_file(golden("bpe.json")));
  return out;
}

Texts pieces_of_text(std::string_view text) {
  Texts out;
  BpeSplit split(text);
  for (std::string_view piece; split.next(piece);) out.emplace_back(piece);
  return out;
}

std::string decoded(const Tokenizer& tokenizer, const std::vector<int32_t>& tokens) {
  std::string out;
  int32_t before = -1;
  for (const int32_t token : tokens) out += tokenizer.appended(token, before), before = token;
  return out;
}

std::string drawn_bytes(Stream& stream, int64_t count, uint32_t kinds) {
  std::string out;
  for (int64_t i = 0; i < count; ++i) out += char(stream.below(kinds) * 7 + 97);
  return out;
}

Data loaded(Keys keys, const std::string& path, DataContext context = offline()) {
  keys.push_back({"path", path});
  keys.push_back({"unit", "bpe"});
  keys.push_back({"steps", "4"});
  return make("Text", keys)->load(context);
}

}  // namespace

TEST_CASE("bytes have the letters of GPT-2") {
  const Texts letters = golden_bpe()["letters"];
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, char(byte));
    CHECK(bpe_letters(one) == letters[size_t(byte)]);
    CHECK(bytes_of_letters(letters[size_t(byte)], "") == one);
  }
  // Tokens 0 and 255 of vocab.json: '!', and the soft hyphen; 220 is the space.
  CHECK((bpe_bytes()[0] == "!" && bpe_bytes()[220] == " " && bpe_bytes()[255] == "\xad"));
  CHECK(error_of([] { bytes_of_letters("a b", "a file"); }) == "data: a file: ' ' in 'a b' stands for no byte");
}

TEST_CASE("texts fall into the pieces of GPT-2's expression") {
  for (const json& one : golden_bpe()["splits"]) {
    const std::string text = one[0];
    INFO(one.dump());
    CHECK(pieces_of_text(text) == one[1].get<Texts>());
  }
  CHECK(pieces_of_text("a\xff\xff b\xc3") == Texts{"a", "\xff\xff", " b", "\xc3"});
}

TEST_CASE("vocabularies and tokens of the plainest program") {
  for (const json& one : golden_bpe()["trained"]) {
    const std::string text = one["text"];
    const Vocabulary v = vocabulary_of(TextUnit::bpe, false, text, "a text", {one["size"], one["least"]});
    REQUIRE(v.size() == int64_t(256 + one["tokens"].size()));
    for (size_t i = 0; i < one["tokens"].size(); ++i) CHECK(bpe_letters(v.texts[256 + i]) == one["tokens"][i]);
    for (size_t i = 0; i < v.merges.size(); ++i) {
      const std::pair<std::string, std::string> pair = one["merges"][i];
      CHECK((bpe_letters(v.text_of(v.merges[i].left)) == pair.first &&
             bpe_letters(v.text_of(v.merges[i].right)) == pair.second));
    }
    const Tokenizer tokenizer(v);
    for (const json& encoded : one["encoded"]) {
      const std::string other = encoded[0];
      const std::vector<int32_t> tokens = tokenizer.encode(other, "a text");
      CHECK(tokens == encoded[1].get<std::vector<int32_t>>());
      CHECK(decoded(tokenizer, tokens) == other);
    }
  }
}

TEST_CASE("every string of bytes comes back") {
  Stream stream(3, "bpe");
  const std::string text = drawn_bytes(stream, 5000, 5) + drawn_bytes(stream, 5000, 37);
  const Tokenizer tokenizer(vocabulary_of(TextUnit::bpe, false, text, "a text", {.size = 500}));
  CHECK(tokenizer.vocabulary().size() == 500);
  for (int i = 0; i < 200; ++i) {
    const std::string one = drawn_bytes(stream, int64_t(stream.below(60)), i % 2 ? 5 : 37);
    CHECK(decoded(tokenizer, tokenizer.encode(one, "")) == one);
  }
  const Tokenizer lower(vocabulary_of(TextUnit::bpe, true, "To be, to be", "a text", {.size = 260}));
  CHECK(decoded(lower, lower.encode("TO BE", "")) == "to be");
}

// A program that looked at a piece anew for each merge would take hours.
TEST_CASE("a piece of a million bytes takes no longer than a million bytes in pieces") {
  Stream stream(4, "bpe");
  std::string text;
  for (int i = 0; i < 1'000'000 / kSmaller; ++i) text += "acgt"[stream.below(4)];
  const Tokenizer tokenizer(vocabulary_of(TextUnit::bpe, false, text, "a text", {.size = 600}));
  const std::vector<int32_t> tokens = tokenizer.encode(text, "a text");
  CHECK((tokens.size() < 300'000 / kSmaller && decoded(tokenizer, tokens) == text));
}

TEST_CASE("merges.txt, with vocab.json and without") {
  const TempDir dir;
  const std::string merges = dir.write("merges.txt", "#version: 0.2\nt o\n\xc4\xa0 to\nb e\r\n"),
                    text = dir.write("a.txt", "to be or not to be to be or not to be");
  const Data plain = loaded({{"merges", merges}}, text);
  CHECK((plain.tokens == 260 && plain.vocabulary.texts[256] == "to" && plain.vocabulary.texts[257] == " to" &&
         plain.vocabulary.texts[259] == "<|endoftext|>"));
  // "to", " ", "be", " ", "o": tokens 256, 220, 258, 220, 78.
  CHECK(values(plain.train.inputs.rows(0, 1)) == std::vector<double>{256, 220, 258, 220});
  json numbers = json::object();
  for (int byte = 0; byte < 256; ++byte) numbers[bpe_letters(std::string(1, char(byte)))] = 3 + byte;
  numbers["be"] = 0, numbers["to"] = 1, numbers["\xc4\xa0to"] = 2;
  const std::string vocabulary = dir.write("vocab.json", numbers.dump());
  const Data numbered = loaded({{"merges", merges}, {"vocabulary", vocabulary}}, text);
  CHECK(numbered.tokens == 259);
  CHECK(values(numbered.train.inputs.rows(0, 1)) == std::vector<double>{1, 35, 0, 35});
  CHECK(read_meaning(write_meaning(numbered.meaning(), "")) == numbered.meaning());
  // Files of tokens get their texts by it.
  const std::string tokens = dir.write("a.bin", std::string("\0\1\3\1\2\1", 6));
  Vocabulary of_tokens = plain.vocabulary;
  of_tokens.ends_documents = true;
  CHECK(make("Tokens", {{"path", tokens}, {"merges", merges}})->load(offline()).vocabulary == of_tokens);
  // An evaluation needs none of the files.
  DataContext context = offline();
  context.vocabulary = numbered.vocabulary;
  CHECK(loaded({{"merges", dir / "gone.txt"}}, text, context).vocabulary == numbered.vocabulary);

  const auto refused = [&](const std::string& content, const std::string& other) {
    return error_of([&] { read_bpe(dir.write("bad.txt", content), other); });
  };
  const std::string bad = dir / "bad.txt";
  CHECK(refused("t o\nto be\n", "") == "data: " + bad + ":2: 'be' is neither a byte nor a pair of a line before");
  CHECK(refused("t o e\n", "") == "data: " + bad + ":1: expected two texts with a space between them, got 't o e'");
  CHECK(refused("t o\nt o\n", "") ==
        "data: " + bad + ": pair 1 is of the tokens 83 and 78, of which one cannot be there yet, or occurs twice");
  CHECK(refused("a b\n", vocabulary) == "data: " + bad + ":1: 'ab' has no number");
  CHECK(refused("", dir.write("half.json", "{\"a\": 0, \"b\": 2}")) ==
        "data: " + dir / "half.json" + ": the number of 'b' is '2'; expected each of 0 to 1 once");
  CHECK(refused("", dir.write("few.json", "{\"a\": 0, \"b\": 1}")) == "data: " + bad + ": the byte 0 has no token");
  CHECK(refused("", dir.write("list.json", "[1]")) ==
        "data: " + dir / "list.json" + ": is no JSON object of texts and their numbers");
}

TEST_CASE("the end of a document is one token, and no pair reaches over it") {
  const std::string end(kEndOfText);
  // Without ends, letters and digits are pieces of their own, too.
  const Texts documents = {"abab", "1212", "abc", "12", "ab", "3412", "abab", "1212", "abc", "12"};
  std::string text, without;
  for (const std::string& document : documents) text += document + end, without += document;
  const Vocabulary v = vocabulary_of(TextUnit::bpe, false, text, "a text", {.size = 260}),
                   others = vocabulary_of(TextUnit::bpe, false, without, "a text", {.size = 259});
  CHECK((others.size() == 259 && v.size() == 260 && v.texts[259] == end && v.merges == others.merges));
  CHECK((end_of_text(v) == 259 && end_of_text(others) == -1));
  const Tokenizer tokenizer(v), plain(others);
  std::vector<int32_t> expected;
  for (const std::string& document : documents) {
    const std::vector<int32_t> tokens = plain.encode(document, "");
    expected.insert(expected.end(), tokens.begin(), tokens.end());
    expected.push_back(259);
  }
  CHECK(tokenizer.encode(text, "") == expected);
  CHECK(decoded(tokenizer, expected) == text);
  CHECK(tokenizer.encode(end + end, "") == std::vector<int32_t>{259, 259});
  CHECK(plain.encode(end, "").size() > 1);
  CHECK(tokenizer.encode("<|endoftext", "") == plain.encode("<|endoftext", ""));
}

TEST_CASE("end_of_text ends each file as a document") {
  const TempDir dir;
  const std::string end(kEndOfText), merges = dir.write("merges.txt", "#version: 0.2\nt o\n");
  const auto tokens_of = [&](const Data& data) {
    std::vector<double> out = {data.train.inputs.at(0)};
    for (const double token : values(data.train.targets))
      if (token >= 0) out.push_back(token);
    return out;
  };
  std::filesystem::create_directory(dir / "texts");
  dir.write("texts/a.txt", "to"), dir.write("texts/b.txt", "tot" + end + "\n"), dir.write("texts/c.txt", "o");
  // "!" is token 0, so that a letter's is its byte - 33; a line's end is 198; "to" is 256, the end 257.
  const Data given = loaded({{"merges", merges}, {"end_of_text", "true"}}, dir / "texts");
  CHECK(tokens_of(given) == std::vector<double>{256, 257, 256, 't' - 33, 257, 198, 'o' - 33, 257});
  CHECK((given.vocabulary.ends_documents && read_meaning(write_meaning(given.meaning(), "")) == given.meaning()));
  const Data as_they_are = loaded({{"merges", merges}}, dir / "texts");
  CHECK(tokens_of(as_they_are) == std::vector<double>{256, 198, 256, 't' - 33, 257, 198, 'o' - 33});
  CHECK(as_they_are.vocabulary.ends_documents);
  const Data one = loaded({{"merges", merges}, {"end_of_text", "true"}}, dir / "texts/a.txt"),
             none = loaded({{"merges", merges}}, dir.write("d.txt", "tot"));
  CHECK((tokens_of(one) == std::vector<double>{256, 257} && one.vocabulary.ends_documents));
  CHECK((tokens_of(none) == std::vector<double>{256, 't' - 33} && !none.vocabulary.ends_documents));
  CHECK(error_of([&] {
          make("Text", {{"path", dir / "d.txt"}, {"end_of_text", "true"}})->load(offline());
        }) == "config: end_of_text: true is for unit: bpe, not for unit: characters; leave it out");
}

TEST_CASE("end_of_text is refused where the vocabulary has no such token") {
  const TempDir dir;
  const std::string merges = dir.write("merges.txt", ""), path = dir.write("a.txt", "one two three four");
  json numbers = json::object();
  for (int byte = 0; byte < 256; ++byte) numbers[bpe_letters(std::string(1, char(byte)))] = byte;
  const std::string vocabulary = dir.write("vocab.json", numbers.dump());
  const auto refused = [&](Keys keys, const DataContext& context = offline()) {
    keys.push_back({"end_of_text", "true"});
    return error_of([&] { loaded(keys, path, context); });
  };
  const std::string begin = "config: end_of_text: true puts <|endoftext|> behind each file, but ";
  const Keys of_files = {{"merges", merges}, {"vocabulary", vocabulary}};
  CHECK(refused(of_files) == begin + vocabulary + " has no such token; leave it out");
  CHECK(refused({{"vocabulary_size", "260"}, {"validation", "0.3"}}) ==
        begin + "all of these are in the validation text; leave it out");
  DataContext context = offline();
  context.vocabulary = loaded(of_files, path).vocabulary;
  CHECK(refused({}, context) == begin + "the net was trained without this token; leave it out");
}

TEST_CASE("a validation text begins inside no end of a document") {
  const TempDir dir;
  const std::string end(kEndOfText), path = dir.write("a.txt", "one two" + end + "three" + end + "four five six" + end);
  for (int share = 25; share < 95; ++share) {
    const Data data = loaded({{"vocabulary_size", "258"}, {"validation", text("0.", share)}}, path);
    std::string back;
    int ends = 0;
    for (const Split* split : {&data.train, &data.validation}) {
      const auto add = [&](double token) {
        back += data.vocabulary.text_of(int64_t(token));
        ends += data.vocabulary.text_of(int64_t(token)) == end;
      };
      add(split->inputs.at(0));
      for (const double token : values(split->targets))
        if (token >= 0) add(token);
    }
    INFO(share);
    CHECK((back == read_file(path) && (ends == 3 || !data.vocabulary.ends_documents)));
  }
}

TEST_CASE("byte pairs of a data set") {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "to be or not to be, that is the question\n";
  const std::string path = dir.write("a.txt", text);
  const Data data = loaded({{"vocabulary_size", "280"}, {"validation", "0.1"}}, path);
  CHECK((data.tokens == 280 && data.classes == 280 && data.validation.size() > 0));
  // The parts together are the text.
  const Tokenizer tokenizer(data.vocabulary);
  std::string back;
  for (const Split* split : {&data.train, &data.validation}) {
    back += data.vocabulary.text_of(int64_t(split->inputs.at(0)));
    for (const double token : values(split->targets))
      if (token >= 0) back += data.vocabulary.text_of(int64_t(token));
  }
  CHECK(back == text);
  const auto refused = [&](const Keys& keys) { return error_of([&] { loaded(keys, path); }); };
  CHECK(refused({}) ==
        "config: vocabulary_size: 0 leaves no tokens for pairs; unit: bpe needs more than the 256 bytes, "
        "as 1024, or merges: FILE");
  CHECK(refused({{"vocabulary_size", "300"}, {"vocabulary", "v.json"}}) ==
        "config: vocabulary: v.json numbers the tokens of a merges.txt; give merges, too");
  CHECK(refused({{"vocabulary_size", "300"}, {"merges", "m.txt"}}) ==
        "config: vocabulary_size: 300 changes nothing: the tokens are those of merges; leave it out");
  CHECK(refused({{"min_count", "3"}, {"merges", "m.txt"}}) ==
        "config: min_count: 3 changes nothing: the tokens are those of merges; leave it out");
  CHECK(
      refused({{"vocabulary_size", "300"}, {"validation", "3"}}) ==
      "config: validation: 3 is a number of samples, which are not known before the tokens are; with unit: bpe give a "
      "share below 1");
  CHECK(error_of([&] {
          make("Text", {{"path", path}, {"merges", "m.txt"}})->load(offline());
        }) == "config: merges: m.txt is for unit: bpe, not for unit: characters; leave it out");
  const std::string table = dir.write("t.csv", "\"good, good\",a\n\"bad bad\",b\n");
  const Data rows =
      make("TextClasses", {{"path", table}, {"unit", "bpe"}, {"vocabulary_size", "258"}, {"steps", "9"}, {"test", "0"}})
          ->load(offline());
  // Pairs that occur twice: "ad" and "oo" before "bad"; ids as their bytes.
  CHECK((rows.vocabulary.texts[256] == "ad" && rows.vocabulary.texts[257] == "bad" && rows.vocabulary.size() == 258));
}

TEST_CASE("a stored vocabulary of byte pairs that no text can be encoded with is refused") {
  SampleMeaning meaning;
  meaning.sample = {4};
  meaning.sequence = true;
  meaning.vocabulary = vocabulary_of(TextUnit::bpe, false, "abab", "a text", {.size = 257});
  meaning.tokens = 257;
  const MeaningTexts good = write_meaning(meaning, "");
  CHECK(read_meaning(good) == meaning);
  const auto refused = [&](auto&& change) {
    MeaningTexts bad = good;
    json data = json::parse(bad.data);
    change(data["vocabulary"]);
    bad.data = data.dump();
    return error_of([&] { read_meaning(bad); });
  };
  CHECK(refused([](json& v) { v["merges"] = {1}; }) == "data: neon.data has a pair of one token");
  CHECK(refused([](json& v) { v["merges"] = {256, 1}; }).starts_with("data: neon.data: pair 0 is of the tokens 256"));
  CHECK(refused([](json& v) { v["merges"] = {-1, 900}; }).starts_with("data: neon.data: pair 0 is of the tokens -1"));
  CHECK(refused([](json& v) { v["merges"] = {1, 2}; }) == "data: neon.data: pair 0 makes '\"#', which has no token");
  CHECK(refused([](json& v) { v["texts"][0] = ""; }) == "data: neon.data: token 0 has the text '', which is empty");
  CHECK(refused([](json& v) { v["texts"][1] = v["texts"][0]; }) ==
        "data: neon.data: token 1 has the text '!', as one before it");
  CHECK(refused([](json& v) { v.erase("merges"); }) == "data: neon.data and neon.classes do not describe samples");
}
