// Places in one arena for all values that live between kernels, by lifetime.
#pragma once
#include <optional>

#include "backends/graph/lower.h"

namespace neon {

// Fills storage, buffers, arena_bytes and value_bytes of a lowered graph whose kernels are in order. A value
// whose life ends where an equally large one begins, in an elementwise kernel, hands its place on.
void plan_memory(Lowered& lowered);

// Where in the arena so many bytes lie unused while a kernel runs, at a multiple of 256 as libraries want what they
// work in; none where no such stretch is long enough.
std::optional<size_t> free_place(const Lowered& lowered, size_t kernel, size_t bytes);

}  // namespace neon
