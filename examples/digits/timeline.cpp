// SPDX-FileCopyrightText: Copyright the Tenon authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <tenon/distributed.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "svg.h"

namespace digits {
namespace {

using tenon::autograd::profiler::Profile;
using tenon::autograd::profiler::ProfilerEvent;

enum Kind { kForward, kBackward, kOptimizer, kExchange };
constexpr const char* kNames[] = {"forward", "backward", "optimizer", "exchange"};
constexpr const char* kFills[] = {"fill='#8ab4f8'", "fill='#36c'", "fill='#e9a23b'", "fill='#c33'"};

// In nanoseconds of the machine's clock.
struct Span {
  Kind kind;
  int64_t begin, end;
};
using Spans = std::vector<Span>;

Spans spans_of(const Profile& step) {
  Spans out;
  int64_t end_of_backward = 0;  // nodes may run others inside
  for (const ProfilerEvent& e : step.events) {
    const auto add = [&](Kind kind) {
      out.push_back({kind, step.clock_ns + e.begin_ns, step.clock_ns + e.end_ns});
    };
    if (e.asynchronous) add(kExchange);
    if (e.name == kNames[kForward]) add(kForward);
    if (e.name == kNames[kOptimizer]) add(kOptimizer);
    if (e.scope != tenon::RecordScope::BACKWARD_FUNCTION || e.begin_ns < end_of_backward) continue;
    add(kBackward);
    end_of_backward = e.end_ns;
  }
  return out;
}

std::vector<Spans> gather(const Spans& mine) {
  std::ostringstream text;
  for (const Span& s : mine) text << s.kind << ' ' << s.begin << ' ' << s.end << '\n';
  std::vector<Spans> out;
  for (const std::string& theirs : tenon::distributed::all_gather_object(text.str())) {
    std::istringstream in(theirs);
    out.emplace_back();
    int kind = 0;
    for (Span s{}; in >> kind >> s.begin >> s.end;) {
      s.kind = static_cast<Kind>(kind);
      out.back().push_back(s);
    }
  }
  return out;
}

// The part of the exchange that lies beside nodes of backward.
double percent_hidden(const std::vector<Spans>& ranks) {
  double hidden = 0, all = 0;
  for (const Spans& spans : ranks) {
    for (const Span& e : spans) {
      if (e.kind != kExchange) continue;
      all += static_cast<double>(e.end - e.begin);
      for (const Span& b : spans) {
        if (b.kind == kBackward)
          hidden += static_cast<double>(
              std::max<int64_t>(0, std::min(e.end, b.end) - std::max(e.begin, b.begin)));
      }
    }
  }
  return all > 0 ? 100 * hidden / all : 0;
}

constexpr double kLeft = 80, kTop = 60, kWidth = 860, kLane = 16, kRank = 48;

void legend(Svg& out) {
  double x = kLeft;
  for (const int kind : {kForward, kBackward, kOptimizer, kExchange}) {
    out.rectangle(x, kTop - 26, 12, 12, kFills[kind]);
    out.label(x + 18, kTop - 15, "start", kNames[kind]);
    x += 110;
  }
}

// Lines at round times, at most ten of them.
void axis(Svg& out, double milliseconds, double bottom) {
  double step = std::pow(10, std::floor(std::log10(milliseconds)));
  if (milliseconds / step < 4) step /= 5;
  for (double t = 0; t <= milliseconds; t += step) {
    const double x = kLeft + kWidth * t / milliseconds;
    out.put("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#ccc'/>\n", x, kTop - 4, x,
            bottom);
    char text[32];
    std::snprintf(text, sizeof text, "%.3g ms", t);
    out.label(x, bottom + 16, "middle", text);
  }
}

}  // namespace

double draw_timeline(const std::string& path, const Profile& step) {
  const std::vector<Spans> ranks = gather(spans_of(step));
  if (tenon::distributed::get_rank() > 0) return 0;
  int64_t begin = INT64_MAX, end = INT64_MIN;
  for (const Spans& spans : ranks) {
    for (const Span& s : spans) begin = std::min(begin, s.begin), end = std::max(end, s.end);
  }
  const double nanoseconds = static_cast<double>(std::max<int64_t>(end - begin, 1));
  const double hidden = percent_hidden(ranks);
  const double bottom = kTop + kRank * static_cast<double>(ranks.size());
  Svg out(static_cast<int>(kLeft + kWidth) + 40, static_cast<int>(bottom) + 30);
  char title[128];
  std::snprintf(title, sizeof title,
                "One step on %zu ranks: %.0f %% of the exchange beside nodes of backward",
                ranks.size(), hidden);
  out.label(kLeft, 20, "start", title);
  legend(out);
  axis(out, nanoseconds / 1e6, bottom);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const double y = kTop + kRank * static_cast<double>(r);
    out.label(kLeft - 10, y + kLane + 5, "end", "rank " + std::to_string(r));
    for (const Span& s : ranks[r]) {
      const double x = kLeft + kWidth * static_cast<double>(s.begin - begin) / nanoseconds;
      const double width = kWidth * static_cast<double>(s.end - s.begin) / nanoseconds;
      out.rectangle(x, y + (s.kind == kExchange ? kLane + 4 : 0), std::max(width, 0.4), kLane,
                    kFills[s.kind]);
    }
  }
  out.write(path);
  return hidden;
}

}  // namespace digits
