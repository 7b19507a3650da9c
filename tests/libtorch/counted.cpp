// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// intrusive_ptr over classes of the program's own, which is what <torch/torch.h> alone gives.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <unordered_set>

namespace {

struct Counted;
c10::intrusive_ptr<Counted> make(int v);  // before the class is known

struct Counted : c10::intrusive_ptr_target {
  explicit Counted(int v) : value(v) { ++alive; }
  ~Counted() override { --alive; }
  void release_resources() override { ++released; }
  int value;
  static int alive, released;
};
int Counted::alive = 0, Counted::released = 0;

struct Derived final : Counted {
  Derived() : Counted(7) {}
};

struct Cache : torch::CustomClassHolder {
  std::vector<torch::Tensor> held;
};

// Of which the pointer alone makes objects.
struct Befriends : torch::CustomClassHolder {
  int value() const { return value_; }

 private:
  explicit Befriends(int v) : value_(v) {}
  friend class torch::intrusive_ptr<Befriends>;
  int value_;
};

template <class T>
int value_of(const c10::intrusive_ptr<T>& p) {  // T is deduced
  return p->value();
}

c10::intrusive_ptr<Counted> make(int v) { return c10::make_intrusive<Counted>(v); }

TEST(Counted, TheLastPointerDeletes) {
  auto p = make(3);
  EXPECT_TRUE(p.defined() && p.unique());
  auto q = p;
  EXPECT_EQ(p.use_count(), 2u);
  EXPECT_EQ(q->value, 3);
  p.reset();
  EXPECT_FALSE(p.defined());
  EXPECT_EQ(p.use_count(), 0u);
  EXPECT_EQ(Counted::alive, 1);
  q = nullptr;
  EXPECT_EQ(Counted::alive, 0);
}

TEST(Counted, AWeakPointerKeepsTheObjectWithoutItsResources) {
  auto p = make(4);
  c10::weak_intrusive_ptr<Counted> weak(p);
  EXPECT_EQ(weak.lock(), p);
  EXPECT_EQ(weak.use_count(), 1u);
  EXPECT_EQ(weak.weak_use_count(), 2u);
  const int before = Counted::released;
  p.reset();
  EXPECT_TRUE(weak.expired());
  EXPECT_FALSE(weak.lock().defined());
  EXPECT_EQ(Counted::released, before + 1);
  EXPECT_EQ(Counted::alive, 1);
  weak.reset();
  EXPECT_EQ(Counted::alive, 0);
  p = make(5);
  p.reset();  // nothing weak is left: the destructor alone
  EXPECT_EQ(Counted::released, before + 1);
}

TEST(Counted, CastsAndBarePointers) {
  c10::intrusive_ptr<Counted> base = c10::make_intrusive<Derived>();
  EXPECT_EQ(c10::dynamic_intrusive_pointer_cast<Derived>(base)->value, 7);
  EXPECT_FALSE(c10::dynamic_intrusive_pointer_cast<Derived>(make(1)));
  EXPECT_EQ(c10::static_intrusive_pointer_cast<Derived>(base).use_count(), 2u);
  Counted* bare = base.release();
  EXPECT_FALSE(base);
  base = c10::intrusive_ptr<Counted>::reclaim(bare);
  EXPECT_EQ(base.use_count(), 1u);
  const std::unordered_set<c10::intrusive_ptr<Counted>> hashed{base, base, make(2)};
  EXPECT_EQ(hashed.size(), 2u);
  std::map<c10::intrusive_ptr<Counted>, int> ordered;
  ordered[base] = 1;
  EXPECT_EQ(ordered.count(base), 1u);
}

TEST(Counted, AClassMayBefriendItsPointer) {
  const auto p = torch::make_intrusive<Befriends>(6);
  EXPECT_EQ(value_of(p), 6);
  const torch::weak_intrusive_ptr<Befriends> weak(p);
  EXPECT_EQ(value_of(weak.lock()), 6);
}

// By what they point to, unlike all others.
using Compared = torch::intrusive_ptr<Befriends>;
bool operator==(const Compared& a, const Compared& b) { return a->value() == b->value(); }
bool operator!=(const Compared& a, const Compared& b) { return !(a == b); }

TEST(Counted, AProgramMayCompareThemItself) {
  const auto a = torch::make_intrusive<Befriends>(6), b = torch::make_intrusive<Befriends>(6);
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a != b || a == nullptr || nullptr == b);
  EXPECT_FALSE(make(1) == make(1));
}

TEST(Counted, HoldersOfTensors) {
  const auto cache = c10::make_intrusive<Cache>();
  const auto x = torch::ones({2});
  cache->held.push_back(x);
  EXPECT_EQ(x.use_count(), 2u);
  const c10::intrusive_ptr<c10::TensorImpl> impl = x.getIntrusivePtr();
  EXPECT_EQ(impl.use_count(), 3u);
}

}  // namespace
