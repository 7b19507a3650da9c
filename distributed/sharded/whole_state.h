// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The state of a sharded module and of its optimizer as if one process had it: what is saved.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/sharded/flat_unit.h"
#include "tenon/archives.h"
#include "tenon/nn/module.h"
#include "tenon/optim/optimizer.h"

namespace tenon::distributed {

using Units = std::vector<std::shared_ptr<FlatUnit>>;

OrderedDict<std::string, Tensor> full_state_dict(const nn::Module& root, const Units& units);
void load_full_state_dict(nn::Module& root, const Units& units,
                          const OrderedDict<std::string, Tensor>& state);
// In the archive, states of a shard's size have the whole unit's.
void save_whole_optimizer(const Units& units, optim::Optimizer& optimizer,
                          serialize::OutputArchive& archive);
void load_whole_optimizer(const Units& units, optim::Optimizer& optimizer,
                          serialize::InputArchive& archive);

}  // namespace tenon::distributed
