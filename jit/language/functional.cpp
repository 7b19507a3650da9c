// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// torch.nn.functional for programs that are compiled from text: the functions that are more than
// an operator, written in the language itself. Archives have their own.
#include <mutex>

#include "jit/language/composed.h"
#include "jit/language/emitter.h"
#include "jit/language/quantized_text.h"
#include "runtime/base/leaf_mutex.h"

namespace tenon::jit::language {
namespace {

constexpr const char* kText = R"(
def _reduction(reduction: str) -> int:
  if reduction == "none":
    return 0
  if reduction == "mean":
    return 1
  assert reduction == "sum", "{} is not a valid value for reduction".format(reduction)
  return 2
def relu(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.relu_(input) if inplace else torch.relu(input)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.hardtanh_(input, 0.0, 6.0) if inplace else torch.hardtanh(input, 0.0, 6.0)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
  return torch.hardtanh_(input, min_val, max_val) if inplace else torch.hardtanh(input, min_val, max_val)
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
  return torch.elu_(input, alpha) if inplace else torch.elu(input, alpha)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.selu_(input) if inplace else torch.selu(input)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
  return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
  return torch.leaky_relu_(input, negative_slope) if inplace else torch.leaky_relu(input, negative_slope)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
  return torch.threshold_(input, threshold, value) if inplace else torch.threshold(input, threshold, value)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.silu_(input) if inplace else torch.silu(input)
def mish(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.mish_(input) if inplace else torch.mish(input)
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.hardswish_(input) if inplace else torch.hardswish(input)
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
  return torch.hardsigmoid_(input) if inplace else torch.hardsigmoid(input)
def logsigmoid(input: Tensor) -> Tensor:
  return torch.log_sigmoid(input)
def softsign(input: Tensor) -> Tensor:
  return input / (input.abs() + 1)
def tanhshrink(input: Tensor) -> Tensor:
  return input - input.tanh()
def softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
  assert dim is not None, "softmax needs dim"
  return torch.softmax(input, dim, dtype)
def softmin(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
  assert dim is not None, "softmin needs dim"
  return torch.softmax(-input, dim, dtype)
def log_softmax(input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None) -> Tensor:
  assert dim is not None, "log_softmax needs dim"
  return torch.log_softmax(input, dim, dtype)
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
  return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
  return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)
def embedding(input: Tensor, weight: Tensor, padding_idx: Optional[int] = None, max_norm: Optional[float] = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
  if max_norm is not None:
    torch.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
  padding = -1
  if padding_idx is not None:
    padding = padding_idx if padding_idx >= 0 else weight.size(0) + padding_idx
  return torch.embedding(weight, input, padding, scale_grad_by_freq, sparse)
def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-05) -> Tensor:
  return torch.layer_norm(input, normalized_shape, weight, bias, eps)
def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, eps: float = 1e-05) -> Tensor:
  return torch.group_norm(input, num_groups, weight, bias, eps)
def batch_norm(input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
  return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)
def instance_norm(input: Tensor, running_mean: Optional[Tensor] = None, running_var: Optional[Tensor] = None, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
  return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
  return input / input.norm(p, [dim], True).clamp_min(eps).expand_as(input)
def max_pool1d(input: Tensor, kernel_size: BroadcastingList1[int], stride: Optional[BroadcastingList1[int]] = None, padding: BroadcastingList1[int] = [0], dilation: BroadcastingList1[int] = [1], ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
  return torch.max_pool1d(input, kernel_size, annotate(List[int], []) if stride is None else stride, padding, dilation, ceil_mode)
def max_pool2d(input: Tensor, kernel_size: BroadcastingList2[int], stride: Optional[BroadcastingList2[int]] = None, padding: BroadcastingList2[int] = [0, 0], dilation: BroadcastingList2[int] = [1, 1], ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
  return torch.max_pool2d(input, kernel_size, annotate(List[int], []) if stride is None else stride, padding, dilation, ceil_mode)
def max_pool3d(input: Tensor, kernel_size: BroadcastingList3[int], stride: Optional[BroadcastingList3[int]] = None, padding: BroadcastingList3[int] = [0, 0, 0], dilation: BroadcastingList3[int] = [1, 1, 1], ceil_mode: bool = False, return_indices: bool = False) -> Tensor:
  return torch.max_pool3d(input, kernel_size, annotate(List[int], []) if stride is None else stride, padding, dilation, ceil_mode)
def mse_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
  return torch.mse_loss(input, target, _reduction(reduction))
def l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
  return torch.l1_loss(input, target, _reduction(reduction))
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", beta: float = 1.0) -> Tensor:
  return torch.smooth_l1_loss(input, target, _reduction(reduction), beta)
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
  return torch.huber_loss(input, target, _reduction(reduction), delta)
def kl_div(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", log_target: bool = False) -> Tensor:
  if reduction == "batchmean":
    return torch.kl_div(input, target, 2, log_target=log_target) / input.size(0)
  return torch.kl_div(input, target, _reduction(reduction), log_target=log_target)
def nll_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
  return torch.nll_loss_nd(input, target, weight, _reduction(reduction), ignore_index)
def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
  return torch.cross_entropy_loss(input, target, weight, _reduction(reduction), ignore_index, label_smoothing)
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
  return torch.binary_cross_entropy(input, target, weight, _reduction(reduction))
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None, reduce: Optional[bool] = None, reduction: str = "mean", pos_weight: Optional[Tensor] = None) -> Tensor:
  return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, _reduction(reduction))
)";

// Where the texts have each function, by its name.
const std::map<std::string, std::string_view>& texts() {
  static const auto& all = *[] {
    auto* map = new std::map<std::string, std::string_view>;
    for (const std::string_view text :
         {std::string_view(kText), std::string_view(kComposedText),
          std::string_view(quantized_functions()), prepacked_functions()}) {
      constexpr std::string_view kDef = "\ndef ";
      for (std::size_t at = text.find(kDef), end = 0; at != text.npos; at = end) {
        end = text.find(kDef, at + 1);
        const std::string_view function = text.substr(at + 1, end - at);
        const std::size_t name = kDef.size() - 1;
        map->emplace(function.substr(name, function.find('(') - name), function);
      }
    }
    return map;
  }();
  return all;
}

// A function is parsed when a unit first asks for it. Null: there is none.
std::shared_ptr<Def> definition(const std::string& name) {
  static auto& mutex = *new core::LeafMutex;
  static auto& parsed = *new std::map<std::string, std::shared_ptr<Def>>;
  const auto text = texts().find(name);
  if (text == texts().end()) return nullptr;
  std::lock_guard lock(mutex);
  std::shared_ptr<Def>& def = parsed[name];
  if (!def) {
    auto source = std::make_shared<Source>();
    source->text = text->second;
    source->file = "torch/nn/functional.py";
    def = parse_file(source).functions.at(0);
  }
  return def;
}

}  // namespace

bool is_functional(const std::string& name) { return texts().count(name) > 0; }

Function* functional(CompilationUnit& unit, std::string_view name) {
  const std::shared_ptr<Def> def = definition(std::string(name));
  if (!def) return nullptr;
  const std::string qualified = std::string(kFunctionalPrefix) + "." + std::string(name);
  if (Function* f = unit.find_function(qualified)) return f;
  if (name.find("quantized_") != name.npos || name.rfind("prepacked_", 0) == 0)
    define_weight_classes(unit);
  File file;
  file.functions.push_back(def);
  auto resolver = std::make_shared<Resolver>();
  // They may call each other. The unit has them, and so outlives them.
  resolver->qualify = [&unit](const std::string& other) {
    const Function* f = functional(unit, other);
    return f ? f->qualified_name() : std::string();
  };
  define_file(unit, kFunctionalPrefix, file, resolver);
  return unit.find_function(qualified);
}

}  // namespace tenon::jit::language
