# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""A C++ source cut into its top-level pieces, so that those which do not compile can be left out."""
import re

TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)


class Piece:
    """Lines of a file from `first` on, counted from 1; `test` is SUITE.NAME or None."""

    def __init__(self, first, lines):
        self.first, self.lines, self.why = first, lines, None
        found = TEST.search("\n".join(lines))
        self.test = f"{found[1]}.{found[2]}" if found else None

    @property
    def last(self):
        return self.first + len(self.lines) - 1


class Source:
    """The pieces of a file: each begins in column 0 and ends with a closing brace there."""

    def __init__(self, name, text):
        self.name, self.pieces = name, []
        block = []
        for number, line in enumerate(text.split("\n"), 1):
            block.append(line)
            if self._ends(block):
                self.pieces.append(Piece(number - len(block) + 1, block))
                block = []
        if block:
            self.pieces.append(Piece(number - len(block) + 1, block))

    @staticmethod
    def _ends(block):
        line = block[-1]
        if re.match(r"^\}[;)]*", line):
            return True
        # A declaration of one line, if nothing is open.
        text = "\n".join(block)
        return text.count("{") == text.count("}") and text.count("(") == text.count(")") and (
            line.startswith("#") or line.rstrip().endswith(";") or not line.strip())

    def text(self):
        """The file without the pieces that are left out; lines keep their numbers."""
        out = []
        for p in self.pieces:
            out += [""] * len(p.lines) if p.why else p.lines
        return "\n".join(out)

    def leave_out(self, line, why):
        """True if a piece that was in the file has this line."""
        for p in self.pieces:
            if p.first <= line <= p.last and not p.why:
                p.why = why
                return True
        return False

    def leave_out_test(self, test, why):
        for p in self.pieces:
            if p.test == test and not p.why:
                p.why = why
                return True
        return False

    def tests(self):
        return [p for p in self.pieces if p.test]
