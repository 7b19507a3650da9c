// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
// The process is killed before and after each system call of a save, and the machine loses power
// after each: the name has the old file or the new one, whole.
#include "tests/saving/disk.h"
#include "tests/saving/support.h"
#include "tests/saving/trace.h"

using namespace tenon;
using namespace tenon::test;
namespace fs = std::filesystem;

namespace {

// How the target looks before the save.
enum Kind { kNew, kReplaced, kLink, kDangling, kPrivate };
constexpr Kind kKinds[] = {kNew, kReplaced, kLink, kDangling, kPrivate};

class Crash : public SavingTest {
 protected:
  void SetUp() override {
    SavingTest::SetUp();
    // What is made once in a process is made here, not in each child.
    for (int i = 0; i < 3; ++i) after_.push_back(full({30000 + i}, i + 1.0));
    after_.push_back(arange(5));
    save(after_, path("warm"));
    new_bytes_ = bytes("warm");
    save(zeros({10}), path("warm"));
    old_bytes_ = bytes("warm");
    fs::remove(path("warm"));
  }
  // The name to save to; the file that it stands for is "target".
  std::string prepare(Kind kind) const {
    for (const auto& e : fs::directory_iterator(folder_)) fs::remove_all(e.path());
    if (kind == kReplaced || kind == kLink || kind == kPrivate) put("target", old_bytes_);
    if (kind == kPrivate)
      fs::permissions(path("target"), fs::perms::owner_read | fs::perms::owner_write);
    if (kind == kLink || kind == kDangling) fs::create_symlink("target", path("link"));
    return path(kind == kLink || kind == kDangling ? "link" : "target");
  }
  // What the disk would say of a save to this kind of target, in the states that power cuts may
  // leave.
  Disk disk_of(Kind kind) const {
    Disk disk(folder_.string(), "target");
    if (kind != kNew && kind != kDangling) disk.put(old_bytes_, mode("target") & 0777);
    return disk;
  }

  std::vector<Tensor> after_;
  std::string old_bytes_, new_bytes_;
};

TEST_F(Crash, KilledAtEachSystemCall) {
  for (Kind kind : kKinds) {
    const bool had_one = kind != kNew && kind != kDangling;
    int stops = 0, found_new = 0;
    for (bool ended = false; !ended; ++stops) {
      const std::string name = prepare(kind);
      {
        Traced save_it([&] { save(after_, name); });
        for (int i = 0; i <= stops && !ended; ++i) ended = !save_it.step();
        if (ended) {
          EXPECT_EQ(save_it.status(), 0);
        }
      }
      const bool there = fs::exists(path("target"));
      const std::string now = there ? bytes("target") : "";
      EXPECT_TRUE(there ? now == new_bytes_ || (had_one && now == old_bytes_) : !had_one)
          << "kind " << kind << ", stop " << stops << ": " << now.size() << " bytes";
      EXPECT_LE(temporaries().size(), now == new_bytes_ ? 0u : 1u) << "stop " << stops;
      if (kind == kPrivate) {
        EXPECT_EQ(mode("target") & 0777, 0600u);
      }
      if (kind == kLink || kind == kDangling) {
        EXPECT_TRUE(fs::is_symlink(path("link")));
      }
      found_new += now == new_bytes_;
      if (ended) {
        EXPECT_TRUE(now == new_bytes_);
      }
      // What a killed save leaves does not disturb the next one.
      if (stops % 8 == 0) {
        save(after_, name);
        EXPECT_TRUE(bytes("target") == new_bytes_);
      }
    }
    EXPECT_GT(stops, 30) << "all of a save's system calls, twice";
    EXPECT_GT(found_new, 2);
    EXPECT_LT(found_new, stops - 10);
  }
}

TEST_F(Crash, PowerIsLostAfterEachSystemCall) {
  for (Kind kind : kKinds) {
    const std::string name = prepare(kind);
    Disk disk = disk_of(kind);
    bool ended_well = false;
    const auto calls = trace([&] { save(after_, name); }, &ended_well);
    ASSERT_TRUE(ended_well);
    int64_t states = 0;
    for (const auto& call : calls) {
      disk.apply(call);
      for (const auto& state : disk.states()) {
        ++states;
        const bool right = state.there ? state.bytes == new_bytes_ || state.bytes == old_bytes_
                                       : kind == kNew || kind == kDangling;
        ASSERT_TRUE(right) << "kind " << kind << ": " << state.bytes.size() << " bytes";
        if (kind == kPrivate) {
          ASSERT_EQ(state.mode, 0600u);
        }
      }
    }
    EXPECT_GE(states, static_cast<int64_t>(calls.size()));
    for (const auto& state : disk.states())
      EXPECT_TRUE(state.bytes == new_bytes_) << "save() returned too early";
  }
}

// Ways to save that are known to be wrong: the disk has to show it.
struct Wrong {
  const char* what;
  bool sync_file, sync_folder;
  bool torn, late;  // what is to be found
};
TEST_F(Crash, TheDiskShowsWhatIsWrong) {
  for (const Wrong& wrong :
       {Wrong{"no fsync", false, true, true, true}, Wrong{"file only", true, false, false, true},
        Wrong{"both", true, true, false, false}}) {
    prepare(kReplaced);
    Disk disk = disk_of(kReplaced);
    bool ended_well = false;
    const auto calls = trace(
        [&] { save_by_hand(folder_.string(), new_bytes_, wrong.sync_file, wrong.sync_folder); },
        &ended_well);
    ASSERT_TRUE(ended_well);
    bool torn = false, late = false;
    for (const auto& call : calls) {
      disk.apply(call);
      for (const auto& s : disk.states())
        torn |= !s.there || (s.bytes != old_bytes_ && s.bytes != new_bytes_);
    }
    for (const auto& s : disk.states()) late |= s.bytes != new_bytes_;
    EXPECT_EQ(torn, wrong.torn) << wrong.what;
    EXPECT_EQ(late, wrong.late) << wrong.what;
  }
}

}  // namespace
