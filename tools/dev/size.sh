# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
dev_size() {
  printf '%-16s %8s %8s\n' folder lines files
  for f in abi runtime core plugins sdk plugin_cpu plugin_cuda plugin_sparse plugin_sparse_cuda tenon jit tools tests examples bench docs; do
    [ -d "$f" ] || continue
    printf '%-16s %8d %8d\n' "$f" "$(git ls-files "$f" | grep -E '\.(c|h|cpp|ops|def|md|cmake)$|CMakeLists' |
      xargs cat 2>/dev/null | wc -l)" "$(git ls-files "$f" | wc -l)"
  done
  for f in build/*/lib/libtenon*.so; do
    [ -e "$f" ] && [ ! -L "$f" ] && printf '%-48s %8d KiB\n' "$f" "$(($(stat -c %s "$f") / 1024))"
  done
  true
}
