#!/usr/bin/python3
"""The chart library in neon/report/uplot is the version that its file names, byte for byte, with its licence."""
import base64
import hashlib
import json
import os
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../neon/report/uplot")


def main():
    with open(os.path.join(FOLDER, "version.json"), encoding="utf-8") as file:
        about = json.load(file)
    wrong = sorted({"version.json", *about["files"]} ^ set(os.listdir(FOLDER)))
    contents = {}
    for name, integrity in about["files"].items():
        with open(os.path.join(FOLDER, name), "rb") as file:
            contents[name] = file.read()
        if "sha512-" + base64.b64encode(hashlib.sha512(contents[name]).digest()).decode() != integrity:
            wrong.append(name)
    if f"(v{about['version']})".encode() not in contents["uPlot.iife.min.js"][:200]:
        wrong.append("the version in uPlot.iife.min.js")
    if b"The MIT License" not in contents["LICENSE"] or b"Leon Sorokin" not in contents["LICENSE"]:
        wrong.append("the words of LICENSE")
    for each in wrong:
        print(f"FAILED: {each} is not what version.json says")
    print(f"{len(contents) - len(wrong)} passed, {len(wrong)} failed")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
