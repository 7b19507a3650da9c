// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From what is compiled to machine code: passes, code generation to an object, which is kept on
// disk, and its linking into the process. LLVM is asked for errors wherever it has any to give.
#include <llvm/ADT/StringMap.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/Host.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>

#include <chrono>
#include <mutex>

#include "plugin_llvm/compiler/emit.h"
#include "plugin_llvm/compiler/helpers.h"
#include "plugin_llvm/compiler/values.h"
#include "plugin_llvm/spec/api.h"
#include "plugin_llvm/spec/key.h"
#include "tenon/sdk/code_file.h"

namespace tenon::llvm_loops {
namespace {

std::string text_of(llvm::Error e) { return llvm::toString(std::move(e)); }

template <class T>
T checked(llvm::Expected<T> v) {
  if (!v) throw NotCompiled(text_of(v.takeError()));
  return std::move(*v);
}
void check(llvm::Error e) {
  if (e) throw NotCompiled(text_of(std::move(e)));
}

// The processor as LLVM sees it; features that `lanes` does not need are as the machine has them.
struct Processor {
  std::string name = llvm::sys::getHostCPUName().str();
  std::string features;
  explicit Processor(int lanes) {
    llvm::StringMap<bool> map;
    llvm::sys::getHostCPUFeatures(map);
    for (const auto& it : map) {
      const bool wide = it.first().startswith("avx512") && lanes < 16;
      features += (features.empty() ? "" : ",") + std::string(it.second && !wide ? "+" : "-") +
                  it.first().str();
    }
  }
};

class Engine {
 public:
  explicit Engine(int lanes) : lanes_(lanes), processor_(lanes) {
    static std::once_flag once;
    std::call_once(once, [] {
      llvm::InitializeNativeTarget();
      llvm::InitializeNativeTargetAsmPrinter();
    });
    target_ = make_target();
    llvm::orc::JITTargetMachineBuilder builder(target_->getTargetTriple());
    builder.setCPU(processor_.name);
    jit_ = checked(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create());
    llvm::orc::SymbolMap symbols;
    for (const auto& [name, address] : helpers())
      symbols[jit_->mangleAndIntern(name)] = {llvm::pointerToJITTargetAddress(address),
                                              llvm::JITSymbolFlags::Exported};
    check(jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
  }

  // Threads compile at once, each with a context and a target of its own.
  std::unique_ptr<llvm::MemoryBuffer> compile(const Spec& spec) const {
    llvm::LLVMContext context;
    llvm::Module module("loops", context);
    const std::unique_ptr<llvm::TargetMachine> target = make_target();
    module.setDataLayout(target->createDataLayout());
    module.setTargetTriple(target->getTargetTriple().str());
    emit_kernel(spec, lanes_, module);
    for (llvm::Function& f : module)
      if (!f.isDeclaration()) set_attributes(f);
    std::string fault;
    llvm::raw_string_ostream out(fault);
    if (llvm::verifyModule(module, &out)) throw NotCompiled("the code is not valid: " + out.str());
    optimize(module, *target);
    return generate(module, *target);
  }

  Kernel link(std::unique_ptr<llvm::MemoryBuffer> object) {
    const std::lock_guard<std::mutex> hold(mutex_);
    auto made = jit_->createJITDylib("loops" + std::to_string(next_++));
    if (!made) throw NotCompiled(text_of(made.takeError()));
    llvm::orc::JITDylib& library = *made;
    library.addToLinkOrder(jit_->getMainJITDylib());
    check(jit_->addObjectFile(library, std::move(object)));
    return llvm::jitTargetAddressToFunction<Kernel>(
        checked(jit_->lookup(library, kKernelName)).getAddress());
  }

  std::string identity() const {
    return std::string(LLVM_VERSION_STRING) + " " + processor_.name + " " + processor_.features;
  }

 private:
  std::unique_ptr<llvm::TargetMachine> make_target() const {
    const std::string triple = llvm::sys::getProcessTriple();
    std::string fault;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, fault);
    if (!target) throw NotCompiled(fault);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
    std::unique_ptr<llvm::TargetMachine> made(
        target->createTargetMachine(triple, processor_.name, processor_.features, options,
                                    llvm::Reloc::PIC_, llvm::None, llvm::CodeGenOpt::Default));
    if (!made) throw NotCompiled("LLVM has no code generator for " + triple);
    return made;
  }

  void set_attributes(llvm::Function& f) const {
    const std::string bits = lanes_ == 16 ? "512" : "256";
    f.addFnAttr("target-cpu", processor_.name);
    f.addFnAttr("target-features", processor_.features);
    f.addFnAttr("prefer-vector-width", bits);
    f.addFnAttr("min-legal-vector-width", bits);
  }

  // Code is vectors already; what is left is to move out of loops what they do not change.
  static void optimize(llvm::Module& module, llvm::TargetMachine& target) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(&target);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(), /*UseMemorySSA=*/true));
    passes.addPass(llvm::EarlyCSEPass());
    for (llvm::Function& f : module)
      if (!f.isDeclaration()) passes.run(f, functions);
  }

  static std::unique_ptr<llvm::MemoryBuffer> generate(llvm::Module& module,
                                                      llvm::TargetMachine& target) {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out(bytes);
    llvm::legacy::PassManager passes;
    if (target.addPassesToEmitFile(passes, out, nullptr, llvm::CGFT_ObjectFile))
      throw NotCompiled("LLVM writes no objects for this processor");
    passes.run(module);
    return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes),
                                                           /*RequiresNullTerminator=*/false);
  }

  int lanes_;
  Processor processor_;
  std::unique_ptr<llvm::TargetMachine> target_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::mutex mutex_;
  int next_ = 0;
};

// Code stays for as long as the process: kernels may run until its end.
Engine& engine(int lanes) {
  if (lanes == 16) {
    static Engine& wide = *new Engine(16);
    return wide;
  }
  static Engine& narrow = *new Engine(8);
  return narrow;
}

Kernel build(const Spec& spec, const Options& options, Result& result) {
  Engine& e = engine(options.lanes);
  static const int here = 0;
  const sdk::CodeFile file(
      options.folder, "llvm",
      sdk::build_of_library(&here) + "\n" + e.identity() + "\n" + key_of(spec, options));
  if (const std::optional<std::string> object = file.read(result.note)) {
    result.from_disk = true;
    return e.link(llvm::MemoryBuffer::getMemBufferCopy(*object, "loops"));
  }
  std::unique_ptr<llvm::MemoryBuffer> object = e.compile(spec);
  const std::string fault = file.write(object->getBuffer().str());  // also in place of one not used
  if (result.note.empty()) result.note = fault;
  return e.link(std::move(object));
}

Result compile(const Spec& spec, const Options& options) {
  Result result;
  const auto start = std::chrono::steady_clock::now();
  try {
    result.kernel = build(spec, options, result);
  } catch (const std::exception& e) {
    result.error = e.what();
  }
  result.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace
}  // namespace tenon::llvm_loops

extern "C" __attribute__((visibility("default"))) tenon::llvm_loops::Compile
tenon_llvm_compile_1() {
  return &tenon::llvm_loops::compile;
}
