#!/bin/sh
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# words.sh WORDS_AWK WORK_DIR: what it counts in documents, comments, strings and names, and the budget that it writes.
awk=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
cd "$work" || exit 1
cat > budget << 'END'
# A comment stays.
1  odd words?  plain words
5  tints?  hue  names
END
cat > page.md << 'END'
An odd
word, `odd words`.

    odd words
END
cat > a.cpp << 'END'
// An odd
// word.
int odd = word, kTintMap, tint_map;  // TINTS
say("odd words", 'o', 1'000, R"(an odd
word)");
/* odd
   words */
END
cat > b.sh << 'END'
say 'odd words' $odd word # odd words
END
awk -f "$awk" budget page.md a.cpp b.sh > found
cat > expected << 'END'
page.md:1: 'odd word'
a.cpp:1: 'odd word'
a.cpp:4: 'odd words'
a.cpp:6: 'odd words'
b.sh:1: 'odd words'
b.sh:1: 'odd words'
'odd words?' 6 times, its budget is 1: write plain words
'tints?' 3 times, its budget is 5: lower it (tools/lint/words.sh --renew)
END
diff expected found || exit 1
awk -v renew=1 -f "$awk" budget page.md a.cpp b.sh > renewed 2> raised
echo "raised from 1 to 6: 'odd words?'" | diff - raised || exit 1
sed '2s/^1/6/; 3s/^5/3/' budget | diff - renewed
