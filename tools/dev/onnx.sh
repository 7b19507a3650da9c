# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The cases of the ONNX project, which the PyPI package onnx has: every operator, converted and small models.
onnx_packages=(onnx ml_dtypes numpy)

onnx_imports() { "$1" -c 'import onnx, onnx.backend.test.case.node' >/dev/null 2>&1; }

# Sets `python` to one that has the packages: the system's, or that of build/onnx/venv.
onnx_python() {
  for python in "${PYTHON:-python3}" build/onnx/venv/bin/python; do
    onnx_imports "$python" && return 0
  done
  say "installing ${onnx_packages[*]} into build/onnx/venv"
  python3 -m venv build/onnx/venv || return
  build/onnx/venv/bin/pip install -q --disable-pip-version-check "${onnx_packages[@]}" && onnx_imports "$python"
}

# The cases of the package in build/onnx/cases, if those that are there are of another version.
onnx_cases() {
  local version
  onnx_python || {
    echo "dev: no Python has ${onnx_packages[*]}, and they could not be installed; PYTHON=... names another" >&2
    return 75
  }
  version=$("$python" -c 'import onnx; print(onnx.__version__)')
  [ "$(cat build/onnx/cases/version.txt 2>/dev/null)" = "$version" ] && return 0
  say "making the cases of onnx $version"
  mkdir -p build/onnx
  "$python" tools/onnx/make_cases.py build/onnx/cases
}

# dev onnx-export [NAME]..: functions and models of torch, written as ONNX, in ONNX Runtime; cases with NAME in theirs
dev_onnx_export() {
  onnx_packages+=(torch torchvision onnxruntime safetensors)
  onnx_imports() { "$1" -c 'import onnx, onnxruntime, torch, torchvision, safetensors' >/dev/null 2>&1; }
  onnx_python || {
    echo "dev: no Python has ${onnx_packages[*]}, and they could not be installed; PYTHON=... names another" >&2
    exit 75
  }
  build dev tenon_command tenon_cpu
  exec "$python" tools/onnx/check_export.py build/dev/bin/tenon build/onnx/exported "$@"
}

# dev onnx-zoo NAME..: models as the script of the zoo makes them: written, read, written again, and as exported programs
dev_onnx_zoo() {
  onnx_packages+=(torch torchvision timm transformers onnxruntime safetensors)
  onnx_imports() { "$1" -c 'import onnx, onnxruntime, torchvision, timm, transformers, safetensors' >/dev/null 2>&1; }
  [ -e "$zoo_script" ] || { echo "dev: $zoo_script, which makes the models, is not there" >&2; exit 75; }
  [ $# -gt 0 ] || { echo "usage: ./dev onnx-zoo NAME.., as tv:resnet18, timm:convnext_atto or hf:bert" >&2; exit 2; }
  onnx_python || {
    echo "dev: no Python has ${onnx_packages[*]}, and they could not be installed; PYTHON=... names another" >&2
    exit 75
  }
  build dev tenon_command tenon_cpu
  exec "$python" tools/onnx/round_trip.py build/dev/bin/tenon "$zoo_script" build/onnx/trips "$@"
}

# dev program-export [NAME]..: the same as exported programs, in torch
dev_program_export() { dev_onnx_export --program "$@"; }

# dev onnx [--device NAME] [--only TEXT] [--verbose]
dev_onnx() {
  local options=() listed=tools/onnx/not_passing.tsv
  while [ $# -gt 0 ]; do
    case $1 in
      --device) options+=(--device "$2"); [ "$2" = cpu ] || listed=tools/onnx/not_passing_elsewhere.tsv; shift ;;
      --only) options+=(--only "$2"); shift ;;
      --verbose | --graph) options+=("$1") ;;
      *) echo "usage: ./dev onnx [--device NAME] [--only TEXT] [--verbose] [--graph]" >&2; exit 2 ;;
    esac
    shift
  done
  onnx_cases || exit 75
  build dev tenon_onnx_cases tenon_cpu
  device_plugins "${options[@]}"
  build/dev/bin/tenon_onnx_cases build/onnx/cases --listed "$listed" "${options[@]}"
}
