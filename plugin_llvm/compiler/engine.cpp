// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// From what is compiled to an object file: passes and code generation. LLVM is asked for errors
// wherever it has any to give.
#include <llvm/ADT/StringMap.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/Host.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>

#include <mutex>

#include "plugin_llvm/compiler/emit.h"
#include "plugin_llvm/compiler/values.h"
#include "plugin_llvm/spec/api.h"

namespace tenon::llvm_loops {
namespace {

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
  }

  // Threads compile at once, each with a context and a target of its own.
  std::string compile(const Spec& spec) const {
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

  static std::string generate(llvm::Module& module, llvm::TargetMachine& target) {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out(bytes);
    llvm::legacy::PassManager passes;
    if (target.addPassesToEmitFile(passes, out, nullptr, llvm::CGFT_ObjectFile))
      throw NotCompiled("LLVM writes no objects for this processor");
    passes.run(module);
    return {bytes.data(), bytes.size()};
  }

  int lanes_;
  Processor processor_;
};

Engine& engine(int lanes) {
  if (lanes == 16) {
    static Engine& wide = *new Engine(16);
    return wide;
  }
  static Engine& narrow = *new Engine(8);
  return narrow;
}

Object compile(const Spec& spec, int lanes) {
  try {
    return {engine(lanes).compile(spec), ""};
  } catch (const std::exception& e) {
    return {"", e.what()};
  }
}

}  // namespace
}  // namespace tenon::llvm_loops

extern "C" __attribute__((visibility("default"))) tenon::llvm_loops::Compile
tenon_llvm_compile_2() {
  return &tenon::llvm_loops::compile;
}
