// Files of word vectors: both formats, the rows that they fill, and refusals of other files.
#include "datasets/word_vectors.h"

#include <catch2/catch.hpp>

#include "support.h"

using namespace neon;
using namespace neon_test;

namespace {

const Vocabulary kFourWords = {TextUnit::word, true, {"<unk>", "cat", "dog", ". . ."}};

// The rows of a table of four words and two numbers, 0.5 where the file has none.
std::vector<double> filled(const std::string& content, int64_t* found = nullptr) {
  const TempDir dir;
  Tensor table(DType::f32, {4, 2});
  for (int64_t i = 0; i < 8; ++i) table.set(i, 0.5);
  const int64_t count = take_word_vectors(dir.write("v.txt", content), kFourWords, table);
  if (found) *found = count;
  return values(table);
}

std::string vectors_error(const std::string& content, const Vocabulary& vocabulary = kFourWords) {
  const TempDir dir;
  const std::string path = dir.write("v.txt", content);
  std::string message = error_of([&] {
    Tensor table(DType::f32, {4, 2});
    take_word_vectors(path, vocabulary, table);
  });
  if (const size_t at = message.find(path); at != message.npos) message.replace(at, path.size(), "v.txt");
  return message;
}

}  // namespace

TEST_CASE("words of a file of vectors fill the rows of their tokens") {
  int64_t found = 0;
  CHECK(filled("dog 1 -2\nhouse 3 4\ncat 0.25 1e-1\n", &found) ==
        std::vector<double>{0.5, 0.5, 0.25, double(0.1f), 1, -2, 0.5, 0.5});
  CHECK(found == 2);
  CHECK(filled("2 2\ncat 1 2 \r\n\n. . . 3 4", &found) == std::vector<double>{0.5, 0.5, 1, 2, 0.5, 0.5, 3, 4});
  CHECK(found == 2);
  // A word that is a number is no head of a file unless it is alone with one more; the first of two vectors counts.
  CHECK(filled("7 2 3\ncat 1 2\ncat 8 9\n<unk>\t5 6\n", &found) == std::vector<double>{5, 6, 1, 2, 0.5, 0.5, 0.5, 0.5});
  CHECK(found == 2);
}

TEST_CASE("files that hold no such vectors are refused in one line") {
  const std::string none = "data: v.txt: has a vector for none of the data set's 4 ",
                    other_words = none + "words; write these as the file does, or let lower_case write them small";
  CHECK(vectors_error("Cat 1 2\nhouse 3 4\n") == other_words);
  CHECK(vectors_error("") == other_words);
  CHECK(vectors_error("cat 1 2\n", {TextUnit::character, false, {"<unk>", "c", "a", "t"}}) ==
        none + "tokens, which are no words; give the data set unit: words");
  CHECK(vectors_error("3 300\ncat 1 2\n") ==
        "data: v.txt: its vectors have 300 numbers, embedding_dim is 2; give the layer embedding_dim: 300");
  CHECK(vectors_error("the 1 2 3 4\ncat 1 2 3 4\n") ==
        "data: v.txt: its vectors have 4 numbers, embedding_dim is 2; give the layer embedding_dim: 4");
  CHECK(vectors_error("cat 1 1e39\n") == "data: v.txt:1: expected a number up to f32's largest, 3.4e38, found '1e39'");
  CHECK(vectors_error("cat 1 2\ndog 1\n") ==
        "data: v.txt:2: 'dog' is no number; a line has a word and 2 numbers, as embedding_dim says");
  CHECK(vectors_error("cat 1 nan\n") ==
        "data: v.txt:1: 'nan' is no number; a line has a word and 2 numbers, as embedding_dim says");
  CHECK(vectors_error("cat 1 2\n3 4\n") ==
        "data: v.txt:2: '3 4'... has no word before its 2 numbers; embedding_dim must be how many a line has");
  CHECK(vectors_error("cat 1 2\n", {TextUnit::byte}) ==
        "config: vectors: v.txt is matched by words, but the tokens of the data set have no texts; leave vectors out, "
        "or give the data set unit: words");
}
