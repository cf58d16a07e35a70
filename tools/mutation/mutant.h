// What tools/mutate writes into its copy of the sources: each place does what its text says, or something else while
// the mutant of its number is chosen. An operator is written twice with a tag between, a + b as a +Infix<7>()+ b: that
// keeps the precedence of the text without knowing where the operands end. A place of k changes has the numbers
// first .. first + k - 1. Every function is forced inline, so that the loops of one instruction set stay by themselves.
#pragma once

extern int neon_mutant_number;  // the environment variable NEON_MUTANT; 0: none

#define NEON_MUTANT_FN [[gnu::always_inline]] inline

namespace neon_mutant {

NEON_MUTANT_FN bool is(int number) { return neon_mutant_number == number; }

// x as an R; a number beside a graph's expression becomes a constant of that graph.
template <typename R, typename X, typename Y>
NEON_MUTANT_FN R to(const X& x, const Y& other) {
  if constexpr (requires { R(x); }) return R(x);
  else return other.constant(x);
}

template <int first>
struct Infix {};
template <typename A, int first, char symbol>
struct Held {
  const A& left;
};

// The left operand and the tag.
#define NEON_MUTANT_HOLD(symbol, name)                                       \
  template <typename A, int n>                                               \
  NEON_MUTANT_FN Held<A, n, name> operator symbol(const A& left, Infix<n>) { \
    return {left};                                                           \
  }
NEON_MUTANT_HOLD(+, '+')
NEON_MUTANT_HOLD(-, '-')
NEON_MUTANT_HOLD(*, '*')
NEON_MUTANT_HOLD(/, '/')
NEON_MUTANT_HOLD(<, '<')
NEON_MUTANT_HOLD(>, '>')
NEON_MUTANT_HOLD(<=, 'l')
NEON_MUTANT_HOLD(>=, 'g')
#undef NEON_MUTANT_HOLD

// The other sign; without the right operand; without the left one.
template <typename A, int n, typename B>
NEON_MUTANT_FN auto operator+(Held<A, n, '+'> a, const B& b) {
  using R = decltype(a.left + b);
  if constexpr (requires { a.left - b; })
    return is(n) ? R(a.left - b) : is(n + 1) ? to<R>(a.left, b) : is(n + 2) ? to<R>(b, a.left) : R(a.left + b);
  else  // a text has no sign
    return is(n) ? R{} : is(n + 1) ? R(a.left) : is(n + 2) ? R(b) : R(a.left + b);
}
template <typename A, int n, typename B>
NEON_MUTANT_FN auto operator-(Held<A, n, '-'> a, const B& b) {
  using R = decltype(a.left - b);
  return is(n) ? R(a.left + b) : is(n + 1) ? to<R>(a.left, b) : is(n + 2) ? to<R>(-b, a.left) : R(a.left - b);
}
// Without the right factor; without the left one.
template <typename A, int n, typename B>
NEON_MUTANT_FN auto operator*(Held<A, n, '*'> a, const B& b) {
  using R = decltype(a.left * b);
  return is(n) ? to<R>(a.left, b) : is(n + 1) ? to<R>(b, a.left) : R(a.left * b);
}
template <typename A, int n, typename B>
NEON_MUTANT_FN auto operator/(Held<A, n, '/'> a, const B& b) {
  using R = decltype(a.left / b);
  return is(n) ? to<R>(a.left, b) : is(n + 1) ? to<R>(1 / b, a.left) : R(a.left / b);
}
// The other side at a tie.
template <typename A, int n, typename B>
NEON_MUTANT_FN bool operator<(Held<A, n, '<'> a, const B& b) {
  return is(n) ? a.left <= b : a.left < b;
}
template <typename A, int n, typename B>
NEON_MUTANT_FN bool operator>(Held<A, n, '>'> a, const B& b) {
  return is(n) ? a.left >= b : a.left > b;
}
template <typename A, int n, typename B>
NEON_MUTANT_FN bool operator<=(Held<A, n, 'l'> a, const B& b) {
  return is(n) ? a.left < b : a.left <= b;
}
template <typename A, int n, typename B>
NEON_MUTANT_FN bool operator>=(Held<A, n, 'g'> a, const B& b) {
  return is(n) ? a.left > b : a.left >= b;
}

// -a as Minus<7>()->*a: binds as a sign does beside * and /. Without the sign.
template <int first>
struct Minus {};
template <int n, typename A>
NEON_MUTANT_FN auto operator->*(Minus<n>, const A& a) {
  using R = decltype(-a);
  return is(n) ? R(a) : R(-a);
}

// c ? x : y as c || Swap<7>() ? x : y. The other way.
template <int first>
struct Swap {};
template <typename C, int n>
NEON_MUTANT_FN bool operator||(const C& condition, Swap<n>) {
  return static_cast<bool>(condition) != is(n);
}

// What is added to or taken from a variable: the other sign; nothing.
template <int n, typename A>
NEON_MUTANT_FN auto term(const A& a) {
  if constexpr (requires { A(-a); }) return is(n) ? A(-a) : is(n + 1) ? A{} : a;
  else return is(n) || is(n + 1) ? A{} : a;  // a text has no sign
}

template <int n, unsigned long size>
NEON_MUTANT_FN const char* term(const char (&a)[size]) {
  return is(n) || is(n + 1) ? "" : a;
}

// f(x, y) as NEON_MUTANT_CALL(7, f)(x, y): x itself; y itself. NEON_MUTANT_APPLY does not count the row's name.
#define NEON_MUTANT_CALL(first, f) \
  ([&](const auto&... x) { return neon_mutant::call<first>([&] { return f(x...); }, x...); })
#define NEON_MUTANT_APPLY(first, f) \
  ([&](const auto& row, const auto&... x) { return neon_mutant::call<first>([&] { return f(row, x...); }, x...); })
template <int n, typename F, typename A>
NEON_MUTANT_FN auto call(F f, const A& a) {
  using R = decltype(f());
  return is(n) ? R(a) : f();
}
template <int n, typename F, typename A, typename B, typename... C>
NEON_MUTANT_FN auto call(F f, const A& a, const B& b, const C&...) {
  using R = decltype(f());
  return is(n) ? to<R>(a, b) : is(n + 1) ? to<R>(b, a) : f();
}

// A gradient that a rule gives back: the other sign; none.
template <int n, typename Graph, typename Value>
NEON_MUTANT_FN auto gradient(Graph& graph, const Value& value) {
  using R = decltype(graph.add("neg", {value}));
  return is(n) ? graph.add("neg", {value}) : is(n + 1) ? R{} : R(value);
}

// A guard of an assignment: none.
template <int n, typename Value>
NEON_MUTANT_FN Value guard(const Value& value) {
  return is(n) ? Value{} : value;
}

}  // namespace neon_mutant
