# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# The table of tests/README.md against the tree: each source of runtime/, core/ and of the loader has a line, each
# line a source and tests that exist, among them the one of the source's name.
#   git ls-files | awk -f tests.awk - tests/README.md

function base(path) {
  sub(/.*\//, "", path)
  return path
}

FNR == NR {
  exists[$0]
  if ($0 ~ /^((runtime|core)\/[a-z]+|plugins)\/[a-z0-9_]+\.cpp$/) sources[$0]
  next
}

/^\| *(runtime|core|plugins)\// {
  split($0, cell, / *\| */)
  source = cell[2]
  seen[source]
  if (!(source in sources)) print source ": in tests/README.md, and not in the tree"
  named = 0
  n = split(cell[3], tests, /, */)
  if (n == 0) print source ": no test is named"
  for (i = 1; i <= n; ++i) {
    if (!(tests[i] in exists)) print source ": " tests[i] " does not exist"
    named = named || base(tests[i]) == base(source)
  }
  own = "tests/" substr(source, 1, index(source, "/")) base(source)
  if (!named && own in exists) print source ": " own " is not named"
}

END {
  for (source in sources) {
    if (!(source in seen)) print source ": tests/README.md names no test"
  }
}
