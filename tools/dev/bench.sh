# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The flags of build/dev are those of the preset release, so what is there serves, and only the benchmark itself is
# built. A reconfiguration is what names its targets in a folder that was made before.
configure_bench() {
  setup
  cmake --preset dev -DTENON_BUILD_BENCH=ON >/dev/null
}

dev_bench() {
  case "${1:-}" in -h | --help) exec bench/run.sh --help ;; esac
  configure_bench
  build dev bench
  exec bench/run.sh "$@"
}

dev_overhead() {
  configure_bench
  build dev bench_count
  bench/overhead.sh build/dev "$@"
}

dev_peers() {
  packages+=(python3-pip)
  setup
  mkdir -p .peers
  say "fetching torch (about 500 MB)"
  python3 -m pip download --no-deps -q -d .peers/wheel torch
  python3 - <<'EOT'
import glob, zipfile
wheel = sorted(glob.glob('.peers/wheel/torch-*.whl'))[-1]
with zipfile.ZipFile(wheel) as z:
    names = [n for n in z.namelist() if n.startswith(('torch/include/', 'torch/lib/'))]
    z.extractall('.peers', names)
EOT
  rm -rf .peers/wheel
  echo "torch is in .peers/torch"
}
