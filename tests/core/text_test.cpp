#include "neon/core/text.h"

#include <catch2/catch.hpp>

#include "neon/core/edit_distance.h"
#include "neon/core/message.h"

using namespace neon;

TEST_CASE("numbers are written as short as they read back") {
  CHECK(number(0.1) == "0.1");
  CHECK(number(0.1f) == "0.1");
  CHECK(number(3.0) == "3");
  CHECK(std::stod(number(1.0 / 3)) == 1.0 / 3);
}

TEST_CASE("a word for a shell is what stands there, or is in quotes") {
  CHECK(shell_word("./neon") == "./neon");
  CHECK(shell_word("/tmp/a_b-1.2/Ä=,:@%+") == "/tmp/a_b-1.2/Ä=,:@%+");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("~/$x;&*?") == "'~/$x;&*?'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("a\nit's \\ \x1b") == "$'a\\012it\\'s \\\\ \\033'");
  CHECK(shell_word("\xff\xc3\xa4") == "$'\\377\\303\\244'");
}

TEST_CASE("the nearest names come first") {
  const std::vector<std::string> names = {"Rectlin", "Rectlinclip", "Softmax", "Tanh"};
  CHECK(nearest("rectlin", names).front() == "Rectlin");
  CHECK(nearest("softmx", names) == std::vector<std::string>{"Softmax"});
  CHECK(nearest("Convolution", names).empty());
  CHECK(nearest("mnist", {"FashionMNIST", "MNIST"}) == std::vector<std::string>{"MNIST"});
  CHECK(did_you_mean("tanhh", names) == "; did you mean Tanh?");
  CHECK(nearest("nervanagpu4", {"cpu", "gpu", "nervanagpu"}) == std::vector<std::string>{"nervanagpu"});
  CHECK(nearest("live", {"size", "time"}).empty());
  // Another letter is not near to a name of one.
  CHECK(nearest("d", {"x", "y"}).empty());
  CHECK(nearest("d", {"x", "D", "dt"}) == std::vector<std::string>{"D"});
}

TEST_CASE("a slip is a letter or two, and no part of a word") {
  CHECK(is_slip_of("epoch", "epochs"));
  CHECK(is_slip_of("Epcohs", "epochs"));
  CHECK(!is_slip_of("pcohs", "epochs"));
  CHECK(is_slip_of("bacthsiz", "batchsize"));
  CHECK(!is_slip_of("bacthiz", "batchsize"));
  for (const char* part : {"batch", "size", "", "batchsizes_of_all"}) CHECK(!is_slip_of(part, "batchsize"));
}

TEST_CASE("a foreign text stays on its line") {
  CHECK(in_quotes("Affine") == "'Affine'");
  CHECK(in_quotes("a\nb\x1b[31m\x7f\xc3\xa9") == "'a\\nb\\x1b[31m\\x7f\xc3\xa9'");
  CHECK(in_quotes("") == "''");
  CHECK(in_quotes(std::string(80, 'x')) == "'" + std::string(80, 'x') + "'");
  CHECK(in_quotes("caf\xe9") == "'caf\\xe9'");
  CHECK(in_quotes("\xc3 \xc2\x9b"
                  "1m\xc2\xa0") == "'\\xc3 \\u009b1m\xc2\xa0'");
  CHECK(in_quotes(std::string(79, 'x') + "\xc3\xa9") == "'" + std::string(79, 'x') + "...'");  // no half of a letter
  CHECK(in_quotes(std::string(1 << 20, 'x')) == "'" + std::string(80, 'x') + "...'");
}

// UAX #9 and UTR #36: marks that turn the direction of writing make a text look like another.
TEST_CASE("marks of direction and separators of lines are shown as escapes") {
  CHECK(printable("a\u202eb\u2066c\u2028d\u200fe\u061cf") == "a\\u202eb\\u2066c\\u2028d\\u200fe\\u061cf");
  CHECK(printable("\u2027\u202f\u2065\u206a\u200d 日本 \U0001F600") ==
        "\u2027\u202f\u2065\u206a\u200d 日本 \U0001F600");
}

TEST_CASE("a message is one line, and long paths and lines lose their middle") {
  CHECK(message_line("a\r\nneon: b\x1b[2J") == "a\\r\\nneon: b\\x1b[2J");
  const std::string path = "/" + std::string(100000, 'a') + "/end.png";
  const std::string cut = message_line(path + ": expected a JPEG; remove it");
  CHECK(cut.size() < kMostOfWord + 40);
  CHECK(cut.starts_with("/aaaa"));
  CHECK(cut.ends_with("/end.png: expected a JPEG; remove it"));
  std::string words;
  for (int i = 0; i < 100000; ++i) words += "\xc3\xa9\xe6\x97\xa5 ";
  CHECK(message_line(words).size() <= kMostOfLine);
  CHECK(is_utf8(message_line(words)));
  CHECK(is_utf8(message_line(std::string(700, 'x') + "\xe6\x97\xa5\xe6\x97\xa5" + std::string(700, 'y'))));
  CHECK(message_line("a short one") == "a short one");
}

TEST_CASE("a list in a message is cut") {
  CHECK(list_text({"a", "b"}) == "a, b");
  CHECK(list_text({}) == "");
  CHECK(list_text({"a,1", "b", "'c,d'"}) == "'a,1', b, 'c,d'");
  CHECK(list_text({"head/W (3, 6) in place of (2, 6)", "b"}) == "head/W (3, 6) in place of (2, 6), b");
  CHECK(list_text(std::vector<std::string>(600, "name")).ends_with("name and 588 more"));
  CHECK(list_text({"a\nb", std::string(1000, 'x')}, " or ").size() < 110);
}

// The table of well-formed sequences of the Unicode Standard (3-7), at both ends of each row and one past them.
TEST_CASE("UTF-8 is what Unicode says") {
  const std::vector<std::string> good = {"",
                                         "a\x7f",
                                         "\xc2\x80",
                                         "\xdf\xbf",
                                         "\xe0\xa0\x80",
                                         "\xed\x9f\xbf",
                                         "\xee\x80\x80",
                                         "\xef\xbf\xbf",
                                         "\xf0\x90\x80\x80",
                                         "\xf4\x8f\xbf\xbf",
                                         std::string(1, '\0')};
  for (const std::string& text : good) CHECK(is_utf8("a" + text + "z"));
  for (const char* text :
       {"\x80", "\xbf", "\xc1\xbf", "\xc0\x80", "\xc2", "\xc2\x7f", "\xc2\xc0", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xe1\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf1\x80\x80", "\xff"}) {
    CHECK_FALSE(is_utf8(std::string("a") + text + "z"));
    CHECK_FALSE(is_utf8(std::string("a") + text));
  }
}

TEST_CASE("bytes are written for people") {
  CHECK(bytes_text(17) == "17 B");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(300.0 * 1024 * 1024) == "300 MiB");
}
