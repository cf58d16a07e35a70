#!/usr/bin/python3
"""tools/check_limits finds planted files, functions and classes that are too large, and nothing else."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOOL = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools", "check_limits")
LOADER = importlib.machinery.SourceFileLoader("check_limits", TOOL)
limits = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_limits", LOADER))
LOADER.exec_module(limits)

LONG = "  x();\n" * 59
# C++ text, and the (kind, name, size) that the scanner must see.
SAMPLES = [
    ("void f() {\n" + LONG + "}\n", [("function", "f", 61)]),
    ("int A::f(int x) const noexcept\n{\n  return x;\n}\n", [("function", "A::f", 4)]),
    # Braces that are no code.
    ('void f() {\n  g("}{", \'{\', \'\\\'\', 1\'000);  // }\n  /* { */\n}\n', [("function", "f", 4)]),
    ('const char* t = R"x(\n{ " )" {\n)x";\nvoid f() {\n}\n', [("function", "f", 2)]),
    ("#define A(x) { \\\n  {{\nvoid f() {\n}\n", [("function", "f", 2)]),
    ("#if 1 /* {\n{ */\n#endif\nvoid f() {\n}\n", [("function", "f", 2)]),
    # Braces that are values.
    ("A::A(int x) : a_{x}, b_(x), c_<int>{{1}} {\n  g();\n}\n", [("function", "A::A", 3)]),
    ("const int k[] = {1, 2};\nstd::vector<int> v{1, 2};\nvoid f() {}\n", [("function", "f", 1)]),
    ("void f(A a = {}, B b = B{1}) {\n}\n", [("function", "f", 2)]),
    ("void f() {\n  a[b[0]] = 1;\n  if (x < y && z > (1)) g();\n}\n", [("function", "f", 4)]),
    # Heads of all kinds.
    ("template <typename T, int n = 2>\nauto f(T x) -> std::vector<T> {\n}\n", [("function", "f", 3)]),
    ("[[nodiscard]] bool operator==(const A& a, const A& b) {\n}\n", [("function", "operator==", 2)]),
    ("const auto f = [](int x) {\n  return x;\n};\n", [("function", "", 3)]),
    ('TEST_CASE("a { b") {\n}\n', [("function", 'TEST_CASE("a { b")', 2)]),
    ("namespace a::b {\nnamespace {\nvoid f() {\n}\n}\n}\n", [("function", "f", 2)]),
    ('extern "C" {\nint f(void) {\n}\n}\n', [("function", "f", 2)]),
    ("__global__ void __launch_bounds__(256) f(float* x) {\n}\n", [("function", "f", 2)]),
    # Methods: all access, declared or defined, operators; no fields, no aliases, no friends.
    ("""class A : public B<C(int)> {
 public:
  A() = default;
  explicit A(int x) : x_(x) {}
  ~A();
  virtual void f() const = 0;
  bool operator()(int x) const;
  bool operator<(const A& o) const { return x_ < o.x_; }
  static int g(std::function<void(int)> h = {});
  friend void other(A& a);
  using F = void (*)(int);
  void (*pointer)(int) = nullptr;
  std::function<void(int)> field;
  int table[f(3)] = {1}, x_ = f(2);

 private:
  template <typename T>
  void h(T x) {
    struct Inner { void i(); };
  }
  struct Nested {
    int n();
  };
};
""", [("function", "A::A", 1), ("function", "A::operator<", 1), ("function", "A::h", 4), ("class", "A::Nested", 1),
      ("class", "A", 8)]),
    ("enum class E : int { a, b };\nstruct S {\n  int x;\n};\n", [("class", "S", 0)]),
    ("struct S {} s;\nclass F;\nstruct T final : S {\n  T(T&&) = delete;\n};\n", [("class", "S", 0), ("class", "T", 1)]),
]
PYTHON = ("class A:\n    def test_a(self):\n        pass\n\n    def b(self):\n        x = '''\n{\n'''\n",
          [("class", "A", 1), ("function", "A.test_a", 2), ("function", "A.b", 4)])
METHODS = "class A {\n" + "  void f();\n" * 26 + "};\n"
# A file, its text, and the line that the tool prints; "" where it prints none.
FILES = [
    ("a.cpp", "void f() {\n" + LONG + "}\n", "a.cpp:1: function f has 61 lines; 60 are the most"),
    ("a.h", METHODS, "a.h:1: class A has 26 methods; 25 are the most"),
    ("a.py", "x = 1\n" * 401, "a.py: 401 lines; split it, 400 are the most"),
    ("a.cuh", "void f() {\n", "a.cuh: cannot be read: line 1: '{' is not closed"),
    ("b.cpp", "void f() {\n" + LONG[7:] + "}\n", ""),
    ("b.h", METHODS.replace("  void f();\n", "", 1), ""),
    ("b.py", "x = 1\n" * 400, ""),
]


def main():
    passed = failed = 0

    def check(condition, what):
        nonlocal passed, failed
        passed, failed = passed + bool(condition), failed + (not condition)
        if not condition:
            print("FAILED:", what)

    for text, expected in SAMPLES:
        seen = [(kind, name, size) for kind, name, _, size in limits.cpp_sizes(text)]
        check(seen == expected, f"{text}\nseen {seen}")
    check([(kind, name, size) for kind, name, _, size in limits.python_sizes(PYTHON[0])] == PYTHON[1], "Python")
    for text in "void f() {\n", "void f() }\n", "void f() { g(]; }\n":
        try:
            limits.cpp_sizes(text)
            check(False, f"not refused: {text}")
        except limits.Broken:
            check(True, "")
    for name, text, words in FILES:
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run([sys.executable, TOOL, name], capture_output=True, text=True, cwd=folder)
        check(done.returncode == bool(words) and words in done.stdout, f"{name}: {done.stdout}{done.stderr}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
