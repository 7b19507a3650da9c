// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// What the runner checks of an operator, and what it found.
#pragma once

#include <iterator>
#include <string>
#include <vector>

namespace tenon::check {

enum class Property {
  Values,      // those of the reference, in float64 for floating dtypes
  Strides,     // the same from transposed, offset, stepped and stride-0 arguments
  Dtypes,      // a claimed dtype works, another one is refused
  OutFilled,   // out= filled with NaN or the largest number before
  OutStrided,  // out= with gaps and margins: strides and address stay, nothing but the elements is
               // written
  OutEmpty,    // out= without elements takes the result's shape
  OutShape,    // out= of another shape takes the result's
  OutRefused,  // out= of a dtype that cannot hold the result, or on another device: refused and
               // left alone
  InPlace,     // the bits of the function, in the same storage; refused if the result does not fit
  Alias,   // out= over an argument, one tensor as two arguments; a new result shares no storage, a
           // view does
  Errors,  // a call that cannot be served raises an Error of the library, with its arguments
           // unchanged
  Gradcheck,      // difference quotients in float64
  Gradgradcheck,  // of the gradient
  InPlaceGrad,    // in place, also through a view: the function's gradient and the gradient of that
  Inputs,         // arguments are unchanged
  Repeat,         // the same bits again
  Threads,        // the same bits from one thread and from two
  Schema,   // found by its name; name, arguments, defaults and results written as text are its
            // schema; has a doc
  ByName,   // the same bits through tn_call_op, without the arguments at the end that have their
            // default
  Device,   // from arguments on another device: results there, of the same dtype, sizes and strides
  Version,  // the counts of writes move where an argument is written and nowhere else
  Recovery,   // the same bits after a refused call
  Memory,     // as much tensor memory is in use after the results are gone as before
  Recording,  // the same bits recorded and not; nothing recorded under NoGradGuard, of integers,
              // without gradient
  Served,     // by the device itself: nothing is staged through the host
  Draws,      // a random operator: other bits from other seeds and from further calls
  Together,   // the same bits where two threads of the program call at once
  Sentinels,  // a device: the bytes around the memory of an output are untouched
  Stress,     // a device: the same bits in four threads that call at once, again and again
  Exhausted,  // a device: an allocation that fails raises OutOfMemoryError, changes nothing, and
              // the next call works
};
inline constexpr const char* kPropertyNames[] = {
    "values",        "strides",       "dtypes",   "out filled", "out strided", "out empty",
    "out shape",     "out refused",   "in-place", "alias",      "errors",      "gradcheck",
    "gradgradcheck", "in-place grad", "inputs",   "repeat",     "threads",     "schema",
    "by name",       "device",        "version",  "recovery",   "memory",      "recording",
    "served",        "draws",         "together", "sentinels",  "stress",      "exhausted"};
inline constexpr int kProperties = 30;
static_assert(std::size(kPropertyNames) == kProperties &&
              static_cast<int>(Property::Exhausted) == kProperties - 1);

enum class Verdict { Passed, Failed, NotRun };

struct Finding {
  Property property;
  Verdict verdict;
  std::string reason;
};

// Properties that do not apply (no in-place form, no gradient) leave nothing.
class Findings {
 public:
  void passed(Property p) { all_.push_back({p, Verdict::Passed, ""}); }
  void failed(Property p, std::string why) { all_.push_back({p, Verdict::Failed, std::move(why)}); }
  void not_run(Property p, std::string why) {
    all_.push_back({p, Verdict::NotRun, std::move(why)});
  }
  // Failed with `wrong`, unless it is empty.
  void judge(Property p, std::string wrong) {
    wrong.empty() ? passed(p) : failed(p, std::move(wrong));
  }
  const std::vector<Finding>& all() const { return all_; }

 private:
  std::vector<Finding> all_;
};

}  // namespace tenon::check
