# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Documents that a file cites and the tree does not have, and codes in comments that no document explains: two letters
# or a letter and a hyphen, then two digits, but for names of number formats. A cited path may leave out its first
# folders, a link of a document may not. A * stands for any name, DATE for any date. What a program puts together ($,
# braces) is not looked at.
BEGIN {
  while (("git ls-files" | getline path) > 0) {
    tracked[path] = 1
    if (path !~ /\.md$/) continue
    for (rest = path;; rest = substr(rest, RLENGTH + 1)) {
      cited[rest] = 1
      if (!match(rest, /^[^\/]*\//)) break
    }
  }
  while (("git grep -ohwE '[A-Z]{2}[0-9]{2}|[A-Z]-[0-9]{2}' -- README.md docs" | getline code) > 0) explained[code] = 1
  split("BF16 TF32 FP16 FP32 FP64", formats, " ")
  for (i in formats) explained[formats[i]] = 1
}

function complain(what) { print FILENAME ":" FNR ": " what }

function exists(path,    pattern, name) {
  gsub(/DATE/, "*", path)
  if (path !~ /\*/) return path in cited
  pattern = path
  gsub(/\./, "\\.", pattern)
  gsub(/\*/, "[^/]*", pattern)
  for (name in cited) if (name ~ "^" pattern "$") return 1
  return 0
}

# A link's target, from the folder of the file that has it.
function linked(target,    path) {
  path = FILENAME
  sub(/[^\/]*$/, "", path)
  path = path target
  while (sub(/[^\/]+\/\.\.\//, "", path)) {}
  gsub(/(^|\/)\.\//, "/", path)
  sub(/^\//, "", path)
  return path in tracked
}

{
  line = $0
  gsub(/[a-z]+:\/\/[^ )>"'`]*/, " ", line)
  gsub(/\\n/, " ", line)
  if (FILENAME ~ /\.md$/) {
    for (rest = line; match(rest, /\]\([^)# ]*\.md/);) {
      target = substr(rest, RSTART + 2, RLENGTH - 2)
      if (!linked(target)) complain("no " target " beside it")
      rest = substr(rest, RSTART + RLENGTH)
    }
    gsub(/\]\([^) ]*\)/, "]", line)
  }
  for (rest = line; match(rest, /[A-Za-z0-9_$*{}.\/-]*\.md/);) {
    word = substr(rest, RSTART, RLENGTH)
    before = RSTART > 1 ? substr(rest, RSTART - 1, 1) : ""
    rest = substr(rest, RSTART + RLENGTH)
    if (rest ~ /^[A-Za-z0-9_]/ || word ~ /[${}]/ || before == ")") continue
    sub(/^[.\/]*\//, "", word)
    if (word != ".md" && !exists(word)) complain("no " word)
  }
}

FILENAME !~ /\.md$/ {
  if (FILENAME ~ /\.(c|h|cpp|cu|cuh|cl|def|in)$/) found = match($0, /\/\/|\/\*|^ *\* /)
  else found = match($0, /#/)
  if (!found) next
  comment = substr($0, RSTART)
  gsub(/[^A-Za-z0-9_-]+/, " ", comment)
  n = split(comment, words, " ")
  for (i = 1; i <= n; i++) {
    if (words[i] ~ /^([A-Z][A-Z][0-9][0-9]|[A-Z]-[0-9][0-9])$/ && !(words[i] in explained)) complain("what is " words[i] "?")
  }
}
