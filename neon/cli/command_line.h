// The command line: neon [VERB] [OPTIONS] [OPERANDS], with the options of neon 1.x.
#pragma once
#include <string>
#include <vector>

#include "neon/spec/override.h"
#include "neon/train/options.h"

namespace neon {

constexpr int64_t kUsualIterations = 200;

// Options of single verbs.
struct VerbOptions {
  std::optional<int64_t> top_k;
  std::optional<int64_t> iterations;
  int64_t length = 500, beam = 1;
  double temperature = 1, top_p = 1;
  std::string prompt, sheet, svg, png, onnx;
  std::string format, as;
  int64_t trials = 20, seeds = 3;
  std::string method = "random", folder, metric, profile, fixed = "16.12";
  bool prune = false, objective = false, curve = false;
  bool resolved = false, passes = false, inference = false, pixels = false, skip_bad = false, overwrite = false,
       report = false, text = false, csv = false, npz = false, live = false, no_run_folder = false;
  std::string host;
  std::optional<int64_t> port;
  std::optional<std::string> devices, explain;
  bool each = false;
  std::optional<double> link, latency, network, network_latency, slowdown;
  std::optional<int64_t> host_devices;
  std::optional<int64_t> size, count;
  static void describe(auto&& p) {
    p("top_k", &VerbOptions::top_k, "Classes to print for each sample; of a text, the most likely tokens to draw from.",
      closed(1, 1e6));
    p("prompt", &VerbOptions::prompt, "Beginning of the text.");
    p("length", &VerbOptions::length, "Tokens that follow the prompt.", closed(1, 1e9));
    p("temperature", &VerbOptions::temperature, "Below 1, likely tokens become likelier; 0: the likeliest alone.",
      closed(0, 1e6));
    p("top_p", &VerbOptions::top_p, "Draws from the likeliest tokens that together have this probability.",
      open_closed(0, 1));
    p("beam", &VerbOptions::beam, "Texts to go on with at once, to find the likeliest.", closed(1, 1024));
    p("iterations", &VerbOptions::iterations, "Steps to time or to train.", closed(1, 1e9));
    p("format", &VerbOptions::format,
      "Form of the results. Default: csv for predictions, a line to read for an evaluation.", one_of({"csv", "json"}));
    p("size", &VerbOptions::size, "Side in pixels to bring images to. Default: the spec's; 0 keeps each size.",
      closed(0, 8192));
    p("count", &VerbOptions::count, "Images to show.", closed(1, 1024));
    p("trials", &VerbOptions::trials, "Trials of a search in all.", closed(1, 1e6));
    p("method", &VerbOptions::method, "How a search chooses values.", one_of({"grid", "random", "bayes", "halving"}));
    p("folder", &VerbOptions::folder, "Folder of a search's trials.");
    p("metric", &VerbOptions::metric, "Result that trials are compared by.");
    p("profile", &VerbOptions::profile, "File for the kernels' times as Chrome's trace events.");
    p("seeds", &VerbOptions::seeds, "Runs in each format.", closed(1, 1000));
    p("fixed", &VerbOptions::fixed, "Fixed-point type: all bits and those behind the point.");
    p("prune", &VerbOptions::prune, "Ends trials below the median of the others.");
    p("objective", &VerbOptions::objective, "Trains one trial and prints its result as JSON.");
    p("curve", &VerbOptions::curve, "Prints a line after each evaluation, too.");
    p("as", &VerbOptions::as, "Form of the help: a man page, or a shell's completion.",
      one_of({"man", "bash", "zsh", "fish"}));
    p("pixels", &VerbOptions::pixels, "Stores pixels instead of the files.");
    p("skip_bad", &VerbOptions::skip_bad, "Leaves damaged images out.");
    p("overwrite", &VerbOptions::overwrite, "Replaces files that neon did not write.");
    p("npz", &VerbOptions::npz, "Writes arrays as NumPy's .npz.");
    p("onnx", &VerbOptions::onnx, "ONNX file for the net.");
    p("sheet", &VerbOptions::sheet, "PNG file for a sheet of images.");
    p("png", &VerbOptions::png, "Folder for pictures of runs.");
    p("svg", &VerbOptions::svg, "SVG file for the graph of the net.");
    p("no_run_folder", &VerbOptions::no_run_folder, "Makes no folder for the run.");
    p("passes", &VerbOptions::passes, "Lists the passes, and what each changed.");
    p("inference", &VerbOptions::inference, "Times outputs instead of training steps.");
    p("report", &VerbOptions::report, "Prints precision, recall and calibration, or residuals, in CSV and JSON, too.");
    p("text", &VerbOptions::text, "Draws curves in the terminal.");
    p("live", &VerbOptions::live, "Serves the page.");
    p("host", &VerbOptions::host, "Address to listen on.");
    p("port", &VerbOptions::port, "Port to listen on.", closed(0, 65535));
    p("devices", &VerbOptions::devices, "Numbers of devices to simulate.");
    p("each", &VerbOptions::each, "Takes the batch for that of each device.");
    p("link", &VerbOptions::link, "GB/s between the devices of a host.", closed(1e-3, 1e6));
    p("latency", &VerbOptions::latency, "Microseconds of the smallest exchange in a host.", closed(0, 1e6));
    p("host_devices", &VerbOptions::host_devices, "Devices of a host.", closed(1, 1024));
    p("network", &VerbOptions::network, "GB/s of each device to other hosts.", closed(1e-3, 1e6));
    p("network_latency", &VerbOptions::network_latency, "Microseconds of a message between hosts.", closed(0, 1e6));
    p("slowdown", &VerbOptions::slowdown, "Times as long as alone that kernels take beside an exchange.",
      closed(1, 100));
    p("csv", &VerbOptions::csv, "Writes CSV.");
    p("resolved", &VerbOptions::resolved, "Prints the spec with every default.");
    p("explain", &VerbOptions::explain, "Says where the value of a key comes from.");
  }
};

// The devices that a run asks for, beside RunOptions::backend.
struct DeviceRequest {
  std::string gpu, gpus;
  std::optional<int64_t> max_devices;
  static void describe(auto&& p) {
    p("gpu", &DeviceRequest::gpu, "Device to compute on, or a backend of neon 0.9; nervanagpu4 is four GPUs.",
      one_of({"cpu", "gpu", "mkl", "mgpu", "cudanet", "nervanagpu"}));
    p("gpus", &DeviceRequest::gpus, "GPUs to train on: a number, or all.");
    p("max_devices", &DeviceRequest::max_devices, "Devices to train on.", at_least(1));
  }
};

struct CommandLine {
  std::string program = "neon";       // as it was called
  std::vector<std::string> words;     // all that followed
  std::string verb = "train";         // "data pack": both words
  std::vector<std::string> operands;  // SPEC, FILE, NAME
  std::vector<Override> overrides;    // --set
  std::vector<std::string> values;    // --value
  std::string config;                 // file of options (-c)
  Setting run_options;                // those of RunOptions that were given
  int verbose = 1;                    // and one more for each -v
  int64_t ranks = 1;                  // processes that train together (-m)
  bool asks_for_ranks = false;        // that number was given
  std::string ranks_option = "-m 1";  // the option that gave it, and its value: "--gpus all"
  VerbOptions of_verb;
  RunOptions run() const { return read_params<RunOptions>(run_options); }
};

// Whether the same command can run again: no operand and no file of options is a pipe, which is read by now.
bool can_run_again(const CommandLine& line);

// Throws a config error with one clear line. `finished` is set when the line asked for help or the version,
// which is then in `text`.
CommandLine parse_command_line(std::vector<std::string> arguments, bool& finished, std::string& text);

}  // namespace neon
