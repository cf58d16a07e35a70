#include <catch2/catch.hpp>

#include "neon/spec/yaml.h"
#include "tests/spec/trees.h"

using namespace neon;

TEST_CASE("block style, short lists on one line") {
  const Setting root = read_yaml_text(
      "{layers: [{Conv: {fshape: [3, 3], init: {Gaussian: {loc: 0}}}}, {MergeSum: [[SkipNode], [{Affine: 3}, b c]]}, "
      "Flip], e: {}, n: ~, q: '10', l: []}",
      "a");
  CHECK(write_yaml(root) ==
        "layers:\n"
        "  - Conv:\n"
        "      fshape: [3, 3]\n"
        "      init:\n"
        "        Gaussian:\n"
        "          loc: 0\n"
        "  - MergeSum:\n"
        "      - [SkipNode]\n"
        "      - - Affine: 3\n"
        "        - b c\n"
        "  - Flip\n"
        "e: {}\n"
        "n: null\n"
        "q: \"10\"\n"
        "l: []\n");
}

TEST_CASE("what is written reads back equal") {
  const char* texts[] = {
      "a: 1",
      "[1, [2, [3, {}]], []]",
      "- - - a\n    - b\n  - c: d\n    e: [f]\n- g",
      "plain words",
      "'quoted'",
      "~",
      "{}",
      "a: 'x: y'\nb: \"#\"\nc: a#b\nd: -1\ne: '-'\nf: ':'\ng: a:b\nh: ?x\ni: 'null'\nj: ''\nk: ' x '",
      "a: \"\\x01\\x7f\\x85\\xa0\\t\\n\\\\ \\\" ä\"\n\"k: #\": 1\n'<<': 2\n'-': 3\n'null': 4\n'- a': 5\n'{': 6",
      "a: one\n\n  two\nb: |\n  x\n  y\nc: >-\n  folded\n  text",
      "a: x, y] {z}\nb: [\"a, b\", \"---\"]\n'--- a': '--- b'",
      "a: '---'\nc: --- x\nd: ...\n'--- k': 1\n'...': 2\nb: ['...', '-', +, .5]",
      "'---'",
      "\"...\"",
      "<<",
      "---x",
      "a: £ ä\nb: x\ty",
      "a: \"\xe2\x80\xa8\\ufeff\"",
      "a: [1.5, 2, abcdefghij, abcdefghij, abcdefghij, abcdefghij, abcdefghij, abcdefghij, abcdefghij, abcdefghij]"};
  for (const char* text : texts) {
    INFO(text);
    const Setting root = read_yaml_text(text, "a");
    const std::string written = write_yaml(root);
    INFO(written);
    CHECK(same_tree(root, read_yaml_text(written, "b")));
  }
}

TEST_CASE("a text is a text for every reader of YAML") {
  const char* plain[] = {"a", "species", "/data/x.csv", "./1", "../t.csv", "nullable", "Noon", "a-b_c.d/e", "_1"};
  for (const char* text : plain) CHECK(yaml_text(text) == text);
  // By the schemas of YAML 1.1 and 1.2: nulls, truth values, numbers, dates; and signs of YAML's own.
  const char* quoted[] = {"",  "~",  "null", "NULL", "true",       "False", "yes", "No",  "on",   "OFF",  "y",     "n",
                          "1", "-1", "+1",   "1e3",  "0x1F",       "0o7",   "1_0", ".5",  ".inf", ".NaN", "12:30", "<<",
                          "=", "-",  "a: b", "a #b", "2001-12-14", "a, b",  "[a]", "{a}", "a b",  "ä",    "?"};
  for (const char* text : quoted) {
    CHECK(yaml_text(text) == '"' + std::string(text) + '"');
    const Setting root = read_yaml_text("a: {b: " + yaml_text(text) + "}", "a");
    CHECK(root.find("a")->find("b")->value == text);
  }
  CHECK(yaml_text("a\"b\\c\n") == R"("a\"b\\c\n")");
}
