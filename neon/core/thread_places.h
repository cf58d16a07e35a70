// Which processors the threads of loops run on.
#pragma once

namespace neon {

// Threads of a loop wait for each other, so two of them that the system has put on one processor, beside another that
// has none, take not twice but ten times as long; and as they sleep between, the system may see no reason to part them
// again. This moves such threads to processors that have none, within the processors that each may use, and leaves them
// free to be moved on. Looks at the first `threads` threads of OpenMP's loops; returns how many were moved.
int part_threads(int threads);

// For every step: does that where the last look, of whatever part of the program, was some milliseconds ago.
void keep_threads_apart(int threads);

}  // namespace neon
