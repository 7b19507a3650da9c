# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Builds libtorch's own C++ tests (test/cpp/api of PyTorch 1.9, or those of c10d) against Tenon and
runs them.

A file is compiled whole; pieces with errors are left out, one after the other, until the rest
compiles, so that each test is judged by itself. Prints passed, failed and not compiling by file, and
writes a line per test.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

from adapt import adapted
from source import Source

ERROR = re.compile(r"^(.*?):(\d+):\d+: (?:fatal )?error: (.*)")
FROM = re.compile(r"^(.*?):(\d+):\d+:\s+(?:required|recursively required|in .constexpr. expansion)")
LINKED = re.compile(r"in function [`'](\w+?)_(\w+)_Test::")


def say(text):
    print(text, file=sys.stderr, flush=True)


API, C10D = "test/cpp/api", "torch/lib/c10d/test"


class Suite:
    def __init__(self, o):
        self.o, self.root = o, os.path.abspath(o.work)
        self.place = C10D if o.c10d else API
        self.folder = os.path.join(self.root, self.place)
        os.makedirs(self.folder, exist_ok=True)
        self.flags = ["-std=c++20", "-O0", "-w", "-fmax-errors=100",
                      "-ftemplate-backtrace-limit=4", "-fdiagnostics-color=never",
                      "-fno-diagnostics-show-caret", "-I", self.root] + o.flags.split()
        self.compiler = os.environ.get("CXX", "c++")

    def read(self, name):
        path = os.path.join(self.o.source, self.place, name)
        with open(path) as f:
            return Source(name, adapted(name, f.read()))

    def write(self, source):
        with open(os.path.join(self.folder, source.name), "w") as f:
            f.write(source.text())

    def compile(self, name, output):
        command = [self.compiler, *self.flags, "-include", "suite.h", "-c",
                   os.path.join(self.folder, name), "-o", output]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.root)

    def precompile(self):
        """What every file of the suite includes: GoogleTest and torch/torch.h."""
        with open(os.path.join(self.root, "suite.h"), "w") as f:
            f.write("#include <gtest/gtest.h>\n#include <torch/torch.h>\n")
        done = subprocess.run([self.compiler, *self.flags, "-x", "c++-header", "suite.h"],
                              capture_output=True, text=True, cwd=self.root)
        if done.returncode:
            sys.exit(done.stderr)

    @staticmethod
    def blamed(errors, files):
        """(file, line, text) of errors: their own place, or that which instantiated a template."""
        out, via = [], []
        for line in errors.splitlines():
            found = FROM.match(line)
            if found and os.path.basename(found[1]) in files:
                via.append((os.path.basename(found[1]), int(found[2])))
            found = ERROR.match(line)
            if not found:
                continue
            if os.path.basename(found[1]) in files:
                out.append((os.path.basename(found[1]), int(found[2]), found[3]))
            else:
                out += [(*place, found[3]) for place in via[-1:]]
            via = []
        return out

    def build_support(self):
        """The helpers that all tests share, without what does not compile; prints what that is."""
        header, source = self.read("support.h"), self.read("support.cpp")
        self.write(header)
        while not self.compile_pruned(source, [source, header],
                                      os.path.join(self.root, "support.o")):
            pass
        for s in (header, source):
            for p in s.pieces:
                if p.why:
                    say(f"{s.name}:{p.first}: left out: {p.why}")
        return header

    def compile_pruned(self, source, files, output):
        """Compiles; where that fails, leaves out the pieces with errors and returns False."""
        self.write(source)
        done = self.compile(source.name, output)
        if not done.returncode:
            return True
        names = {s.name: s for s in files}
        if not any([names[f].leave_out(n, why)
                    for f, n, why in self.blamed(done.stderr, names)]):
            raise RuntimeError(f"{source.name}: {done.stderr[:2000]}")
        for s in files:
            self.write(s)
        return False

    def build(self, source):
        """Leaves out what does not compile; the path of the program, or None."""
        name = source.name[:-4]
        output = os.path.join(self.root, name + ".o")
        for _ in range(60):
            if not self.compile_pruned(source, [source], output):
                continue
            program = os.path.join(self.root, name + ".test")
            support = [] if self.o.c10d else [os.path.join(self.root, "support.o")]
            done = subprocess.run([self.compiler, output, *support, *self.o.link.split(), "-lgtest_main", "-lgtest", "-lpthread",
                                   "-o", program], capture_output=True, text=True)
            if not done.returncode:
                return program
            if not self.unlinked(source, done.stderr):
                say(f"{source.name}: {done.stderr[:2000]}")
                return None
        return None

    @staticmethod
    def unlinked(source, errors):
        left = False
        test = None
        for line in errors.splitlines():
            found = LINKED.search(line)
            if found:
                test = f"{found[1]}.{found[2]}"
            if "undefined reference" in line and test:
                left |= source.leave_out_test(test, line[line.index("undefined"):])
        return left

    def run_test(self, program, test):
        env = dict(os.environ)
        if self.o.cuda and test.endswith("CUDA"):
            env["TENON_ADD_PLUGIN_PATH"] = os.path.abspath(self.o.cuda)
            env["LD_LIBRARY_PATH"] = os.path.abspath(self.o.fakes or "")
            env["TENON_FAKE_CUDA_DEVICES"] = "2" if "Multi" in test else "1"
        try:
            done = subprocess.run([program, "--gtest_filter=" + test], capture_output=True,
                                  text=True, timeout=60, cwd=self.root, env=env)
        except subprocess.TimeoutExpired:
            return "did not end in 60 s"
        if done.returncode == 0 and "[  PASSED  ] 1 test" in done.stdout:
            return ""
        lines = [l for l in (done.stdout + done.stderr).splitlines()
                 if not l.startswith(("[", "Note:", "Running main", " 1 FAILED"))]
        return f"rc {done.returncode}: " + " | ".join(lines)[:400]

    def judge(self, name):
        """{test: (verdict, why)} of a file."""
        source = self.read(name)
        try:
            program = self.build(source)
        except RuntimeError as e:
            say(str(e))
            program = None
        out = {}
        for p in source.tests():
            if p.why or not program:
                out[p.test] = ("not compiling", p.why or "the file does not")
            else:
                why = self.run_test(program, p.test)
                out[p.test] = ("failed", why) if why else ("passed", "")
        return out


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--source", required=True, help=f"a checkout that has {API}, or {C10D}")
    p.add_argument("--c10d", action="store_true", help="the tests of c10d's stores and of gloo")
    p.add_argument("--work", required=True, help="folder for what is built")
    p.add_argument("--flags", required=True, help="options of the compiler: include folders")
    p.add_argument("--link", required=True, help="libraries")
    p.add_argument("--cuda", help="folder with the plugin of a device cuda, for tests that want one")
    p.add_argument("--fakes", help="folder with CUDA's libraries for a machine without a GPU")
    p.add_argument("--waivers", help="tab-separated: test, reason")
    p.add_argument("-j", type=int, default=os.cpu_count())
    p.add_argument("files", nargs="*", help="names of files without .cpp; default: all")
    return p.parse_args()


# Programs of their own, tests of parts that are not public, and those that need a folder of data.
NOT_TESTS = {"support.cpp", "parallel_benchmark.cpp"}
# Those of NCCL, MPI and of gloo's streams want GPUs, or a start by mpirun.
C10D_TESTS = ["FileStoreTest", "HashStoreTest", "TCPStoreTest", "ProcessGroupGlooTest"]


def main():
    o = options()
    suite = Suite(o)
    suite.precompile()
    folder = os.path.join(o.source, suite.place)
    names = [n + ".cpp" for n in o.files or (C10D_TESTS if o.c10d else [])] or sorted(
        n for n in os.listdir(folder) if n.endswith(".cpp") and n not in NOT_TESTS)
    for n in os.listdir(folder):
        if n.endswith((".h", ".hpp")):
            suite.write(suite.read(n))
    if not o.c10d:
        shutil.copytree(os.path.join(o.source, "test/cpp/common"),
                        os.path.join(suite.root, "test/cpp/common"), dirs_exist_ok=True)
        suite.build_support()
    waivers = {}
    if o.waivers:
        with open(o.waivers) as f:
            waivers = dict(l.rstrip("\n").split("\t") for l in f if l.strip() and l[0] != "#")
    results = {}
    with concurrent.futures.ThreadPoolExecutor(o.j) as pool:
        jobs = {n: pool.submit(suite.judge, n) for n in names}
        for done, (n, job) in enumerate(jobs.items(), 1):
            results[n] = job.result()
            passed = sum(v == "passed" for v, _ in results[n].values())
            say(f"[{done}/{len(names)}] {n}: {passed} of {len(results[n])} pass")
    report(o, results, waivers)


def report(o, results, waivers):
    kinds = ("passed", "failed", "not compiling", "waived", "needs CUDA")
    total = collections.Counter()
    print(f"{'file':<24}{'tests':>7}" + "".join(f"{k:>14}" for k in kinds))
    with open(os.path.join(o.work, "tests.tsv"), "w") as tsv:
        for name, tests in sorted(results.items()):
            count = collections.Counter()
            for test, (verdict, why) in tests.items():
                if verdict == "failed" and test.endswith("CUDA") and "'cuda'" in why:
                    verdict = "needs CUDA"
                if verdict != "passed" and test in waivers:
                    verdict, why = "waived", waivers[test]
                count[verdict] += 1
                tsv.write(f"{name}\t{test}\t{verdict}\t{why}\n")
            total += count
            print(f"{name:<24}{len(tests):>7}" + "".join(f"{count[k]:>14}" for k in kinds))
    print(f"{'all':<24}{sum(total.values()):>7}" + "".join(f"{total[k]:>14}" for k in kinds))


if __name__ == "__main__":
    main()
