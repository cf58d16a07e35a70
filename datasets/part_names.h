// Which part of a set a name says: to train, to validate or to test with.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace neon {

// LabelledImage::Part of a folder train, test, val ..., in small letters or capitals; -1: it says none.
int part_named(std::string_view name);
// The word of a name that names a part, as "training" of training_set; "" if no word does, or if several words do.
std::string part_word(std::string_view name);

// The part of each folder, -1 for none. Names with more words, as training_set and test_set, say a part where together
// they have one to train with and another. A word that says more than that data lie there makes a class: train-lines.
std::map<std::string, int> parts_of_folders(const std::vector<std::string>& folders);
// "'test_set' is read as test, 'training_set' as training": of names with more words alone; perhaps "".
std::string read_parts_text(const std::map<std::string, int>& parts);

}  // namespace neon
