# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# LSTMs that ONNX Runtime quantized dynamically (DynamicQuantizeLSTM), with what it computes on one thread.
#   python make_dynamic_lstm.py    (needs onnx, onnxruntime, safetensors)
import os
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import save_file

FOLDER = os.path.dirname(os.path.abspath(__file__))
STEPS, BATCH, FEATURES, HIDDEN = 5, 2, 3, 4


def lstm(direction, initial, peepholes):
    rng = np.random.default_rng(3)
    d = 2 if direction == 'bidirectional' else 1
    shapes = {'W': (d, 4 * HIDDEN, FEATURES), 'R': (d, 4 * HIDDEN, HIDDEN), 'B': (d, 8 * HIDDEN)}
    if initial:
        shapes.update(h0=(d, BATCH, HIDDEN), c0=(d, BATCH, HIDDEN))
    if peepholes:
        shapes['P'] = (d, 3 * HIDDEN)
    weights = [numpy_helper.from_array(rng.normal(size=s, scale=0.5).astype(np.float32), n) for n, s in shapes.items()]
    inputs = ['x', 'W', 'R', 'B', ''] + [n if n in shapes else '' for n in ('h0', 'c0', 'P')]
    while not inputs[-1]:
        inputs.pop()
    outputs = ['y', 'h', 'c']
    node = helper.make_node('LSTM', inputs, outputs, hidden_size=HIDDEN, direction=direction)
    x = helper.make_tensor_value_info('x', TensorProto.FLOAT, [STEPS, BATCH, FEATURES])
    y = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    model = helper.make_model(helper.make_graph([node], 'lstm', [x], y, weights),
                              opset_imports=[helper.make_opsetid('', 17)])
    model.ir_version = 9
    return model


def write(name, model, kind, per_channel):
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, os.path.join(folder, 'float.onnx'))
        quantize_dynamic(os.path.join(folder, 'float.onnx'), os.path.join(folder, 'bytes.onnx'), weight_type=kind,
                         per_channel=per_channel)
        quantized = onnx.load(os.path.join(folder, 'bytes.onnx'))
    assert [n.op_type for n in quantized.graph.node] == ['DynamicQuantizeLSTM']
    onnx.save(quantized, os.path.join(FOLDER, name + '.onnx'))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(quantized.SerializeToString(), options)
    x = np.random.default_rng(1).normal(size=(STEPS, BATCH, FEATURES)).astype(np.float32)
    save_file(dict(zip('xyhc', [x] + session.run(None, {'x': x}))), os.path.join(FOLDER, name + '.safetensors'))


write('lstm_int8', lstm('reverse', True, False), QuantType.QInt8, False)
write('lstm_uint8', lstm('bidirectional', False, True), QuantType.QUInt8, True)
