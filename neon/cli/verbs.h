// The verbs: each takes the command line, prints results to stdout, and returns the exit code.
#pragma once
#include "neon/cli/command_line.h"

namespace neon {

int run_train(const CommandLine& line);
int run_resume(const CommandLine& line);
int run_check(const CommandLine& line);
int run_summary(const CommandLine& line);
int run_program(const CommandLine& line);
int run_bench(const CommandLine& line);
int run_eval(const CommandLine& line);
int run_predict(const CommandLine& line);
int run_data(const CommandLine& line);
int run_help(const CommandLine& line);
int run_doctor(const CommandLine& line);

}  // namespace neon
