#include "neon/core/text.h"

#include <catch2/catch.hpp>

using namespace neon;

TEST_CASE("numbers are written as short as they read back") {
  CHECK(number(0.1) == "0.1");
  CHECK(number(0.1f) == "0.1");
  CHECK(number(3.0) == "3");
  CHECK(std::stod(number(1.0 / 3)) == 1.0 / 3);
}

TEST_CASE("the nearest names come first") {
  const std::vector<std::string> names = {"Rectlin", "Rectlinclip", "Softmax", "Tanh"};
  CHECK(nearest("rectlin", names).front() == "Rectlin");
  CHECK(nearest("softmx", names) == std::vector<std::string>{"Softmax"});
  CHECK(nearest("Convolution", names).empty());
  CHECK(did_you_mean("tanhh", names) == "; did you mean Tanh?");
}

TEST_CASE("a foreign text stays on its line") {
  CHECK(in_quotes("Affine") == "'Affine'");
  CHECK(in_quotes("a\nb\x1b[31m\x7f\xc3\xa9") == "'a?b?[31m?\xc3\xa9'");
  CHECK(in_quotes("") == "''");
  CHECK(in_quotes(std::string(80, 'x')) == "'" + std::string(80, 'x') + "'");
  CHECK(in_quotes(std::string(1 << 20, 'x')) == "'" + std::string(80, 'x') + "...'");
}

TEST_CASE("bytes are written for people") {
  CHECK(bytes_text(17) == "17 B");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(300.0 * 1024 * 1024) == "300 MiB");
}
