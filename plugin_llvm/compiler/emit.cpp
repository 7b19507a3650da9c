// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "plugin_llvm/compiler/emit.h"

#include <array>

#include "plugin_llvm/compiler/body.h"

namespace tenon::llvm_loops {
namespace {

using V = llvm::Value*;
using Vs = std::vector<V>;

class Emitter {
 public:
  Emitter(const Spec& spec, int lanes, llvm::Module& module)
      : s_(spec), b_(module.getContext()), body_(spec, lanes, module, b_), update_(update()) {
    contracts_ = is_product() && update_ == lp::Update::kSum;
    narrow_ = contracts_ && dtype() == lp::Dtype::kFloat;
  }

  void emit() {
    V first = body_.begin();
    V last = body_.argument(5);
    loop(first, last, 1, 1, {}, [&](V item, const Vs&) {
      decode(item);
      tiles();
      return Vs{};
    });
    b_.CreateRetVoid();
  }

 private:
  const lp::Store& store(std::size_t k = 0) const {
    return s_.body().stores[static_cast<std::size_t>(s_.stores[k])];
  }
  lp::Update update() const { return store().update; }
  const lp::Node& node_of(std::size_t k) const {
    return s_.body().nodes[static_cast<std::size_t>(store(k).node)];
  }
  lp::Dtype dtype(std::size_t k = 0) const { return node_of(k).dtype; }

  // All stores add products of floats, so that a product need not be rounded before it is added.
  bool is_product() const {
    for (std::size_t k = 0; k < s_.stores.size(); ++k)
      if (store(k).update != lp::Update::kSum || node_of(k).kind != lp::Kind::kBinary ||
          node_of(k).code != TN_BINARY_MUL || dtype(k) != dtype() || dtype(k) < lp::Dtype::kFloat)
        return false;
    return true;
  }

  // body(index, carried) from `begin` on, by `step`, while `need` more indices are left.
  template <class F>
  std::pair<V, Vs> loop(V begin, V end, int64_t step, int64_t need, const Vs& init, F body) {
    llvm::BasicBlock* from = b_.GetInsertBlock();
    llvm::Function* f = from->getParent();
    auto* head = llvm::BasicBlock::Create(b_.getContext(), "loop", f);
    auto* done = llvm::BasicBlock::Create(b_.getContext(), "done", f);
    const auto fits = [&](V at) {
      return b_.CreateICmpSLE(b_.CreateNSWAdd(at, b_.getInt64(static_cast<uint64_t>(need))), end);
    };
    b_.CreateCondBr(fits(begin), head, done);
    b_.SetInsertPoint(head);
    llvm::PHINode* index = b_.CreatePHI(b_.getInt64Ty(), 2);
    index->addIncoming(begin, from);
    Vs carried;
    for (V it : init) {
      llvm::PHINode* phi = b_.CreatePHI(it->getType(), 2);
      phi->addIncoming(it, from);
      carried.push_back(phi);
    }
    const Vs next = body(index, carried);
    V after = b_.CreateNSWAdd(index, b_.getInt64(static_cast<uint64_t>(step)));
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    b_.CreateCondBr(fits(after), head, done);
    index->addIncoming(after, latch);
    for (std::size_t k = 0; k < init.size(); ++k)
      llvm::cast<llvm::PHINode>(carried[k])->addIncoming(next[k], latch);
    b_.SetInsertPoint(done);
    const auto join = [&](V before, V later) {
      llvm::PHINode* phi = b_.CreatePHI(before->getType(), 2);
      phi->addIncoming(before, from);
      phi->addIncoming(later, latch);
      return phi;
    };
    V end_index = join(begin, after);
    Vs out;
    for (std::size_t k = 0; k < init.size(); ++k) out.push_back(join(init[k], next[k]));
    return {end_index, out};
  }

  void decode(V item) {
    const std::vector<Digit> list = digits(s_);
    V rest = item;
    for (std::size_t k = list.size(); k-- > 0;) {
      const Digit& it = list[k];
      V extent = body_.extent(it.loop), block = it.block == 0
                                                    ? body_.number(Layout(s_).chunk())
                                                    : b_.getInt64(static_cast<uint64_t>(it.block));
      V at = rest;
      if (k > 0) {
        V n = it.block == 1
                  ? extent
                  : b_.CreateUDiv(b_.CreateAdd(extent, b_.CreateSub(block, b_.getInt64(1))), block);
        V next = b_.CreateUDiv(rest, n);
        at = b_.CreateSub(rest, b_.CreateMul(next, n));
        rest = next;
      }
      V begin = it.block == 1 ? at : b_.CreateMul(at, block);
      body_.index(it.loop) = begin;
      if (it.block == 1) continue;
      V end = b_.CreateAdd(begin, block);
      ends_[it.loop] = b_.CreateSelect(b_.CreateICmpSLT(end, extent), end, extent);
    }
  }

  // The blocks of the tile's loops: whole ones, then halves of them, in the end single points.
  void tiles() { blocks_of_tile(0, {1, 1}); }

  void blocks_of_tile(std::size_t t, std::array<int, 2> sizes) {
    if (t == sizes.size()) return region(sizes);
    const int l = s_.tile_loop[t];
    if (l < 0) return blocks_of_tile(t + 1, sizes);
    V at = body_.index(l), begin = at;
    for (int n = s_.tile[t]; n > 0; n = s_.has_rest[t] ? n / 2 : 0) {
      sizes[t] = n;
      at = loop(at, ends_[l], n, n, {}, [&](V v, const Vs&) {
             body_.index(l) = v;
             blocks_of_tile(t + 1, sizes);
             return Vs{};
           }).first;
    }
    body_.index(l) = begin;
  }

  // Along the vector loop: as many vectors as go at once, then the tail, whose last one is partial.
  void region(const std::array<int, 2>& sizes) {
    if (!s_.is_across()) return points(grid(sizes, 1), nullptr);
    const int l = s_.vector_loop;
    const int64_t w = body_.lanes();
    V at = body_.index(l), begin = at;
    if (s_.whole)
      at = loop(at, ends_[l], w * s_.vectors, w * s_.vectors, {}, [&](V v, const Vs&) {
             body_.index(l) = v;
             points(grid(sizes, s_.vectors), nullptr);
             return Vs{};
           }).first;
    if (s_.tail > 0) partial(sizes, at, s_.tail);
    body_.index(l) = begin;
  }

  void partial(const std::array<int, 2>& sizes, V at, int vectors) {
    const int l = s_.vector_loop;
    const int64_t full = int64_t{body_.lanes()} * (vectors - 1);
    loop(at, ends_[l], full + body_.lanes(), full + 1, {}, [&](V v, const Vs&) {
      body_.index(l) = v;
      V left = b_.CreateSub(b_.CreateSub(ends_[l], v), b_.getInt64(static_cast<uint64_t>(full)));
      points(grid(sizes, vectors), left, vectors - 1);
      return Vs{};
    });
  }

  static std::vector<Point> grid(const std::array<int, 2>& sizes, int vectors) {
    std::vector<Point> list;
    for (int a = 0; a < sizes[0]; ++a)
      for (int c = 0; c < sizes[1]; ++c)
        for (int v = 0; v < vectors; ++v) list.push_back({a, c, v});
    return list;
  }

  // `left`: elements of the vector `partial` that count; null: all.
  void points(const std::vector<Point>& list, V left, int partial = 0) {
    body_.enter(left, partial);
    if (!s_.is_reduction()) {
      for (const Point& p : list)
        for (std::size_t k = 0; k < s_.stores.size(); ++k)
          body_.put(s_.stores[k], p, body_.value(store(k).node, p));
      return;
    }
    reduce(list);
  }

  llvm::Type* shape(llvm::Type* t) { return body_.values().vector_of(t); }

  Vs neutrals(const std::vector<Point>& list, bool narrow) {
    Vs init;
    Values& o = body_.values();
    for (std::size_t n = list.size(); n-- > 0;)
      for (std::size_t k = 0; k < s_.stores.size(); ++k) {
        llvm::Type* t = o.sum_type(store(k).update, dtype(k), narrow);
        init.push_back(o.neutral(store(k).update, dtype(k), shape(t)));
      }
    return init;
  }

  void reduce(const std::vector<Point>& list) {
    std::vector<int> loops;
    for (int l = 0; l < static_cast<int>(s_.loops.size()); ++l)
      if (!s_.loops[static_cast<std::size_t>(l)].named) loops.push_back(l);
    const bool flushes = narrow_ && (s_.flush_level > 0 || s_.blocked);
    const Vs sums = nest(list, loops, 0, neutrals(list, narrow_ && !flushes), !flushes && narrow_);
    finish(list, sums, narrow_ && !flushes);
  }

  // The loops from `level` on. `narrow`: these sums are in float32.
  Vs nest(const std::vector<Point>& list, const std::vector<int>& loops, int level, Vs sums,
          bool narrow) {
    if (narrow_ && !narrow && level == s_.flush_level) {
      if (s_.blocked) return blocks(list, loops, level, sums);
      return flushed(sums, nest(list, loops, level, neutrals(list, true), true));
    }
    if (level == static_cast<int>(loops.size())) return accumulate(list, sums, narrow);
    const int l = loops[static_cast<std::size_t>(level)];
    return along(list, loops, level, b_.getInt64(0), body_.extent(l), sums, narrow);
  }

  Vs flushed(const Vs& sums, const Vs& terms) {
    Vs out;
    for (std::size_t k = 0; k < sums.size(); ++k)
      out.push_back(b_.CreateFAdd(sums[k], b_.CreateFPExt(terms[k], sums[k]->getType())));
    return out;
  }

  Vs blocks(const std::vector<Point>& list, const std::vector<int>& loops, int level,
            const Vs& sums) {
    V n = body_.extent(loops[static_cast<std::size_t>(level)]);
    return loop(b_.getInt64(0), n, kBlock, 1, sums,
                [&](V at, const Vs& now) {
                  V end = b_.CreateAdd(at, b_.getInt64(kBlock));
                  end = b_.CreateSelect(b_.CreateICmpSLT(end, n), end, n);
                  return flushed(now,
                                 along(list, loops, level, at, end, neutrals(list, true), true));
                })
        .second;
  }

  Vs along(const std::vector<Point>& list, const std::vector<int>& loops, int level, V begin, V end,
           const Vs& sums, bool narrow) {
    const int l = loops[static_cast<std::size_t>(level)];
    const auto inner = [&](V at, const Vs& now) {
      body_.index(l) = at;
      body_.enter(body_.left(), body_.partial());
      return nest(list, loops, level + 1, now, narrow);
    };
    if (l != s_.vector_loop && s_.unrolled > 0 && level + 1 == static_cast<int>(loops.size())) {
      Vs now = sums;
      for (int i = 0; i < s_.unrolled; ++i) now = inner(b_.getInt64(static_cast<uint64_t>(i)), now);
      return now;
    }
    if (l != s_.vector_loop) {
      if (level + 1 < static_cast<int>(loops.size()))
        return loop(begin, end, 1, 1, sums, inner).second;
      const auto [at, most] = several(list, begin, end, sums, inner);
      return loop(at, end, 1, 1, most, inner).second;
    }
    const int64_t w = body_.lanes();
    auto [at, full] = loop(begin, end, w, w, sums, inner);
    // At most once.
    const auto rest = loop(at, end, w, 1, full, [&](V v, const Vs& now) {
      body_.index(l) = v;
      body_.enter(b_.CreateSub(end, v));
      return accumulate(list, now, narrow);
    });
    body_.enter(nullptr);
    return rest.second;
  }

  // Of the last loop as many steps at once as make few of the operations those of addresses.
  template <class F>
  std::pair<V, Vs> several(const std::vector<Point>& list, V begin, V end, const Vs& sums,
                           F inner) {
    constexpr std::size_t kMaxSums = 96;
    constexpr int kMaxSteps = 4;
    int steps = contracts_ ? kMaxSteps : 1;
    while (steps > 1 && list.size() * s_.stores.size() * static_cast<std::size_t>(steps) > kMaxSums)
      steps /= 2;
    if (steps == 1) return {begin, sums};
    return loop(begin, end, steps, steps, sums, [&](V at, Vs now) {
      for (int i = 0; i < steps; ++i) {
        body_.go_ahead(i);
        now = inner(at, now);
      }
      body_.go_ahead(0);
      return now;
    });
  }

  Vs accumulate(const std::vector<Point>& list, const Vs& sums, bool narrow) {
    Values& o = body_.values();
    Vs out;
    std::size_t n = 0;
    const bool masked = body_.left() && !s_.is_across();
    for (const Point& p : list)
      for (std::size_t k = 0; k < s_.stores.size(); ++k, ++n) {
        const lp::Node& node = node_of(k);
        if (contracts_) {
          V x = o.to_sum(update_, dtype(k), narrow, body_.value(node.operands[0], p));
          V y = o.to_sum(update_, dtype(k), narrow, body_.value(node.operands[1], p));
          V sum = o.fma(x, y, sums[n]);
          out.push_back(masked ? b_.CreateSelect(body_.mask(), sum, sums[n]) : sum);
          continue;
        }
        V v = o.to_sum(store(k).update, dtype(k), narrow, body_.value(store(k).node, p));
        V sum = o.combined(store(k).update, dtype(k), sums[n], v);
        out.push_back(masked ? b_.CreateSelect(body_.mask(), sum, sums[n]) : sum);
      }
    return out;
  }

  // Lanes of a sum are joined in halves.
  V joined(std::size_t k, V v) {
    for (int n = body_.lanes() / 2; n > 0; n /= 2) {
      llvm::SmallVector<int, 16> low, high;
      for (int i = 0; i < n; ++i) {
        low.push_back(i);
        high.push_back(i + n);
      }
      V x = b_.CreateShuffleVector(v, low), y = b_.CreateShuffleVector(v, high);
      v = body_.values().combined(store(k).update, dtype(k), x, y);
    }
    return b_.CreateExtractElement(v, uint64_t{0});
  }

  void finish(const std::vector<Point>& list, const Vs& sums, bool narrow) {
    Values& o = body_.values();
    std::size_t n = 0;
    body_.enter(body_.left(), body_.partial());  // no value of the loops is one here
    for (const Point& p : list) {
      for (std::size_t k = 0; k < s_.stores.size(); ++k, ++n) {
        V v = sums[n];
        if (!s_.is_across()) {
          if (narrow) v = b_.CreateFPExt(v, shape(b_.getDoubleTy()));
          v = joined(k, v);
        }
        if (!store(k).from_neutral) {
          V old = body_.get(s_.stores[k], p);
          if (old->getType()->getScalarType() != v->getType()->getScalarType())
            old = b_.CreateFPExt(old, v->getType());
          v = o.combined(store(k).update, dtype(k), old, v);
        }
        // Who reads it reads what memory would hold.
        result(s_.stores[k], p, o.rounded(dtype(k), o.from_sum(store(k).update, dtype(k), v)));
      }
      for (const int it : s_.late)
        result(it, p, body_.value(s_.body().stores[static_cast<std::size_t>(it)].node, p));
    }
  }

  void result(int store, const Point& p, V v) {
    for (const auto& [node, of] : s_.results)
      if (of == store) body_.provide(node, p, v);
    if (s_.is_written(store)) body_.put(store, p, v);
  }

  const Spec& s_;
  llvm::IRBuilder<> b_;
  Body body_;
  lp::Update update_;
  bool contracts_ = false, narrow_ = false;
  std::map<int, V> ends_;
};

}  // namespace

void emit_kernel(const Spec& spec, int lanes, llvm::Module& module) {
  Emitter(spec, lanes, module).emit();
}

}  // namespace tenon::llvm_loops
