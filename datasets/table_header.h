// The rule by which the first line of a table is a header or a sample, where `header` is auto. CSV and predict share
// it.
//
// Only the columns that must hold numbers count: neither the target nor the columns that are left out.
//  - Only texts there, missing marks aside: the line is a header.
//  - Numbers only, or missing marks: the line is a sample.
//  - Texts and numbers: unclear.
// A line of numbers is unclear, too, where it looks like names that are numbers (see numbers_may_be_names).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/csv.h"
#include "datasets/table_cell.h"

namespace neon {

enum class FirstLine { header, sample, unclear };

// Judges the cells of the first line; `counts` has, for each column, whether it must hold numbers.
FirstLine first_line_by_cells(const std::vector<CsvCell>& cells, const std::vector<bool>& counts,
                              const MissingMarks& missing, char decimal = '.');

// Whether the numbers of a first line may be names of columns. First case: the line is the columns' own numbers, from 0
// or from 1 and at least three of them, or as many years that follow one another. Second case: its target is a text,
// and the others rise, or fall, from cell to cell. In the second case the caller also asks whether the target of the
// first line occurs in no other line.
bool are_column_numbers(const std::vector<CsvCell>& cells);
bool are_in_order(const std::vector<CsvCell>& cells, const std::vector<bool>& counts, char decimal = '.');

// " ... may name the columns, or be a sample: REASON; say header: true or header: false"
std::string unclear_header(std::string_view reason);

}  // namespace neon
