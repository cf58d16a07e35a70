// Struct arrays of MATLAB files, version 5 to 7.2, as far as ImageNet's meta.mat needs them.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace neon {

// The content of a field: numbers or a text. Other content leaves both empty.
struct MatlabValue {
  std::vector<double> numbers;
  std::string text;
};
using MatlabStruct = std::map<std::string, MatlabValue>;

// The elements of struct array `variable`. A data error that begins with `name` where `bytes` hold none.
std::vector<MatlabStruct> read_matlab_structs(std::string_view bytes, const std::string& variable,
                                              const std::string& name);

}  // namespace neon
