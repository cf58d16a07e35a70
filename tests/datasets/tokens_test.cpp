// Files of tokens: their forms, their parts, and pieces that are read while a run goes on.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "datasets/token_files.h"
#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

using Numbers = std::vector<int64_t>;

template <typename T>
std::string bytes_of(const Numbers& numbers, bool swapped = false) {
  std::string out;
  for (const int64_t number : numbers) {
    const T one = T(number);
    std::string bytes(sizeof one, '\0');
    std::memcpy(bytes.data(), &one, sizeof one);
    out += swapped ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
  }
  return out;
}

// As numpy.save writes it.
std::string npy(const std::string& descr, const std::string& shape, const std::string& content) {
  std::string head = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  head += std::string(117 - head.size(), ' ') + "\n";
  return std::string("\x93NUMPY\1\0", 8) + char(head.size()) + '\0' + head + content;
}

std::string with_header(int32_t magic, int32_t version, const std::string& content, int item) {
  Numbers head(256, 0);
  head[0] = magic, head[1] = version, head[2] = int64_t(content.size()) / item;
  return bytes_of<int32_t>(head) + content;
}

Numbers drawn(int64_t count) {
  Numbers out;
  for (int64_t i = 0; i < count; ++i) out.push_back((i * i * 31 + i / 3) % 50);
  return out;
}

std::vector<double> doubles(const Numbers& numbers, size_t first, size_t count) {
  return {numbers.begin() + long(first), numbers.begin() + long(first + count)};
}

std::string refusal(const Keys& keys) {
  return error_of([&] { make("Tokens", keys)->load(offline()); });
}

DataContext without_room() {
  DataContext out = offline();
  out.room = [] { return 1.0; };
  return out;
}

// The rows of a reader as arrays.
Split held(const RowReader& rows, int64_t steps) {
  Split out;
  out.inputs = Tensor(DType::i32, {rows.size(), steps});
  out.targets = Tensor(DType::i32, {rows.size(), steps});
  ReadScratch scratch;
  for (int64_t i = 0; i < rows.size(); ++i)
    rows.read_row(i, std::as_writable_bytes(out.inputs.as<int32_t>().subspan(size_t(i * steps), size_t(steps))),
                  std::as_writable_bytes(out.targets.as<int32_t>().subspan(size_t(i * steps), size_t(steps))), scratch);
  return out;
}

}  // namespace

TEST_CASE("tokens of all forms of files are the same") {
  const TempDir dir;
  const Numbers tokens = drawn(1000);
  const std::string words = bytes_of<uint16_t>(tokens), longs = bytes_of<uint32_t>(tokens);
  struct Form {
    std::string name, content, type, says;
  };
  for (const Form& form :
       {Form{"a.bin", words, "auto", "uint16"},
        {"b.bin", words, "uint16", "uint16"},
        {"c.bin", longs, "uint32", "uint32"},
        {"d.bin", with_header(20240520, 1, words, 2), "auto", "uint16, behind a header of 1024 bytes"},
        {"e.bin", with_header(20240801, 7, longs, 4), "auto", "uint32, behind a header of 1024 bytes"},
        {"f.npy", npy("<u2", "(1000,)", words), "auto", "uint16"},
        {"g.npy", npy(">u4", "(1000,)", bytes_of<uint32_t>(tokens, true)), "auto", "uint32"},
        {"h.npy", npy("|i1", "(1000,)", bytes_of<int8_t>(tokens)), "auto", "int8"},
        {"i.npy", npy("<i8", "(1000,)", bytes_of<int64_t>(tokens)), "auto", "int64"}}) {
    INFO(form.name);
    const std::string path = dir.write(form.name, form.content);
    const auto set = make("Tokens", {{"path", path}, {"type", form.type}, {"steps", "7"}, {"validation", "0.25"}});
    const Data data = set->load(offline());
    CHECK(agrees(set->check(offline()), data));
    CHECK(data.source == path + " (" + form.says + ")");
    const int64_t largest = *std::ranges::max_element(tokens);
    CHECK(
        (data.tokens == largest + 1 && data.classes == data.tokens && data.streams && data.label_of == LabelOf::step));
    // 250 of 1000 tokens are validation tokens: 749 targets and 249.
    REQUIRE((data.train.size() == 107 && data.validation.size() == 36));
    CHECK(values(data.train.inputs.rows(1, 1)) == doubles(tokens, 7, 7));
    CHECK(values(data.train.targets.rows(1, 1)) == doubles(tokens, 8, 7));
    CHECK(values(data.validation.inputs.rows(0, 1)) == doubles(tokens, 750, 7));
    CHECK(values(data.validation.targets.rows(35, 1)) == std::vector<double>{double(tokens[996]), double(tokens[997]),
                                                                             double(tokens[998]), double(tokens[999]),
                                                                             -1, -1, -1});
  }
}

TEST_CASE("tokens that are read while the run goes on are those that memory would hold") {
  const TempDir dir;
  const Numbers tokens = drawn(40'000);
  const std::string all = bytes_of<uint16_t>(tokens);
  dir.write("train_0.bin", all.substr(0, 50'002));
  dir.write("train_1.bin", all.substr(50'002, 2));
  dir.write("train_2.bin", all.substr(50'004));
  const std::string test = dir.write("test.bin", all.substr(0, 46));
  const auto set = make("Tokens", {{"path", dir / "train_*.bin"},
                                   {"test_path", test},
                                   {"tokens", "60"},
                                   {"steps", "16"},
                                   {"validation", "100"},
                                   {"streams", "false"},
                                   {"subset_pct", "50"}});
  const Data one = set->load(offline()), other = set->load(without_room());
  CHECK((one.tokens == 60 && !one.streams && one.train.size() == 1200));
  CHECK((!one.train.rows && other.train.rows && other.train.inputs.empty() && set->check(without_room()).streamed));
  CHECK(agrees(set->check(without_room()), other));
  CHECK(one.train.identity == other.train.identity);
  const std::pair<const Split*, const Split*> splits[] = {
      {&one.train, &other.train}, {&one.validation, &other.validation}, {&one.test, &other.test}};
  for (const auto& [in_memory, streamed] : splits) {
    const Split read = held(*streamed->rows, 16);
    CHECK(values(in_memory->inputs) == values(read.inputs));
    CHECK(values(in_memory->targets) == values(read.targets));
  }
  CHECK(values(one.test.inputs.rows(1, 1)) ==
        std::vector<double>{double(tokens[16]), double(tokens[17]), double(tokens[18]), double(tokens[19]),
                            double(tokens[20]), double(tokens[21]), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("training tokens may be in several samples, which begin so many tokens apart") {
  const TempDir dir;
  const auto is_wanted = [](const Split& split, const Numbers& tokens, int64_t steps, int64_t stride) {
    // Sample i has the tokens from i `stride` on; the last sample is the first that reaches the last token.
    int64_t samples = 1;
    while ((samples - 1) * stride + steps < int64_t(tokens.size()) - 1) ++samples;
    REQUIRE(split.size() == samples);
    for (int64_t i = 0; i < samples; ++i)
      for (int64_t t = 0; t < steps; ++t) {
        const size_t at = size_t(i * stride + t);
        const bool there = at + 1 < tokens.size();
        CHECK(split.inputs.at(i * steps + t) == (there ? double(tokens[at]) : 0));
        CHECK(split.targets.at(i * steps + t) == (there ? double(tokens[at + 1]) : -1));
      }
  };
  for (const int64_t count : {40, 41, 42, 43, 44, 50, 7}) {
    const Numbers tokens = drawn(count);
    const std::string path = dir.write("a.bin", bytes_of<uint16_t>(tokens));
    for (const int64_t stride : {1, 2, 5, 8}) {
      INFO(count << " tokens, stride " << stride);
      const auto set = make("Tokens", {{"path", path},
                                       {"test_path", path},
                                       {"tokens", "60"},
                                       {"steps", "8"},
                                       {"streams", "false"},
                                       {"stride", text(stride)}});
      const Data data = set->load(offline()), streamed = set->load(without_room());
      CHECK(agrees(set->check(offline()), data));
      is_wanted(data.train, tokens, 8, stride);
      is_wanted(data.test, tokens, 8, 8);
      REQUIRE(streamed.train.size() == data.train.size());
      is_wanted(held(*streamed.train.rows, 8), tokens, 8, stride);
      CHECK(data.train.identity == streamed.train.identity);
    }
  }
  const std::string path = dir.write("a.bin", bytes_of<uint16_t>(drawn(40)));
  const auto identity = [&](const char* stride) {
    return make("Tokens", {{"path", path}, {"steps", "8"}, {"streams", "false"}, {"stride", stride}})
        ->load(offline())
        .train.identity;
  };
  CHECK((identity("8") == identity("0") && identity("4") != identity("8") && identity("4") != identity("2")));
  CHECK(refusal({{"path", path}, {"stride", "3"}}) ==
        "config: stride: 3 lets samples overlap, but in streams each goes on where the one before it ends; add "
        "streams: false");
  CHECK(refusal({{"path", path}, {"streams", "false"}, {"steps", "2"}, {"stride", "3"}}) ==
        "config: stride: 3 is larger than steps: 2, so that some tokens would be in no sample; give at most 2");
}

TEST_CASE("a net that was trained says how many tokens there are") {
  const TempDir dir;
  const std::string path = dir.write("a.bin", bytes_of<uint16_t>({1, 2, 1, 3}));
  DataContext context = offline();
  context.tokens = 9;
  CHECK(make("Tokens", {{"path", path}})->load(context).tokens == 9);
  context.tokens = 3;
  CHECK(error_of([&] {
          make("Tokens", {{"path", path}})->load(context);
        }) == "data: " + path + ": token 3 is 3; they must be below 3, the number of different tokens");
}

TEST_CASE("files that hold no tokens are refused") {
  const TempDir dir;
  const std::string odd = dir.write("odd.bin", "abc"), empty = dir.write("empty.bin", ""),
                    one = dir.write("one.bin", "ab"), large = dir.write("large.bin", bytes_of<uint16_t>({1, 7, 2})),
                    negative = dir.write("negative.npy", npy("<i4", "(3,)", bytes_of<int32_t>({1, -1, 0}))),
                    floats = dir.write("floats.npy", npy("<f4", "(3,)", std::string(12, '\0'))),
                    square = dir.write("square.npy", npy("<i4", "(2, 1)", std::string(8, '\0'))),
                    cut = dir.write("cut.bin", with_header(20240520, 1, "abcd", 2) + "ab"),
                    wide = dir.write("wide.bin", with_header(20240520, 1, "abcd", 2));
  CHECK(refusal({{"path", odd}}) == "data: " + odd + ": its 3 bytes are not a whole number of tokens of 2 bytes");
  const std::string words = dir.write("words.txt", "a text");
  CHECK_THAT(refusal({{"path", words}}), Catch::Contains("is no .bin or .npy file, as tokens are"));
  CHECK(make("Tokens", {{"path", words}, {"type", "uint16"}, {"steps", "1"}})->load(offline()).tokens == 0x7478 + 1);
  CHECK(refusal({{"path", empty}}) == "data: " + empty + " (uint16): there are no tokens");
  CHECK(refusal({{"path", one}}) ==
        "data: " + one +
            " (uint16): the training text has 1 token; expected at least 2, of which the second is the "
            "target of the first");
  CHECK(refusal({{"path", large}, {"tokens", "7"}}) ==
        "data: " + large + ": token 1 is 7; they must be below 7, the number of different tokens");
  CHECK(refusal({{"path", negative}}) ==
        "data: " + negative + ": token 1 is -1, which is no token; is it a file of another type?");
  CHECK(refusal({{"path", floats}}) ==
        "data: " + floats + ": holds floating numbers (3); tokens are whole numbers (n)");
  CHECK(refusal({{"path", square}}) == "data: " + square + ": holds an array (2, 1); tokens are whole numbers (n)");
  CHECK(refusal({{"path", cut}}) == "data: " + cut + ": its header says 2 tokens of 2 bytes, but 6 bytes follow");
  CHECK(refusal({{"path", wide}, {"type", "uint32"}}) ==
        "config: type: uint32, but " + wide + " says at its begin that its tokens are uint16; leave it out");
  CHECK(refusal({{"path", large}, {"validation", "0.5"}, {"validation_path", large}}) ==
        "config: validation: 0.5 takes the end of the training tokens, but validation_path names tokens of their own; "
        "leave one of them out");
  CHECK(refusal({{"path", dir / "none.bin"}}).find("no such file; looked for ") != std::string::npos);
  CHECK(refusal({{"path", dir / "none_*.bin"}}).find("no such file; looked for ") != std::string::npos);
  // Tokens of 32 bits without a header, of a small vocabulary and of one of more than 2^16.
  const std::string longs = dir.write("longs.bin", bytes_of<uint32_t>(drawn(100)));
  CHECK(refusal({{"path", longs}}) ==
        "config: " + longs + ": every second number of 16 bits is 0, so its tokens seem to have 32 bits; give type: " +
            "uint32, or type: uint16 if they have 16");
  CHECK(make("Tokens", {{"path", longs}, {"type", "uint16"}, {"steps", "1"}})->load(offline()).train.size() == 199);
  const std::string many = dir.write("many.bin", bytes_of<uint32_t>(Numbers(40, 100'000)));
  CHECK_THAT(refusal({{"path", many}}), Catch::Contains("every second number of 16 bits is at most 1, so"));
  const std::string letters = dir.write("letters.bin", bytes_of<uint16_t>(Numbers(40, 3)));
  CHECK(make("Tokens", {{"path", letters}, {"steps", "1"}})->load(offline()).train.size() == 39);
  CHECK_THAT(refusal({{"path", dir.write("shorts.bin", bytes_of<uint16_t>(Numbers(40, 20'000)))}, {"type", "uint32"}}),
             Catch::Contains("token 0 is 1310740000, which is no token; is it a file of another type?"));
  // The reader of a sample refuses them while the run goes on.
  const Data data = make("Tokens", {{"path", large}, {"tokens", "7"}, {"steps", "2"}})->load(without_room());
  CHECK(error_of([&] { held(*data.train.rows, 2); }) ==
        "data: " + large + ": token 1 is 7; they must be below 7, the number of different tokens");
}
