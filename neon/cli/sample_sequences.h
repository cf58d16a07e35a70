// Sequences for predict: texts, one a line, and the rows of tables and arrays.
#pragma once
#include <memory>
#include <string>

#include "datasets/text_file.h"
#include "neon/cli/samples.h"

namespace neon {

// Samples of the content of a file, or of stdin, for a net of sequences: lines of a text, a table, or .npy. Null where
// the content is of another kind, or the net of no sequences. Throws a data error that names the line for a text that
// is empty, and for tables as the training does.
//   texts     one a line; those of too many tokens lose their end, and a note says how many
//   numbers   (n,T,F) as they are; (rows,F) as windows of T rows, each named after the row behind it
//   with ids  the rows of one id, which is their name
std::unique_ptr<SampleSource> sequences_in(const std::string& content, const std::string& name,
                                           const std::string& prefix, const StoredData& stored);

// For a net of texts: a text in each file of a folder and of those below it, or of an archive; in each row of a table.
std::unique_ptr<SampleSource> texts_of_files(const std::string& folder, const StoredData& stored);
std::unique_ptr<SampleSource> texts_of_archive(std::vector<NamedText> files, const std::string& name,
                                               const std::string& prefix, const StoredData& stored);
std::unique_ptr<SampleSource> texts_of_table(const std::string& content, const std::string& name,
                                             const std::string& prefix, const StoredData& stored);

// Rows (L,F), or (L) of one column, of an array as such windows; null where it has no rows of the net's steps.
std::unique_ptr<SampleSource> windows_in(const Tensor& raw, const std::string& name, const std::string& prefix,
                                         const StoredData& stored);
// The same of an HDF5 file.
std::unique_ptr<SampleSource> windows_in_hdf5(const std::string& path, const std::string& prefix,
                                              const StoredData& stored);

// Refuses texts from `name` for a net whose outputs are the tokens that follow.
void check_has_classes(const std::string& name, const StoredData& stored);

// Outputs (n,K) of a net in the units of the data.
Tensor in_own_units(const Tensor& y, const StoredData& stored);

}  // namespace neon
