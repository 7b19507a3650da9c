# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
# Small models of scikit-learn, XGBoost and LightGBM as their converters write them, and what ONNX Runtime computes for
# them: x, and y0, y1, ... but for lists.   python make_ml.py FOLDER
import os
import sys
import warnings

import lightgbm
import numpy as np
import onnx
import onnxmltools
import onnxruntime
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from safetensors.numpy import save_file
from skl2onnx import to_onnx
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

warnings.simplefilter("ignore")
rng = np.random.RandomState(1)
x = rng.randn(80, 4).astype(np.float32)
w = rng.randn(4, 3)
many = np.argmax(x @ w + 0.3 * rng.randn(80, 3), 1)
two = (x @ w[:, 0] > 0).astype(np.int64)
real = (x @ w[:, 0] + np.sin(3 * x[:, 1])).astype(np.float32)
holes = x.copy()
holes[rng.rand(80, 4) < 0.2] = np.nan
names = np.array(["cat", "dog", "emu"])[many]

plain = {
    "forest": (RandomForestClassifier(3, max_depth=3), x, many + 5),
    "forest_double": (RandomForestClassifier(2, max_depth=3), x.astype(np.float64), many),
    "forest_targets": (ExtraTreesRegressor(3, max_depth=3), x, np.stack([real, -real], 1)),
    "boosted": (GradientBoostingClassifier(n_estimators=3, max_depth=2), x, two),
    "isolation": (IsolationForest(n_estimators=3, max_samples=8), x, None),
    "logistic_names": (make_pipeline(StandardScaler(), LogisticRegression()), x, names),
    "logistic_zip": (LogisticRegression(), x, many + 5),
    "imputed": (make_pipeline(SimpleImputer(), Normalizer("l1"), LogisticRegression()), holes, two),
    "svc_rbf": (SVC(probability=True), x[:30], many[:30]),
    "svc_poly": (SVC(kernel="poly", coef0=1.0), x[:30], two[:30]),
    "svr_sigmoid": (SVR(kernel="sigmoid"), x[:20], real[:20]),
    "svm_one_class": (OneClassSVM(), x[:20], None),
}
boosters = {
    "xgb": (xgboost.XGBClassifier(n_estimators=2, max_depth=2), holes, many),
    "lgbm": (lightgbm.LGBMClassifier(n_estimators=3, num_leaves=4, min_child_samples=5, verbose=-1), holes, two),
}


def write(out, name, model, x):
    model = onnx.load_from_string(model.SerializeToString())
    model.doc_string = model.graph.doc_string = ""
    path = os.path.join(out, "ml_" + name + ".onnx")
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(path)
    rows = np.ascontiguousarray(x[:12])
    ys = session.run(None, {session.get_inputs()[0].name: rows})
    data = {"x": rows}
    for i, y in enumerate(ys):
        if isinstance(y, list):  # dictionaries of the rows
            data[f"y{i}"] = np.array([list(row.values()) for row in y], np.float32)
        elif y.dtype == object:  # positions among the sorted strings
            data[f"y{i}"] = np.searchsorted(np.unique(names), y.astype(str)).astype(np.int64)
        else:
            data[f"y{i}"] = y
    save_file({k: np.ascontiguousarray(v) for k, v in data.items()}, path[:-5] + ".safetensors")


folder = sys.argv[1]
for name, (model, rows, y) in plain.items():
    model.fit(rows, y)
    options = {"zipmap": name == "logistic_zip"} if y is not None and hasattr(model, "classes_") else {}
    last = model[-1] if hasattr(model, "steps") else model
    write(folder, name, to_onnx(model, rows[:1], options={id(last): options} if options else None,
                                target_opset={"": 18, "ai.onnx.ml": 3}), rows)
for name, (model, rows, y) in boosters.items():
    model.fit(rows, y)
    convert = onnxmltools.convert_xgboost if name == "xgb" else onnxmltools.convert_lightgbm
    kind = {} if name == "xgb" else {"zipmap": False}
    write(folder, name, convert(model, initial_types=[("X", FloatTensorType([None, 4]))], target_opset=15, **kind), rows)
