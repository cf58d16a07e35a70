// neon convert: a spec of an older neon in today's notation.
#include "neon/cli/session.h"
#include "neon/cli/verb.h"
#include "neon/core/error.h"
#include "neon/spec/comments.h"
#include "neon/spec/source.h"
#include "neon/spec/spec.h"
#include "neon/spec/yaml.h"
#include "neon/train/experiment.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// The options of the run that the older file named: "-s iris.safetensors --serialize 3".
std::string options_text(const Setting& options) {
  static const std::pair<const char*, const char*> flags[] = {
      {"save_path", "-s"}, {"serialize", "--serialize"}, {"history", "--history"}, {"log_file", "--log"},
      {"data_dir", "-w"},  {"rounding", "-u"},           {"device_id", "-i"}};
  std::string out;
  for (const auto& [field, flag] : flags)
    if (const Setting* const value = options.find(field); value && value->is_scalar())
      out += value->value == text(kUsualRounding) && field == std::string_view("rounding")
                 ? text(' ', flag)
                 : text(' ', flag, ' ', shell_word(value->value));
  return out;
}

int run_convert(const CommandLine& line) {
  const std::string& path = only_operand(line);
  const std::string content = read_text_file(path, YamlLimits().bytes);  // once: it may come by a pipe
  const Spec spec = spec_from_text(content, path, line.overrides, {.keep = true});
  if (spec.notation == "native")
    fail(ErrorKind::config, path, ": is in today's notation already; neon check --resolved prints every default");
  (void)Experiment(spec_from_text(content, path, line.overrides).root);  // throws for unknown classes and keys
  std::string out = text("# ", printable(path), " of neon ", spec.notation, ", in today's notation.\n");
  if (const std::string options = options_text(spec.conversion.options); !options.empty())
    out += "# Options that it named: neon SPEC" + options + '\n';
  if (spec.notation != "0.9")
    for (const std::string& note : spec.notes) out += "# " + printable(note) + '\n';
  print_data(out + write_converted(spec.root, spec.conversion));
  return 0;
}

}  // namespace

NEON_VERB(run_convert, "convert", 35, takes_nothing, "SPEC", "print a spec of an older neon in today's notation");

}  // namespace neon
