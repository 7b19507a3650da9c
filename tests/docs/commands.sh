#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# The lines of the documents that call `tenon` name commands and options that it has, links between documents lead to
# existing files, and the project that docs/plugin.md shows is the one that `tenon new-plugin` writes.
#   commands.sh TENON SOURCE_DIR WORK_DIR
tenon=$1 root=$2 work=$3
failed=0
rm -rf "$work"
mkdir -p "$work"
cd "$root" || exit 1
sed -nE 's/^    (.*[ /])?tenon ([a-z-]+)(.*)$/\2 \3/p' README.md docs/*.md examples/*/README.md | sed 's/ #.*//; s/&&.*//' \
  > "$work/lines"
while read -r command arguments; do
  "$tenon" "$command" --help > "$work/help" 2>&1 || { echo "tenon has no command '$command'"; failed=1; }
  for word in $arguments; do
    case $word in
      -*) grep -qE -- "(^| |,)$word( |,|:|$)" "$work/help" || { echo "tenon $command has no option $word"; failed=1; } ;;
    esac
  done
done < "$work/lines"
echo "$(wc -l < "$work/lines") calls of tenon"
[ -s "$work/lines" ] || failed=1

for document in *.md docs/*.md docs/*/*.md examples/*/README.md; do
  [ -e "$document" ] || continue
  awk '/^```/ { code = !code } !code' "$document" | grep -oE '\]\([^)#: ]+' | sed 's/^](//' > "$work/links"
  while read -r link; do
    case $link in http | https) continue ;; esac
    [ -e "$(dirname "$document")/$link" ] || { echo "$document links to $link, which does not exist"; failed=1; }
  done < "$work/links"
done

"$tenon" new-plugin mine --dir "$work/mine" > /dev/null || failed=1
awk '/^```/ { take = $0 == "```cmake"; next } take' docs/plugin.md > "$work/cmake"
[ -s "$work/cmake" ] || { echo "docs/plugin.md shows no CMakeLists.txt"; failed=1; }
while read -r line; do
  grep -qxF -- "$line" "$work/mine/CMakeLists.txt" || { echo "new-plugin does not write: $line"; failed=1; }
done < "$work/cmake"
exit $failed
