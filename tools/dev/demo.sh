# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The demonstrations, and the data of one of them.
# The digits of the UCI set, out of Debian's python3-sklearn: the package is unpacked, not installed.
digits() {
  local out=".cache/digits.csv.gz"
  [ -s "$out" ] && return 0
  mkdir -p .cache
  say "fetching the digits"
  local dir
  dir=$(mktemp -d)
  chmod 755 "$dir"
  (cd "$dir" && { apt-get download -q python3-sklearn >/dev/null 2>&1 ||
    { root apt-get update -q >/dev/null; apt-get download -q python3-sklearn >/dev/null; }; })
  dpkg-deb --fsys-tarfile "$dir"/python3-sklearn_*.deb |
    tar -xO --wildcards '*/digits.csv.gz' >"$out.part"
  rm -rf "$dir"
  mv "$out.part" "$out"
}

dev_demo() {
  if [ "${1:-}" = packages ]; then
    shift
    build dev tenon_packages tenon_cpu tenon_sparse
    example_plugin "$@"
    mkdir -p .cache
    exec build/dev/bin/tenon_packages --out .cache "$@"
  fi
  build dev tenon_digits tenon_cpu
  example_plugin "$@"
  digits
  say "training"
  exec build/dev/bin/tenon_digits --data .cache/digits.csv.gz --out .cache "$@"
}
