#include <algorithm>

#include "layers/layer.h"
#include "neon/core/counted.h"
#include "transforms/parts.h"

namespace neon {

namespace {

// "LSTM_0/h" -> "LSTM_0", "h"
std::pair<std::string, std::string> cell_and_state(const std::string& name) {
  const size_t slash = name.rfind('/');
  NEON_ASSERT(slash != name.npos);
  return {name.substr(0, slash), name.substr(slash + 1)};
}

// Whether the cells of these names read the same sequences in both directions.
bool are_directions(const std::string& forward, const std::string& backward) {
  constexpr std::string_view kForward = "_forward", kBackward = "_backward";
  return forward.ends_with(kForward) && backward.ends_with(kBackward) &&
         forward.substr(0, forward.size() - kForward.size()) == backward.substr(0, backward.size() - kBackward.size());
}

bool is_of_cell(const std::string& state) { return state == "h" || state == "c"; }

}  // namespace

Expr PassedStates::begin(const std::string& name, const Shape& shape) {
  if (const auto found = given_.find(name); found != given_.end()) return found->second;
  const auto [cell, state] = cell_and_state(name);
  return is_of_cell(state) ? of_encoder(cell, state, shape) : Expr();
}

Expr PassedStates::of_encoder(const std::string& cell, const std::string& state, const Shape& shape) {
  if (encoder_.empty()) return {};
  if (begun_.empty() || begun_.back() != cell) begun_.push_back(cell);
  const size_t number = begun_.size() - 1;
  if (!connections_.empty() && number >= connections_.size())
    fail(ErrorKind::config, "connections has ", counted(int64_t(connections_.size()), "number"), ", but ", cell,
         " is cell ", number + 1, " of the decoder; give a number for each");
  const int64_t from = connections_.empty() ? int64_t(number) : connections_[number];
  if (from == -1) return {};
  if (from >= int64_t(encoder_.size()))
    fail(ErrorKind::config, "the decoder's cell ", cell, " begins with the state of cell ", from,
         " of the encoder, which has ", counted(int64_t(encoder_.size()), "cell"),
         ", counted from 0; give connections a number for each of the decoder's cells, -1 to begin at 0");
  const Cell& other = encoder_[size_t(from)];
  const auto found = other.states.find(state);
  if (found == other.states.end())
    fail(ErrorKind::config, "the encoder's ", other.name, " leaves no state ", state, " for the decoder's ", cell,
         "; give both the same kind of cells");
  if (found->second.shape() != shape)
    fail(ErrorKind::config, "the decoder's ", cell, " has ", shape[1], " units, but the encoder's ", other.name,
         ", with whose state it begins, has ", found->second.shape()[1], "; give both the same output_size");
  return found->second;
}

void PassedStates::leave(const std::string& name, Expr value) {
  const auto [cell, state] = cell_and_state(name);
  const auto found = std::ranges::find(left_, cell, &Cell::name);
  if (found != left_.end()) found->states[state] = value;
  else left_.push_back({cell, {{state, value}}});
}

PassedStates PassedStates::for_decoder(const std::vector<int64_t>& connections) const {
  PassedStates out;
  for (const Cell& cell : left_) {
    if (!is_of_cell(cell.states.begin()->first)) continue;
    Cell* const before = out.encoder_.empty() ? nullptr : &out.encoder_.back();
    if (before && are_directions(before->name, cell.name))
      for (auto& [state, value] : before->states) value = beside({value, cell.states.at(state)}, 1);
    else out.encoder_.push_back(cell);
  }
  out.connections_ = connections;
  return out;
}

PassedStates PassedStates::for_next_step() const {
  PassedStates out;
  for (const Cell& cell : left_)
    for (const auto& [state, value] : cell.states) out.given_[cell.name + "/" + state] = value;
  return out;
}

PassedStates PassedStates::of_rows(Graph& graph, Value rows) const {
  PassedStates out = *this;
  const auto take = [&](Expr& state) { state = {graph, gather(graph, state, rows)}; };
  for (Cell& cell : out.encoder_)
    for (auto& [name, state] : cell.states) take(state);
  for (auto& [name, state] : out.given_) take(state);
  return out;
}

void PassedStates::check_connections() const {
  if (!connections_.empty() && begun_.size() < connections_.size())
    fail(ErrorKind::config, "connections has ", counted(int64_t(connections_.size()), "number"),
         ", but the decoder has ", counted(int64_t(begun_.size()), "cell"), "; give a number for each");
}

}  // namespace neon
