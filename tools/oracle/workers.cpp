// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "workers.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <list>
#include <new>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include "tenon/runtime/error.h"

namespace tenon::oracle {
namespace {

struct Child {
  pid_t pid = -1;
  int fd = -1;
  std::string pending;  // bytes of an unfinished line
  int file = -1;        // -1: between files
  int item = 0;
  std::string id;
};

void write_all(int fd, const std::string& s) {
  for (std::size_t done = 0; done < s.size();) {
    ssize_t n = write(fd, s.data() + done, s.size() - done);
    if (n <= 0) _exit(1);
    done += static_cast<std::size_t>(n);
  }
}

class Pool {
 public:
  Pool(const Work& work, int seconds) : work_(work), seconds_(seconds) {
    void* p = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TENON_CHECK(p != MAP_FAILED, Error, "oracle: cannot map shared memory");
    next_ = new (p) std::atomic<int>(0);
  }
  ~Pool() { munmap(next_, sizeof *next_); }

  void start(int resume_file, int resume_item);
  void serve();

 private:
  [[noreturn]] void run_child(int fd, int resume_file, int resume_item);
  void receive_line(Child& c, const std::string& text);
  void end_child(std::list<Child>::iterator c);

  const Work& work_;
  int seconds_;
  std::atomic<int>* next_;  // the next file to run
  std::list<Child> children_;
};

void Pool::run_child(int fd, int resume_file, int resume_item) {
  for (const Child& c : children_) ::close(c.fd);
  auto begin = [&](int file, int first) {
    write_all(fd, "file\t" + std::to_string(file) + "\n");
    work_.run(file, first, [&](const Line& l) {
      if (l.kind == "start") alarm(static_cast<unsigned>(seconds_));
      write_all(fd, l.kind + "\t" + l.text + "\n");
    });
  };
  if (resume_file >= 0) begin(resume_file, resume_item);
  for (int f = (*next_)++; f < work_.files; f = (*next_)++) begin(f, 0);
#if defined(__SANITIZE_ADDRESS__)
  // A leak ends the process: before "end", so that the parent counts it as a failure.
  __lsan_do_leak_check();
#endif
  write_all(fd, "end\t\n");
  _exit(0);  // the library's destructors belong to the parent
}

void Pool::start(int resume_file, int resume_item) {
  int ends[2];
  TENON_CHECK(pipe(ends) == 0, Error, "oracle: cannot create a pipe");
  pid_t pid = fork();
  TENON_CHECK(pid >= 0, Error, "oracle: fork failed");
  if (pid == 0) {
    ::close(ends[0]);
    run_child(ends[1], resume_file, resume_item);
  }
  ::close(ends[1]);
  Child c;
  c.pid = pid;
  c.fd = ends[0];
  children_.push_back(c);
}

void Pool::receive_line(Child& c, const std::string& text) {
  std::size_t tab = text.find('\t');
  Line l{text.substr(0, tab), tab == std::string::npos ? "" : text.substr(tab + 1)};
  if (l.kind == "file") {
    c.file = std::stoi(l.text);
    c.item = 0;
    c.id.clear();
  } else if (l.kind == "start") {
    std::size_t space = l.text.find(' ');
    c.item = std::stoi(l.text.substr(0, space));
    c.id = l.text.substr(space + 1);
  } else if (l.kind == "end") {
    c.file = -1;
  } else {
    work_.receive(l);
  }
}

void Pool::end_child(std::list<Child>::iterator c) {
  ::close(c->fd);
  int status = 0;
  waitpid(c->pid, &status, 0);
  Child gone = *c;
  children_.erase(c);
  if (gone.file < 0) return;
  const AfterDeath next = work_.died(gone.id, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  if (next == AfterDeath::Nothing) *next_ = work_.files;
  const bool same = next == AfterDeath::NextItem &&
                    !gone.id.empty();  // a file that dies before its first item is not tried again
  same ? start(gone.file, gone.item + 1) : start(-1, 0);
}

void Pool::serve() {
  while (!children_.empty()) {
    std::vector<pollfd> fds;
    for (const Child& c : children_) fds.push_back({c.fd, POLLIN, 0});
    poll(fds.data(), fds.size(), -1);
    std::size_t k = 0;
    for (auto c = children_.begin(); k < fds.size(); ++k) {
      auto current = c++;
      if (!fds[k].revents) continue;
      char buffer[4096];
      ssize_t n = read(current->fd, buffer, sizeof buffer);
      if (n <= 0) {
        end_child(current);
        continue;
      }
      current->pending.append(buffer, static_cast<std::size_t>(n));
      for (std::size_t at; (at = current->pending.find('\n')) != std::string::npos;) {
        receive_line(*current, current->pending.substr(0, at));
        current->pending.erase(0, at + 1);
      }
    }
  }
}

}  // namespace

void run_all(const Work& work, int processes, int seconds) {
  if (processes == 0) {
    for (int f = 0; f < work.files; ++f) {
      work.run(f, 0, [&](const Line& l) {
        if (l.kind != "start") work.receive(l);
      });
    }
    return;
  }
  Pool pool(work, seconds);
  for (int i = 0; i < processes; ++i) pool.start(-1, 0);
  pool.serve();
}

}  // namespace tenon::oracle
