#include "neon/spec/yaml.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>

#include "tests/spec/messages.h"

using namespace neon;
using Catch::Contains;
using Catch::Equals;
using Catch::StartsWith;

namespace {

Setting read(std::string_view text) { return read_yaml_text(text, "a.yaml"); }
std::string flow(std::string_view text) { return read(text).to_string(); }
std::string yaml_error(std::string_view text, const YamlLimits& limits = {}) {
  return message_of([&] { read_yaml_text(text, "a.yaml", limits); });
}

// A file of this test only, gone at the end.
struct Scratch {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("neon_yaml_test_" + std::to_string(getpid()));
  Scratch() { std::filesystem::create_directories(folder); }
  ~Scratch() { std::filesystem::remove_all(folder); }
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder / name;
    FILE* file = std::fopen(path.c_str(), "wb");
    REQUIRE(file);
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
    return path;
  }
};

}  // namespace

TEST_CASE("values keep their text, quotes, kinds and order") {
  const Setting root = read("b: 1e-6\na: ['10', \"x\", yes, ~, null, '']\nm: {k: {}, l: []}\nt: |\n  two\n  lines\n");
  CHECK(root.keys() == std::vector<std::string>{"b", "a", "m", "t"});
  CHECK(root.find("b")->value == "1e-6");
  const auto& list = root.find("a")->items;
  REQUIRE(list.size() == 6);
  CHECK((list[0].quoted && list[0].value == "10"));
  CHECK((list[1].quoted && !list[2].quoted && list[2].value == "yes"));
  CHECK((list[3].is_null() && list[4].is_null()));
  CHECK((list[5].is_scalar() && list[5].value.empty()));
  CHECK((root.find("m")->find("k")->is_map() && root.find("m")->find("l")->is_list()));
  CHECK(root.find("t")->value == "two\nlines\n");
}

TEST_CASE("escapes are the characters of YAML 1.2, section 5.7, in UTF-8") {
  CHECK(read("a: \"<\\N><\\_><\\L><\\P>\"").find("a")->value == "<\xc2\x85><\xc2\xa0><\xe2\x80\xa8><\xe2\x80\xa9>");
  CHECK(read("a: \"\\xe9\\u00e9\\u20ac\\U0001F600é\\t\"").find("a")->value == "éé€😀é\t");
}

TEST_CASE("every value knows its line, column in characters, and path") {
  const Setting root = read("layers:\n  - Conv: {nofm: 64}\n  - {\"ä\": [1, 2]}\nempty:\nlast: 1\n");
  const Setting& nofm = *root.find("layers")->items[0].find("Conv")->find("nofm");
  CHECK(nofm.where.to_string() == "a.yaml:2:18");
  CHECK(nofm.path == "layers[0].Conv.nofm");
  const Setting& two = root.find("layers")->items[1].entries[0].value.items[1];
  CHECK(two.where.to_string() == "a.yaml:3:15");
  CHECK(two.path == "layers[1].ä[1]");
  CHECK(root.find("empty")->where.to_string() == "a.yaml:4:1");
  CHECK(read("a: 1\r\nb: 2\r\n").find("b")->where.to_string() == "a.yaml:2:4");
  CHECK(read("\xEF\xBB\xBF"
             "a: 1")
            .find("a")
            ->where.to_string() == "a.yaml:1:4");
}

TEST_CASE("aliases are copies of what they name") {
  CHECK(flow("a: &x {p: [1, 2]}\nb: *x\nc: [*x, *x]") ==
        "{a: {p: [1, 2]}, b: {p: [1, 2]}, c: [{p: [1, 2]}, {p: [1, 2]}]}");
  CHECK(flow("a: &x 1\nb: &x 2\nc: *x") == "{a: 1, b: 2, c: 2}");
  CHECK(flow("k: &k name\n*k : 3") == "{k: name, name: 3}");
  const Setting root = read("a: &x {p: 1}\nb: {c: *x}");
  CHECK(root.find("b")->find("c")->find("p")->path == "b.c.p");
  CHECK(root.find("b")->find("c")->find("p")->where.to_string() == "a.yaml:1:11");
}

TEST_CASE("merges: own keys win, then the first of a list; nested ones too") {
  CHECK(flow("a: &a {p: 1, q: 2}\nb: {<<: *a, q: 3}\nc: {q: 3, <<: *a}") ==
        "{a: {p: 1, q: 2}, b: {p: 1, q: 3}, c: {q: 3, p: 1}}");
  CHECK(flow("a: &a {p: 1}\nb: &b {p: 2, q: 2}\nc: {<<: [*a, *b]}\nd: {<<: *a, <<: *b}") ==
        "{a: {p: 1}, b: {p: 2, q: 2}, c: {p: 1, q: 2}, d: {p: 1, q: 2}}");
  CHECK(flow("a: &a {p: 1}\nb: &b {<<: *a, q: 2}\nc: {<<: *b, r: 3}") ==
        "{a: {p: 1}, b: {p: 1, q: 2}, c: {p: 1, q: 2, r: 3}}");
  CHECK(flow("'<<': 1") == "{\"<<\": 1}");
  CHECK_THAT(yaml_error("<<: 1"), Equals("a.yaml:1:5: '<<' merges a map or a list of maps, and this is neither"));
  CHECK_THAT(yaml_error("a: {b: {<<: [1]}}"), Contains("a.b: '<<' merges"));
}

TEST_CASE("doubled keys are told with both places, all at once, once each") {
  CHECK_THAT(yaml_error("a: 1\nb: &b {c: 1, c: 2}\na: 2\nd: *b\n"),
             Equals("a.yaml:3:1: key 'a' is given twice, first at a.yaml:1:1\n"
                    "a.yaml:2:14: b: key 'c' is given twice, first at a.yaml:2:8"));
}

TEST_CASE("standard tags are read, others refused; one line for neon 0.9") {
  CHECK(read("a: !!str 5").find("a")->quoted);
  CHECK_FALSE(read("a: !!int '5'").find("a")->quoted);
  CHECK(read("a: !!null ''").find("a")->is_null());
  CHECK(flow("a: !!map {b: !!seq [1]}") == "{a: {b: [1]}}");
  CHECK_THAT(yaml_error("a: !!int five\nb: !!map [1]\nc: !mine 3\nd: !!binary aaaa"),
             StartsWith("a.yaml:1:4: 'five' is no !!int\na.yaml:2:4: tag !!map does not fit here") &&
                 Contains("a.yaml:3:4: tag !mine does not") && Contains("a.yaml:4:4: tag !!binary does not"));
  CHECK_THAT(yaml_error("!obj:experiments.FitPredictErrorExperiment {\n  model: !obj:models.MLP {num_epochs: 1},\n}"),
             StartsWith("a.yaml:1:1: !obj:experiments.FitPredictErrorExperiment is the notation of neon 0.9") &&
                 !Contains("\n"));
}

TEST_CASE("wrong syntax is one clear line at the place to mend") {
  struct Case {
    const char *text, *message;
  };
  const Case cases[] = {
      {"a:\n\tb: 1\n", "a.yaml:2:1: a tab indents this line; YAML takes spaces only"},
      {"a: [1, 2\nb: 3\n", "a.yaml:1:4: the [ that opens here is not closed"},
      {"a: {path: x-{0..9}.tar}\n", "a.yaml:1:13: a { within text; a text that has one is written in quotes"},
      {"- Conv: {a: 1\n- b\n", "a.yaml:1:9: the { that opens here is not closed"},
      {"a: 1\nb: &q !!str # c\n  'it''s\n", "a.yaml:2:4: the ' that opens here is never closed"},
      {"'never", "a.yaml:1:1: a quote that opens here or soon after is never closed"},
      {"a: [1, 2", "a.yaml:1:4: the [ that opens here is not closed"},
      {"a: ]", "a.yaml:1:4: a closing ] or } without"},
      {"a: \"x\nb: 1\n", "a.yaml:1:4: the \" that opens here is never closed"},
      {"a: [1, &q !!str 'it''s\n]", "a.yaml:1:5: a quote that opens here or soon after is never closed"},
      {"a: b: c", "a.yaml:1:5: a ':' where no key can stand"},
      {"a: - b", "a.yaml:1:4: a '- ' cannot stand here"},
      {"a: 'x' y", "a.yaml:1:8: expected the next 'key: value' here"},
      {"a:\n  - b: 1\n   - c: 1\n", "a.yaml:3:4: "},
      {"a:\n  - b: 1\n\n # -\n - c: 1\n",
       "a.yaml:5:2: this item begins in column 2, but the items of the list above begin in column 3 (line 2)"},
      {"a:\n  - b: {x: 1}\n  c: 2\n  - d\n",
       "a.yaml:3:3: '- ' is missing before this: it stands among the items of a list"},
      {"a: @x", "a.yaml:1:4: no value can start with this character; put the text in quotes"},
      {"a: \"\\q\"", "unknown escape character: q"},
      {"base: &base 1\nb: *bsae\n", "a.yaml:2:4: '*bsae' names no anchor above it; did you mean base?"},
      {"a: *\n", "a name is missing after '*'"},
      {"a: &a [*a]", "a.yaml:1:8: '*a' stands inside the value that it names"},
      {"a: 1\n---\nb: 2\n", "a.yaml:2:1: a second document starts here"},
      {"'a':1\n", "a.yaml:1:4: this follows a value that is already complete; is a space missing after a ':'?"},
      {"? [a, b]\n: c\n", "a.yaml:1:3: a key must be plain text"},
      {"~: c\n", "a key must be plain text"},
      {"{'': 1}", "a.yaml:1:2: a key is empty"},
      {"%TAG ! tag:yaml.org,2002:\n---\na: 1\n", "a.yaml:1:1: directive %TAG is not read"},
      {"%YAML 2.0\n---\na: 1\n", "only YAML 1.x is read"},
      {"a: \"\\0\"", "a.yaml:1:4: a NUL character in a text"},
      {"a: 1\nb: c\xff\n", "a.yaml:2:5: byte 0xff is not UTF-8; save the file as UTF-8"},
      {"\x80\x02}q\x01.",
       "a.yaml: expected YAML; the file looks like a Python pickle, as neon 0.9 to 2.6 saved nets, and neon reads none "
       "of them"},
      {"\xff\xd8\xff\xe0", "a.yaml: expected YAML; the file looks like a JPEG image"},
      {"a: \xed\xa0\x80", "byte 0xed is not UTF-8"},
      {"a: \xef\xbb\xbf", "a.yaml:1:4: a byte order mark inside the text"},
      {"a: \xc0\x80", "byte 0xc0 is not UTF-8"},
      {"\xff\xfe"
       "a",
       "a.yaml: is UTF-16; save it as UTF-8"},
      {"a: 1\n\x04 b: 2", "a.yaml:2:1: control character 0x04 is not allowed in YAML"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    CHECK_THAT(yaml_error(c.text), Contains(c.message) && !Contains("\n"));
  }
  CHECK_THAT(yaml_error(std::string_view("a: b\0c", 6)), Equals("a.yaml:1:5: a NUL byte; is this a text file?"));
}

TEST_CASE("what is no problem stays none") {
  CHECK(flow("%YAML 1.2\n---\na: 'it''s' # c\n...\n") == "{a: \"it's\"}");
  CHECK(flow("a: \"b\\\"c\"\nd: \"\"") == "{a: \"b\\\"c\", d: \"\"}");
  CHECK(read("").is_null());
  CHECK(read("# nothing\n").where.to_string() == "a.yaml");
  CHECK(flow("a: x\ty # tab inside") == "{a: \"x\\ty\"}");
}

TEST_CASE("limits hold after aliases, too") {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = std::to_string(i - 1);
    bomb += text("a", i, ": &a", i, " [*a", before, ", *a", before, "]\n");
  }
  CHECK_THAT(yaml_error(bomb), Contains("more than 200000 values, aliases replaced") && !Contains("\n"));

  std::string merges = "a0: &a0 {x: 1}\n";
  for (int i = 1; i < 40; ++i) merges += text("a", i, ": &a", i, " {<<: [*a", i - 1, ", *a", i - 1, "]}\n");
  CHECK_THAT(yaml_error(merges), Contains("aliases replaced") && !Contains("\n"));

  std::string long_text = "a: &a " + std::string(1 << 20, 'x') + "\nb: [";
  for (int i = 0; i < 100; ++i) long_text += "*a, ";
  CHECK_THAT(yaml_error(long_text + "]"), Contains("more than 64.0 MiB of text, aliases replaced"));

  CHECK_THAT(yaml_error(std::string(100000, '[')), Contains("stand more than 64 deep"));
  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 70; ++i) deep += text("a", i, ": &a", i, " [*a", i - 1, "]\n");
  CHECK_THAT(yaml_error(deep), Contains("stand more than 64 deep"));

  CHECK_THAT(yaml_error("[1, 2, 3]", {.nodes = 3}), Contains("more than 3 values"));
  CHECK(yaml_error("[1, 2]", {.nodes = 3}).empty());
  CHECK_THAT(yaml_error("abcde", {.bytes = 4}), Equals("a.yaml: is 5 B; at most 4 B are read as YAML"));
  CHECK_THAT(yaml_error(std::string(300, 'k') + ": 1"), Contains("a key is longer than 200 bytes"));
}

TEST_CASE("files that cannot be read are told by name") {
  const Scratch scratch;
  auto file_error = [](const std::string& path) { return message_of([&] { read_yaml_file(path); }); };
  const std::string good = scratch.write("mnist.yaml", "a: 1\n");
  CHECK(read_yaml_file(good).find("a")->where.to_string() == good + ":1:4");
  CHECK_THAT(file_error(scratch.folder / "mnits.yaml"),
             Contains("mnits.yaml: there is no such file; did you mean mnist.yaml?"));
  CHECK_THAT(file_error(scratch.folder), Contains("is a folder"));
  const std::string large = scratch.write("large.yaml", "");
  std::filesystem::resize_file(large, 100u << 20);
  CHECK_THAT(file_error(large), Contains("large.yaml: is 100 MiB; at most 4.0 MiB are read as YAML"));
  CHECK_THAT(file_error("/dev/zero"), Contains("/dev/zero: holds more than 4.0 MiB"));
}
