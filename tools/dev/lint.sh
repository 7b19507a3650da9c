# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What CI refuses without building anything, and formatting.
sources() { git ls-files '*.c' '*.h' '*.cpp' '*.cu' '*.cuh' | grep -v '^tests/golden/'; }

# Files of shell, by their name or by their first line.
scripts() {
  { git ls-files '*.sh'
    git grep -nIE '^#!.*[/ ](ba|da)?sh( |$)' | sed -n 's/^\([^:]*\):1:.*/\1/p'; } | sort -u
}

# complain WHAT LINES: prints both and sets `failed` of dev_lint
complain() {
  printf '%s\n' "$2" | sed "s|^|  |"
  echo "lint: $1"
  failed=1
}

# Who may include and name whom.
lint_layers() {
  local hits
  hits=$(git ls-files '*.h' '*.cpp' '*.cu' '*.cuh' | grep -v '^tools/cli/project/' |
    xargs awk -f tools/lint/layers.awk tools/lint/header_folders.txt docs/design/README.md || true)
  [ -z "$hits" ] || complain "against docs/design/README.md: who may include whom, and the order of folders" "$hits"
  hits=$(git grep -nE '#include *[<"](runtime/|core/|plugins/|tenon/(runtime|core|plugins|tensor|autograd|nn|ops|types|optim|data))' -- \
    'tests/ref' 'tests/null' 'examples/plugin_*' || true)
  [ -z "$hits" ] || complain "a plugin reaches above abi/" "$hits"
  # The second coo is not that of coordinate, cooperate or cooldown.
  hits=$({ git grep -niE 'coo|sparse' -- runtime core plugins
    git grep -niE 'coo([^lpr]|$)|sparse' -- 'tenon/*.h' 'tenon/*.cpp' ':!tenon/types.cpp' \
      ':!tenon/include/tenon/types.h' ':!tenon/*embedding*' ':!tenon/*nn/init.*' ':!tenon/*optim/sparse_adam*' \
      ':!tenon/*optim/adagrad*' ':!tenon/*compat*'; } | grep -v '#include "tenon/optim/sparse_adam.h"' || true)
  [ -z "$hits" ] || complain "a layout of a plugin is named in code that serves every layout" "$hits"
}

# What the compiler lets pass.
lint_hazards() {
  local hits
  hits=$(git ls-files ops/infer | xargs awk -f tools/lint/sizes.awk)
  [ -z "$hits" ] || complain "arithmetic on a caller's integers that may wrap: use Size (tenon/core/sizes.h)" "$hits"
  hits=$(git grep -nE '\bc\.(tensor|tensor_or_null|integer|flag|number|ints|fixed|bit|scalar|dtype|none|list_size|list_tensor|arg|cast|expand|expand_to|set_device|check_fits)\([0-9]' -- ops/infer || true)
  [ -z "$hits" ] || complain "a shape rule names an argument by its number (infer_args.gen.h has the names)" "$hits"
  hits=$(git grep -nE '\b(std::cout|std::cerr|printf\(|abort\(\)|std::exit|[^_]exit\()' -- runtime core plugins plugin_cpu 'tenon/*.cpp' |
    grep -vE 'snprintf|debugger|_exit|puts' || true)
  [ -z "$hits" ] || complain "a library prints or exits" "$hits"
  hits=$(git ls-files runtime core plugins sdk tenon 'plugin_*' | grep -E '\.(h|cpp|cu|cuh)$' |
    xargs awk -f tools/lint/noexcept.awk tools/lint/noexcept.allow)
  [ -z "$hits" ] || complain "noexcept, and it may allocate (tools/lint/noexcept.allow takes reasons)" "$hits"
  hits=$(git grep -nE '^[^/]*\bthread_local\b' -- runtime core plugins sdk tenon 'plugin_*' |
    grep -vE 'thread_local (bool|int|uint32_t|char|ThreadCapture|Spin|[A-Za-z:]+\*) ' || true)
  [ -z "$hits" ] || complain "thread_local of a type that may have a destructor (runtime: thread_end.h)" "$hits"
  # The child of a process that used CUDA gets an error before any lock of plugin_cuda.
  hits=$(git grep -nE '^ *(static |inline )*std::(recursive_|shared_|timed_)*mutex[ &*]+[A-Za-z_]+(\[.*\])?[;= {]' -- \
    runtime core ops plugins sdk tenon jit distributed isa plugin_cpu plugin_sparse | grep -v '// fork: ' || true)
  [ -z "$hits" ] || complain "a mutex that the child of a fork may find locked: core::LeafMutex, or '// fork: REASON'" "$hits"
}

lint_form() {
  local hits
  hits=$(git grep -nwE 'TO''DO|FIX''ME|XX''X' -- '*.c' '*.h' '*.cpp' '*.ops' '*.cmake' || true)
  [ -z "$hits" ] || complain "leftovers" "$hits"
  hits=$(sources | xargs wc -l | awk '$1 > 600 && $2 != "total" {print $2 ": " $1 " lines"}')
  [ -z "$hits" ] || complain "files over 600 lines" "$hits"
  hits=$(git ls-files | awk -f tools/lint/prefixes.awk)
  [ -z "$hits" ] || complain "more than five names of a folder with one prefix: make it a folder" "$hits"
  hits=$(git grep -nE '^[^|].{120}' -- '*.md' ':!bench/results' || true)
  [ -z "$hits" ] || complain "documents over 120 columns, tables apart" "$hits"
  hits=$(tools/lint/docs.sh)
  [ -z "$hits" ] || complain "documents: a file that is not there, or a setting left out" "$hits"
  hits=$(git ls-files | awk -f tools/lint/tests.awk - tests/README.md)
  [ -z "$hits" ] || complain "tests/README.md and the tree differ in which file tests a source" "$hits"
  hits=$(tools/lint/words.sh)
  [ -z "$hits" ] || complain "refused words (budgets only fall; tools/lint/words.sh --renew lowers them)" "$hits"
  hits=$(sources | xargs grep -L 'SPDX-License-Identifier' || true)
  [ -z "$hits" ] || complain "no license header" "$hits"
  hits=$(tools/readme/figures.sh --check 2>&1 || true)
  [ -z "$hits" ] || complain "README's figures are not those of bench/results (tools/readme/figures.sh renews them)" "$hits"
  hits=$(sources | xargs -P "$jobs" -n 40 clang-format --dry-run 2>&1 | grep -oE '^[^ :]+\.(c|h|cpp|cu|cuh):' | sort -u || true)
  [ -z "$hits" ] || complain "files differ from .clang-format (./dev fmt)" "$hits"
}

lint_citations() {
  local hits
  hits=$(git grep -lIE '\.md|[A-Z]{2}[0-9]{2}|[A-Z]-[0-9]{2}' -- ':!tests/golden' ':!tests/oracle' ':!tests/lint' |
    xargs awk -f tools/lint/citations.awk)
  [ -z "$hits" ] || complain "cited, and neither in the tree nor explained there" "$hits"
}

# The scripts of tools/dev are checked through dev, which sources them.
lint_scripts() {
  local hits
  hits=$(scripts | xargs wc -l | awk '$1 > 150 && $2 != "total" {print $2 ": " $1 " lines"}')
  [ -z "$hits" ] || complain "files of shell over 150 lines" "$hits"
  command -v shellcheck >/dev/null || { echo "lint: shellcheck is not installed, and was not run"; return 0; }
  hits=$(scripts | grep -v '^tools/dev/' | xargs shellcheck -a -x -P SCRIPTDIR -e SC1007,SC2015,SC2016 -f gcc || true)
  [ -z "$hits" ] || complain "shellcheck" "$hits"
}

dev_lint() {
  local failed=0
  lint_layers
  lint_hazards
  lint_form
  lint_citations
  lint_scripts
  [ $failed = 0 ] && echo "lint: clean"
  return $failed
}

dev_fmt() { sources | xargs -P "$jobs" -n 40 clang-format -i; }
