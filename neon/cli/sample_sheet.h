// Images of single samples on a sheet, and which samples a net is worst at.
#pragma once
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "neon/cli/command_line.h"
#include "neon/train/image_sheet.h"
#include "neon/train/outcome.h"

namespace neon {

inline constexpr int64_t kSheetImages = 64;  // on a sheet, where no --count is given

// Throws a config error for --count without the sheet that it is about.
void check_sheet_options(const CommandLine& line);

// Throws a config error where samples are no images of 1 or 3 channels, and a data error where a file of the name is
// there that is no sheet of neon's, unless it may be overwritten.
void check_sheet(const std::string& path, const SampleMeaning& meaning, bool overwrite);
// Samples (n, ...) as the data lie in memory, as images (n,H,W,C), and the numbers that are drawn black and white.
Tensor sheet_images(const Tensor& samples, const SampleMeaning& meaning);
SheetRange sheet_range(const Tensor& samples, const SampleMeaning& meaning);
// The same, in rows of eight.
void write_sample_sheet(const Tensor& samples, const SampleMeaning& meaning, const std::string& path);
// The samples of these numbers, read one by one where they are streamed.
Tensor samples_at(const Split& split, const std::vector<int64_t>& numbers, const SampleMeaning& meaning);

// At most so many samples, the worst first: those of the largest numbers; of classes those whose true class has the
// least output, of values those whose outputs are furthest from the
// targets, each column in its deviations where it is standardised.
std::vector<int64_t> worst_first(const std::vector<double>& badness, int64_t most);
std::vector<int64_t> worst_samples(const Outcome& outcome, bool of_classes, const Standard& standard, int64_t most);

}  // namespace neon
