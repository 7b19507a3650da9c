// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// Models in a line of C++, as messages.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onnx/proto/model.pb.h"
#include "tenon/onnx.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon::onnx {

inline void set_text(pb::NodeProto& n, const std::string& name, const std::string& v) {
  auto* a = n.add_attribute();
  a->set_name(name);
  a->set_type(pb::AttributeProto::STRING);
  a->set_s(v);
}
inline void set_ints(pb::NodeProto& n, const std::string& name, const std::vector<int64_t>& v) {
  auto* a = n.add_attribute();
  a->set_name(name);
  a->set_type(pb::AttributeProto::INTS);
  for (const int64_t i : v) a->add_ints(i);
}

class ModelMaker {
 public:
  explicit ModelMaker(int64_t opset = 21) {
    model.set_ir_version(10);
    auto* o = model.add_opset_import();
    o->set_domain("");
    o->set_version(opset);
    graph = model.mutable_graph();
    graph->set_name("g");
  }
  ModelMaker& input(const std::string& name, int type = pb::FLOAT) {
    auto* v = graph->add_input();
    v->set_name(name);
    v->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    return *this;
  }
  ModelMaker& output(const std::string& name, int type = pb::FLOAT) {
    auto* v = graph->add_output();
    v->set_name(name);
    v->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    return *this;
  }
  pb::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs) {
    return add_node(*graph, op, inputs, outputs);
  }
  static pb::NodeProto& add_node(pb::GraphProto& g, const std::string& op,
                                 const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs) {
    auto* n = g.add_node();
    n->set_op_type(op);
    for (const auto& i : inputs) n->add_input(i);
    for (const auto& o : outputs) n->add_output(o);
    return *n;
  }
  pb::TensorProto& floats(const std::string& name, const std::vector<int64_t>& dims,
                          const std::vector<float>& values) {
    auto* t = graph->add_initializer();
    t->set_name(name);
    t->set_data_type(pb::FLOAT);
    for (const int64_t d : dims) t->add_dims(d);
    for (const float v : values) t->add_float_data(v);
    return *t;
  }
  pb::TensorProto& ints(const std::string& name, const std::vector<int64_t>& dims,
                        const std::vector<int64_t>& values) {
    auto* t = graph->add_initializer();
    t->set_name(name);
    t->set_data_type(pb::INT64);
    for (const int64_t d : dims) t->add_dims(d);
    for (const int64_t v : values) t->add_int64_data(v);
    return *t;
  }
  std::string bytes() const { return model.SerializeAsString(); }
  jit::Module load() const { return load_bytes(bytes()); }

  pb::ModelProto model;
  pb::GraphProto* graph;
};

inline void set_int(pb::NodeProto& n, const std::string& name, int64_t v) {
  auto* a = n.add_attribute();
  a->set_name(name);
  a->set_type(pb::AttributeProto::INT);
  a->set_i(v);
}

// The text of the error that loading throws; "no error" if there is none.
template <class E = Error>
std::string error_of(const std::string& bytes) {
  try {
    (void)load_bytes(bytes);
  } catch (const E& e) {
    return e.msg();
  }
  return "no error";
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tenon::onnx
