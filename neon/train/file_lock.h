// Locks that keep a run's files for that run: a second one that was given the same names is refused before it has
// trained in vain.
//
// They are the kernel's locks of an open file (F_OFD_SETLK): they end when it is closed, however its process ends, and
// nothing else that the process opens or closes ends them. flock, which HDF5's readers use, knows nothing of them,
// but on network disks, where the kernel makes it of such locks.
#pragma once
#include <string>

namespace neon {

// `writing`: no other open file may have a lock; otherwise only none of that kind. False when there is one. A lock that
// this open file has already is changed to that kind. A disk that knows no locks forbids nothing.
bool lock_file(int descriptor, bool writing);

// Whether an open file that is not `ours` (a descriptor) has a lock on the file of that name.
bool is_in_use(const std::string& path, int ours = -1);

}  // namespace neon
