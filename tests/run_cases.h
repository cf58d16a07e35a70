// Catch2's part of a test program, whose compilation takes as long as twenty tests': once for all programs.
#pragma once
#include <string>

// Runs the cases that the command line chooses; the exit code.
int run_cases(int argc, char** argv);

// The same for cases that need what not every machine has, closed by one line: "N passed, N failed, N skipped". With a
// reason why not, all are skipped.
int run_or_skip_cases(int argc, char** argv, const std::string& why_not);
