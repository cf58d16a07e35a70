// Readers of stdout and stderr, which may take nothing for a while: a pager, a terminal after Ctrl-S, mpirun before it
// hands a signal on.
#pragma once

namespace neon {

// Waits until the stream takes more. False: a signal has asked the run to stop, and its reader still takes nothing.
// Then nothing is to be written, which would keep the run from its end.
bool wait_for_reader(int stream);

// While a thread waits for a reader, `renew` is called with true about once a second, and with false at the end. It
// returns whether a signal came that this process has not seen by itself.
void on_wait_for_reader(bool (*renew)(bool waits));

}  // namespace neon
