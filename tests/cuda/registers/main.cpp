// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// registers PLUGIN VERSION [RECORD]: registers and local memory of the kernels in the plugin's
// sm_90 code, one line for all instances of a kernel. Without a record the lines are printed, with
// one they are compared; 77: nothing to compare.
#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

constexpr int kArch = 90;
// Additional registers that are tolerated.
int allowed(int recorded) { return recorded + std::max(4, recorded / 8); }

struct Row {
  int instances = 0, registers = 0, local_bytes = 0,
      with_local = 0;  // the largest of an instance; how many have any
};
using Rows = std::map<std::string, Row>;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class T>
T at(const std::string& d, uint64_t offset) {
  if (offset > d.size() || d.size() - offset < sizeof(T))
    throw std::runtime_error("the file ends inside of a record");
  T v;
  std::memcpy(&v, d.data() + offset, sizeof v);
  return v;
}

class Elf {
 public:
  explicit Elf(const std::string& bytes) : d(bytes), header_(at<Elf64_Ehdr>(d, 0)) {}
  int count() const { return header_.e_shnum; }
  Elf64_Shdr section(int i) const {
    return at<Elf64_Shdr>(d, header_.e_shoff + uint64_t{header_.e_shentsize} * i);
  }
  std::string name(int i) const { return text(header_.e_shstrndx, section(i).sh_name); }
  std::string text(int table, uint64_t offset) const {
    return d.c_str() + section(table).sh_offset + offset;
  }
  std::string symbol(uint32_t n) const {
    for (int i = 0; i < count(); ++i) {
      const Elf64_Shdr s = section(i);
      if (s.sh_type == SHT_SYMTAB)
        return text(s.sh_link, at<Elf64_Sym>(d, s.sh_offset + n * s.sh_entsize).st_name);
    }
    throw std::runtime_error("device code without a table of symbols");
  }
  const std::string& d;

 private:
  Elf64_Ehdr header_;
};

std::string replaced(std::string s, const std::string& what) {
  for (std::size_t at; (at = s.find(what)) != std::string::npos;) s.erase(at, what.size());
  return s;
}

// "cat.cu concatenate", "pointwise dense add": file, kernel and, for the many pointwise ones, the
// operation.
std::string short_name(const std::string& mangled) {
  int status = 0;
  char* p = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string s = p ? p : mangled;
  std::free(p);
  std::smatch file;
  static const std::regex in_file("_GLOBAL__N__[0-9a-f]+_[0-9]+_([A-Za-z0-9_]+?)_cu_[0-9a-f]+_");
  const bool has_file = std::regex_search(mangled, file, in_file);
  for (const char* part : {"(anonymous namespace)::", "tenon::cuda::", "void "})
    s = replaced(s, part);
  s = std::regex_replace(s, std::regex("CUB_[0-9A-Z_]+::"), "");
  std::smatch op;
  static const std::regex pointwise("^pw::(\\w+)<pw::Op_(\\w+)");
  if (std::regex_search(s, op, pointwise)) return "pointwise " + op.str(1) + " " + op.str(2);
  return (has_file ? file.str(1) + ".cu " : "") + s.substr(0, s.find_first_of("<("));
}

// Attributes of kernels in .nv.info: records of a format, a name and, in format 4, a size with a
// symbol and a value.
void add_kernels(const std::string& bytes, Rows& rows) {
  constexpr uint8_t kSized = 4, kFrameSize = 0x11, kRegisters = 0x2f;
  const Elf elf(bytes);
  std::map<uint32_t, Row> kernels;
  for (int i = 0; i < elf.count(); ++i) {
    if (elf.name(i) != ".nv.info") continue;
    const Elf64_Shdr s = elf.section(i);
    for (uint64_t p = s.sh_offset; p + 4 <= s.sh_offset + s.sh_size;) {
      const auto format = at<uint8_t>(bytes, p), name = at<uint8_t>(bytes, p + 1);
      const auto size = format == kSized ? at<uint16_t>(bytes, p + 2) : uint16_t{0};
      if (size == 8 && name == kRegisters)
        kernels[at<uint32_t>(bytes, p + 4)].registers = at<int32_t>(bytes, p + 8);
      if (size == 8 && name == kFrameSize)
        kernels[at<uint32_t>(bytes, p + 4)].local_bytes = at<int32_t>(bytes, p + 8);
      p += 4 + size;
    }
  }
  for (const auto& [symbol, k] : kernels) {
    if (k.registers == 0) continue;  // a function that a kernel calls
    Row& row = rows[short_name(elf.symbol(symbol))];
    ++row.instances;
    row.registers = std::max(row.registers, k.registers);
    row.local_bytes = std::max(row.local_bytes, k.local_bytes);
    row.with_local += k.local_bytes > 0;
  }
}

// The fat binaries of a library: headers of 16 bytes with the size of what follows, in which each
// entry has a header.
Rows kernels_of(const std::string& plugin) {
  constexpr uint32_t kMagic = 0xba55ed50;
  constexpr uint16_t kElf = 2;
  const std::string file = read_file(plugin);
  const Elf host(file);
  Rows rows;
  for (int i = 0; i < host.count(); ++i) {
    if (host.name(i) != ".nv_fatbin") continue;
    const Elf64_Shdr s = host.section(i);
    const uint64_t section_end = s.sh_offset + s.sh_size;
    for (uint64_t p = s.sh_offset; p + 16 <= section_end;) {
      if (at<uint32_t>(file, p) != kMagic) {
        p += 8;  // they are aligned
        continue;
      }
      const uint64_t end = p + at<uint16_t>(file, p + 6) + at<uint64_t>(file, p + 8);
      for (p += at<uint16_t>(file, p + 6); p < end;) {
        const uint64_t header = at<uint32_t>(file, p + 4), size = at<uint64_t>(file, p + 8);
        if (at<uint16_t>(file, p) == kElf && at<uint32_t>(file, p + 28) == kArch) {
          if (std::memcmp(file.data() + p + header, ELFMAG, SELFMAG) != 0) {
            throw std::runtime_error(plugin + " holds compressed device code");
          }
          add_kernels(file.substr(p + header, size), rows);
        }
        p += header + size;
      }
      p = end;
    }
  }
  return rows;
}

std::string first_line(const std::string& version) {
  return "# sm_" + std::to_string(kArch) + ", nvcc " + version +
         "; ./dev cuda-registers writes this file";
}

constexpr const char* kColumns = "kernel,instances,registers,local_bytes,with_local";

void print(const Rows& rows, const std::string& version) {
  std::printf("%s\n%s\n", first_line(version).c_str(), kColumns);
  for (const auto& [name, r] : rows) {
    std::printf("%s,%d,%d,%d,%d\n", name.c_str(), r.instances, r.registers, r.local_bytes,
                r.with_local);
  }
}

int compare(const Rows& rows, const std::string& path, const std::string& version) {
  std::istringstream in(read_file(path));
  std::string line;
  std::getline(in, line);
  if (line != first_line(version)) {
    std::printf("not compared: the record begins with '%s', this is nvcc %s\n", line.c_str(),
                version.c_str());
    return 77;
  }
  Rows record;
  while (std::getline(in, line)) {
    Row r;
    const std::size_t comma = line.find(',');
    if (line == kColumns) continue;
    if (comma == std::string::npos ||
        std::sscanf(line.c_str() + comma, ",%d,%d,%d,%d", &r.instances, &r.registers,
                    &r.local_bytes, &r.with_local) != 4) {
      throw std::runtime_error(path + ": the line '" + line + "' is not '" + kColumns + "'");
    }
    record[line.substr(0, comma)] = r;
  }
  int failed = 0, fresh = 0, kernels = 0;
  for (const auto& [name, now] : rows) {
    const auto it = record.find(name);
    const Row was = it == record.end() ? Row{} : it->second;
    fresh += it == record.end();
    kernels += now.instances;
    if (now.with_local > was.with_local || now.local_bytes > was.local_bytes) {
      ++failed;
      std::printf(
          "%s: %d of %d instances use local memory, %d bytes at most; recorded: %d, %d bytes\n",
          name.c_str(), now.with_local, now.instances, now.local_bytes, was.with_local,
          was.local_bytes);
    }
    if (it != record.end() && now.registers > allowed(was.registers)) {
      ++failed;
      std::printf("%s: %d registers, %d are recorded\n", name.c_str(), now.registers,
                  was.registers);
    }
  }
  std::printf("%d kernels of %zu names; %d names are not recorded; %d faults\n", kernels,
              rows.size(), fresh, failed);
  if (failed > 0) std::printf("after an intentional change: ./dev cuda-registers\n");
  return failed > 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "registers PLUGIN VERSION [RECORD]\n");
    return 2;
  }
  try {
    const Rows rows = kernels_of(argv[1]);
    if (rows.empty()) {
      std::printf("not compared: %s has no code for sm_%d\n", argv[1], kArch);
      return 77;
    }
    if (argc == 4) return compare(rows, argv[3], argv[2]);
    print(rows, argv[2]);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "registers: %s\n", e.what());
    return 2;
  }
}
