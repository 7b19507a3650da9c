# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The snapshot that tests/abi/square runs with later cores and plugins. The snapshot of a released minor is never replaced.
dev_abi_snapshot() {
  build dev tenon_core abi_square_today abi_debug_core
  local out=tests/abi/snapshot.tar.xz dir
  dir=$(mktemp -d)
  mkdir -p "$dir/include/tenon/sdk/ops"
  cp -r abi/include/. "$dir/include/"
  cp build/dev/gen/sdk/tenon/sdk/ops/{add,cat,neg,nonzero,relu}.h "$dir/include/tenon/sdk/ops/"
  strip -o "$dir/libtenon_core.so" build/dev/lib/libtenon_core.so
  strip -o "$dir/libtenon_square.so" build/dev/tests/abi/libtenon_square_today.so
  cp tests/abi/layout.golden "$dir/"
  abidw --no-corpus-path --no-comp-dir-path --out-file "$dir/core.abi" build/dev/tests/abi/libabi_debug_core.so
  chmod -R u=rwX,go=rX "$dir"
  tar -C "$dir" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -c . | xz -9e >"$out"
  rm -rf "$dir"
  [ "$(stat -c %s "$out")" -le 1048576 ] || { echo "dev: $out is over 1 MB" >&2; return 1; }
  echo "$out: $(($(stat -c %s "$out") / 1024)) KiB"
}

dev_abi_docs() { build dev abi_docs_page; }
