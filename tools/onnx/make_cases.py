# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Writes every case of the onnx package that has its data: FOLDER/FAMILY/NAME with model.onnx and test_data_set_N.
# Wheels no longer carry the cases of single operators as files; the package computes them.
#   python make_cases.py FOLDER
import os
import shutil
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper


def serialize(value, info):
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    return value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(value, info.name)


def write_case(folder, case):
    os.makedirs(folder)
    with open(os.path.join(folder, "model.onnx"), "wb") as f:
        f.write(case.model.SerializeToString())
    with open(os.path.join(folder, "bounds.txt"), "w") as f:
        f.write(f"{case.rtol} {case.atol}\n")
    for n, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(folder, f"test_data_set_{n}")
        os.makedirs(data)
        for what, values, infos in (("input", inputs, case.model.graph.input),
                                    ("output", outputs, case.model.graph.output)):
            for i, (value, info) in enumerate(zip(values, infos)):
                with open(os.path.join(data, f"{what}_{i}.pb"), "wb") as f:
                    f.write(serialize(value, info).SerializeToString())


# Models with made-up weights come with the outputs for the input that the package's own runner makes.
def write_light(folder, source):
    model = onnx.load(source)
    known = {t.name for t in model.graph.initializer}
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    shutil.copy(source, os.path.join(folder, "model.onnx"))
    for i, info in enumerate(model.graph.input):
        if info.name in known:
            continue
        shape = [d.dim_value if d.HasField("dim_value") else 1 for d in info.type.tensor_type.shape.dim]
        n = int(np.prod(shape))
        value = (np.arange(n).reshape(shape) / n).astype(np.float32)
        with open(os.path.join(data, f"input_{i}.pb"), "wb") as f:
            f.write(numpy_helper.from_array(value, info.name).SerializeToString())
    for i in range(len(model.graph.output)):
        shutil.copy(source.replace(".onnx", f"_output_{i}.pb"), os.path.join(data, f"output_{i}.pb"))


def main(out):
    warnings.simplefilter("ignore")
    import onnx.backend.test.case.node as node
    shutil.rmtree(out, ignore_errors=True)
    data = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    for family in sorted(os.listdir(data)):
        for name in sorted(os.listdir(os.path.join(data, family))):
            source = os.path.join(data, family, name)
            if os.path.exists(os.path.join(source, "model.onnx")) and \
                    os.path.exists(os.path.join(source, "test_data_set_0")):
                shutil.copytree(source, os.path.join(out, family, name))
    light = os.path.join(data, "light")
    for name in sorted(os.listdir(light)):
        if name.endswith(".onnx"):
            write_light(os.path.join(out, "light", name[:-5]), os.path.join(light, name))
    for case in node.collect_testcases(None):
        folder = os.path.join(out, "node", case.name)
        if not os.path.exists(folder):
            write_case(folder, case)
    with open(os.path.join(out, "version.txt"), "w") as f:
        f.write(onnx.__version__ + "\n")


main(sys.argv[1])
