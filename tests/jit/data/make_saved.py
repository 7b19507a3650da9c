# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes saved.pt and saved_legacy.pt: one state dictionary in the two forms of torch.save.

Python's own pickle writes them; the names of torch that they cite are stubs, so torch is not needed.
"""
import collections
import io
import os
import pickle
import struct
import sys
import types
import zipfile

KINDS = {"FloatStorage": "f", "LongStorage": "q", "HalfStorage": "e", "BoolStorage": "?"}


def stub(name, **members):
    module = types.ModuleType(name)
    for key, value in members.items():
        value.__module__ = name
        setattr(module, key, value)
    sys.modules[name] = module
    return module


torch = stub("torch", **{k: type(k, (), {}) for k in KINDS})
torch._utils = stub("torch._utils", _rebuild_tensor_v2=lambda *args: None)
torch._utils._rebuild_tensor_v2.__name__ = torch._utils._rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"


class Storage:
    def __init__(self, kind, values, location="cpu"):
        self.kind, self.values, self.location = kind, values, location

    def bytes(self):
        return struct.pack("<%d%s" % (len(self.values), KINDS[self.kind]), *self.values)


class Tensor:
    def __init__(self, storage, size, stride, offset=0, requires_grad=False):
        self.args = (storage, offset, size, stride, requires_grad, collections.OrderedDict())

    def __reduce__(self):
        return torch._utils._rebuild_tensor_v2, self.args


class Pickler(pickle.Pickler):
    def __init__(self, out, keys, legacy):
        super().__init__(out, protocol=2)
        self.keys, self.legacy, self.found = keys, legacy, []

    def persistent_id(self, obj):
        if not isinstance(obj, Storage):
            return None
        if obj not in self.found:
            self.found.append(obj)
        key = self.keys(self.found.index(obj))
        out = ("storage", getattr(torch, obj.kind), key, obj.location, len(obj.values))
        return out + (None,) if self.legacy else out


def state():
    shared = Storage("FloatStorage", [float(i) for i in range(8)], "cuda:1")
    out = collections.OrderedDict()
    out["weight"] = Tensor(shared, (2, 3), (3, 1), 0, True)
    out["rows"] = Tensor(shared, (2, 2), (4, 2), 1)
    out["steps"] = Tensor(Storage("LongStorage", [41]), (), ())
    out["half"] = Tensor(Storage("HalfStorage", [0.5, -2.0]), (2,), (1,))
    out["mask"] = Tensor(Storage("BoolStorage", [True, False, True]), (3,), (1,))
    out._metadata = collections.OrderedDict([("", {"version": 1})])
    return out


def checkpoint():
    return {"state_dict": state(), "epoch": 7, "lr": 0.125, "betas": (0.9, 0.999), "names": ["a", "b"], "best": None}


def write_zip(path):
    data = io.BytesIO()
    pickler = Pickler(data, str, False)
    pickler.dump(checkpoint())
    with zipfile.ZipFile(path, "w") as z:
        def add(name, content):
            z.writestr(zipfile.ZipInfo("saved/" + name), content)
        add("data.pkl", data.getvalue())
        add("byteorder", b"little")
        for i, storage in enumerate(pickler.found):
            add("data/%d" % i, storage.bytes())
        add("version", b"3\n")


def write_legacy(path):
    with open(path, "wb") as f:
        for fact in (0x1950A86A20F9469CFC6C, 1001,
                     {"protocol_version": 1001, "little_endian": True,
                      "type_sizes": {"short": 2, "int": 4, "long": 4}}):
            pickle.dump(fact, f, protocol=2)
        pickler = Pickler(f, lambda i: str(94000 + 16 * i), True)
        pickler.dump(checkpoint())
        keys = sorted(str(94000 + 16 * i) for i in range(len(pickler.found)))
        pickle.dump(keys, f, protocol=2)
        for key in keys:
            storage = pickler.found[(int(key) - 94000) // 16]
            f.write(struct.pack("<q", len(storage.values)) + storage.bytes())


if __name__ == "__main__":
    folder = os.path.dirname(os.path.abspath(__file__))
    write_zip(os.path.join(folder, "saved.pt"))
    write_legacy(os.path.join(folder, "saved_legacy.pt"))
