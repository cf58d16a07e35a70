#!/usr/bin/python3
"""tools/check_words finds the turned-round sentences, in literals, comments and guides, and passes plain ones."""
import os
import subprocess
import sys
import tempfile

TOOL = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools", "check_words")
# The left column of the project's table of plain words, and its rules.
BAD = ["What training makes small.", "That a JPEG is turned is not.", "Of each channel, the mean.", "A run. What it did is kept.",
       "the split is told by the names", "the metrics are said", "the GPU says of it", "neon knows of none",
       "updates rounded by chance", "the folder is none", "that is of no use", "Where it is larger, those are left out.",
       "weights whose names to begin with", "the rate goes by the epochs", "there is none of it"]
GOOD = ["Name of the array.", "Whether it stays.", "the file has no samples", "warns once", "Of course it does.",
        "did you mean relu?", "What is new?", "rounds stochastically", "the folder is missing"]


def found(name, text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([sys.executable, TOOL, path], capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        return done.returncode == 1


def main():
    passed = failed = 0

    def check(condition, what):
        nonlocal passed, failed
        passed, failed = passed + bool(condition), failed + (not condition)
        if not condition:
            print("FAILED:", what)

    for words in BAD:
        check(found("a.cpp", f'fail("{words}");\n'), f"not found in a literal: {words}")
        check(found("a.cpp", f"int x;  // {words}\n"), f"not found in a comment: {words}")
        check(found("a.md", f"# Head\n\n{words}\n"), f"not found in a guide: {words}")
    for words in GOOD:
        check(not found("a.cpp", f'fail("{words}");\n'), f"found in a literal: {words}")
        check(not found("a.cpp", f"// {words}\n"), f"found in a comment: {words}")
        check(not found("a.md", f"- {words}\n"), f"found in a guide: {words}")
    check(found("a.cpp", 'fail("updates are rounded by "\n     "chance");\n'), "a literal over two lines")
    check(found("a.cpp", "// It is rounded by\n// chance.\n"), "a comment over two lines")
    check(not found("a.cpp", "// It is rounded by\nint chance;  // chance\n"), "two comments")
    check(not found("a.cpp", '// The name "by chance" is quoted.\n'), "a quotation")
    check(found("a.cpp", 'open("http://x"), fail("is told");\n'), "a literal behind slashes in another")
    check(not found("a.md", "```sh\nWhat is told\n```\n"), "a block of code")
    for count, wrong in (25, False), (26, True):
        sentence = "It ends here. " + " ".join(["word"] * (count - 1)) + " 12 `f(x)` [last](https://a.b/and-so-on)."
        check(found("a.md", sentence + "\n") == wrong, f"{count} words in a guide")
        check(found("a.cpp", f'fail("{sentence[:60]}"\n     "{sentence[60:]}");\n') == wrong, f"{count} words in a literal")
        check(not found("a.cpp", f"// {sentence}\n"), f"{count} words in a comment")
    check(not found("a.cpp", 'text("' + "int word = 1\\n" * 30 + '");\n'), "code")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
