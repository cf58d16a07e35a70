#include "tests/run_cases.h"

int main(int argc, char** argv) { return run_cases(argc, argv); }
