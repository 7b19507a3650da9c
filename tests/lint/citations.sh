#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# citations.sh CITATIONS_AWK WORK_DIR: what it complains of, and what it lets pass.
awk=$1 work=$2
rm -rf "$work"
mkdir -p "$work/docs/more" "$work/src"
cd "$work" || exit 1
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
git init -q .
cat > docs/page.md << 'END'
[beside](more/here.md), [above](../README.md#what), docs/more/here.md, here.md, docs/*/here.md
RU07 is explained; https://example.org/gone.md is elsewhere; gone.mdx is none
END
echo "[root](docs/page.md)" > README.md
echo "[nowhere](page.md), gone.md and docs/*/gone.md" > docs/more/here.md
cat > src/a.cpp << 'END'
// page.md, RU07, R-07, BF16, ab07, AB_07
int CD07;  // docs/page.md but CD07
say("\nREADME.md", "$folder/gone.md");
say("gone.md");
END
git add .
cat > expected << 'END'
docs/more/here.md:1: no page.md beside it
docs/more/here.md:1: no gone.md
docs/more/here.md:1: no docs/*/gone.md
src/a.cpp:1: what is R-07?
src/a.cpp:2: what is CD07?
src/a.cpp:4: no gone.md
END
awk -f "$awk" README.md docs/page.md docs/more/here.md src/a.cpp > found
diff expected found
