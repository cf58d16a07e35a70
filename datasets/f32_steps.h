// Large numbers that lie near each other, as times in milliseconds do: f32 keeps them only in steps.
#pragma once
#include <string>
#include <vector>

#include "datasets/data_context.h"
#include "neon/core/tensor.h"

namespace neon {

// "f32 has numbers around 1.7e+12 only in steps of 131072", of numbers with this mean and deviation; `alike`: they are
// one number in f32. "" where the steps are small beside the deviation.
std::string f32_steps_text(double mean, double deviation, bool alike);

// The same of column k of so many in an array, NaN aside; of many rows by some of them.
std::string f32_steps_text(const Tensor& numbers, int64_t k, int64_t columns);

// Warns of such a column of rows (n, columns of all); `names` has the columns, as messages have them.
void warn_of_f32_steps(const Tensor& rows, const std::vector<std::string>& names, const std::string& source,
                       const DataContext& context);

// Warns of an array that is no f32, and of which f32 keeps steps alone. `by_column`: the last axis has columns of
// numbers that are not alike.
void warn_of_f32_steps(const Tensor& raw, bool by_column, const std::string& source, const DataContext& context);

}  // namespace neon
