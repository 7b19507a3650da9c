/* SPDX-FileCopyrightText: Copyright the Tenon authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What operators of a plugin are in ONNX. */
#ifndef TENON_ABI_EXT_ONNX_H_
#define TENON_ABI_EXT_ONNX_H_

#include "tenon/abi/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Chained into tn_plugin.ext with id TN_EXT_ONNX; the text lives as long as the plugin. A program
 * with these operators is written as ONNX by what the text says. Operators that it does not name
 * are refused, as they are without this node. The text is a list of functions in the syntax of
 * ONNX's own text form:
 *
 *   acme::scale (self, factor) => (y) { f = CastLike (factor, self) y = Mul (self, f) }
 *
 * Before the bracket stands the operator's name without overload. The parameters are arguments of
 * its schema, in any order and number: tensors, numbers, lists of integers, and lists of tensors,
 * which become several inputs. One that is None is left out where it is used. A node is `results =
 * Type <attributes> (inputs)`, the type with a domain before it, "com.microsoft.Gelu", if it is not
 * ONNX's own. An attribute is a number, a "text", a list [1, 2], or @argument, an argument that the
 * program does not compute. Comments begin with #. */
typedef struct tn_ext_onnx {
  tn_ext head;
  tn_str functions;
} tn_ext_onnx;

#ifdef __cplusplus
}
#endif
#endif /* TENON_ABI_EXT_ONNX_H_ */
