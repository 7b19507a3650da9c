# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Sums, differences and products of integers that a caller gave, outside of Size (core/include/tenon/core/sizes.h): such
# numbers wrap. A line that says `bounded` in a comment states why its numbers cannot.
FNR == 1 || /^}/ { delete given }
{
  line = $0
  gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
  code = line
  sub(/\/\/.*/, "", code)
  if (line !~ /bounded/ && code !~ /Size\(|core::Size |take\(/) {
    if (code ~ /c\.integer\([^()]*\) [-+*] |[a-z0-9_)\]] [-+*] c\.integer\(|c\.ints\([^()]*\)\[[^]]*\] [-+*] /) bad = 1
    for (name in given) {
      if (code ~ "(^|[^a-z0-9_.])" name "(\\[[^]]*\\])? [-+*]=? " || code ~ "[a-z0-9_)\\]] [-+*]=? " name "([^a-z0-9_(]|$)") bad = 1
    }
    if (bad) print FILENAME ":" FNR ": " $0
    bad = 0
  }
  rest = code
  while (match(rest, /[a-z_0-9]+ = c\.(integer|ints)\(/)) {
    name = substr(rest, RSTART, RLENGTH)
    sub(/ = .*/, "", name)
    given[name] = 1
    rest = substr(rest, RSTART + RLENGTH)
  }
  if (match(code, /int64_t [a-z_0-9]+ : c\.ints\(/)) {
    name = substr(code, RSTART + 8, RLENGTH - 8)
    sub(/ : .*/, "", name)
    given[name] = 1
  }
}
