#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes saved/zip.pt and saved/legacy.pt: one checkpoint in the two forms of torch.save. Needs torch, but no GPU: the tag
of one storage is said to be cuda:1's. saved/small.pt and saved/small_legacy.pt: the dtypes that torch stores as bytes."""
import collections, os
import torch

folder = os.path.dirname(os.path.abspath(__file__))
base = torch.arange(8, dtype=torch.float32)
mask = torch.tensor([True, False, True])
state = collections.OrderedDict(
    weight=torch.nn.Parameter(base[:6].view(2, 3)),
    rows=base[1::2].view(2, 2),
    steps=torch.tensor(41),
    half=torch.tensor([0.5, -2], dtype=torch.float16),
    mask=mask,
)


def tag(storage):
    return "cuda:1" if storage.data_ptr() == mask.untyped_storage().data_ptr() else None


torch.serialization.register_package(0, tag, lambda storage, location: None)
checkpoint = {"state_dict": state, "epoch": 7, "lr": 0.125, "betas": (0.9, 0.999), "names": ["a", "b"], "best": None}
torch.save(checkpoint, os.path.join(folder, "saved", "zip.pt"))
torch.save(checkpoint, os.path.join(folder, "saved", "legacy.pt"), _use_new_zipfile_serialization=False)

numbers = torch.tensor([1.0, 2.0, 4.0, 64.0, 0.5, 8.0])
small = {str(t)[6:]: numbers.to(t).view(2, 3).t() for t in (
    torch.uint16, torch.uint32, torch.uint64, torch.float8_e5m2, torch.float8_e4m3fn, torch.float8_e5m2fnuz,
    torch.float8_e4m3fnuz, torch.float8_e8m0fnu, torch.complex32)}
torch.save(small, os.path.join(folder, "saved", "small.pt"))
torch.save(small, os.path.join(folder, "saved", "small_legacy.pt"), _use_new_zipfile_serialization=False)
