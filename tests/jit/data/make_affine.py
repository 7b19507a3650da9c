#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes exported_affine.pt2, by torch and torchao: torchao's quantized operators as they are called."""
import torch
import torchao.quantization.quant_primitives  # defines the operators

from make_exported import counted, small


class Affine(torch.nn.Module):
    def forward(self, x, rows):
        q, byte = torch.ops.torchao, torch.int8
        out = []
        for mapping in ("SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR", "ASYMMETRIC"):
            for block, keep in (((1, 4), False), ((2, 2), True), ((4, 8), False)):
                scale, zero = q.choose_qparams_affine(x, mapping, block, byte, -8, 7, None, None, torch.int32, keep)
                codes = q.quantize_affine(x, block, scale, zero, byte, -8, 7)
                out += [scale, zero, codes, q.dequantize_affine(codes, block, scale, zero, byte, -8, 7)]
        scale, zero = q.choose_qparams_affine(x, "SYMMETRIC", (1, 8), torch.uint8, eps=1e-5)
        out += [scale, zero, q.quantize_affine(x, (1, 8), scale, zero, torch.uint8)]
        out += [q.dequantize_affine(rows, (2, 4), scale[:2], None, byte, output_dtype=torch.bfloat16)]
        for block, kind in (((1, 8), torch.float8_e4m3fn), ((2, 4), torch.float8_e5m2)):
            scale = q.choose_scale_float8(x, block, kind, hp_value_lb=0.5)
            codes = q.quantize_affine_float8_non_decomposed(x, scale, kind)
            out += [scale, codes.to(torch.float32), q.dequantize_affine_float8_non_decomposed(codes, scale)]
        return (*out, q.choose_scale_float8(x, (4, 8), scale_dtype=torch.float8_e8m0fnu))


rows = torch.tensor([[127, -128, 3, -7], [100, 2, 5, -3], [1, 2, 3, 4], [-5, -6, -7, -8]], dtype=torch.int8)
small("exported_affine", Affine().eval(), (counted(4, 8) - 0.3, rows))
