// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/autograd/anomaly.h"

#include <dlfcn.h>
#include <execinfo.h>

#include "tenon/autograd/function.h"
#include "tenon/call/generated.h"
#include "tenon/runtime/error.h"
#include "tenon/runtime/log.h"

namespace tenon::autograd {
namespace {

__thread Node* t_running __attribute__((tls_model("initial-exec")));

// "function (library)"; of a function without a name its library and place there, for addr2line.
std::string frame_text(void* address) {
  Dl_info info;
  if (!dladdr(address, &info)) return "unknown";
  const std::string library = info.dli_fname ? info.dli_fname : "";
  if (info.dli_sname) return core::join(demangle(info.dli_sname), " (", library, ")");
  const auto offset = static_cast<char*>(address) - static_cast<char*>(info.dli_fbase);
  return core::join(library, " at byte ", static_cast<int64_t>(offset));
}

std::string stack_text(const AnomalyMetadata& m) {
  std::string out;
  for (int i = 0; i < m.depth; ++i)
    out += core::join("\n  #", i, " ", frame_text(m.stack[static_cast<std::size_t>(i)]));
  return out;
}

AnomalyMetadata* metadata(Node& node) { return node.hooks ? node.hooks->anomaly.get() : nullptr; }

std::string remembered(Node& node) {
  const AnomalyMetadata* m = metadata(node);
  if (!m) {
    return core::join(
        "No forward pass information of ", node.name(),
        " available. Enable detect anomaly during forward pass for more information.");
  }
  return core::join(m->call, stack_text(*m));
}

}  // namespace

void remember_call(const std::string& call, core::TensorImpl* made) {
  if (!made) return;
  remember_call(call, made->base.get());  // whose history a write through a view changes
  auto* const history = static_cast<AutogradMeta*>(made->autograd);
  if (!history || !history->grad_fn) return;
  NodeHooks& hooks = history->grad_fn->hooks_for_write();
  if (hooks.anomaly) return;
  hooks.anomaly = std::make_unique<AnomalyMetadata>();
  hooks.anomaly->call = call;
  hooks.anomaly->depth =
      backtrace(hooks.anomaly->stack.data(), static_cast<int>(hooks.anomaly->stack.size()));
  if (t_running) hooks.anomaly->parent = core::Ref<Node>::share(t_running);
}

RunningNode::RunningNode(Node& node) : before_(t_running) { t_running = &node; }
RunningNode::~RunningNode() { t_running = before_; }

void warn_of_calls(Node& node) {
  warn("anomaly",
       core::join("Error detected in ", node.name(),
                  ". Traceback of forward call that caused the error:\n", remembered(node)));
  const AnomalyMetadata* m = metadata(node);
  for (Node* parent = m ? m->parent.get() : nullptr; parent;) {
    warn("anomaly",
         core::join("Traceback of forward call that induced the previous calculation, in ",
                    parent->name(), ":\n", remembered(*parent)));
    m = metadata(*parent);
    parent = m ? m->parent.get() : nullptr;
  }
}

void refuse_nan(const Node& node, const Tensor* grads, uint32_t n) {
  const NoGradGuard no_grad;
  for (uint32_t i = 0; i < n; ++i) {
    if (!grads[i].defined()) continue;
    const Tensor values = grads[i].layout() == kStrided ? grads[i] : grads[i]._values();
    if (!isnan(values).any().item<bool>()) continue;
    throw Error(core::join("Function ", node.name(), " returned nan values in its gradient ", i,
                           ", of shape ", grads[i].sizes()));
  }
}

}  // namespace tenon::autograd
