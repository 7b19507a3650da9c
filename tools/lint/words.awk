# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Words that a budget refuses (tools/lint/words.sh), in documents or in sources.
#   awk -f words.awk [-v renew=1] BUDGET FILES..
# Paragraphs are searched whole, so that a phrase may go over the end of a line. Of a document that is the prose: blocks
# of code, indented commands and `code` are left out, as they name what exists. Of a source it is the comments and the
# strings, and everywhere the parts of its names for an entry that ends in `names`.
# With `renew` the budget itself is printed, with the counts of today.
# `line`: the only one of the text, if it is given.
function search_for(text, in_names, line,    i, k, at, rest, place) {
  if (text !~ (in_names ? any_name : any_word)) return
  for (i = 1; i <= n; ++i) {
    if (names[i] != in_names) continue
    at = 1
    while (match(rest = substr(text, at), "[^a-z0-9_]" pattern[i] "[^a-z0-9_]")) {
      place = at + RSTART - 1
      for (k = lines; k > 1 && start[k] > place; --k) {}
      count[i]++
      found[i] = found[i] file ":" (line ? line : number[k]) ": '" substr(text, place + 1, RLENGTH - 2) "'\n"
      at = place + RLENGTH - 1
    }
  }
}
function search() {
  if (paragraph != "") {
    search_for(tolower(" " paragraph " "), 0)
    if (!source) search_for(tolower(" " paragraph " "), 1)
  }
  paragraph = ""
  lines = 0
}
function append(line) {
  gsub(/`[^`]*`/, "`", line)
  gsub(/[Tt]here is no /, "there-is-no ", line)
  sub(/^[ *\/#!<]+/, "", line)
  gsub(/  +/, " ", line)
  sub(/ $/, "", line)
  start[++lines] = length(paragraph) + 2
  number[lines] = FNR
  paragraph = paragraph line " "
}
# kMaxRank, max_rank and MAX_RANK in their words.
function search_names(line) {
  gsub(/_/, " ", line)
  while (match(line, /[a-z][A-Z]/)) line = substr(line, 1, RSTART) " " substr(line, RSTART + 1)
  search_for(tolower(" " line " "), 1, FNR)
}
# The strings of a line, parted by bars, into `strings`, its comment into `comment`. What goes over the end of a line:
# `until` closes it, and `inside` says what it is.
function take_apart(line,    mark, at) {
  strings = comment = ""
  alone = line ~ /^ *(\/\/|\/\*|#)/ || inside == "comment"
  while (line != "" || inside != "") {
    if (inside != "") {
      at = index(line, until)
      if (inside == "comment") comment = comment (at ? substr(line, 1, at - 1) : line) " "
      else strings = strings (at ? substr(line, 1, at - 1) : line) " | "
      if (!at) return
      line = substr(line, at + length(until))
      inside = ""
    } else if (match(line, c_like ? "//|/\\*|\"|'" : "(^|[ \t])#|\"|'")) {
      mark = substr(line, RSTART, RLENGTH)
      at = RSTART
      if (mark == "//" || mark ~ /#$/) {
        comment = comment substr(line, at + RLENGTH)
        return
      } else if (mark == "/*") {
        inside = "comment"
        until = "*/"
        line = substr(line, at + 2)
      } else if (mark == "\"" && c_like && substr(line, 1, at - 1) ~ /R$/) {
        until = ")" substr(line, at + 1, index(substr(line, at + 1), "(") - 1) "\""
        inside = "string"
        line = substr(line, at + 1)
      } else if (mark == "'" && c_like && substr(line, 1, at - 1) ~ /[0-9A-Fa-f]$/) {
        line = substr(line, at + 1)  # 1'000
      } else if (match(substr(line, at), mark == "\"" ? "^\"([^\"\\\\]|\\\\.)*\"" : c_like ? "^'([^'\\\\]|\\\\.)*'" : "^'[^']*'")) {
        strings = strings substr(line, at + 1, RLENGTH - 2) " | "
        line = substr(line, at + RLENGTH)
      } else {
        strings = strings substr(line, at + 1)
        return
      }
    } else return
  }
}
# FILENAME is another when END runs.
FNR == 1 && NR != FNR {
  search()
  code = 0
  inside = ""
  source = FILENAME !~ /\.md$/
  c_like = FILENAME ~ /\.(h|c|cpp|cu|cuh)$/
}
NR == FNR {
  written[++n_written] = $0
  if ($0 ~ /^#/ || $0 == "") next
  split($0, part, /  +/)
  line_of[++n] = n_written
  budget[n] = part[1]
  pattern[n] = part[2]
  instead[n] = part[3]
  names[n] = part[4] == "names"
  if (names[n]) any_name = any_name (any_name == "" ? "" : "|") pattern[n]
  else any_word = any_word (any_word == "" ? "" : "|") pattern[n]
  next
}
{ file = FILENAME }
source {
  search_names($0)
  take_apart(FILENAME ~ /\.ops$/ && $1 == "doc" ? "# " $0 : $0)
  if (strings != "") {
    search()
    append(strings)
  }
  if (strings != "" || !alone) search()
  if (comment != "") append(comment)
  next
}
/^ *```/ { search(); code = !code; next }
code || /^    / && paragraph == "" { next }
/^ *$/ { search(); next }
/^#/ || /^\|/ || /^ *[-*] / { search() }
{
  line = $0
  gsub(/\]\([^)]*\)/, "]", line)
  append(line)
}
END {
  search()
  if (renew) {
    for (i = 1; i <= n; ++i) {
      if (count[i] > budget[i]) printf "raised from %d to %d: '%s'\n", budget[i], count[i], pattern[i] > "/dev/stderr"
      sub(/^[0-9]+/, count[i] + 0, written[line_of[i]])
    }
    for (i = 1; i <= n_written; ++i) print written[i]
    exit
  }
  for (i = 1; i <= n; ++i) {
    if (count[i] > budget[i]) printf "%s'%s' %d times, its budget is %d: write %s\n", found[i], pattern[i], count[i], budget[i], instead[i]
    if (count[i] < budget[i]) printf "'%s' %d times, its budget is %d: lower it (tools/lint/words.sh --renew)\n", pattern[i], count[i], budget[i]
  }
}
