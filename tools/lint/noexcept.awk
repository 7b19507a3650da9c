# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Functions that are noexcept, and destructors, whose bodies may allocate: where memory runs out they end the process.
# Found by words, so what a called function does is not seen. A body that catches what is thrown is in order, and so is
# one that `tools/lint/noexcept.allow` names, FILE:FIRST LINE, with a reason.
#   awk -f noexcept.awk noexcept.allow SOURCES..
function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
function count(s, c) { return gsub(c, c, s) }
FNR == 1 && FILENAME ~ /noexcept\.allow$/ { allowing = 1 }
FNR == 1 && FILENAME !~ /noexcept\.allow$/ { allowing = 0; inside = 0 }
allowing {
  if ($0 ~ /^#/ || $0 == "") next
  split($0, part, /  +/)
  allowed[part[1]] = 1
  next
}
{
  line = $0
  sub(/\/\/.*/, "", line)
  gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
  gsub(/'.'/, "0", line)
}
!inside && (line ~ /\) *(const )?noexcept[^;]*\{/ || line ~ /~[A-Za-z]+\(\)( override)? *\{/) {
  inside = 1
  depth = 0
  body = ""
  first = trim($0)
  at = FNR
}
inside {
  body = body "\n" line
  depth += count(line, "{") - count(line, "}")
  if (depth > 0) next
  inside = 0
  sub(/^[^{]*\{/, "", body)
  sub(/ = default/, "", body)
  if (body ~ /catch *\(/) next
  if (body !~ /std::string[ (]|std::vector<[^>]*> [a-z]|push_back\(|emplace(_back|_front)?\(|insert\(|\.resize\(|\.reserve\(|make_unique|make_shared|[^a-z_]new [A-Za-z]|[^a-z_]join\(|to_string\(|throw |std::function</) next
  key = FILENAME ":" first
  if (key in allowed) next
  print FILENAME ":" at ": " first
}
