// The meaning of samples as a checkpoint stores it.
#include <catch2/catch.hpp>
#include <limits>

#include "datasets/sample_meaning_json.h"
#include "tests/datasets/support.h"

using namespace neon;
using namespace neon_test;

namespace {

SampleMeaning unlike_the_default() {
  SampleMeaning out;
  out.sample = {2, 4, 3};
  out.channels_last = out.rows_channels_last = out.whole_targets = true;
  out.label_of = LabelOf::pixel;
  out.image_size = {4, 6};
  out.table = {5, {"a", "\xc3\xa4"}, {"b"}, {1, 4}, ';', {"?"}, "b", ','};
  out.dtype = DType::u8;
  out.scale = 1.0f / 3, out.shift = -0.1f;
  out.means = {1.0 / 3, std::numeric_limits<double>::min()};
  out.deviations = {1e300, std::numeric_limits<double>::denorm_min()};
  out.subtracted = {0.1, -0.0};
  out.standard = {{0.1, 1e300}, {1.0 / 3, 2}};
  out.target_standard = {{-1}, {0.3}};
  out.targets = {{"price", TargetKind::number, 2, {}, {{1.0 / 3, 2}, {0.1, 1e300}}},
                 {"\xc3\xa4", TargetKind::classes, 2, {"no", "yes"}, {}},
                 {"tags", TargetKind::labels, 3, {}, {}}};
  out.classes = 3;
  out.class_names = {"cat", "dog", "a \"b\"\n"};
  out.target_names = {"kind"};
  out.seen_later = 6;
  out.rules = 1;
  return out;
}

std::string refusal(const MeaningTexts& texts) {
  return error_of([&] { read_meaning(texts); });
}

}  // namespace

TEST_CASE("a meaning is read as it was written") {
  SampleMeaning of_text;
  of_text.sample = {7};
  of_text.sequence = of_text.ragged = of_text.streams = true;
  of_text.tokens = 3;
  of_text.vocabulary = {TextUnit::word, true, {"<unk>", "\n", "\xc3\xa4"}};
  of_text.texts = 2;
  of_text.vocabulary.points_apart = of_text.vocabulary.keeps_end = true;
  of_text.label_of = LabelOf::step;
  SampleMeaning of_table;
  of_table.sample = {11};
  of_table.table = {3, {"x", "c", "d"}, {"t"}, {0, 1, 2}};
  of_table.table.codes = {{ColumnKind::number, 1.0 / 3, 1e-300, -7, true, {}},
                          {ColumnKind::category, 0, 1, 0, false, {"blue", "red"}},
                          {ColumnKind::date, 19000.5, 30, 19001, false, {}, DateForm::day_first, true}};
  SampleMeaning of_labels = of_text;
  of_labels.label_of = LabelOf::sequence;
  of_labels.classes = 4, of_labels.target_steps = 9, of_labels.end_class = 3;
  SampleMeaning of_bytes = of_text;
  of_bytes.vocabulary.texts = {"<unk>", "\n", "caf\xe9"};  // Latin-1
  for (const SampleMeaning& meaning : {unlike_the_default(), of_text, of_bytes, of_table, of_labels, SampleMeaning()})
    CHECK(read_meaning(write_meaning(meaning, "a folder")) == meaning);
  SampleMeaning odd;
  odd.class_names = {"\xff"};
  CHECK(read_meaning(write_meaning(odd, "\xfe")).class_names == std::vector<std::string>{"\xef\xbf\xbd"});
}

// As the first checkpoints had it.
TEST_CASE("a meaning of an older checkpoint") {
  const SampleMeaning read =
      read_meaning({R"({"source":"x","scale":"0.5","shift":"-1","sample":[1,28,28],"classes":2})", R"(["a","b"])"});
  SampleMeaning expected;
  expected.sample = {1, 28, 28};
  expected.scale = 0.5f, expected.shift = -1;
  expected.classes = 2, expected.class_names = {"a", "b"};
  expected.rules = 1;
  CHECK(read == expected);
}

TEST_CASE("texts that describe no samples") {
  const std::string rest = R"("scale":"1","shift":"0","classes":0)";
  const auto with = [&](const std::string& facts) { return MeaningTexts{"{" + rest + "," + facts + "}", "[]"}; };
  for (const MeaningTexts& texts :
       {MeaningTexts{"", "[]"}, MeaningTexts{"[]", "[]"}, MeaningTexts{"{}", "[]"}, with(R"("sample":"x")"),
        MeaningTexts{with(R"("sample":[1])").data, "{}"}, with(R"("sample":[1],"rules":null)")})
    CHECK(refusal(texts) == "data: neon.data and neon.classes do not describe samples");
  CHECK(refusal(with(R"("sample":[4],"subtracted":["1","2","3"])")) ==
        "data: neon.data subtracts 3 numbers from samples (4)");
  CHECK(refusal(with(R"("sample":[4],"means":["1"],"deviations":["1"])")) ==
        "data: neon.data has 1 means for samples (4)");
  CHECK(refusal(with(R"("sample":[1,2,2],"means":["1"])")) == "data: neon.data has other means than deviations");
  CHECK(refusal(with(R"("sample":[4],"channels_last":true)")) == "data: neon.data has images of shape (4)");
  CHECK(refusal(with(R"("sample":[4],"rules":14)")) == "data: neon.data has the rules 14");
  CHECK(refusal(with(R"("sample":[4],"subtracted":["nan"])")) == "data: neon.data has \"nan\" in place of a number");
  const std::string table = R"("sample":[4],"table":{"columns":2,"features":[],"others":[],"positions":[2],)";
  CHECK(refusal(with(table + R"("delimiter":","})")) == "data: neon.data has a column 2");
}
