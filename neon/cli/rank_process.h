// A process that is one of several ranks: -m N starts them (rank_launch.cpp), each as the same command, or mpirun does.
#pragma once
#include <memory>
#include <string>

#include "backends/ranks.h"
#include "backends/ranks/rank_ending.h"
#include "backends/ranks/shared_ranks.h"
#include "neon/cli/command_line.h"
#include "neon/core/error.h"
#include "neon/train/options.h"

namespace neon {

// In the environment of a rank: "RANK DESCRIPTOR PARENT", the board's descriptor and whoever started it.
constexpr const char* kRankVariable = "NEON_RANK";

// NCCL adds up in the switches of NVLink only where the caller's environment says so: a fault amid that may put all
// GPUs of a host out of service.
constexpr const char *kMulticastVariable = "NCCL_NVLS_ENABLE", *kNoMulticast = "0";

// Takes this process's place among the ranks; does nothing without kRankVariable. Throws where the place is missing.
void join_ranks();
// Before OpenMP and NCCL read the environment of ranks that mpirun started: those of one host share its processors.
void settle_environment();
// Takes this process' place among the ranks that mpirun started; does nothing in one that was started by itself.
void join_mpi_ranks();
// Throws unless ranks that mpirun started can carry out this command.
void check_mpi_ranks(const CommandLine& line);
// Null: this process is alone.
Ranks* own_ranks();
// The command for the shell, begun by mpirun or srun where that has started this rank.
std::string with_ranks(const std::string& command);
// Tells whoever started this rank how it ends: with this exit code and, where it failed, for which reason. False where
// this process is alone, and has to tell people by itself.
bool end_rank(int code, const std::string& cause);
// Ranks of one host take GPUs one after the other, from the one that a process alone would take.
void take_gpu_of_rank(const CommandLine& line, RunOptions& options);
// A rank that does not lead writes no metrics and no log; its checkpoints are those of rank 0.
void write_as_rank(RunOptions& options);

}  // namespace neon
