// The only code that writes to stdout and stderr: everything passes through here, so no name from a file, a checkpoint
// or a folder can command a terminal or make lines of its own. tools/check_printing holds the tree to that.
#pragma once
#include <string>
#include <string_view>

namespace neon {

// A message on stderr: one line, made safe and cut by message_line.
void print_message(std::string_view line);

// From now on print_message leaves out a message that it has printed: this process repeats work whose messages stay
// the same.
void print_each_message_once();

// From now on nothing of neon's goes to stderr: another process prints the same.
void leave_messages_out();

// Lines of our own making on stderr (a program), one below the other; each is made safe by printable, never cut.
void print_listing(std::string_view lines);

// A result for people on stdout: one line, made safe by printable, never cut.
void print_result(std::string_view line);

// Lines of our own making on stdout (help, a program), one below the other; each is made safe by printable.
void print_lines(std::string_view lines);

// YAML or a script on stdout, byte for byte; a terminal gets each line made safe by printable.
void print_data(std::string_view content);
// Part of a text on stdout, at once, byte for byte; a terminal gets it made safe by printable, line ends aside.
void print_part(std::string_view part);
// A record of CSV or JSON and its line end, byte for byte; a terminal gets one line, made safe by printable.
void print_record(std::string_view record);

// As printf does, into a string.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* pattern, ...);

// The line on stderr that renews itself.
class StatusLine {
 public:
  StatusLine();
  // Whether stderr is a terminal that can renew a line.
  bool terminal() const { return terminal_; }
  // Cut to the terminal's width; faint where colours are wanted (NO_COLOR).
  void show(std::string_view line);
  void clear();

 private:
  bool terminal_, colour_, shown_ = false;
};

// Ends what was printed to stdout: throws ErrorKind::failed where a full disk or a closed pipe took none of it.
void flush_results();

// From now on results go nowhere: this process repeats work whose results are printed already. False where that fails.
bool discard_results();

}  // namespace neon
