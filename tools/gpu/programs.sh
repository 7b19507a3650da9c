# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154  # run.sh sets device, python, cores and out
# Makes models with this machine's torch; each is a folder of programs, inputs and results of torch on the processor.
models=(tv:resnet18 tv:mobilenet_v2 tv:densenet121 tv:segmentation.fcn_resnet50 timm:resnet10t timm:vit_tiny_patch16_224
  timm:convnext_atto hf:bert hf:gpt2 hf:llama hf:t5 hf:whisper_encoder)
make_programs() {
  [ "$device" = yes ] && [ -e share/zoo/make.py ] && [ -n "$python" ] || return 0
  printf '%s\n' "${models[@]}" | OMP_NUM_THREADS=1 xargs -P "$cores" -n 1 timeout 150 \
    env -u LD_LIBRARY_PATH -u TENON_PLUGIN_PATH "$python" share/zoo/make.py "$out/models" >"$out/make_programs.txt" 2>&1
}
# The gradients of some models in training mode follow from signs of numbers near zero: torch's own move by more than a
# tenth on the processor when the input moves by 1e-7. A program that makes tensors on the host, as its code says, and
# computes with others is no failure of a device: torch refuses it, too.
run_programs() {
  local folder format arguments failures=0 refused=0 count=0
  for folder in "$out"/models/*/; do
    for format in script.pt trace.pt export.pt2; do
      [ -e "$folder/$format" ] || continue
      arguments=(--grads)
      [[ $format != script.pt || ! $folder =~ densenet|mobilenet|fcn ]] || arguments=()
      count=$((count + 1))
      echo "== $folder $format"
      timeout 60 bin/tenon run "$folder" --format "$format" "${arguments[@]}" --device cuda >"$out/program.txt" && continue
      cat "$out/program.txt"
      if grep -q 'but found cpu for argument' "$out/program.txt"; then
        refused=$((refused + 1))
      else
        failures=$((failures + 1))
      fi
    done
  done
  [ $count -gt 0 ] || { echo "no program was made; make_programs.txt says why"; return 1; }
  echo "$count programs, $failures failed, $refused with tensors of the host in their code"
  [ $failures = 0 ]
}
