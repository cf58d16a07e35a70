#!/usr/bin/python3
"""Which places of a source tools/mutate finds, and what it makes of them."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/mutation"))
import places


def mutate(text, **options):
    return places.mutate("a.cpp", text, 1, **options)


class Places(unittest.TestCase):
    def becomes(self, text, expected, **options):
        self.assertEqual(mutate(text, **options)[1], expected)

    def untouched(self, text):
        self.assertEqual(mutate(text), ([], text))

    def test_operators_keep_their_operands(self):
        self.becomes("y = a + b * c;", "y = a +neon_mutant::Infix<1>()+ b *neon_mutant::Infix<4>()* c;")
        self.becomes("y = a / -b;", "y = a /neon_mutant::Infix<1>()/ neon_mutant::Minus<3>()->*b;")

    def test_every_change_has_a_number_and_says_where(self):
        mutants, _ = mutate("\ny = a - b - 1 / c;\n")
        self.assertEqual([m.number for m in mutants], list(range(1, 8)))
        self.assertEqual(str(mutants[0]), "a.cpp:2: '-' becomes +: y = a - b - 1 / c;")
        self.assertEqual(mutants[5].what, "'-' (2 of this line) without its left term")
        self.assertEqual(mutants[6].what, "'/' without its divisor", "1 / c has no left operand to lose")

    def test_choices_and_ties(self):
        self.becomes("y = a < b ? a : b;", "y = a < b || neon_mutant::Swap<1>() ? a : b;")
        self.becomes("y = a < b;", "y = a <neon_mutant::Infix<1>()< b;", ties=True)

    def test_calls(self):
        self.becomes("y = sqrt(x);", "y = NEON_MUTANT_CALL(1, sqrt)(x);")
        self.becomes("y = std::max(f(a, b), c);", "y = NEON_MUTANT_CALL(1, std::max)(f(a, b), c);")
        self.becomes('y = apply("exp", x);', 'y = NEON_MUTANT_APPLY(1, apply)("exp", x);')
        self.assertEqual([m.what for m in mutate("y = minimum(a, b);")[0]],
                         ["'minimum' leaves its first argument", "'minimum' leaves its second argument"])

    def test_what_a_step_leaves_behind(self):
        self.becomes("if (f) graph.assign(a, b, c);",
                     "if (f) neon_mutant::is(1) ? void() : graph.assign(a, b, neon_mutant::guard<2>(c));")
        self.becomes("total += a[0];", "total += neon_mutant::term<1>(a[0]);")
        self.becomes("c.results[0] = f(x);", "c.results[0] = neon_mutant::gradient<1>(c.graph, f(x));")

    def test_what_is_no_mathematics(self):
        for text in ("const Node* node = &list[i - 1];", "for (int i = a - b; i < n; ++i) {}", "// a + b\n", "++i;",
                     'fail("more than ", a - b);', 'name + "/W";', "size_t(found - list.begin());", "y = max(x, axes);",
                     "void describe(auto&& p) { p(a - b); }", "std::vector<T> infer_sum(const C& c) { return a + b; }",
                     "Expr sqrt(Expr a);", "node->exp(a);", "static constexpr size_t kGates = type == lstm ? 4 : 3;"):
            self.untouched(text)

    def test_functions_that_are_meant(self):
        text = "R f(R x) {\n  return x * x;\n}\nR g(R x) {\n  return x - 1;\n}\n"
        self.assertEqual([m.line for m in mutate(text, only=("g",))[0]], [5, 5, 5])


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=0).result
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
