// The text at the head of an .npy file: a Python dictionary.
#pragma once
#include <string>
#include <string_view>

#include "datasets/npy.h"

namespace neon {

// From "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }". `name` starts messages.
NpyHeader parse_npy_literal(std::string_view literal, const std::string& name);

}  // namespace neon
