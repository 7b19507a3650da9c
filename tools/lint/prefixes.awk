# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Folders with more than five names that begin with the same `word_`: they belong into a folder of that word. A header and
# the source of its name are one.
#   git ls-files | awk -f prefixes.awk
!/\.(c|h|cpp|cu|cuh)$/ { next }
{
  folder = name = $0
  if (!sub(/\/[^\/]*$/, "", folder)) folder = "."
  sub(/.*\//, "", name)
  sub(/\..*/, "", name)
  if (!match(name, /^[a-z0-9]+_/) || (folder, name) in seen) next
  seen[folder, name]
  prefix = substr(name, 1, RLENGTH)
  if (++count[folder, prefix] == 6) full[++n] = folder SUBSEP prefix
}
END {
  for (i = 1; i <= n; ++i) {
    split(full[i], part, SUBSEP)
    print part[1] ": " count[full[i]] " names begin with " part[2]
  }
}
