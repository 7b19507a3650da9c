#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Saved programs beside TorchScript and ONNX Runtime: time of a run, load and first run, peak memory.

    bench/programs.py FOLDER [NAMES] [--threads 1 2] [--rounds 3] [--tenon build/dev/bin/tenon]

FOLDER has for each model NAME.pt (TorchScript), NAME.onnx and its inputs NAME.in0.npy, NAME.in1.npy, ... Each side runs
in a process of its own, the sides in turn, `--rounds` times; a figure is the smallest of the rounds: the median time of
a run, load (from the file to something that can be called, optimized) with the first run, and the process's peak memory
without the library's own size before the load. Tenon runs `tenon run NAME.pt --optimize`; TorchScript is frozen and
optimized for inference. The table is in Markdown. Needs torch, onnxruntime, numpy and safetensors.
"""
import argparse, json, os, platform, re, statistics, subprocess, sys, time


def resident(field):
    return next(int(line.split()[1]) / 1024 for line in open("/proc/self/status") if line.startswith(field))


def inputs(folder, name):
    import numpy
    count = sum(re.fullmatch(re.escape(name) + r"\.in\d+\.npy", f) is not None for f in os.listdir(folder))
    return [numpy.load(os.path.join(folder, f"{name}.in{i}.npy")) for i in range(count)]


def onnxruntime(folder, name, threads):
    import onnxruntime as ort
    arrays, before, start = inputs(folder, name), resident("VmRSS"), time.perf_counter()
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(os.path.join(folder, name + ".onnx"), options, providers=["CPUExecutionProvider"])
    feeds = {i.name: a for i, a in zip(session.get_inputs(), arrays)}
    return lambda: session.run(None, feeds), before, start


def torchscript(folder, name, threads):
    import torch
    torch.set_num_threads(threads)
    torch.inference_mode().__enter__()
    tensors, before, start = [torch.from_numpy(a) for a in inputs(folder, name)], resident("VmRSS"), time.perf_counter()
    model = torch.jit.load(os.path.join(folder, name + ".pt")).eval()
    model = torch.jit.optimize_for_inference(torch.jit.freeze(model))
    return lambda: model(*tensors), before, start


PEERS = {"TorchScript": torchscript, "ONNX Runtime": onnxruntime}


def measure(peer, folder, name, threads):
    """In a process of its own."""
    run, before, start = PEERS[peer](folder, name, threads)
    run()
    first = time.perf_counter() - start
    warm = time.perf_counter() + 1  # TorchScript compiles in its first runs
    while time.perf_counter() < warm: run()
    times, end = [], time.perf_counter() + 2
    while len(times) < 20 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return dict(ms=statistics.median(times) * 1e3, first=first * 1e3, peak=resident("VmHWM") - before)


def ours(tenon, folder, name, threads):
    from safetensors.numpy import save_file
    case = os.path.join(folder, name + ".in.safetensors")
    if not os.path.exists(case): save_file({f"in.{i}": a for i, a in enumerate(inputs(folder, name))}, case)
    command = [tenon, "run", os.path.join(folder, name + ".pt"), "--inputs", case, "--threads", str(threads), "--optimize", "--bench"]

    def values(runs):
        text = subprocess.run(command + [str(runs)], check=True, capture_output=True, text=True).stdout
        rows = dict(re.split(r"  +", line.strip(), maxsplit=1) for line in text.splitlines() if re.match(r"(load|first run|median of|process, peak|before loading) ", line))
        number = {key.split(" of ")[0]: float(value.split()[0]) for key, value in rows.items()}
        return dict(ms=number["median"], first=number["load"] + number["first run"], peak=number["process, peak"] - number["before loading"])
    once = values(20)
    return values(max(20, min(20000, int(3000 / once["ms"]))))


def smallest(rounds):
    return {key: min(r[key] for r in rounds) for key in rounds[0]}


def row(a, name, threads):
    sides = {"Tenon": [], **{peer: [] for peer in PEERS}}
    for _ in range(a.rounds):
        sides["Tenon"].append(ours(a.tenon, a.folder, name, threads))
        for peer in PEERS:
            command = [sys.executable, os.path.abspath(__file__), "--measure", peer, a.folder, name, "--threads", str(threads)]
            env = dict(os.environ, OMP_NUM_THREADS=str(threads), PYTHONWARNINGS="ignore")
            text = subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout
            sides[peer].append(json.loads(text.splitlines()[-1]))
    best = {side: smallest(rounds) for side, rounds in sides.items()}
    ratio = best["Tenon"]["ms"] / min(best[p]["ms"] for p in PEERS)
    loading = best["Tenon"]["first"] / best["TorchScript"]["first"]
    cells = [name, str(threads)] + [f"{best[s]['ms']:.3g}" for s in sides] + [f"{ratio:.2f}"]
    cells += [f"{best[s]['first']:.3g}" for s in sides] + [f"{loading:.2f}"] + [f"{best[s]['peak']:.0f}" for s in sides]
    print("| " + " | ".join(cells) + " |", flush=True)
    return ratio


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("names", nargs="*")
    p.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--tenon", default="build/dev/bin/tenon")
    p.add_argument("--measure", choices=list(PEERS), help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.measure: return print(json.dumps(measure(a.measure, a.folder, a.names[0], a.threads[0])))
    names = a.names or sorted(f[:-5] for f in os.listdir(a.folder) if f.endswith(".onnx") and os.path.exists(os.path.join(a.folder, f[:-5] + ".pt")))
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    print(f"{cpu}, {os.cpu_count()} cores.\n")
    sides = ["Tenon", *PEERS]
    header = ["model", "threads"] + [f"{s}, ms" for s in sides] + ["ratio to the better"] + [f"{s}, load and first run, ms" for s in sides]
    header += ["ratio to TorchScript"] + [f"{s}, peak MB" for s in sides]
    print("| " + " | ".join(header) + " |\n|---" + "|---:" * (len(header) - 1) + "|", flush=True)
    for threads in a.threads:
        ratios = [row(a, name, threads) for name in names]
        print(f"\nGeometric mean on {threads}: {statistics.geometric_mean(ratios):.2f}\n", flush=True)


if __name__ == "__main__": main()
