// The meaning of samples and targets: the facts on which readers, graphs, checkpoints and predict agree.
//
// Each fact is declared here, and sample_meaning_json.cpp stores it. Data, DataCheck, DataLayout, StoredRun and
// StoredData have all of them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/column_code.h"
#include "datasets/image_size.h"
#include "datasets/named_target.h"
#include "datasets/table_cell.h"
#include "datasets/vocabulary.h"
#include "neon/core/axes.h"
#include "neon/core/dtype.h"
#include "neon/core/shape.h"

namespace neon {

// The rules by which parts are drawn and targets understood. A run with older rules keeps them when it is resumed.
//  1: parts are drawn without regard to classes; arrays of one-hot rows are values; the labels 1 to n of arrays have a
//     class 0; whole numbers (n, H, W) beside images are values, not classes of pixels.
//  2: CSV has numbers alone, as they are.
//  3: ImageFolder keeps no images for the test unless the spec says so; files of the same bytes may be on both sides.
//  4: targets of Sequences that are numbers stay in their own units.
//  5: texts of a table that may be meant as numbers or dates are not refused.
//  6: samples of several targets are drawn without regard to classes; files of the same bytes may be on both sides of
//     BoxImages; labels of arrays may all be 0; train_metrics takes the first training samples; a byte order mark is
//     a character of its text.
//  7: no line's end stands between the files of a text.
//  8: whole numbers (n, T) beside arrays of sequences (n, T, F) or tokens (n, T) are values, not classes of steps; MSE
//     and SSE are in the units of standardised targets.
//  9: texts below the folder of a class are left out, hidden folders of Text are not; idle parameters are not refused.
//     Dates of a table with dots, as 2.4.13, are no versions.
// 10: folders as training_set and test_set are classes; 3.518 beside 366 is a number of decimals; dates of years of two
//     digits stand beside those of four; numbers of rows are inputs whatever their name; texts as 21 kg are categories;
//     names of classes need not be UTF-8.
// 11: 3.518 beside 366 is a number of decimals in the tables of Windows and Sequences; macrobatches of neon 0.9 are all
//     that are there, whatever their cache counts.
// 12: commas lie between the cells of Windows and Sequences by default, and tabs in a .tsv of Windows even where
//     delimiter is a comma.
constexpr int kDataRules = 13;
// The first rules with something.
constexpr int kRulesOfTargetClasses = 7, kRulesOfMarks = 7, kRulesOfLines = 8, kRulesOfStepClasses = 9,
              kRulesOfDeepTexts = 10, kRulesOfPartWords = 11, kRulesOfMeantCells = 11, kRulesOfSeriesGroups = 12,
              kRulesOfSeriesMarks = 13;

// The columns of a table that samples were read from, so that they are found in another table.
struct TableColumns {
  int64_t count = 0;                  // 0: no table
  std::vector<std::string> features;  // names in the order of a sample's numbers; empty: the table has no header
  std::vector<std::string> others;    // names of the target and of columns that were left out
  std::vector<int64_t> positions;     // of the features, from 0; empty in old checkpoints
  char delimiter = ',';
  std::vector<std::string> missing = default_missing_marks();
  // Name or index of the column whose rows of one text are one sequence; "": none.
  std::string id = {};
  char decimal = '.';
  std::vector<ColumnCode> codes = {};  // of the features; empty: they are numbers, as they are
  bool operator==(const TableColumns&) const = default;
};

// The thing that has a class, where targets are classes. `sequence`: targets are sequences of labels (L) of their own
// lengths, which the steps of a sample do not line up with; behind a sequence stands -1. `box`: targets are boxes (M,6)
// of objects (neon/core/box_rows.h).
enum class LabelOf : uint8_t { sample, pixel, step, sequence, box };
constexpr std::string_view name_of(LabelOf of) {
  constexpr std::string_view kNames[] = {"sample", "pixel", "step", "sequence", "box"};
  return kNames[size_t(of)];
}

// The name of class or output k; its number where it has none.
inline std::string name_at(const std::vector<std::string>& names, int64_t k) {
  return k < int64_t(names.size()) ? names[size_t(k)] : std::to_string(k);
}

struct SampleMeaning {
  // Axes of one input.
  Shape sample;           // (C,H,W) of an image, (C) of a row of features, (T,F) or (T) of a sequence
  bool sequence = false;  // the first axis is time
  // Sequences are of different lengths: behind their last step stands padding, which is -1 of tokens, NaN of numbers.
  bool ragged = false;
  bool streams = false;             // each sample of a set goes on where the one before it ends
  bool channels_last = false;       // images lie (H,W,C) in memory, as a net's layers want them
  bool rows_channels_last = false;  // images lie (H,W,C) in the arrays that they were read from
  SampleSize image_size;            // that images were brought to; not given: they keep their own
  TableColumns table;

  // Above 0, a sample (T) is T tokens, whole numbers from 0 to below this one. No step scales or casts them.
  int64_t tokens = 0;
  Vocabulary vocabulary;  // the texts of the tokens; empty: they are numbers
  int64_t texts = 1;      // that a sample has, with a line's end between them

  // Values of one input. The net sees (raw * scale + shift - mean of the channel) / deviation of the channel, computed
  // where a batch is gathered; bytes stay bytes in memory.
  DType dtype = DType::f32;  // in memory, of the training set
  float scale = 1, shift = 0;
  std::vector<double> means, deviations;  // by channel, where `normalize` asks for them; otherwise empty
  // Numbers that a file says to subtract. The reader subtracted them: element i of a sample as it lies in memory is
  // less by number i modulo their count. Samples from elsewhere come without it.
  std::vector<double> subtracted;
  Standard standard;         // of sequences of numbers; samples from elsewhere come in their own units
  Standard target_standard;  // of targets: so are the net's outputs

  // Several targets of each sample, side by side in a row. Empty: there is one, which all below is about.
  std::vector<NamedTarget> targets;

  // Targets.
  int64_t classes = 0;                   // 0: targets are numbers, or the inputs themselves
  std::vector<std::string> class_names;  // in the order of the net's outputs; empty: classes are numbers
  LabelOf label_of = LabelOf::sample;    // what has one of the classes
  int64_t target_steps = 0;    // the most labels of a target, where steps have labels; 0: as many as a sample has steps
  int64_t end_class = -1;      // that ends the labels of a target, as a Seq2Seq predicts them; -1: no class does
  bool whole_targets = false;  // targets are whole numbers in their file, so resizing must not mix them
  std::vector<std::string> target_names;  // of the predicted columns; empty: the file does not name them
  // Rows from a step to its target, where the target is a later row of a column that the net sees; 0: no target is.
  int64_t seen_later = 0;
  int rules = kDataRules;

  bool operator==(const SampleMeaning&) const = default;
  SampleMeaning& meaning() { return *this; }
  const SampleMeaning& meaning() const { return *this; }

  // Whether the target of each step of a text is the token of the next one.
  bool foretells_tokens() const {
    return label_of == LabelOf::step && tokens > 0 && tokens == classes && (streams || !vocabulary.empty());
  }
  // The file does not give the meaning of the axes of other arrays.
  Axes axes() const {
    if (sequence) {
      Axes out(size_t(sample.rank()), Axis::feature);
      out.front() = Axis::time;
      return out;
    }
    if (sample.rank() == 3) return {Axis::channel, Axis::height, Axis::width};
    return Axes(size_t(sample.rank()), Axis::feature);
  }
  // The axes of a batch of sequences; empty for other samples, whose order of axes the graph chooses.
  Axes batch_axes() const {
    Axes out = sequence ? axes() : Axes{};
    if (sequence) out.insert(out.begin(), Axis::sample);
    return out;
  }
  bool is_image() const { return sample.rank() > 0 && axes().front() == Axis::channel; }
  // The shape of one input as it lies in memory.
  Shape stored_sample() const { return channels_last ? sample.slice(1, 3).concat({sample[0]}) : sample; }
  // The net sees bytes of pixels as 0 to 1, or as -1 to 1.
  void scale_bytes(bool symmetric = false) {
    scale = (symmetric ? 2.0f : 1.0f) / 255.0f;
    shift = symmetric ? -1 : 0;
  }
  // Targets become the inputs themselves.
  void drop_classes() {
    classes = 0, class_names.clear(), target_names.clear(), label_of = LabelOf::sample, end_class = -1, seen_later = 0;
    targets.clear();
  }
};

}  // namespace neon
