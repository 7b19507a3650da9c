// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The bad plugins (tests/bad_plugins): each has its own message, and core works after each.
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "support.h"
#include "tenon/abi/client.h"
#include "tenon/runtime/error.h"

using namespace tenon;
using namespace tenon::test;

namespace {

struct Case {
  const char* name;
  const char* words;    // expected in the report; empty: no report
  const char* op = "";  // called once it is open
};

// Refused when they are loaded.
const Case kRefused[] = {
    {"no_entry", "does not export the function tenon_plugin_v1"},
    {"entry_is_data", "does not export the function tenon_plugin_v1"},
    {"null_descriptor", "returned no descriptor"},
    {"wrong_major", "speaks ABI 99.0, core 1."},
    {"major_zero", "speaks ABI 0.0, core 1."},
    {"newer_minor", "plugin newer_minor speaks ABI 1.7, core 1."},
    {"short_table", "its descriptor is too short"},
    {"huge_table", "its descriptor says that it has 18446744073709551615 bytes"},
    {"no_copy", "lacks the required function copy"},
    {"misplaced", "its descriptor is not 8-byte aligned"},
    {"bad_name", "no usable name"},
    {"null_name", "its descriptor has no usable name"},
    {"long_name", "its descriptor has no usable name"},
    {"name_not_utf8", "its descriptor has no usable name"},
    {"no_device_name", "its descriptor names no device"},
    {"long_version", "its version string is malformed or longer than 4096 bytes"},
    {"damaged_vendor", "its vendor string is malformed"},
    {"no_init", "its descriptor has no init"},
    {"null_kernel", "kernel of null_kernel at index 0 of its table is null"},
    {"no_run", "(mm) has no run function"},
    {"backwards", "its table of kernels is damaged: it ends before it begins"},
    {"odd_table", "its table of kernels is not 8-byte aligned"},
    {"too_many", "its table has 100000 kernels; expected at most 65536"},
    {"short_kernel", "at index 0 of its table is too short for the required fields"},
    {"huge_kernel", "says that it has 18446744073709551615 bytes"},
    {"unnamed_op", "at index 0 of its table names no op"},
    {"damaged_dtypes", "(relu) has a malformed dtypes string"},
    {"damaged_layouts", "(relu) has a malformed layouts string"},
    {"damaged_inplace", "(relu) has a malformed inplace string"},
    {"short_device", "its device table is too short for the required fields"},
    {"huge_device", "its device table says that it has 1099511627776 bytes"},
    {"no_device_table", "it has no device table and does not say TN_PLUGIN_HOST_MEMORY"},
    {"host_device", "the host device is core's own"},
    {"init_fails", "init failed with status 8: the moon is in the wrong house"},
    {"init_throws", "init threw an exception: thrown in init"},
    {"fails_half_way", "init failed with status 7: half of it is there"},
    {"unknown_status", "init failed with status 4711"},
    {"long_reason", "init failed with status 3"},
    {"leaves_a_process", "init failed with status 2: it has left a child process running"},
    {"registers_from_thread", "the operator of its thread was refused"},
    {"undefined_symbol", "tenon_test_function_that_nobody_has"},
    {"missing_dependency", "libtenon_nobody.so"},
    {"static_tls", "its thread-local variables need static space (DF_STATIC_TLS)"},
    {"executable_stack", "asks for an executable stack"},
    {"relative_folder", "its RUNPATH has 'lib', which is relative to the current directory"},
    {"empty_folder", "its RUNPATH has '', which is relative to the current directory"},
    {"program", "a program, not a library"},
    {"negative_count", "'negative_count': count says -2 devices; expected 0 to 16"},
    {"failing_count", "'failing_count': count failed with status 8"},
    {"failing_props", "'failing_props': props failed with status 8"},
    {"no_stream_destroy", "its device table has stream_create and no stream_destroy"},
    {"handle_and_address", "its memory is HOST_READABLE and OPAQUE"},
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their frames lie elsewhere
    {"writes_behind", "the probe process"},
#endif
#if defined(__x86_64__)
    {"moves_stack", "the probe process"},
#endif
    {"odd_alignment", "props gives an alignment of 3000 bytes"},
};

// Opened; the fault shows in what was left out or restored, or at the first use.
const Case kOpened[] = {
    {"resident", ""},
    {"old_schema", "left out add.Tensor: plugin schema does not match"},
    {"unknown_op", "left out no_such_op: this core has no such operator"},
    {"unknown_dtype", "float5"},
    {"twice", "left out relu: a second kernel of this plugin for the same dtypes and priority"},
    {"other_priority", ""},
    {"not_a_kernel_row", "left out linear: this operator is not one that backends implement"},
    {"opens_itself", ""},
    {"asks_for_itself", ""},
    {"moves", "the current directory was changed to /"},
    {"umask", "the file mode creation mask (umask) was changed"},
    {"locale", "the locale was changed from C to C.UTF-8"},
    {"blocks_signals", "the signal mask was changed"},
    {"handles_signals", "the handler of signal 11 (Segmentation fault) was changed"},
    {"rounds_up", "the floating-point mode (rounding, denormals or traps) was changed"},
#if defined(__x86_64__)
    {"flushes_denormals", "the floating-point mode (rounding, denormals or traps) was changed"},
#endif
    {"endless_count",
     "left out devices: its count says 2147483647; the first 16 are used (TN_MAX_DEVICES)"},
    {"no_end_of_name", ""},
    {"no_address", "its alloc returned TN_OK and no address"},
    {"misaligned", "its alloc returned TN_OK and a block that is not aligned as props says"},
    {"out_of_memory", "out of memory on out_of_memory:0"},
    {"failing_copy", "failing_copy"},
    {"device_throws",
     "device device_throws failed with status 8: its function copy threw an exception: the bus is "
     "on"},
    {"spaced_inplace",
     "left out relu: in-place pairs '0 = 0' cannot be read: expected OUTPUT=ARGUMENT"},
    {"failing_sync", "failing_sync"},
    {"kernel_fails", "relu: the kernel refuses this ([4]; plugin kernel_fails 1.2.3)", "relu"},
    {"kernel_fails_silently", "relu: status 8 ([4]; plugin kernel_fails_silently 1.2.3)", "relu"},
    {"kernel_unknown_status", "relu: status 4711", "relu"},
    {"kernel_throws", "thrown in the kernel", "relu"},
    {"kernel_throws_no_exception", "an exception of an unknown type", "relu"},
    {"kernel_endless_workspace", "the call: ", "relu"},
    {"kernel_failing_workspace", "relu: status 3", "relu"},
    {"kernel_supports_nothing", "relu", "relu"},
    {"kernel_sizes_nothing", "without a size for output 0", "nonzero"},
    {"kernel_negative_size", "size -1 of dimension 0 is negative", "nonzero"},
    {"kernel_too_many_dimensions", "at most 64 dimensions, got 65", "nonzero"},
    {"kernel_fewer_than_no_dimensions", "at most 64 dimensions, got -3", "nonzero"},
    {"kernel_null_sizes", "alloc_out: argument 'sizes' is null", "nonzero"},
    {"kernel_sizes_twice", "alloc_out: output 0 is sized already", "nonzero"},
    {"kernel_no_such_output", "alloc_out: there is no output 5; the op has 1", "nonzero"},
    {"kernel_unknown_dtype", "no dtype has code 77, 3 bits, 9 lanes", "nonzero"},
};

// They crash or hang, so only a child process opens them.
const Case kProbed[] = {
    {"exits", "it ended the probe process during init, with status 3"},
    {"aborts", "it killed the probe process during init: signal 6 (Aborted)"},
    {"crashes", "it killed the probe process during init: signal 11 (Segmentation fault)"},
    {"crashes_early", "it killed the probe process during opening: signal 7 (Bus error)"},
    {"spins", "it did not finish within 300 ms during init"},
    {"aborts_at_exit", "it killed the probe process during closing: signal 6 (Aborted)"},
    {"leaves_quietly", "it ended the probe process during init, with status 0"},
    {"closes_descriptors", "it ended the probe process during init, with status 0"},
};

void expect_words(const Case& a, const std::string& found) {
  if (a.words[0] == '\0') {
    EXPECT_EQ(found, "") << a.name;
  } else {
    EXPECT_NE(found.find(a.words), std::string::npos)
        << a.name << " should say '" << a.words << "', but says\n"
        << found;
  }
}

}  // namespace

TEST(BadPlugins, AreAtLeastForty) {
  std::set<std::string> names;
  for (const Case& a : kRefused) names.insert(a.name);
  for (const Case& a : kOpened) names.insert(a.name);
  for (const Case& a : kProbed) names.insert(a.name);
  EXPECT_EQ(names.size(), std::size(kRefused) + std::size(kOpened) + std::size(kProbed));
  EXPECT_GE(names.size(), 40u);
  RecordProperty("entries", static_cast<int>(names.size()));
}

TEST(BadPlugins, Refused) {
  for (const Case& a : kRefused) expect_words(a, refusal(built_plugin(a.name)));
}

TEST(BadPlugins, OpenedAndReported) {
  for (const Case& a : kOpened) expect_words(a, fault_of(built_plugin(a.name), a.op));
}

TEST(BadPlugins, DeathsInAChildOnly) {
  for (const Case& a : kProbed)
    expect_words(a, refusal(built_plugin(a.name), {{"TENON_PLUGIN_PROBE", "300"}}));
}

// Without any setting, too: none of them has a manifest with a hash.
TEST(BadPlugins, WhatHasNoHashIsTriedInAChild) {
  for (const Case& a : kProbed) {
    if (a.name == std::string("spins")) continue;  // ten seconds
    const std::string why = refusal(built_plugin(a.name));
    expect_words(a, why);
    EXPECT_NE(why.find("TENON_PLUGIN_PROBE=0 disables that"), std::string::npos) << why;
  }
}

TEST(BadPlugins, TheOthersPassTheProbe) {
  for (const char* name : {"good", "works", "resident", "opens_itself", "asks_for_itself"}) {
    EXPECT_EQ(refusal(built_plugin(name), {{"TENON_PLUGIN_PROBE", "5000"}}), "") << name;
  }
  Case a{"", "init failed with status 8: the moon is in the wrong house"};
  expect_words(a, refusal(built_plugin("init_fails"), {{"TENON_PLUGIN_PROBE", "5000"}}));
}

TEST(BadPlugins, TwoPluginsForOneDevice) {
  std::string out = in_child({{"TENON_PLUGIN_PATH", "/nonexistent"}}, [] {
    plugins::load(built_plugin("works").string());
    std::string why = "loaded";
    try {
      plugins::load(built_plugin("device_of_another").string());
    } catch (const BackendError& e) {
      why = e.what();
    }
    EXPECT_EQ(core_works(), "");
    return why;
  });
  EXPECT_NE(out.find("device 'works' is served by another plugin"), std::string::npos) << out;
}

// More than one segment is needed to see it.
TEST(BadPlugins, ADeviceThatGivesOneMemoryTwice) {
  std::string out = in_child({{"TENON_PLUGIN_PATH", "/nonexistent"}}, [] {
    std::string file = built_plugin("overlapping").string(), device_name = "overlapping", said;
    EXPECT_EQ(tn_load_plugin({file.data(), file.size()}), TN_OK);
    tn_device device;
    tn_dtype f32 = {TN_FLOAT, 32, 1};
    EXPECT_EQ(tn_device_from_name({device_name.data(), device_name.size()}, &device), TN_OK);
    tn_handle first = nullptr, second = nullptr;
    const int64_t small[1] = {4}, large[1] = {700000};
    EXPECT_EQ(tn_empty(1, small, f32, device, &first), TN_OK) << tn_last_error();
    EXPECT_EQ(tn_empty(1, large, f32, device, &second), TN_ERROR_BACKEND);
    said = tn_last_error();
    tn_release(first);
    EXPECT_EQ(core_works(), "");
    return said;
  });
  EXPECT_NE(out.find("a block that overlaps a live one"), std::string::npos) << out;
}
