# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# The table of figures in README.md, from the newest files of bench/results.
#   awk -f figures.awk figures.txt DATE-cpu.md DATE-size.md
function trim(s) { gsub(/^ +| +$/, "", s); return s }
function value(s) { gsub(/,/, "", s); return s + 0 }
# Three significant digits at least: 60.1, 526, 1,234.
function digits(v) { return sprintf(v < 10 ? "%.2f" : v < 100 ? "%.1f" : "%.0f", v) }
function time(s, v) {
  if (s == "-" || s == "") return "-"
  v = value(s)
  if (v < 1e3) return digits(v) " ns"
  if (v < 1e6) return digits(v / 1e3) " us"
  return v < 1e9 ? digits(v / 1e6) " ms" : digits(v / 1e9) " s"
}
function bytes(s) { return s == "-" || s == "" ? "-" : digits(value(s) / 1e6) " MB" }
function shown(v, is_noisy, text) {
  if (v == "") return ""
  text = sprintf("%.2f", v) (is_noisy ? "\\*" : "")
  return v > 1 ? "**" text "**" : text
}
function measured(row, text) {
  printf "| %s | %s | %s | %s | %s |\n", text, time(ours[row, 1]), time(theirs[row, 1]),
    shown(ratio[row, 1], noisy[row, 1]), shown(ratio[row, 2], noisy[row, 2])
  listed[row] = 1
}
function worst(row) { return ratio[row, 1] + 0 > ratio[row, 2] + 0 ? ratio[row, 1] + 0 : ratio[row, 2] + 0 }
function fail(text) { print "figures.awk: " text > "/dev/stderr"; failed = 1; exit 1 }

FNR == 1 { file++ }
file == 1 {
  if ($0 ~ /^#/ || $0 == "") next
  if ($0 == "behind:") { behind = 1; next }
  at = match($0, /  +/)
  row = at ? substr($0, 1, at - 1) : ""
  text = at ? substr($0, at + RLENGTH) : $0
  if (behind) { named[row] = text; next }
  n++
  wanted[n] = row
  caption[n] = text
  named[row] = text
  next
}
file == 2 && processor == "" && /\. Commit / { processor = $0; sub(/\. Commit .*/, "", processor) }
{ count = split($0, cell, "|"); for (i = 1; i <= count; i++) cell[i] = trim(cell[i]) }
file == 2 && count == 11 && cell[3] ~ /^[0-9]+$/ {
  row = cell[2]
  if (!((row, 1) in ratio) && !((row, 2) in ratio)) order[++rows] = row
  ours[row, cell[3]] = cell[4]
  theirs[row, cell[3]] = cell[5]
  ratio[row, cell[3]] = cell[7] == "-" ? "" : value(cell[7])
  noisy[row, cell[3]] = cell[10] == "noisy"
}
# Memory: one line per number of threads; the first line is for one thread.
file == 2 && count == 9 && cell[7] ~ /^[0-9,]+$/ && !(cell[2] in our_bytes) {
  our_bytes[cell[2]] = cell[7]
  their_bytes[cell[2]] = cell[8]
}
file == 3 && count == 4 { size[cell[2]] = cell[3] }

END {
  if (failed) exit 1
  if (processor == "") fail("the results name no processor")
  printf "| %s | Tenon | libtorch | ratio | on 2 threads |\n|---|---:|---:|---:|---:|\n", processor
  for (i = 1; i <= n; i++) {
    row = wanted[i]
    if (row == "") printf "| **%s** | | | | |\n", caption[i]
    else if (row ~ /^size: /) {
      if (!(substr(row, 7) in size)) fail("no line '" substr(row, 7) "' in the sizes")
      printf "| %s | %s | - | | |\n", caption[i], bytes(size[substr(row, 7)])
    } else if (row ~ /:bytes$/) {
      sub(/:bytes$/, "", row)
      if (!(row in our_bytes)) fail("no memory of the case " row)
      printf "| %s | %s | %s | %s | |\n", caption[i], bytes(our_bytes[row]), bytes(their_bytes[row]),
        shown(value(our_bytes[row]) / value(their_bytes[row]), 0)
    } else if ((row, 1) in ratio) measured(row, caption[i])
    else fail("no case " row " in the results")
  }
  print "| **Behind libtorch** (every such row of the table) | | | | |"
  while (1) {
    top = ""
    for (i = 1; i <= rows; i++) {
      if (!listed[order[i]] && worst(order[i]) > 1 && (top == "" || worst(order[i]) > worst(top))) top = order[i]
    }
    if (top == "") break
    measured(top, top in named ? named[top] : "`" top "`")
  }
}
