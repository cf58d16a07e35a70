// Struct arrays and arrays of numbers of MATLAB files, version 5 to 7.2.
#pragma once
#include <cstdint>
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

// An array of numbers, the first axis fastest.
struct MatlabArray {
  std::vector<int64_t> sizes;
  std::vector<double> numbers;
};

// Array `variable`. A data error that begins with `name` where `bytes` hold none.
MatlabArray read_matlab_array(std::string_view bytes, const std::string& variable, const std::string& name);

}  // namespace neon
