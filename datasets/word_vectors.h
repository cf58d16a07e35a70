// Files of word vectors in the text format of word2vec and GloVe: a word and its numbers a line.
#pragma once
#include <string>

#include "datasets/vocabulary.h"
#include "neon/core/tensor.h"

namespace neon {

// Writes the vectors of the file into those rows of `table` (rows,D) whose tokens are its words; other rows stay. The
// first vector of a word counts. Returns how many rows were written. A config error where the vocabulary has no words,
// a data error for a file that has none of them or lines of another form; numbers of lines count from 1.
int64_t take_word_vectors(const std::string& path, const Vocabulary& vocabulary, Tensor& table);

}  // namespace neon
