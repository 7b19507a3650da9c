// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "checksum.h"
#include "content.h"
#include "json.h"
#include "tenon/autograd.h"
#include "tenon/core/layout.h"
#include "tenon/io/value_json.h"
#include "tenon/ops.h"

namespace tenon::serialize::detail {
namespace {

struct Part {
  std::string name;
  Tensor data;  // contiguous, on the CPU
};

struct Plan {
  std::vector<Part> entries;
  std::map<std::string, Json::Object> extra;  // tenon.tensors
};

int64_t storage_key(const Tensor& t) {
  return reinterpret_cast<int64_t>(t.unsafeGetTensorImpl()->storage.get());
}

void add_entry(Plan& plan, const std::string& name, const Tensor& t) {
  if (!t.device().is_cpu()) plan.extra[name].emplace_back("device", t.device().str());
  plan.entries.push_back({name, t.detach().cpu().contiguous()});
}

void add_plain(Plan& plan, const std::string& name, const Tensor& t) {
  if (!t.is_contiguous()) {
    plan.extra[name].emplace_back("strides", Json::list(compact_strides(t.sizes(), t.strides())));
  }
  add_entry(plan, name, t);
}

void add_view(Plan& plan, const std::string& name, const Tensor& t, const std::string& of,
              int64_t offset) {
  plan.extra[name] = Json::object("of", of, "offset", offset, "shape", Json::list(t.sizes()),
                                  "strides", Json::list(t.strides()));
}

// Tensors of one storage and dtype: one of them holds the data of all, or a hidden entry does.
void add_group(Plan& plan, const std::vector<std::string>& names, const Content& content,
               int& hidden) {
  const Tensor& first = content.tensors.at(names[0]);
  if (names.size() == 1 &&
      (first.is_contiguous() || !core::may_overlap_itself(first.sizes(), first.strides())))
    return add_plain(plan, names[0], first);
  int64_t begin = first.storage_offset(), end = begin;
  for (const auto& n : names) {
    const Tensor& t = content.tensors.at(n);
    if (t.numel() == 0) continue;
    if (begin == end) begin = t.storage_offset();
    begin = std::min(begin, t.storage_offset());
    end = std::max(end, t.storage_offset() + core::extent(t.sizes(), t.strides()));
  }
  std::string owner;
  for (const auto& n : names) {
    const Tensor& t = content.tensors.at(n);
    if (t.is_contiguous() && t.storage_offset() == begin && t.numel() == end - begin) {
      owner = n;
      add_plain(plan, n, t);
      break;
    }
  }
  if (owner.empty()) {
    owner = std::string(kHiddenPrefix) + std::to_string(hidden++);
    add_entry(plan, owner, first.detach().as_strided({end - begin}, {1}, begin));
  }
  for (const auto& n : names) {
    if (n != owner)
      add_view(plan, n, content.tensors.at(n), owner,
               content.tensors.at(n).storage_offset() - begin);
  }
}

// The entry of a component: NAME.COMPONENT, so that other programs find it, unless that is
// another's name.
std::string entry_name(const Content& given, const std::string& name, const std::string& component,
                       int& hidden) {
  std::string entry = name + "." + component;
  if (!given.taken(entry) && entry.size() <= kMaxName) return entry;
  return std::string(kHiddenPrefix) + std::to_string(hidden++);
}

// The strided tensors to be written: of those with a layout of their own the components, and how
// they go together.
Content components_of(const Content& given, Plan& plan, int& hidden) {
  Content flat;
  auto add = [&](const std::string& name, const Tensor& t) {
    flat.order.push_back(name);
    flat.tensors.emplace(name, t);
  };
  for (const auto& name : given.order) {
    const Tensor& t = given.tensors.at(name);
    if (t.layout() == kStrided) {
      add(name, t);
      continue;
    }
    const int slot = static_cast<int>(t.layout());
    Json::Object entries;
    Json::Array flags;
    for (const auto& component : core::layout_components(slot)) {
      const std::string entry = entry_name(given, name, component, hidden);
      add(entry, t.component(component));
      entries.emplace_back(component, entry);
    }
    for (const auto& flag : core::layout_flags(slot)) {
      if (t.layout_flag(flag)) flags.emplace_back(flag);
    }
    plan.extra[name] =
        Json::object("layout", core::layout_name(slot), "shape", Json::list(t.sizes()),
                     "components", std::move(entries), "flags", std::move(flags));
    if (t.requires_grad()) plan.extra[name].emplace_back("requires_grad", true);
  }
  return flat;
}

Plan make_plan(const Content& given) {
  Plan plan;
  int hidden = 0;
  const Content content = components_of(given, plan, hidden);
  std::map<std::pair<int64_t, ScalarType>, std::vector<std::string>> groups;
  for (const auto& name : content.order) {
    const Tensor& t = content.tensors.at(name);
    TENON_CHECK(format_name(t.scalar_type()), NotImplementedError, "save: '", name, "' has dtype ",
                dtype_name(t.scalar_type()), ", which safetensors has no name for");
    groups[{storage_key(t), t.scalar_type()}].push_back(name);
  }
  for (const auto& name : content.order) {
    const Tensor& t = content.tensors.at(name);
    auto& group = groups[{storage_key(t), t.scalar_type()}];
    if (group[0] == name) add_group(plan, group, content, hidden);
    if (t.requires_grad()) plan.extra[name].emplace_back("requires_grad", true);
  }
  return plan;
}

// `plan` keeps its names alone.
Json make_metadata(const Content& content, Plan& plan) {
  Json::Object meta =
      Json::object("tenon.checksum", std::string(kChecksumDigits, '0'), "tenon.format", "1");
  if (!plan.extra.empty()) {
    Json::Object tensors;
    for (auto& [name, members] : plan.extra) tensors.emplace_back(name, std::move(members));
    meta.emplace_back("tenon.tensors", Json(std::move(tensors)).dump());
  }
  if (!content.values.empty()) {
    Json::Object values;
    for (const auto& [key, value] : content.values)
      values.emplace_back(key, value_to_json(key, value));
    meta.emplace_back("tenon.values", Json(std::move(values)).dump());
  }
  if (!content.archives.empty())
    meta.emplace_back("tenon.archives", Json::list(content.archives).dump());
  return meta;
}

std::string header_text(const Content& content, Plan& plan) {
  try {
    Json::Object header = Json::object("__metadata__", make_metadata(content, plan));
    uint64_t offset = 0;
    for (const auto& e : plan.entries) {
      uint64_t bytes = static_cast<uint64_t>(e.data.numel()) * elementSize(e.data.scalar_type());
      header.emplace_back(
          e.name, Json::object("dtype", *format_name(e.data.scalar_type()), "shape",
                               Json::list(e.data.sizes()), "data_offsets",
                               Json::list(std::array<uint64_t, 2>{offset, offset + bytes})));
      offset += bytes;
    }
    return Json(std::move(header)).dump();
  } catch (const Json::Error&) {
    throw ValueError("save: a key or a string value is not UTF-8, which safetensors needs");
  }
}

// With the length in front, padded so that the data is aligned to 64 bytes: where it is mapped,
// kernels read whole vectors.
std::string make_header(const Content& content, Plan& plan) {
  std::string text = header_text(content, plan);
  text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' ');
  TENON_CHECK(text.size() <= kMaxHeader, ValueError, "save: the header has ", text.size(),
              " bytes, the limit is ", kMaxHeader);
  std::string out(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) out[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
  return out + text;
}

std::string digits_of(uint32_t crc) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out(kChecksumDigits, '0');
  for (std::size_t i = 0; i < kChecksumDigits; ++i) out[i] = kHex[crc >> (28 - 4 * i) & 15];
  return out;
}

// In parts that are still in a cache when they are written.
uint32_t put_summed(const void* data, std::size_t bytes, uint32_t crc,
                    const std::function<void(const void*, std::size_t)>& put) {
  constexpr std::size_t kPart = 256 << 10;
  const auto* p = static_cast<const char*>(data);
  for (std::size_t i = 0; i < bytes; i += kPart) {
    const std::size_t part = std::min(kPart, bytes - i);
    crc = crc32(crc, p + i, part);
    put(p + i, part);
  }
  return crc;
}

}  // namespace

void write_safetensors(const Content& content,
                       const std::function<void(const void*, std::size_t)>& put,
                       const std::function<void(uint64_t, const void*, std::size_t)>& patch) {
  NoGradGuard no_grad;
  Plan plan = make_plan(content);
  // Wide types first keeps every tensor aligned to its element size.
  std::stable_sort(plan.entries.begin(), plan.entries.end(), [](const Part& a, const Part& b) {
    return elementSize(a.data.scalar_type()) > elementSize(b.data.scalar_type());
  });
  std::string header = make_header(content, plan);
  uint32_t crc = crc32(0, header.data(), header.size());
  auto bytes = [](const Part& e) {
    return static_cast<std::size_t>(e.data.numel()) * elementSize(e.data.scalar_type());
  };
  const std::size_t at = header.find(kChecksumMark) + kChecksumMark.size();
  if (patch) {
    put(header.data(), header.size());
    for (const auto& e : plan.entries)
      crc = put_summed(e.data.const_data_ptr(), bytes(e), crc, put);
    return patch(at, digits_of(crc).data(), kChecksumDigits);
  }
  for (const auto& e : plan.entries) crc = crc32(crc, e.data.const_data_ptr(), bytes(e));
  header.replace(at, kChecksumDigits, digits_of(crc));
  put(header.data(), header.size());
  for (const auto& e : plan.entries) {
    if (e.data.numel() > 0) put(e.data.const_data_ptr(), bytes(e));
  }
}

}  // namespace tenon::serialize::detail
