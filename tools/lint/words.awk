# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Words of documents that tools/lint/words.budget refuses. Paragraphs are searched whole, so that a phrase may go over the
# end of a line; blocks of code, indented commands and `code` are left out, as they name what exists.
#   awk -f words.awk words.budget DOCUMENTS..
function search(    i, k, at, rest, place, text) {
  text = tolower(" " paragraph " ")
  for (i = 1; i <= n; ++i) {
    at = 1
    while (match(rest = substr(text, at), "[^a-z0-9_]" pattern[i] "[^a-z0-9_]")) {
      place = at + RSTART - 1
      for (k = lines; k > 1 && start[k] > place; --k) {}
      count[i]++
      found[i] = found[i] file ":" number[k] ": '" substr(text, place + 1, RLENGTH - 2) "'\n"
      at = place + RLENGTH - 1
    }
  }
  paragraph = ""
  lines = 0
}
# FILENAME is another when END runs.
FNR == 1 && NR != FNR { search(); code = 0 }
NR == FNR {
  if ($0 ~ /^#/ || $0 == "") next
  split($0, part, /  +/)
  budget[++n] = part[1]
  pattern[n] = part[2]
  instead[n] = part[3]
  next
}
{ file = FILENAME }
/^ *```/ { search(); code = !code; next }
code || /^    / && paragraph == "" { next }
/^ *$/ { search(); next }
/^#/ || /^\|/ || /^ *[-*] / { search() }
{
  line = $0
  gsub(/`[^`]*`/, "`", line)
  gsub(/\]\([^)]*\)/, "]", line)
  gsub(/[Tt]here is no /, "there-is-no ", line)
  sub(/^ +/, "", line)
  start[++lines] = length(paragraph) + 2
  number[lines] = FNR
  paragraph = paragraph line " "
}
END {
  search()
  for (i = 1; i <= n; ++i) {
    if (count[i] > budget[i]) printf "%s'%s' %d times, its budget is %d: write %s\n", found[i], pattern[i], count[i], budget[i], instead[i]
    if (count[i] < budget[i]) printf "'%s' %d times, its budget is %d: lower it in tools/lint/words.budget\n", pattern[i], count[i], budget[i]
  }
}
