// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "tenon/vmap.h"

#include <algorithm>

#include "tenon/batching/level.h"
#include "tenon/ops.h"
#include "tenon/runtime/error.h"

namespace tenon {

std::string VmapDims::str() const {
  if (!is_list_) return dim_ ? std::to_string(*dim_) : "None";
  std::string out;
  for (const VmapDims& d : list_) out += (out.empty() ? "" : ", ") + d.str();
  return "(" + out + ")";
}

namespace detail {
namespace {

using Dims = std::vector<std::optional<int64_t>>;

std::string text_of(const std::vector<VmapItem>& items) {
  std::string out;
  for (const VmapItem& i : items) {
    out += out.empty() ? "" : ", ";
    out += i.kind == VmapItem::kList     ? core::join("a list of ", i.tensors)
           : i.kind == VmapItem::kTensor ? "a tensor"
                                         : "another value";
  }
  return "(" + out + ")";
}

// One entry per tensor. `name` is in_dims or out_dims.
Dims dims_of_tensors(const char* name, const VmapDims& dims, const std::vector<VmapItem>& items) {
  const auto fits = [&](bool good) {
    TENON_CHECK(good, ValueError, "vmap: ", name, " is not compatible with the structure of `",
                name[0] == 'i' ? "inputs" : "outputs", "`: ", name, " is ", dims.str(),
                " and there are ", text_of(items));
  };
  fits(!dims.is_list() || dims.list().size() == items.size());
  Dims out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const VmapDims& of = dims.is_list() ? dims.list()[i] : dims;
    if (items[i].kind == VmapItem::kOther) {
      TENON_CHECK(!of.is_list() && !of.dim(), ValueError, "vmap: Got ", name, "=", of.str(),
                  " for argument ", i,
                  ", which is not a tensor. We cannot vmap over non-Tensor arguments, please use "
                  "None (nullopt) as the respective in_dim");
    } else if (!of.is_list()) {
      out.insert(out.end(), items[i].tensors, of.dim());
    } else {
      fits(items[i].kind == VmapItem::kList && of.list().size() == items[i].tensors);
      for (const VmapDims& d : of.list()) {
        fits(!d.is_list());
        out.push_back(d.dim());
      }
    }
  }
  return out;
}

// Dimensions counted from the front.
void wrap_in_dims(Dims& dims, const std::vector<Tensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!dims[i]) continue;
    TENON_CHECK(tensors[i].defined(), ValueError, "vmap: Got in_dim=", *dims[i],
                " for some input, but that input is an undefined tensor");
    const int64_t rank = tensors[i].dim(), d = *dims[i];
    TENON_CHECK(-rank <= d && d < rank, ValueError, "vmap: Got in_dim=", d,
                " for some input, but that input is a Tensor of dimensionality ", rank,
                " so expected in_dim to satisfy -", rank, " <= in_dim < ", rank);
    dims[i] = d < 0 ? d + rank : d;
  }
}

int64_t count_slices(const VmapDims& given, const Dims& dims, const std::vector<Tensor>& tensors) {
  std::vector<int64_t> sizes;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (dims[i]) sizes.push_back(tensors[i].size(*dims[i]));
  }
  TENON_CHECK(
      !sizes.empty(), ValueError,
      "vmap: expected `in_dims` to name a dimension of at least one tensor, got: ", given.str());
  TENON_CHECK(
      std::equal(sizes.begin() + 1, sizes.end(), sizes.begin()), ValueError,
      "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes ",
      IntArrayRef(sizes), " for the mapped dimension");
  return sizes[0];
}

core::Randomness randomness_of(const std::string& name) {
  if (name == "error") return core::Randomness::Error;
  if (name == "different") return core::Randomness::Different;
  TENON_CHECK(name == "same", ValueError,
              "vmap: Only allowed values for randomness are 'error', 'different', or 'same'. Got ",
              name);
  return core::Randomness::Same;
}

// The slices of a result along `dim`.
Tensor whole_result(const Tensor& t, const std::optional<int64_t>& dim,
                    const core::BatchLevel& level) {
  TENON_CHECK(t.defined(), ValueError,
              "vmap: the function must only return Tensors, got an undefined one");
  const bool batched = batching::is_batched_at(t, level);
  if (!dim) {
    TENON_CHECK(!batched, ValueError,
                "vmap: the function can not return a BatchedTensor when out_dim is None");
    return t;
  }
  const int64_t rank = t.dim() + 1;
  TENON_CHECK(-rank <= *dim && *dim < rank, IndexError,
              "vmap: out_dims: Dimension out of range (expected to be in range of [-", rank, ", ",
              rank - 1, "], but got ", *dim, ")");
  if (batched) return batching::slices_of(t).movedim(0, *dim);
  std::vector<int64_t> sizes = t.sizes().vec();
  sizes.insert(sizes.begin(), level.size);
  return t.expand(sizes).movedim(0, *dim);
}

struct Chunk {
  std::vector<Tensor> tensors;
  int64_t slices;
};

VmapValues run_chunk(const VmapSettings& settings, const Dims& dims, const Chunk& chunk,
                     const VmapFunction& function) {
  const batching::LevelScope scope(chunk.slices, randomness_of(settings.randomness));
  std::vector<Tensor> slices = chunk.tensors;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (dims[i]) slices[i] = batching::make_batched(slices[i], *dims[i], scope.level());
  }
  VmapValues results = function(slices);
  const Dims out_dims = dims_of_tensors("out_dims", settings.out_dims, results.items);
  const batching::BelowScope below(scope.level());
  for (std::size_t k = 0; k < results.tensors.size(); ++k)
    results.tensors[k] = whole_result(results.tensors[k], out_dims[k], scope.level());
  return results;
}

Chunk chunk_of(const std::vector<Tensor>& tensors, const Dims& dims, int64_t from, int64_t slices) {
  Chunk out{tensors, slices};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (dims[i]) out.tensors[i] = tensors[i].narrow(*dims[i], from, slices);
  }
  return out;
}

VmapValues joined(const VmapSettings& settings, const std::vector<VmapValues>& chunks) {
  VmapValues out = chunks[0];
  const Dims dims = dims_of_tensors("out_dims", settings.out_dims, out.items);
  for (std::size_t k = 0; k < out.tensors.size(); ++k) {
    if (!dims[k]) continue;
    std::vector<Tensor> parts;
    parts.reserve(chunks.size());
    for (const VmapValues& c : chunks) parts.push_back(c.tensors[k]);
    out.tensors[k] = cat(parts, *dims[k]);
  }
  return out;
}

}  // namespace

VmapValues run_vmap(const VmapSettings& settings, const VmapValues& arguments,
                    const VmapFunction& function) {
  TENON_CHECK(!arguments.items.empty(), ValueError,
              "vmap: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over "
              "a function with no inputs. The latter is unsupported");
  Dims dims = dims_of_tensors("in_dims", settings.in_dims, arguments.items);
  wrap_in_dims(dims, arguments.tensors);
  const int64_t slices = count_slices(settings.in_dims, dims, arguments.tensors);
  const std::optional<int64_t>& limit = settings.chunk_size;
  TENON_CHECK(!limit || *limit > 0, ValueError,
              "vmap: chunk_size should be None or greater than 0. (got ", limit.value_or(0), ")");
  if (!limit || *limit >= slices)
    return run_chunk(settings, dims, {arguments.tensors, slices}, function);
  std::vector<VmapValues> chunks;
  for (int64_t from = 0; from < slices; from += *limit) {
    const int64_t n = std::min(*limit, slices - from);
    chunks.push_back(
        run_chunk(settings, dims, chunk_of(arguments.tensors, dims, from, n), function));
  }
  return joined(settings, chunks);
}

}  // namespace detail
}  // namespace tenon
