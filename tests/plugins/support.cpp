// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "support.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tenon/abi/client.h"
#include "tenon/runtime/error.h"

namespace tenon::test {

fs::path built_plugin(const std::string& name) {
  static const fs::path folder =
      fs::canonical("/proc/self/exe").parent_path().parent_path() / "tests/bad_plugins";
  return folder / ("libtenon_" + name + ".so");
}

Folder::Folder() {
  std::string pattern = (fs::temp_directory_path() / "tenon-plugins-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
  path_ = fs::canonical(pattern);
}

Folder::~Folder() {
  std::error_code ec;
  fs::remove_all(path_, ec);
}

void Folder::write(const std::string& file, const std::string& text) const {
  fs::remove(path_ /
             file);  // ext4 would write a file that is cut and filled again through to the disk
  std::ofstream out(path_ / file, std::ios::binary);
  out << text;
  out.close();
  fs::permissions(path_ / file, fs::perms::owner_read | fs::perms::owner_write);
}

void Folder::add(const std::string& name, const std::string& built,
                 std::map<std::string, std::string> fields) const {
  fs::path library = path_ / ("libtenon_" + name + ".so");
  if (!built.empty())
    fs::copy_file(built_plugin(built), library, fs::copy_options::overwrite_existing);
  std::map<std::string, std::string> all = {{"name", '"' + name + '"'},
                                            {"library", "\"libtenon_" + name + ".so\""},
                                            {"device", '"' + name + '"'},
                                            {"abi", R"({"major": 1, "min_minor": 0})"}};
  for (auto& [key, value] : fields) all[key] = value;
  std::string text;
  for (auto& [key, value] : all) {
    if (!value.empty()) text += (text.empty() ? "{\"" : ",\n\"") + key + "\": " + value;
  }
  write("libtenon_" + name + ".json", text + "}\n");
}

std::string in_child(const std::map<std::string, std::string>& environment,
                     const std::function<std::string()>& f, int* killed_by) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  auto parts = [] {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    return test ? test->result()->total_part_count() : 0;
  };
  const int before = parts();  // earlier failures do not count for the child
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    for (const char* name :
         {"TENON_PLUGIN_PATH", "TENON_ADD_PLUGIN_PATH", "TENON_PLUGINS_SELECT",
          "TENON_PLUGINS_DISABLE", "TENON_PLUGINS_PREFER", "TENON_PLUGIN_PROBE"}) {
      unsetenv(name);
    }
    for (auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::string text;
    try {
      text = f();
    } catch (const std::exception& e) {
      text = std::string("threw: ") + e.what();
    }
    for (std::size_t at = 0; at < text.size();) {
      ssize_t n = write(ends[1], text.data() + at, text.size() - at);
      if (n <= 0) break;
      at += static_cast<std::size_t>(n);
    }
    _exit(parts() != before);
  }
  close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    out.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (killed_by) *killed_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const bool killed = killed_by && *killed_by != 0;
  EXPECT_TRUE(killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
      << "the child died with status " << status << "\n"
      << out;
  return out;
}

std::string listing() {
  std::string out;
  for (const plugins::Info& i : plugins::list()) {
    out += i.name + " " + std::string(plugins::to_string(i.state)) + ": " + i.reason + "\n";
  }
  return out;
}

namespace {

tn_str str(const std::string& s) { return {s.data(), s.size()}; }

// Four floats to the device, through an op if one is named, and back; what failed, else "".
std::string round_trip(const std::string& device_name, const std::string& op, bool values_matter) {
  auto last = [](const char* what) { return std::string(what) + ": " + tn_last_error(); };
  const int64_t sizes[1] = {4};
  const float in[4] = {-1, 2, -3, 4};
  float out[4] = {};
  tn_device device;
  tn_dtype f32;
  tn_handle x = nullptr;
  if (tn_device_from_name(str(device_name), &device) != TN_OK) return last("device");
  if (tn_dtype_from_name(str("float32"), &f32) != TN_OK) return last("dtype");
  if (tn_from_host(1, sizes, f32, in, sizeof in, device, &x) != TN_OK) return last("to the device");
  std::string fault;
  tn_value arg{}, result{};
  arg.tag = TN_TAG_TENSOR;
  arg.u.tensor = x;
  if (!op.empty() && tn_call_op(str(op), &arg, 1, &result, 1) != TN_OK) fault = last("the call");
  tn_handle read = result.tag == TN_TAG_TENSOR ? result.u.tensor : x;
  if (fault.empty() && values_matter && tn_to_host(read, out, sizeof out) != TN_OK)
    fault = last("from the device");
  for (int i = 0; fault.empty() && values_matter && i < 4; ++i) {
    float expected = op.empty() || in[i] > 0 ? in[i] : 0;
    if (out[i] != expected)
      fault = "element " + std::to_string(i) + " is " + std::to_string(out[i]);
  }
  tn_release_value(&result);
  tn_release(x);
  return fault;
}

}  // namespace

std::string core_works() {
  std::string file = built_plugin("works").string();
  if (tn_load_plugin(str(file)) != TN_OK) return std::string("loading: ") + tn_last_error();
  if (std::string fault = round_trip("works", "relu", true); !fault.empty()) return fault;
  if (std::string fault = round_trip("cpu", "", true); !fault.empty())
    return "on the host: " + fault;
  tn_value none{};
  if (tn_call_op(str("no_such_op"), nullptr, 0, &none, 1) == TN_OK)
    return "an unknown op was called";
  try {
    plugins::unload("works");
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

std::string refusal(const fs::path& file, const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> all = environment;
  all.emplace("TENON_PLUGIN_PATH", "/nonexistent");
  return in_child(all, [&]() -> std::string {
    std::string why;
    try {
      plugins::load(file.string());
    } catch (const BackendError& e) {
      why = e.what();
    }
    EXPECT_EQ(core_works(), "") << "after " << file << " was refused: " << why;
    return why;
  });
}

void expect_refused(const fs::path& file, const std::string& reason) {
  const std::string why = refusal(file);
  EXPECT_NE(why.find(reason), std::string::npos) << file << " was refused with: " << why;
}

std::string use_of(const fs::path& file, const std::string& op) {
  std::string out;
  try {
    plugins::Info i = plugins::load(file.string());
    for (const std::string& line : i.quarantined) out += "left out " + line + "\n";
    for (const std::string& line : i.changed) out += line + "\n";
    if (i.device != "cpu") out += round_trip(i.device, op, op.empty() || op == "relu");
  } catch (const std::exception& e) {
    out += e.what();
  }
  EXPECT_EQ(core_works(), "") << "after " << file << ": " << out;
  return out;
}

std::string fault_of(const fs::path& file, const std::string& op) {
  return in_child({{"TENON_PLUGIN_PATH", "/nonexistent"}}, [&] { return use_of(file, op); });
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string sha256_of(const fs::path& file) {
  FILE* pipe = popen(("sha256sum '" + file.string() + "'").c_str(), "r");
  char digits[65] = {};
  EXPECT_TRUE(pipe && fread(digits, 1, 64, pipe) == 64);
  if (pipe) pclose(pipe);
  return digits;
}

}  // namespace tenon::test
