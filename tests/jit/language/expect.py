# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes results.txt: what Python itself computes for the functions of programs.py, as Tenon prints values."""
import inspect
import pathlib

here = pathlib.Path(__file__).parent
ESCAPED = str.maketrans({"\\": r"\\", '"': r'\"', "\t": r"\t", "\n": r"\n"})


def text(v):
    if isinstance(v, str): return '"' + v.translate(ESCAPED) + '"'
    if isinstance(v, bool) or v is None: return str(v)
    if isinstance(v, float): return repr(v).removesuffix(".0")
    if isinstance(v, list): return "[" + ", ".join(map(text, v)) + "]"
    if isinstance(v, tuple): return "(" + ", ".join(map(text, v)) + (",)" if len(v) == 1 else ")")
    if isinstance(v, dict): return "{" + ", ".join(f"{text(k)}: {text(x)}" for k, x in v.items()) + "}"
    return str(v)


names = {}
exec((here / "programs.py").read_text(), names)
with open(here / "results.txt", "w") as out:
    for name, f in names.items():
        if inspect.isfunction(f) and all(p.default is not p.empty for p in inspect.signature(f).parameters.values()):
            print(f"{name}: {text(f())}", file=out)
