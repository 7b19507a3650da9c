# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A build for 64-bit ARM by Debian's cross compiler, tested in an emulator: what compiles, and numbers, not speed. NEON's
# kernels are those of the baseline there.
arm_targets=(test_{runtime,core,ops,pointwise,autograd,nn,optim,io,jit,plugin_cpu} tenon_{cpu,sparse,ref,oracle,ulp,command})
arm_root=build/arm/root

# Packages for ARM, unpacked into a folder of their own: the system stays as it is.
arm_sysroot() {
  [ -f $arm_root/complete ] && return 0
  say "fetching the libraries for arm64"
  local apt=$PWD/build/arm/apt p wanted=(libc6-dev libstdc++-12-dev)
  for p in "${packages[@]}"; do
    case $p in *opencl* | libclblast-dev) ;; lib* | zlib* | nlohmann*) wanted+=("$p") ;; esac
  done
  rm -rf $arm_root "$apt"
  mkdir -p $arm_root/usr/{lib,bin,sbin} "$apt"/{lists,cache/archives}/partial
  ln -s usr/lib $arm_root/lib
  : >"$apt/status"
  local options=(-o "Dir::State=$apt" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt/cache" -o "APT::Architecture=arm64"
    -o "APT::Architectures=arm64" -o "APT::Sandbox::User=root")
  root apt-get "${options[@]}" -q update >/dev/null
  root apt-get "${options[@]}" -q -y -d --no-install-recommends install "${wanted[@]}" >/dev/null
  for p in "$apt"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$p" | tar -x --keep-directory-symlink -C $arm_root
  done
  # Absolute links would lead to the libraries of this machine.
  find $arm_root -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r p to; do
    ln -sfnr "$arm_root$to" "$p"
  done
  touch $arm_root/complete
}

dev_arm() {
  packages+=(g++-aarch64-linux-gnu qemu-user-static)
  setup
  arm_sysroot
  say "building (arm64)"
  cmake --preset arm >/dev/null
  ninja -C build/arm -j "$jobs" "${arm_targets[@]}"
  say "testing (arm64, in an emulator)"
  # LAPACK is opened by name.
  export QEMU_SET_ENV=LD_LIBRARY_PATH=/usr/lib/aarch64-linux-gnu/openblas-pthread
  ctest --test-dir build/arm -j "$jobs" --output-on-failure --timeout 1200 \
    -R '^(runtime|core|ops|pointwise|autograd|nn|optim|io|jit|plugin_cpu|oracle)\.' -E 'DeathTest|avx2|amx' "$@"
}
