# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Configure and build; what other commands build first.
build() {
  local preset="${1:-dev}"
  shift || true
  setup
  say "building ($preset)"
  [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >"/tmp/tenon-configure.$$" 2>&1 ||
    { cat "/tmp/tenon-configure.$$"; rm -f "/tmp/tenon-configure.$$"; return 1; }
  rm -f "/tmp/tenon-configure.$$"
  ninja -C "build/$preset" -j "$jobs" "$@"
}

# The NAME of `--device NAME` or `--device=NAME` among the arguments.
device_of() { sed -nE 's/.*--device[ =]([a-z0-9_]+).*/\1/p' <<<"$*"; }

# Where that is a plugin of examples/: built outside of this tree against the installed SDK, and found by what runs next.
example_plugin() {
  local name source
  name=$(device_of "$@")
  source="examples/plugin_$name"
  [ -n "$name" ] && [ -d "$source" ] || return 0
  say "building $source against the installed SDK"
  build dev tenon_operators
  rm -rf build/sdk
  cmake --install build/dev --component sdk --prefix build/sdk >/dev/null
  cmake -G Ninja -S "$source" -B "build/$name" -DCMAKE_PREFIX_PATH="$PWD/build/sdk" -DCMAKE_BUILD_TYPE=Release >/dev/null
  ninja -C "build/$name" -j "$jobs"
  export TENON_ADD_PLUGIN_PATH="$PWD/build/$name/lib"
}

# The same for any device: where it is one of this tree's, the plugins that serve it.
device_plugins() {
  example_plugin "$@"
  local name target targets=()
  name=$(device_of "$@")
  case "$name" in "" | cpu) return 0 ;; esac
  for target in "tenon_$name" "tenon_sparse_$name"; do
    ! ninja -C build/dev -t query "$target" >/dev/null 2>&1 || targets+=("$target")
  done
  [ ${#targets[@]} = 0 ] || build dev "${targets[@]}"
}

dev_build() { build "$@"; }

dev_clean() { rm -rf build; }
