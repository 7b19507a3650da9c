# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Models of others against what torch computes for them.
zoo_script=../shared/zoo/make.py
zoo_packages=(torch torchvision timm transformers onnx onnxscript safetensors)

zoo_imports() { "$1" -c 'import torch, torchvision, timm, transformers, safetensors' >/dev/null 2>&1; }

# Sets `python` to one that has the packages: the system's, or that of build/zoo/venv.
zoo_python() {
  for python in "${PYTHON:-python3}" build/zoo/venv/bin/python; do
    zoo_imports "$python" && return 0
  done
  say "installing ${zoo_packages[*]} into build/zoo/venv"
  python3 -m venv build/zoo/venv || return
  local pip=(build/zoo/venv/bin/pip install -q --disable-pip-version-check)
  # Builds for the processor alone are a tenth as large. Where their index is out of reach, the usual ones do.
  "${pip[@]}" --retries 0 --index-url https://download.pytorch.org/whl/cpu torch torchvision >/dev/null 2>&1 || true
  "${pip[@]}" "${zoo_packages[@]}" && zoo_imports build/zoo/venv/bin/python
}

# zoo_make NAME..: the folders that are not there yet, into build/zoo/models
zoo_make() {
  local name missing=()
  for name in "$@"; do
    [ -e "build/zoo/models/$(tr ':.' '__' <<<"$name")/about.json" ] || missing+=("$name")
  done
  [ ${#missing[@]} = 0 ] && return 0
  mkdir -p build/zoo/models
  [ -e "$zoo_script" ] || { echo "dev: $zoo_script, which makes the models, is not there; give --models FOLDER" >&2; return 75; }
  zoo_python || {
    echo "dev: no Python has ${zoo_packages[*]}, and they could not be installed; PYTHON=... names another" >&2
    return 75
  }
  say "making ${#missing[@]} models"
  "$python" "$zoo_script" build/zoo/models "${missing[@]}" || true
}

# zoo_run FOLDER FORMAT ARGS..: one line of the table; what `tenon run` said is in build/zoo/log. A program that makes
# tensors on the host, as its code says, and computes with others is no failure of a device: torch refuses it, too.
zoo_run() {
  local folder=$1 format=$2 name status=0
  name=$(basename "$folder")
  shift 2
  mkdir -p build/zoo/log
  timeout 600 build/dev/bin/tenon run "$folder" --format "$format" --grads "$@" >"build/zoo/log/$name.$format" 2>&1 || status=$?
  awk -F '  +' -v model="$name" -v format="$format" -v status="$status" '
    function number(text) { sub(/ ms$/, "", text); return text }
    /but found cpu for argument|out is on cpu but the result is on/ { on_host = 1 }
    /^loaded in / { sub(/^loaded in /, ""); load_ms = number($0) }
    NF < 6 || !/passed$|FAILED$/ { next }
    $2 ~ /gradients/ { grads = grads (grads == "" ? "" : ", ") $2 ($6 == "passed" ? "" : " FAILED"); next }
    run == "" { run = number($5) }
    $3 != "-" && (off == "" || $3 + 0 > off + 0) { off = $3 }
    function cell(text) { return text == "" ? "-" : text }
    END {
      result = status == 0 ? "passed" : status == 1 ? "FAILED" : "ended with " status
      if (status == 1 && on_host) result = "on host"
      printf "%-42s %-10s %9s %9s %9s  %-8s  %s\n", model, format, cell(load_ms), cell(run), cell(off), result, grads
    }' "build/zoo/log/$name.$format"
  grep -q "but found cpu for argument\|out is on cpu but the result is on" "build/zoo/log/$name.$format" || return $status
}

# dev zoo [--models FOLDER] [--device NAME] [NAMES]; a name without a folder is made
dev_zoo() {
  local models="" options=() names=() folder format name failed=0
  while [ $# -gt 0 ]; do
    case $1 in
      --models) models=$2; shift ;;
      --device) options+=(--device "$2"); shift ;;
      --device=*) options+=("$1") ;;
      -*) echo "usage: ./dev zoo [--models FOLDER] [--device NAME] [NAMES]" >&2; exit 2 ;;
      *) names+=("$1") ;;
    esac
    shift
  done
  if [ -z "$models" ]; then
    models=build/zoo/models
    [ ${#names[@]} -gt 0 ] || mapfile -t names < <(sed 's/ *#.*//' "${zoo_script%/*}/visible.txt" 2>/dev/null | grep .)
    zoo_make "${names[@]}" || exit 75
  fi
  build dev tenon_command tenon_cpu
  device_plugins "${options[@]}"
  [ ${#names[@]} -gt 0 ] || mapfile -t names < <(cd "$models" && ls)
  printf '%-42s %-10s %9s %9s %9s  %-8s  %s\n' MODEL FORMAT "LOAD MS" "RUN MS" "OFF BY" RESULT GRADIENTS
  for name in "${names[@]}"; do
    folder="$models/$(tr ':.' '__' <<<"$name")"
    for format in script.pt trace.pt export.pt2; do
      [ ! -e "$folder/$format" ] || zoo_run "$folder" "$format" "${options[@]}" || failed=$((failed + 1))
    done
  done
  echo "$failed programs failed; build/zoo/log has what each said"
  [ $failed = 0 ]
}
