"""Finds the places of a C++ source where the mathematics can be made wrong, and writes the source that has them all.

The text is read as tokens, not parsed: clang-format's spaces tell a binary operator (spaces on both sides) from a sign,
a pointer or a template's bracket. What is no mathematics is left alone: subscripts, loop headers, messages, and the
functions that SKIPPED names.
"""
import bisect
import re

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|\#(?:[^\n]*\\\n)*[^\n]*)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
  | (?P<number>0[xX][0-9a-fA-F.]+(?:[pP][+-]?\d+)?\w*|\d[\d.]*(?:[eE][+-]?\d+)?\w*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<symbol>->\*|->|::|\+\+|--|[-+*/&|^<>=!]=|&&|\|\||<<|>>|.)
""", re.VERBOSE | re.DOTALL)
PAIRS = {")": "(", "]": "[", "}": "{"}

# Functions of shapes, words and settings.
SKIPPED = re.compile(r"describe|infer_\w+|same_as_first|objection|check|check_(arrays|mentions|outputs)|checked_\w+|names|"
                     "mentions|require_increasing")
# Calls whose arguments are messages, or that are checked when neon is compiled.
MESSAGES = {"fail", "text", "join", "NEON_ASSERT", "NEON_REGISTER", "static_assert", "assert"}
# Functions that may be left out. `apply` names a row of the elementwise table.
CALLS = {"abs", "apply", "cos", "exp", "log", "max", "maximum", "min", "minimum", "pow", "sqrt", "square"}
# Statements that may be left out: what a step leaves behind.
STATEMENTS = {"assign", "set_state", "update_state"}
INFIX = {"+": ("becomes -", "without its right term", "without its left term"),
         "-": ("becomes +", "without its right term", "without its left term"),
         "*": ("without its right factor", "without its left factor"),
         "/": ("without its divisor", "with 1 as its left operand")}
TIES = {"<": ("becomes <=",), "<=": ("becomes <",), ">": ("becomes >=",), ">=": ("becomes >",)}


class Token:
    def __init__(self, match):
        self.kind, self.text = match.lastgroup, match.group()
        self.start, self.end = match.span()


class Mutant:
    """One change of one place: the nth place of its kind in its line."""

    def __init__(self, number, path, line, source, place, nth, change):
        self.number, self.path, self.line, self.source = number, path, line, source
        self.what = f"'{place}' {change}" if nth == 1 else f"'{place}' ({nth} of this line) {change}"

    def __str__(self):
        return f"{self.path}:{self.line}: {self.what}: {self.source}"


class Source:
    """The tokens of a file, which brackets belong together, and what lies where."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.tokens = [Token(m) for m in TOKEN.finditer(text) if m.lastgroup != "skip"]
        self.starts = [0] + [m.end() for m in re.finditer("\n", text)]
        self.partner, stack = {}, []
        for i, token in enumerate(self.tokens):
            if token.kind != "symbol":
                continue
            if token.text in PAIRS.values():
                stack.append(i)
            elif token.text in PAIRS:
                j = stack.pop()
                assert self.tokens[j].text == PAIRS[token.text], f"{path}: brackets that do not match at {token.start}"
                self.partner[i], self.partner[j] = j, i

    def word(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def spaced(self, i):
        token = self.tokens[i]
        return self.text[token.start - 1].isspace() and self.text[token.end:token.end + 1].isspace()

    def function_of_body(self, i):
        """The name before the parameters of the body that opens at token i; "" where it is no function's."""
        before = i - 1
        while self.word(before) in ("const", "override", "noexcept"):
            before -= 1
        return self.word(self.partner[before] - 1) if self.word(before) == ")" else ""

    def skipped(self, only):
        """Of each token whether it lies where nothing is to be changed."""
        out = [bool(only)] * len(self.tokens)
        for i, token in enumerate(self.tokens):
            if token.text == "constexpr":  # worked out when neon is compiled
                end = next((k for k in range(i, len(self.tokens)) if self.word(k) in (";", "{")), i)
                out[i:end] = [True] * (end - i)
            if i not in self.partner or self.partner[i] < i:
                continue
            name = self.function_of_body(i) if token.text == "{" else self.word(i - 1)
            subscript = token.text == "[" and (name.isidentifier() or name in ("]", ")")) and name != "return"
            if token.text == "{" and name in only:
                out[i:self.partner[i]] = [False] * (self.partner[i] - i)
            elif (token.text == "{" and SKIPPED.fullmatch(name) or subscript
                  or token.text == "(" and (name in MESSAGES or name == "for")):
                out[i:self.partner[i]] = [True] * (self.partner[i] - i)
        return out

    def end_of_expression(self, i):
        """Index of the token that ends the expression beginning at token i."""
        while self.word(i) not in (";", ",", ")", "}", ""):
            i = self.partner[i] + 1 if self.partner.get(i, 0) > i else i + 1
        return i

    def arguments(self, opening):
        """Index of the first token of each argument of the call whose bracket is token `opening`."""
        out, i = [], opening + 1
        while i < self.partner[opening]:
            out.append(i)
            i = self.end_of_expression(i) + 1
        return out


class Writer:
    """Collects mutants and edits of one source."""

    def __init__(self, source, first):
        self.source, self.next = source, first
        self.mutants, self.edits, self.seen = [], [], {}

    def place(self, token, changes):
        """Numbers the changes of a place; the first of the numbers."""
        first = self.next
        line = bisect.bisect_right(self.source.starts, token.start)
        begin = self.source.starts[line - 1]
        text = self.source.text[begin:self.source.text.find("\n", begin)].strip()
        nth = self.seen[line, token.text] = self.seen.get((line, token.text), 0) + 1
        for change in changes:
            self.mutants.append(Mutant(self.next, self.source.path, line, text, token.text, nth, change))
            self.next += 1
        return first

    def insert(self, at, text):
        self.edits.append((at, at, text))

    def replace(self, token, text):
        self.edits.append((token.start, token.end, text))

    def wrap(self, begin, end, before):
        """Tokens begin .. end - 1 as the argument of `before`."""
        self.insert(self.source.tokens[begin].start, before)
        self.insert(self.source.tokens[end - 1].end, ")")

    def text(self):
        out, at = [], 0
        for begin, end, text in sorted(self.edits, key=lambda edit: edit[:2]):
            out += [self.source.text[at:begin], text]
            at = end
        return "".join(out) + self.source.text[at:]


def operator(source, writer, i, ties):
    """Binary operators, signs, choices."""
    token = source.tokens[i]
    strings = any(t.kind == "string" for t in source.tokens[max(i - 1, 0):i + 2])
    if source.spaced(i) and (token.text in INFIX or ties and token.text in TIES) and not strings:
        if {"begin", "end"} & {t.text for t in source.tokens[max(i - 3, 0):source.end_of_expression(i + 1)]}:
            return  # of iterators
        changes = INFIX.get(token.text) or TIES[token.text]
        if token.text == "/" and re.fullmatch(r"1(\.0)?", source.word(i - 1)):
            changes = changes[:1]  # it is 1
        first = writer.place(token, changes)
        writer.replace(token, f"{token.text}neon_mutant::Infix<{first}>(){token.text}")
    elif token.text == "-" and not source.spaced(i) and source.word(i - 1) != "operator":
        writer.replace(token, f"neon_mutant::Minus<{writer.place(token, ['without it'])}>()->*")
    elif token.text == "?":
        writer.insert(token.start, f"|| neon_mutant::Swap<{writer.place(token, ['the other way'])}>() ")
    elif token.text in ("+=", "-="):
        first = writer.place(token, ("with the other sign", "of nothing"))
        writer.wrap(i + 1, source.end_of_expression(i + 1), f"neon_mutant::term<{first}>(")


def call(source, writer, i):
    """Functions left out."""
    token = source.tokens[i]
    begin = i
    while source.word(begin - 1) == "::":
        begin -= 2
    row = token.text == "apply"
    arguments = source.arguments(i + 1)[1 if row else 0:]
    before = source.tokens[begin - 1]
    if before.text in (".", "->") or before.kind == "word" and before.text != "return":
        return  # a method, or a declaration
    if begin == i and token.text in ("max", "min"):
        return  # over axes
    if not arguments or any(source.word(a) == "{" for a in arguments):
        return
    first = writer.place(token, ("leaves its first argument", "leaves its second argument")[:len(arguments)])
    start = source.tokens[begin].start
    wrapper = "NEON_MUTANT_APPLY" if row else "NEON_MUTANT_CALL"
    writer.edits.append((start, token.end, f"{wrapper}({first}, {source.text[start:token.end]})"))


def statement(source, writer, i):
    """Assignments of a step left out, or made whatever their guard says."""
    begin = i
    while source.word(begin - 1) in (".", "->"):
        begin -= 2
    if source.word(begin - 1) not in (";", "{", "}", ")", "else") or source.word(source.partner[i + 1] + 1) != ";":
        return
    arguments = source.arguments(i + 1)
    guarded = source.word(i) == "assign" and len(arguments) == 3
    first = writer.place(source.tokens[i], ("left out", "without its guard")[:1 + guarded])
    writer.insert(source.tokens[begin].start, f"neon_mutant::is({first}) ? void() : ")
    if guarded:
        writer.wrap(arguments[2], source.partner[i + 1], f"neon_mutant::guard<{first + 1}>(")


def gradient(source, writer, i):
    """c.results[k] = ...;"""
    equals = source.partner[i + 1] + 1
    if source.word(i - 1) == "." and source.word(equals) == "=":
        first = writer.place(source.tokens[i], ("with the other sign", "left out"))
        writer.wrap(equals + 1, source.end_of_expression(equals + 1), f"neon_mutant::gradient<{first}>(c.graph, ")


def mutate(path, text, first, only=(), ties=False):
    """(mutants numbered from `first`, the text that has them all). `only`: names of the functions meant."""
    source = Source(path, text)
    writer = Writer(source, first)
    skipped = source.skipped(only)
    for i, token in enumerate(source.tokens):
        if skipped[i]:
            continue
        called = source.word(i + 1) == "("
        if token.kind == "symbol":
            operator(source, writer, i, ties)
        elif called and token.text in CALLS:
            call(source, writer, i)
        elif called and token.text in STATEMENTS:
            statement(source, writer, i)
        elif token.text == "results" and source.word(i + 1) == "[":
            gradient(source, writer, i)
    return writer.mutants, writer.text()
