// neon check, summary, program: what a spec means, without training.
#include <algorithm>
#include <map>

#include "backends/ranks/simulated_ranks.h"
#include "layers/default_init.h"
#include "neon/cli/bucket_lines.h"
#include "neon/cli/checked_weights.h"
#include "neon/cli/explain.h"
#include "neon/cli/imbalance_lines.h"
#include "neon/cli/initial_cost.h"
#include "neon/cli/largest_batch.h"
#include "neon/cli/output_place.h"
#include "neon/cli/read_places.h"
#include "neon/cli/run_files.h"
#include "neon/cli/run_place.h"
#include "neon/cli/run_predictions.h"
#include "neon/cli/session.h"
#include "neon/cli/simulation.h"
#include "neon/cli/spec_files.h"
#include "neon/cli/verb.h"
#include "neon/core/counted.h"
#include "neon/core/message.h"
#include "neon/core/paths.h"
#include "neon/report/net_nodes.h"
#include "neon/spec/yaml.h"
#include "neon/train/batch_feed.h"
#include "neon/train/checkpoint.h"
#include "neon/train/gpu_room.h"
#include "neon/train/rank_step.h"
#include "neon/train/shared_rows.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

struct Inspected {
  OpenedSpec spec;
  RunOptions options;
  bool asked_for_gpu = false, writes_file = false;  // a metrics file, if only in the folder of a run
  int ranks = 1;
  DataCheck check;
  DataLayout layout;
  StepOptions step;
  std::vector<StepGraph> graphs;  // of a training step of each phase
  const StepGraph& graph() const { return graphs.back(); }
};

// Nothing is known of the shapes while the data is not there.
bool has_shapes(const DataCheck& check) { return check.found || check.sample.rank() > 0; }

// Refuses what a training would refuse for its length or its callbacks.
void check_plan(const Inspected& in) {
  const Experiment& experiment = *in.spec.experiment;
  const int64_t epochs = in.options.epochs.value_or(experiment.params.epochs);
  const int64_t steps = (in.check.train_size + in.step.batch - 1) / in.step.batch;
  for (const std::string& note : check_steps(experiment, in.step, epochs, steps)) print_message(note);
  RunPlan plan{in.graph(), in.step.dtype, epochs, steps, in.writes_file, experiment.results()};
  plan_callbacks(experiment, in.check.validation_size + in.check.test_size > 0, plan);
  for (const std::string& message : plan.messages) print_message(message);
}

// How many of so many samples the device has at a time: all of them, or those of the batches read ahead.
int64_t samples_there(const DataCheck& check, int64_t samples, int64_t batch) {
  if (!check.streamed && !check.stays_on_host) return samples;
  const int64_t ring = ring_samples(samples, batch, check.input_bytes() + check.target_bytes());
  return check.streamed ? ring : std::min(ring, samples);
}

// A graph of a phase is that of its rule's first player; the others train parameters, too.
void add_trained_by_others(const TrainedPhase& phase, const DataLayout& layout, StepOptions step, StepGraph& graph) {
  const int players = phase.source.rule ? phase.source.rule->players() : 1;
  for (step.player = 1; step.player < players; ++step.player)
    for (const Parameter& p : training_graph(phase, layout, step).parameters) {
      const auto same = std::ranges::find(graph.parameters, p.name, &Parameter::name);
      if (same != graph.parameters.end()) same->trained = same->trained || p.trained;
    }
}

// Once the data's shapes are known.
void inspect_graph(Inspected& out) {
  Experiment& experiment = *out.spec.experiment;
  if (out.ranks > 1) check_trains_on_several(experiment);
  out.layout = layout_of(out.check);
  experiment.fit_batch(out.options, out.check.train_size);
  out.step = step_options(out.options, experiment.params);
  check_keys_of_samples(experiment.params, out.layout);
  check_class_weights(experiment.params.class_weights, out.check);
  if (out.check.train_size > 0) check_batch(out.options, out.step, out.layout);
  out.layout.held = samples_there(out.check, out.check.train_size, out.step.batch);
  for (const TrainedPhase& phase : experiment.phases()) {
    check_buckets(experiment.params.buckets, phase.layout(out.layout), phase.source.rule);
    out.graphs.push_back(training_graph(phase, out.layout, out.step));
    if (out.check.train_size > 0)
      check_last_batch(out.options, out.graphs.back(), out.step.batch, out.step, out.layout,
                       rank_of(out.step, 0, out.ranks));
  }
  experiment.fit(out.graphs, out.layout);
  check_predicted_net(experiment, out.layout);
  for (size_t k = 0; k < out.graphs.size(); ++k)
    add_trained_by_others(experiment.phases()[k], out.layout, out.step, out.graphs[k]);
  if (out.check.train_size > 0) check_plan(out);
  check_steps_of_ranks(experiment, out.layout, out.step, out.ranks, {out.check.validation_size, out.check.test_size});
}

// Everything that can be known before the samples are read; no graph where the shapes are not known. Facts that are
// the same on every device need no look for a GPU, which takes some 0.3 s where there is one.
Inspected inspect(const CommandLine& line, bool of_device = true) {
  Inspected out;
  out.spec = open_spec(line, only_operand(line));
  out.options = options_of(line, out.spec);
  out.options.spec_dir = out.spec.folder;
  const Experiment& experiment = *out.spec.experiment;
  if (!of_device && out.options.backend.empty() && experiment.params.backend.empty() && !out.options.tf32)
    out.options.backend = "cpu";
  out.writes_file = wants_run_folder(line) || !out.options.output_file.empty();
  out.asked_for_gpu = choose_backend(line, out.options, experiment);
  out.ranks = int(line.ranks), out.check = check_data(experiment, out.options, out.spec.folder);
  if (has_shapes(out.check)) experiment.placing([&] { inspect_graph(out); });
  return out;
}

double variable_bytes(const Graph& graph) {
  double bytes = 0;
  for (Value value : graph.leaves(LeafKind::variable)) bytes += double(graph.type(value).bytes());
  return bytes;
}

// Bytes of the samples, or, where they are streamed, of the batches that are there at a time, in training and
// evaluation.
double data_bytes(const DataCheck& check, const DataLayout& layout, int64_t batch) {
  int64_t samples = check.train_size > 0 ? layout.rows() : 0;
  for (const int64_t size : {check.validation_size, check.test_size})
    if (size > 0) samples += samples_there(check, size, std::min(batch, size));
  return double(samples) * double(check.input_bytes());
}

// Prints a line for each column of a table: its kind and the numbers that it becomes.
void report_columns(const DataCheck& check) {
  const TableColumns& table = check.table;
  if (table.codes.empty()) return;
  std::vector<std::string> others = table.others;
  std::ranges::replace(others, "", "''");  // one without a name
  print_result(text("columns ", table.codes.size(), " as ", counted(seen_width_of(table.codes), "number"),
                    others.size() > 1 ? text("; left out or predicted: ", list_text(others)) : ""));
  constexpr size_t kMostLines = 40;
  for (size_t k = 0; k < std::min(table.codes.size(), kMostLines); ++k)
    print_result(text("        ", table.features.empty() ? text(table.positions[k]) : in_quotes(table.features[k]),
                      ": ", table.codes[k].description()));
  if (table.codes.size() > kMostLines) print_result(text("        and ", table.codes.size() - kMostLines, " more"));
}

int report_data(const DataCheck& check) {
  if (check.found) {
    const std::string apart =
        check.validation_size ? text(", ", check.validation_size, " validation (evaluated during training)") : "";
    const std::string targets = !check.targets.empty()    ? targets_text(check.targets)
                                : check.classes > 0       ? text(check.classes, " classes")
                                : check.target.rank() > 0 ? text("targets ", check.target)
                                                          : "each its own target";
    print_result(text("data    ", check.source, ": ", check.train_size, " training", apart, " and ", check.test_size,
                      " test samples ", check.sample, ", ", targets));
    report_columns(check);
    return 0;
  }
  print_result("data    not found: " + check.missing);
  if (!check.command.empty()) print_result("        get it with: " + check.command);
  if (check.source.empty()) return exit_code(ErrorKind::data);
  print_result("        until then neon uses " + check.source);
  return 0;
}

void need_shapes(const DataCheck& check) {
  if (!has_shapes(check)) fail(ErrorKind::data, "the shapes depend on the data, which is missing: ", check.missing);
}

int64_t parameters_of(const StepGraph& graph, bool trained) {
  int64_t out = 0;
  for (const Parameter& p : graph.parameters)
    if (p.trained || !trained) out += p.shape.elements();
  return out;
}

// The name of the class that a phase trains by, its cost or its rule.
std::string trains_by(const Experiment& experiment, size_t number) {
  const ExperimentParams& params = experiment.params;
  const PhaseParams& phase = params.phases[number];
  const auto name = [](const Setting& resolved) {
    return resolved.is_map() ? resolved.entries.at(0).key : resolved.value;
  };
  if (phase.rule) return name(phase.rule.resolved());
  if (phase.cost) return name(phase.cost.resolved());
  if (!params.outputs.empty()) return "outputs";
  return name(params.rule ? params.rule.resolved() : params.cost.resolved());
}

// Initializers that no spec gave.
void print_default_inits(const std::vector<Parameter>& parameters) {
  std::map<std::string, std::vector<std::string>> layers;  // by initializer
  for (const Parameter& p : parameters) {
    std::vector<std::string>& owners = layers[text_of_default(p.initializer)];
    if (owners.empty() || owners.back() != p.owner) owners.push_back(p.owner);
  }
  layers.erase("");  // given by the spec
  for (const auto& [init, owners] : layers)
    print_result(text("note    the spec gives no init to ", list_text(owners), ": ", init));
}

void print_phases(const Inspected& in) {
  const Experiment& experiment = *in.spec.experiment;
  for (size_t k = 0; k < experiment.params.phases.size(); ++k) {
    const TrainedPhase& phase = experiment.phases()[k];
    print_result(text("phase   ", phase.name, ": ", phase.epochs, phase.epochs == 1 ? " epoch, " : " epochs, ",
                      phase.network->layer_count(), phase.network->layer_count() == 1 ? " layer, " : " layers, ",
                      parameters_of(in.graphs[k], true), " of ", parameters_of(in.graphs[k], false),
                      " parameters trained, by ", trains_by(experiment, k)));
  }
}

// The graph of a training step of so many samples, or of the share that the first of several ranks has of them.
StepGraph graph_of(const Inspected& in, int64_t batch, int64_t ranks) {
  StepOptions step = in.step;
  step.share = share_of(batch, batch, rank_of(step, 0, int(ranks)));
  step.batch = step.share.count;
  return training_graph(in.spec.experiment->last_phase(), in.layout, step);
}

// The same of a whole batch, and tells what ranks split of it. A config error where a training would refuse that.
StepGraph told_graph_of(const Inspected& in, int64_t ranks) {
  StepGraph out = graph_of(in, in.step.batch, ranks);
  for (const std::string& what : {split_text(in.step, int(ranks), out), sharded_text(in.step, int(ranks), out)})
    if (!what.empty()) print_message(what);
  return out;
}

int run_check(const CommandLine& line) {
  if (line.of_verb.explain) return print_explained(line);
  const Inspected in = inspect(line);
  if (line.of_verb.resolved) {
    print_data(write_yaml(in.spec.experiment->resolved(in.options)));
    return 0;
  }
  if (!has_shapes(in.check)) {
    print_result(text("spec    ", line.operands.front(), ": neon checks its shapes once the data is there"));
    return report_data(in.check);
  }
  const bool shared = line.ranks > 1;  // by several devices
  const Graph of_device = shared ? told_graph_of(in, line.ranks).graph : in.graph().graph;
  const Lowered lowered = lower(of_device, cpu::lower_options());
  for (const std::string& advice : in.spec.experiment->advice(in.graph(), in.layout)) print_message(advice);
  const std::vector<NamedTensor> taken = check_weights(*in.spec.experiment, in.options, in.check, in.step, in.graph());
  check_run_files(line, *in.spec.experiment, in.options);
  const double variables = variable_bytes(of_device), arena = double(lowered.arena_bytes);
  const double data = data_bytes(in.check, in.layout, in.step.batch), needed = variables + arena + data;
  int64_t parameters = 0, frozen = 0;
  bool biases = false;
  for (const Parameter& p : in.graph().parameters) {
    parameters += p.shape.elements();
    if (!p.trained) frozen += p.shape.elements();
    biases = biases || p.shape.rank() == 1;  // weights have more axes
  }
  print_result(text("spec    ", line.operands.front(), ": ",
                    counted(in.spec.experiment->network().layer_count(), "layer"), ", ", parameters, " parameters, ",
                    frozen ? text(frozen, " of them frozen, ") : "", name_of(in.step.dtype), ", batch ", in.step.batch,
                    ", ", counted(in.options.epochs.value_or(in.spec.experiment->params.epochs), "epoch")));
  print_phases(in);
  print_default_inits(in.graph().parameters);
  if (!biases) print_result("note    no layer has a bias; add `bias: {Constant: 0}` to the layers that need one");
  print_result(text("memory  about ", bytes_text(needed), shared ? " on each device" : "", ": weights and optimizer ",
                    bytes_text(variables), ", step ", bytes_text(arena), ", data ",
                    in.check.train_size > 0 ? bytes_text(data) : "unknown, and not counted",
                    in.check.streamed        ? " (batches read ahead: the set is streamed)"
                    : in.check.stays_on_host ? " (batches copied ahead: the set stays in the host's memory)"
                                             : ""));
  const BatchRoom room{room_for(in.options), variables + data, arena};
  if (needed > room.free) print_result(note_of_room(room.free, lowered));
  if (!shared && in.check.train_size > 0) print_result(largest_batch(*in.spec.experiment, in.layout, in.step, room));
  for (const std::string& said :
       in.spec.experiment->placing([&] { return bucket_lines(in.spec, in.options, in.check); }))
    print_result(said);
  const InitialCost cost = in.spec.experiment->placing(
      [&] { return initial_cost(in.spec, in.options, in.check, in.graph().graph, variables + arena, taken); });
  print_initial_cost(cost);
  const int code = report_data(in.check);
  const std::vector<int64_t>& sizes = in.check.class_counts.empty() ? cost.class_sizes : in.check.class_counts;
  for (const std::string& said : imbalance_lines(in.spec.experiment->params, in.check, sizes)) print_result(said);
  return code;
}

// The name, set in by its containers; the first of a branch has the branch's number before it.
std::string indented(const LayerRow& row) {
  std::string out(size_t(std::max(row.depth - 1, 0)) * 3, ' ');
  if (row.branch > 0) out += text(row.branch, ": ");
  else if (row.depth > 0) out += "   ";
  return out + row.name;
}

const char* frozen_text(const LayerRow& row) {
  if (row.frozen == 0) return "";
  return row.frozen == row.parameters ? "  frozen" : "  frozen in part";
}

// The layers of a phase, and the work of its step.
void print_layers(const Inspected& in, const TrainedPhase& phase, const StepGraph& graph) {
  const DescribedNet net = describe_net(phase, in.layout, in.step);
  int names = 18, kinds = 12;  // widths of columns
  for (const LayerRow& row : net.rows) {
    names = std::max(names, int(indented(row).size()));
    kinds = std::max(kinds, int(row.kind.size()));
  }
  print_result(formatted("%-*s %-*s %-16s %12s %12s %10s %5s", names, "layer", kinds, "kind", "output", "parameters",
                         "flops", "bytes", "line"));
  int64_t parameters = 0, frozen = 0;
  double flops = 0;
  for (const LayerRow& row : net.rows) {
    const std::string line = row.where.line > 0 ? std::to_string(row.where.line) : "";
    const double bytes = double(row.output.elements() * in.step.batch) * double(size_of(in.step.dtype));
    print_result(formatted("%-*s %-*s %-16s %12lld %12.4g %10s %5s%s", names, indented(row).c_str(), kinds,
                           row.kind.c_str(), row.output.to_string().c_str(), (long long)row.parameters, row.flops,
                           bytes_text(bytes).c_str(), line.c_str(), frozen_text(row)));
    parameters += row.parameters, frozen += row.frozen, flops += row.flops;
  }
  print_result(text(parameters, " parameters, ", frozen ? text(frozen, " of them frozen, ") : "",
                    formatted("%.4g", flops), " flops a sample forward; input ", net.sample, ", batch ", in.step.batch,
                    ", ", name_of(in.step.dtype), "; a step's arena ",
                    bytes_text(double(lower(graph.graph, cpu::lower_options()).arena_bytes)),
                    ", weights and optimizer ", bytes_text(variable_bytes(graph.graph))));
}

// The graph of the net that a run ends with.
void write_svg(const CommandLine& line, const Inspected& in) {
  const std::string& path = line.of_verb.svg;
  ReadPlaces(*in.spec.experiment, in.options).check_spares("--svg", path, false);
  check_replaceable(path, kSvgBegin, "drawing of neon summary", line.of_verb.overwrite);
  const DescribedNet net = describe_net(in.spec.experiment->last_phase(), in.layout, in.step);
  const std::string file = file_name_of(line.operands.front());
  write_output(path, net_svg(draw_net(net_nodes(net)), text(file, ": ", net_summary(net))));
  print_message("wrote " + path);
}

int run_summary(const CommandLine& line) {
  const Inspected in = inspect(line, false);
  need_shapes(in.check);
  if (!line.of_verb.svg.empty()) write_svg(line, in);
  const std::vector<TrainedPhase>& phases = in.spec.experiment->phases();
  for (size_t k = 0; k < phases.size(); ++k) {
    if (k > 0) print_result("");
    if (!phases[k].name.empty())
      print_result(text("phase ", phases[k].name, ", ", phases[k].epochs,
                        phases[k].epochs == 1 ? " epoch, by " : " epochs, by ", trains_by(*in.spec.experiment, k)));
    print_layers(in, phases[k], in.graphs[k]);
  }
  return 0;
}

int run_program(const CommandLine& line) {
  const Links links = links_of(line);
  if (line.of_verb.devices) return run_simulation(line);
  const Inspected in = inspect(line);
  need_shapes(in.check);
  RunOptions options = in.options;
  SimulatedRanks ranks{int(line.ranks)};
  Variables variables;
  const auto program = on_device_or_cpu(options, in.asked_for_gpu, [&] {
    DeviceOptions device = device_options(options, *in.spec.experiment);
    if (line.ranks > 1) device.program.ranks = &ranks;
    const auto bytes = [&](int64_t batch) {
      GpuNeeds needs(device);
      needs.add_program(graph_of(in, batch, line.ranks).graph, 0, true, true);
      return needs.bytes();
    };
    const auto let_go = [&] { variables = {}; };
    let_go();
    const StepGraph step = told_graph_of(in, line.ranks);
    return telling_room(device, [&] { return compile_program(step.graph, variables, device); }, let_go,
                        {.of = "weights and values", .samples = in.step.batch, .bytes = bytes});
  });
  print_lines(to_string(program->lowered()));
  if (line.of_verb.passes) print_lines("passes\n" + passes_text(program->lowered()));
  if (line.ranks > 1)
    print_lines(exchange_lines(program->lowered(), int(line.ranks), links) +
                text("memory of rank 0: weights and optimizer ", bytes_text(variable_bytes(program->lowered().graph)),
                     ", step ", bytes_text(double(program->lowered().arena_bytes)), "\n"));
  const auto implementations = program->implementations();
  print_result(text(implementations.size(), " kernels: ", join(implementations, ", ")));
  return 0;
}

}  // namespace

NEON_VERB(run_check, "check", 30, takes_run | takes_values, "SPEC",
          "check a spec and its data and estimate the memory; train nothing");
NEON_VERB(run_summary, "summary", 40, takes_shapes | takes_values, "SPEC",
          "print the layers, their shapes, parameters and work");
NEON_VERB(run_program, "program", 50, takes_shapes | takes_devices | takes_values | computes, "SPEC",
          "print the training step's kernels and memory");

}  // namespace neon
