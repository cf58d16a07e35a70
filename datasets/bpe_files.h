// Vocabularies of byte pairs as GPT-2's programs write them.
#pragma once
#include <string>
#include <vector>

#include "datasets/vocabulary.h"

namespace neon {

// Bytes as letters that can be printed, one for each byte: what merges.txt, vocab.json and checkpoints have for them.
std::string bpe_letters(const std::string& bytes);
// Throws a data error that names `source` where there is a letter that stands for no byte.
std::string bytes_of_letters(const std::string& letters, const std::string& source);

// The vocabulary of a merges.txt, whose lines are pairs. Its tokens are the bytes, the pairs in their order, and
// <|endoftext|>, as in GPT-2; or those of the vocab.json at `numbers`, unless that is "". Throws a data error with file
// and line.
Vocabulary read_bpe(const std::string& merges, const std::string& numbers);

// Throws a data error that names `source` where the vocabulary is not one that texts can be encoded with: every byte is
// a token, and every pair one of two tokens that are there before it.
void check_bpe(const Vocabulary& vocabulary, const std::string& source);

}  // namespace neon
