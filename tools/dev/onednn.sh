# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The newest headers of 3.x, and the last library that PyPI has without a SYCL runtime.
onednn_newest=onednn-3.13
onednn_library=onednn-3.2

# wheel FOLDER PACKAGE==VERSION: include/ and lib/ of a wheel's data, into .peers/FOLDER
wheel() {
  say "fetching $2"
  mkdir -p .peers
  local dir
  dir=$(mktemp -d -p .peers)
  python3 -m pip download --no-deps --only-binary :all: -q -d "$dir" "$2" || { rm -rf "$dir"; return 1; }
  python3 - "$dir" ".peers/$1" <<'EOT'
import glob, os, sys, zipfile
with zipfile.ZipFile(*glob.glob(sys.argv[1] + '/*.whl')) as z:
    for name in z.namelist():
        _, found, path = name.partition('.data/data/')
        if not found or not path.startswith(('include/', 'lib/lib')): continue
        out = os.path.join(sys.argv[2], path)
        os.makedirs(os.path.dirname(out), exist_ok=True)
        with open(out, 'wb') as f: f.write(z.read(name))
EOT
  rm -rf "$dir"
}

fetch_onednn() {
  [ -d .peers/$onednn_newest ] || wheel $onednn_newest onednn-devel==2026.1.0 || return 1
  [ -e .peers/$onednn_library/lib/libdnnl.so ] && return 0
  wheel $onednn_library onednn-devel-cpu-gomp==2023.2.0 && wheel $onednn_library onednn-cpu-gomp==2023.2.0
}

dev_onednn() {
  packages+=(python3-pip)
  setup
  fetch_onednn || {
    echo "dev: oneDNN could not be fetched; without a network, unpack the wheels' data (include/ and lib/) as" \
      ".peers/$onednn_newest and .peers/$onednn_library" >&2
    return 75
  }
  cmake --preset dev "-DTENON_ONEDNN_ALSO=$PWD/.peers/$onednn_newest;$PWD/.peers/$onednn_library" >/dev/null
  build dev tenon_cpu_$onednn_newest tenon_cpu_$onednn_library tenon_command tenon_oracle test_ops test_plugin_cpu
  say "testing ($onednn_library)"
  export TENON_PLUGIN_PATH="$PWD/build/dev/tenon_cpu_$onednn_library"
  local opened
  opened=$(build/dev/bin/tenon plugins --load)
  grep -F "oneDNN ${onednn_library#onednn-}" <<<"$opened" || { echo "$opened" >&2; return 1; }
  build/dev/bin/test_ops --gtest_brief=1
  build/dev/bin/test_plugin_cpu --gtest_brief=1 --gtest_filter='Int8*'
  build/dev/bin/tenon_oracle tests/oracle --filter '^(?!sparse).*(conv|mm|matmul|linear)'
}
