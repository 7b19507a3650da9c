# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""round_trip.py TENON MAKE FOLDER NAME..: models of torchvision, timm and transformers, as MAKE (make.py of the zoo) builds
them, recorded by torch and taken through ONNX. Of each, compared with torch within 1e-4 of the largest value:
  onnx     Tenon writes the record as ONNX; the checker accepts it and ONNX Runtime runs it
  batch    the same with a batch of any size, run with another one
  again    Tenon reads that model, runs it, writes it once more, and ONNX Runtime runs the second one
  batch_again  the same from the model with a batch of any size
  pt2      Tenon writes the model as an exported program, which torch loads and runs"""
import copy
import importlib.util
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
import torch
from safetensors.numpy import load_file
from safetensors.torch import save_file

warnings.filterwarnings("ignore")
torch.backends.mha.set_fastpath_enabled(False)


class Failure(Exception):
    pass


def flat(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in flat(v)]
    return [value]


def compare(got, expected):
    if len(got) != len(expected):
        raise Failure(f"{len(got)} results instead of {len(expected)}")
    for k, (a, b) in enumerate(zip(got, expected)):
        a, b = np.asarray(a), b.detach().numpy()
        if a.shape != b.shape or a.dtype != b.dtype:
            raise Failure(f"result {k}: {a.dtype}{a.shape} instead of {b.dtype}{b.shape}")
        off = np.abs(a.astype(np.float64) - b.astype(np.float64)).max() if a.size else 0
        if not off <= 1e-4 * max(1e-3, np.abs(b).max() if b.size else 1):
            raise Failure(f"result {k} is off by {off:.2g} of {np.abs(b).max():.2g}")


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        raise Failure((done.stdout + done.stderr).strip())


def run_onnx(path, inputs):
    onnx.checker.check_model(path, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: x.numpy() for i, x in zip(session.get_inputs(), inputs)})


class Trip:
    def __init__(self, tenon, make, folder, name):
        self.tenon, self.stem = tenon, os.path.join(folder, re.sub("[:.]", "_", name))
        torch.manual_seed(0)
        self.model, self.inputs, _ = make.build(name)
        if not all(isinstance(x, torch.Tensor) for x in self.inputs):
            raise Failure("its inputs are not tensors")
        with torch.no_grad():
            self.expected = flat(self.model(*self.inputs))
            program = torch.jit.trace(copy.deepcopy(self.model), self.inputs, check_trace=False, strict=False)
        self.names = [a.name for a in program.forward.schema.arguments][1:]
        program.save(self.stem + ".pt")
        save_file({f"in.{i}": x.contiguous() for i, x in enumerate(self.inputs)}, self.stem + ".safetensors")

    def convert(self, source, target, *options):
        call(self.tenon, "convert", self.stem + source, self.stem + target, "--inputs", self.stem + ".safetensors", *options)

    def onnx(self):
        self.convert(".pt", ".onnx", "--opset", "18")
        compare(run_onnx(self.stem + ".onnx", self.inputs), self.expected)

    def batch(self):
        axes = [o for n in self.names for o in ("--dynamic", f"{n}:0=batch")]
        self.convert(".pt", ".batch.onnx", "--opset", "18", *axes)
        more = [torch.cat([x, x[:1]]) for x in self.inputs]
        with torch.no_grad():
            compare(run_onnx(self.stem + ".batch.onnx", more), flat(self.model(*more)))

    def again(self):
        out = self.stem + ".out.safetensors"
        call(self.tenon, "run", self.stem + ".onnx", "--inputs", self.stem + ".safetensors", "--outputs", out)
        results = load_file(out)
        compare([results[k] for k in sorted(results, key=lambda k: [int(n) for n in re.findall(r"\d+", k)])], self.expected)
        self.convert(".onnx", ".again.onnx", "--opset", "18")
        compare(run_onnx(self.stem + ".again.onnx", self.inputs), self.expected)

    def batch_again(self):
        axes = [o for n in self.names for o in ("--dynamic", f"{n}:0=batch")]
        self.convert(".batch.onnx", ".batch2.onnx", "--opset", "18", *axes)
        more = [torch.cat([x, x[:1]]) for x in self.inputs]
        with torch.no_grad():
            compare(run_onnx(self.stem + ".batch2.onnx", more), flat(self.model(*more)))

    def pt2(self):
        self.convert(".onnx", ".pt2")
        module = torch.export.load(self.stem + ".pt2").module()
        with torch.no_grad():
            compare([t.detach().numpy() for t in flat(module(*self.inputs))], self.expected)


def main():
    tenon, make_path, folder, *names = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    spec = importlib.util.spec_from_file_location("make", make_path)
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    failed = 0
    for name in names:
        said, problems = [], []
        try:
            trip = Trip(tenon, make, folder, name)
        except Exception as e:
            print(f"{name:42} not made: {type(e).__name__}: {str(e).splitlines()[-1][:200]}", flush=True)
            continue
        for step in ("onnx", "batch", "again", "batch_again", "pt2"):
            try:
                getattr(trip, step)()
                said.append(f"{step:11} passed")
            except Exception as e:
                said.append(f"{step:11} FAILED")
                problems.append(f"  {step}: {type(e).__name__}: {str(e)[:700]}")
        failed += bool(problems)
        print(f"{name:42} " + "  ".join(said), *problems, sep="\n", flush=True)
        for extension in (".pt", ".onnx", ".batch.onnx", ".again.onnx", ".batch2.onnx", ".pt2", ".safetensors", ".out.safetensors"):
            if os.path.exists(trip.stem + extension) and not os.environ.get("KEEP"):
                os.remove(trip.stem + extension)
    print(f"{failed} models failed")
    sys.exit(failed > 0)


main()
