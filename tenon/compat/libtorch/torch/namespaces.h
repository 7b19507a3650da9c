// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// torch, at and c10 as namespaces of their own, so that programs may reopen them; what they miss is looked up in ours.
// A nested namespace needs its own line: one that a program reopens would otherwise hide ours.
#pragma once

#define TENON_COMPAT_NESTED(inside, name) \
  namespace tenon::name {}                \
  namespace inside::name {                \
  using namespace ::tenon::name;          \
  }

namespace tenon {}
namespace torch {
using namespace ::tenon;
}
namespace at {
using namespace ::tenon;
}
namespace c10 {
using namespace ::tenon;
}

TENON_COMPAT_NESTED(torch, autograd)
TENON_COMPAT_NESTED(torch, cuda)
TENON_COMPAT_NESTED(torch, data)
TENON_COMPAT_NESTED(torch, data::datasets)
TENON_COMPAT_NESTED(torch, data::example)
TENON_COMPAT_NESTED(torch, data::samplers)
TENON_COMPAT_NESTED(torch, data::transforms)
TENON_COMPAT_NESTED(torch, enumtype)
TENON_COMPAT_NESTED(torch, fft)
TENON_COMPAT_NESTED(torch, indexing)
TENON_COMPAT_NESTED(torch, jit)
TENON_COMPAT_NESTED(torch, linalg)
TENON_COMPAT_NESTED(torch, nn)
TENON_COMPAT_NESTED(torch, nn::functional)
TENON_COMPAT_NESTED(torch, nn::init)
TENON_COMPAT_NESTED(torch, nn::utils)
TENON_COMPAT_NESTED(torch, optim)
TENON_COMPAT_NESTED(torch, serialize)
TENON_COMPAT_NESTED(torch, special)
TENON_COMPAT_NESTED(at, cuda)
TENON_COMPAT_NESTED(at, indexing)
TENON_COMPAT_NESTED(at, Reduction)
TENON_COMPAT_NESTED(c10, cuda)
#undef TENON_COMPAT_NESTED
