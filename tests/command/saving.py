# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Shared by the programs that write folders of cases."""
import io
import zipfile

import torch


def save_small(model, path):
    """torch.jit.save without the tables of source lines, all entries deflated, in a folder "script"."""
    whole = io.BytesIO()
    torch.jit.save(model, whole)
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for item in archive.infolist():
            if not item.filename.endswith(".debug_pkl"):
                info = zipfile.ZipInfo("script" + item.filename[item.filename.index("/"):])
                info.compress_type = zipfile.ZIP_DEFLATED
                out.writestr(info, archive.read(item))
