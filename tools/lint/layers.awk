# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Who may include whom: the block `parts` of docs/design/README.md, which explains its format. A header and the source of
# its name are one unit. A public header of runtime, core or jit belongs to the folder of the source of its name, or to the
# one that header_folders.txt names it for.
#   awk -f layers.awk header_folders.txt docs/design/README.md $(git ls-files '*.h' '*.cpp' '*.cu' '*.cuh')
function complain(text) {
  print text
  bad = 1
}

# PART/[FOLDER/]STEM of a path or of an include; "" for what is not in the tree.
function unit_of(path,    parts) {
  sub(/^(abi|sdk|runtime|core|plugins|tenon|jit|onnx|distributed)\/include\//, "", path)
  if (path ~ /^tenon\/((abi|sdk|runtime|core|plugins|jit|onnx|distributed)\/|(jit|onnx|distributed)\.h$)/) sub(/^tenon\//, "", path)
  if (path == "jit.h") return "jit/jit"
  if (path == "onnx.h") return "onnx/onnx"
  if (path == "distributed.h") return "distributed/distributed"
  if (path ~ /^(tests|tools|examples|bench)\//) sub(/\/.*\//, "/", path)  # one folder each
  sub(/\.[a-z]+$/, "", path)
  if (split(path, parts, "/") == 2 && path in folder_of_header) return folder_of_header[path] "/" parts[2]
  return path
}
function part_of(unit) { return substr(unit, 1, index(unit, "/") - 1) }
# The folder of a unit within its part: "." for a file in no folder, unless it has a folder's name.
function folder_of(unit,    parts) {
  if (split(unit, parts, "/") > 2 || (parts[1], parts[2]) in rank) return parts[2]
  return "."
}
function rank_of(unit) {
  return (part_of(unit), folder_of(unit)) in rank ? rank[part_of(unit), folder_of(unit)] : 1000
}

FILENAME ~ /header_folders\.txt$/ {
  if ($0 ~ /^#/ || NF == 0) next
  split($1, parts, "/")
  for (i = 2; i <= NF; ++i) folder_of_header[parts[1] "/" $i] = substr($1, 1, length($1) - 1)
  next
}

FILENAME ~ /README\.md$/ {
  if ($0 ~ /^```/) reading = ($0 == "```parts")
  else if (reading) {
    part = substr($1, 1, length($1) - 1)
    known[part] = 1
    order = 0
    for (i = 2; i <= NF; ++i) {
      if ($i == "|") order = 1
      else if (order) {
        ++n_folders[part]
        n = split($i, joined, "+")
        for (j = 1; j <= n; ++j) {
          rank[part, joined[j]] = n_folders[part]
          if (n > 1) mutual[part, joined[j]] = 1
        }
      }
      else may[part, $i] = 1
    }
  }
  next
}

# Before the first source is read: the folders of public headers by the sources of their names.
!headers_found {
  headers_found = 1
  for (i = 3; i < ARGC; ++i) {
    if (ARGV[i] !~ /^(runtime|core|jit|distributed)\/[a-z]+\/[a-z_]+\.cpp$/) continue
    split(ARGV[i], parts, "/")
    sub(/\.cpp$/, "", parts[3])
    header = parts[1] "/" parts[3]
    if (!(header in folder_of_header)) folder_of_header[header] = parts[1] "/" parts[2]
  }
}

FNR == 1 {
  from = unit_of(FILENAME)
  part = part_of(from)
  ordered = part in n_folders
  if (!(part in known)) complain(FILENAME ": is not a part in docs/design/README.md")
  else if (ordered && (folder_of(from) != "." || part ~ /^(runtime|core)$/) && !rank[part, folder_of(from)]) {
    complain(FILENAME ": its folder is missing from the order of docs/design/README.md")
  }
}

/^#include ["<](abi|runtime|core|isa|jit|onnx|distributed|ops|plugins|plugin_[a-z_]+|sdk|tenon|tools|bench|examples|tests)\// && !/gen\.h/ {
  split($0, quoted, /["<>]/)
  to = unit_of(quoted[2])
  target = part_of(to)
  if (target != part) {
    if (!((part, target) in may) && !((part, "*") in may)) {
      complain(FILENAME ":" FNR ": " part " does not include " target " (docs/design/README.md)")
    }
    next
  }
  if (!ordered) next
  if (rank_of(to) > rank_of(from)) {
    complain(FILENAME ":" FNR ": " folder_of(from) " includes " quoted[2] ", which is in a later folder")
  } else if (to != from && !((from, to) in edge) && !((part, folder_of(from)) in mutual)) {
    edge[from, to] = 1
    out[from]++
    in_[to]++
    units[from] = units[to] = 1
  }
}

# Removes u and its edges.
function remove(u,    v) {
  for (v in units) {
    if ((v, u) in edge) {
      delete edge[v, u]
      out[v]--
    }
    if ((u, v) in edge) {
      delete edge[u, v]
      in_[v]--
    }
  }
  delete units[u]
}

END {
  # Removes every unit that includes nothing or that nothing includes, until only cycles and what connects them are left.
  do {
    gone = 0
    for (u in units) {
      if (out[u] > 0 && in_[u] > 0) continue
      remove(u)
      gone = 1
    }
  } while (gone)
  for (u in units) cycle = cycle " " u
  if (cycle != "") complain("these include each other in a cycle:" cycle)
  exit bad
}
