// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What every program has of libtorch's logging: its own lines on stderr, from TORCH_CPP_LOG_LEVEL
// on (INFO, WARNING, ERROR, FATAL or a number; WARNING without it). Tenon writes none. Where a
// library for logging came first, the macros are that library's.
#pragma once

#include <c10/util/Exception.h>
#include <c10/util/log_message.h>
#include <torch/detail/containers_on_streams.h>
#include <torch/namespaces.h>

// Calls are not reported to anyone.
#define C10_LOG_API_USAGE_ONCE(...)
#define C10_LOG_EVENT_SAMPLED(...)

#define TENON_COMPAT_LINE(severity) ::c10::MessageLogger(__FILE__, __LINE__, severity).stream()

#ifndef LOG
#define LOG(n) TENON_COMPAT_LINE(::c10::GLOG_##n)
#define LOG_IF(n, condition) \
  if (condition) LOG(n)
#define VLOG(n) TENON_COMPAT_LINE(-(n))
#define VLOG_IF(n, condition) \
  if (condition) VLOG(n)
#define VLOG_IS_ON(n) (::c10::log_level() <= -(n))
#endif

// A program that has broken its own rule ends here: with the line, and by abort().
#ifndef CHECK
#define TENON_COMPAT_ABORT_UNLESS(condition) \
  (condition) ? (void)0 : ::c10::LoggerVoidify() & TENON_COMPAT_LINE(::c10::GLOG_FATAL)
#define TENON_COMPAT_ABORT_UNLESS_OP(a, b, op) \
  TENON_COMPAT_ABORT_UNLESS((a)op(b)) << "Check failed: " #a " " #op " " #b " "
#define CHECK(condition) TENON_COMPAT_ABORT_UNLESS(condition) << "Check failed: " #condition " "
#define CHECK_EQ(a, b) TENON_COMPAT_ABORT_UNLESS_OP(a, b, ==)
#define CHECK_NE(a, b) TENON_COMPAT_ABORT_UNLESS_OP(a, b, !=)
#define CHECK_LE(a, b) TENON_COMPAT_ABORT_UNLESS_OP(a, b, <=)
#define CHECK_LT(a, b) TENON_COMPAT_ABORT_UNLESS_OP(a, b, <)
#define CHECK_GE(a, b) TENON_COMPAT_ABORT_UNLESS_OP(a, b, >=)
#define CHECK_GT(a, b) TENON_COMPAT_ABORT_UNLESS_OP(a, b, >)
#ifdef NDEBUG
#define DCHECK(condition) \
  while (false) CHECK(condition)
#else
#define DCHECK(condition) CHECK(condition)
#endif
#endif

#define CAFFE_THROW(...) \
  throw ::tenon::Error(::c10::detail::check_text("CAFFE_THROW", ##__VA_ARGS__))
#define CAFFE_ENFORCE(condition, ...) TORCH_CHECK(condition, ##__VA_ARGS__)
#define CAFFE_ENFORCE_EQ(a, b, ...) TORCH_CHECK((a) == (b), ##__VA_ARGS__)
#define CAFFE_ENFORCE_NE(a, b, ...) TORCH_CHECK((a) != (b), ##__VA_ARGS__)
#define CAFFE_ENFORCE_LE(a, b, ...) TORCH_CHECK((a) <= (b), ##__VA_ARGS__)
#define CAFFE_ENFORCE_LT(a, b, ...) TORCH_CHECK((a) < (b), ##__VA_ARGS__)
#define CAFFE_ENFORCE_GE(a, b, ...) TORCH_CHECK((a) >= (b), ##__VA_ARGS__)
#define CAFFE_ENFORCE_GT(a, b, ...) TORCH_CHECK((a) > (b), ##__VA_ARGS__)
