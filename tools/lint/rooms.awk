# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Core's folders stand in an order (tools/lint/rooms.txt): a file includes what is in its own folder or in one before it.
# A header and the source of its name are one unit; no units include each other in a circle. A public header
# (core/include) belongs to the folder of the source of its name, or to the folder that rooms.txt names it for.
#   awk -f rooms.awk rooms.txt $(git ls-files core plugins)
function unit_of(path) {
  sub(/^tenon\/core\//, "core/include/tenon/core/", path)
  if (path ~ /^core\/include\//) {
    sub(/.*\//, "", path)
    sub(/\.[a-z]+$/, "", path)
    return path in room_of_stem ? room_of_stem[path] "/" path : ""
  }
  if (path !~ /^core\/[a-z]+\/[a-z_]+\.(h|cpp)$/) return ""
  sub(/^core\//, "", path)
  sub(/\.[a-z]+$/, "", path)
  return path
}
function room(unit) { return substr(unit, 1, index(unit, "/") - 1) }
function complain(text) {
  print text
  bad = 1
}

FILENAME ~ /rooms\.txt$/ {
  if ($0 ~ /^#/ || NF == 0) next
  name = $1
  sub(/:$/, "", name)
  place[name] = ++rooms
  for (i = 2; i <= NF; ++i) room_of_stem[$i] = name
  next
}

# Before the first source is read: the rooms of public headers by the sources of their names.
!looked {
  looked = 1
  for (i = 2; i < ARGC; ++i) {
    if (ARGV[i] !~ /^core\/[a-z]+\/[a-z_]+\.cpp$/) continue
    split(ARGV[i], part, "/")
    stem = part[3]
    sub(/\.cpp$/, "", stem)
    if ((part[2] != "infer" || stem == "infer") && !(stem in room_of_stem)) room_of_stem[stem] = part[2]
  }
}

FNR == 1 {
  from = unit_of(FILENAME)
  if (from == "" && FILENAME ~ /^core\/.*\.(h|cpp)$/) {
    complain(FILENAME ": in no folder of tools/lint/rooms.txt")
  } else if (from != "" && !(room(from) in place)) {
    complain(FILENAME ": its folder is not in tools/lint/rooms.txt")
  }
}

from != "" && /^#include "(core|tenon\/core)\// {
  split($0, quoted, "\"")
  to = unit_of(quoted[2])
  if (to == "") {
    complain(FILENAME ":" FNR ": " quoted[2] " is in no folder of tools/lint/rooms.txt")
  } else if (place[room(to)] > place[room(from)]) {
    complain(FILENAME ":" FNR ": " room(from) " includes " quoted[2] ", which is in " room(to) ", a later folder")
  } else if (to != from && !((from, to) in edge)) {
    edge[from, to] = 1
    out[from]++
    in_[to]++
    units[from] = units[to] = 1
  }
}

# Takes u away, with what it includes and what includes it.
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
  # What includes nothing that is left goes, and what nothing left includes; circles stay, and what lies between two.
  do {
    gone = 0
    for (u in units) {
      if (out[u] > 0 && in_[u] > 0) continue
      remove(u)
      gone = 1
    }
  } while (gone)
  for (u in units) circle = circle " " u
  if (circle != "") complain("these include each other in a circle:" circle)
  exit bad
}
