#include "neon/spec/spec.h"

#include "neon/core/error.h"
#include "neon/spec/comments.h"
#include "neon/spec/document.h"
#include "neon/spec/notation.h"
#include "neon/spec/old/old_translation.h"
#include "neon/spec/override.h"
#include "neon/spec/repeat.h"
#include "neon/spec/source.h"
#include "neon/spec/yaml.h"
#include "neon/spec/yaml_1_1.h"

namespace neon {

namespace {

constexpr const char* kShape = "a spec is a map with the keys dataset, layers, cost, optimizer ...";

void check_layers(const Setting& root, Problems& problems) {
  const Setting* layers = root.find("layers");
  if (!layers) return;  // the reader of the parameters reports it, together with all else
  if (layers->is_null()) problems.add(*layers, "no layers are given");
  else if (layers->is_scalar()) problems.add(*layers, text("expected a list of layers, found ", layers->describe()));
}

Setting native_root(const Source& source, RawDocument raw, Spec& out, Problems& problems) {
  Document document = read_document(source, std::move(raw), YamlLimits(), problems);
  Setting& root = document.root;
  if (root.is_null()) fail(ErrorKind::config, root.where, ": the file is empty; ", kShape);
  if (!root.is_map()) fail(ErrorKind::config, root.where, ": found ", root.describe(), "; ", kShape);
  out.notation = notation_of(root);
  convert_root(document, out.notation, out.conversion, out.notes, problems);
  return std::move(root);
}

Setting oldest_root(const Source& source, const RawDocument& raw, Spec& out, Problems& problems) {
  out.notation = "0.9";
  problems.throw_if_any();
  Setting root = translate_old_file({source, raw}, out.conversion, problems);
  root.set_paths("");
  for (const Remark& remark : out.conversion.remarks) out.notes.push_back(text(remark.where, ": ", remark.text));
  return root;
}

// Whether it sets a key of a data set by its class, which a file of 1.x has only once it is converted.
bool names_converted(const std::string& assignment, const std::string& notation) {
  constexpr std::string_view kDataset = "dataset.";
  return notation.starts_with("1.") && assignment.starts_with(kDataset) && assignment.size() > kDataset.size() &&
         assignment[kDataset.size()] >= 'A' && assignment[kDataset.size()] <= 'Z';
}

// A run does not search: ranges without a value got their middle, which is never silent.
void take_ranges(FoundRanges found, const RangeUse& use, Spec& out) {
  out.ranges = std::move(found.ranges);
  out.unset = std::move(found.unset);
  if (use.keep) return;
  for (const SearchRange& range : out.unset) {
    const bool choice = range.kind == SearchRange::Kind::choice;
    const std::string of = choice ? text("the first of ", range.options.size(), " options")
                                  : text("the middle of ", range.low, " to ", range.high);
    out.conversion.warnings.push_back(
        {range.where, text("range ", printable(range.name), ": a run does not search; it takes ",
                           printable(range.middle()), ", ", of, "; neon search SPEC searches")});
  }
}

}  // namespace

Spec spec_from_text(std::string_view text_, const std::string& name, const std::vector<Override>& overrides,
                    const RangeUse& use) {
  const YamlLimits limits;
  const Source source(text_, name, limits.bytes);
  Spec out;
  Problems problems;
  RawDocument raw = parse_yaml(source, limits, problems);
  out.conversion.options = Setting::map({});
  collect_comments(source, raw, out.conversion);
  if (is_old(raw)) convert_numbers(raw, source, out.conversion);
  take_ranges(settle_ranges(raw, source, use, problems), use, out);
  Setting root =
      is_old(raw) ? oldest_root(source, raw, out, problems) : native_root(source, std::move(raw), out, problems);
  const auto apply = [&](bool of_converted) {
    for (const Override& given : overrides)
      if (names_converted(given.assignment, out.notation) == of_converted) apply_override(root, given, problems);
  };
  apply(false);
  if (out.notation != "0.9") convert_keys(root, out.notation, out.conversion, out.notes, problems);
  apply(true);
  check_layers(root, problems);
  problems.throw_if_any();
  expand_repeats(root, limits, problems);
  problems.throw_if_any();
  out.root = std::move(root);
  return out;
}

Spec load_spec(const std::string& path, const std::vector<Override>& overrides, const RangeUse& use) {
  return spec_from_text(read_text_file(path, YamlLimits().bytes), path, overrides, use);
}

}  // namespace neon
