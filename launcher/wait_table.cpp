// See wait_table.hpp.
#include "launcher/wait_table.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <iterator>

#include "launcher/source_lines.hpp"
#include "launcher/threads.hpp"

namespace dunlin::launcher {
namespace {

using boot::RankState;
using boot::RankWaits;
using boot::WaitRecord;

/// A thread that waits, or a rank of which no thread does: then `record.call` is empty.
struct Row {
  int rank = 0;
  WaitRecord record;
  std::string state;        // of a rank that does not wait
  std::uint32_t tests = 0;  // in vain, in a loop; 0: it waits
  std::string line;         // of source

  bool is_waiting() const { return record.call[0] != 0; }
};

/// So many tests in vain, one after the other, are a loop.
constexpr std::uint32_t kLoopTests = 3;

constexpr std::size_t kColumns = 8;
using Cells = std::array<std::string, kColumns>;

std::string number_or(int number, const char* none, const char* any) {
  return number == WaitReason::kNone ? none : number == WaitReason::kAny ? any : std::to_string(number);
}

std::string waited(std::int64_t since_ns) {
  if (since_ns == 0) return "";
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s",
                double(now.tv_sec) + double(now.tv_nsec) * 1e-9 - double(since_ns) * 1e-9);
  return text;
}

std::string what(const WaitReason& reason) {
  return reason.number > 0 ? "collective " + std::to_string(reason.number) : reason.what;
}

Row row_of_idle(int rank, pid_t pid, RankState state) {
  Row row;
  row.rank = rank;
  if (pid < 0)
    row.state = "has ended";
  else if (state == RankState::finalized)
    row.state = "has left MPI_Finalize";
  else
    row.state = std::string(state_of_process(pid)) +
                (state == RankState::started ? ", before MPI_Init" : ", does not wait in MPI");
  return row;
}

/// A program that writes where it should not can have left anything there.
void make_safe(WaitRecord& record, int ranks) {
  const auto make_printable = [](auto& text) {
    std::replace_if(
        std::begin(text), std::end(text), [](char c) { return (c > 0 && c < ' ') || c == 127; }, '?');
    *std::prev(std::end(text)) = 0;
  };
  make_printable(record.call), make_printable(record.file), make_printable(record.program);
  WaitReason& reason = record.reason;
  make_printable(reason.what), make_printable(reason.comm), make_printable(reason.hint);
  if (reason.peer < WaitReason::kAny || reason.peer >= ranks) reason.peer = WaitReason::kNone;
  reason.number = std::max(0, reason.number);
  reason.started = std::max(0, reason.started);
}

std::vector<Row> read_rows(boot::LaunchPage& page, const std::vector<pid_t>& pids) {
  std::vector<Row> rows;
  for (int rank = 0; rank < int(pids.size()); ++rank) {
    const pid_t pid = pids[std::size_t(rank)];
    const RankState state = page.state(rank);
    RankWaits::Counts counts;
    WaitRecord records[RankWaits::kRecordsMax];
    int count = 0;
    if (pid < 0 || state == RankState::started ||  // one that has left may wait in its exit
        !page.waits(rank, int(pids.size())).try_read(counts, records, count))
      counts = {}, count = 0;
    const bool has_test = counts.tests > 0, is_loop = counts.tests >= kLoopTests;
    if (has_test && !is_loop) --count;
    for (int i = 0; i < count; ++i) make_safe(records[i], int(pids.size()));
    if (count == 0) rows.push_back(row_of_idle(rank, pid, state));
    for (int i = 0; i < count; ++i)
      rows.push_back({rank, records[i], "", is_loop && i == count - 1 ? counts.tests : 0, ""});
  }
  return rows;
}

/// Where the call is, and where the function or library that made it was called: "comm.c:31, from main.c:7".
void add_source_lines(std::vector<Row>& rows) {
  std::vector<CodePlace> places;
  for (const Row& row : rows) {
    places.push_back({row.record.file, row.record.address, "", false});
    places.push_back({row.record.program, row.record.outer_address, "", false});
  }
  find_source_lines(places);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CodePlace &place = places[2 * i], &outer = places[2 * i + 1];
    if (outer.line.empty())
      rows[i].line = place.line;
    else if (place.has_source || !outer.has_source)
      rows[i].line = place.line + (outer.has_source ? ", from " + outer.line : "");
    else
      rows[i].line = outer.line;
  }
}

void print_rows(const std::vector<Row>& rows, std::vector<std::string>& lines) {
  std::vector<Cells> table{{"rank", "call", "waits for", "peer", "tag", "communicator", "since", "at"}};
  for (const Row& row : rows) {
    const WaitReason& reason = row.record.reason;
    const std::string rank = std::to_string(row.rank);
    if (!row.state.empty())
      table.push_back({rank, row.state, "", "", "", "", "", ""});
    else
      table.push_back({rank, row.record.call, what(reason), number_or(reason.peer, "", "any"),
                       number_or(reason.tag, "", "any"), reason.comm, waited(row.record.since_ns), row.line});
  }
  std::array<std::size_t, kColumns> widths{};
  for (const Cells& cells : table)
    for (std::size_t i = 0; i < kColumns; ++i)
      if (!cells[2].empty()) widths[i] = std::max(widths[i], cells[i].size());
  for (const Cells& cells : table) {
    std::string line = " ";
    for (std::size_t i = 0; i < kColumns; ++i)
      if (widths[i] > 0)
        line += ' ' + cells[i] + std::string(std::max(widths[i], cells[i].size()) - cells[i].size() + 1, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(line);
  }
}

/// The first wait of a rank, or a row that says what else it does.
const Row& row_of(const std::vector<Row>& rows, int rank) {
  return *std::find_if(rows.begin(), rows.end(), [rank](const Row& row) { return row.rank == rank; });
}

std::string named(const Row& row) {
  const std::string name = "rank " + std::to_string(row.rank);
  return row.is_waiting() ? name + " (" + row.record.call + ')' : name;
}

/// "its 14th collective on MPI_COMM_WORLD".
std::string ordinal(int number, const char* comm) {
  const bool is_teen = number / 10 % 10 == 1;
  const char* const end = is_teen            ? "th"
                          : number % 10 == 1 ? "st"
                          : number % 10 == 2 ? "nd"
                          : number % 10 == 3 ? "rd"
                                             : "th";
  return "its " + std::to_string(number) + end + " collective on " + comm;
}

/// "MPI_Bcast(root 1)": what a rank called as its collective number `number`.
std::string name_of_call(const WaitRecord& record, int number) {
  if (number == record.reason.number && std::string(record.call) == "MPI_Finalize") return record.call;
  char name[48];
  print(record.reason.recent[(number - 1) % kCallsRemembered], name, sizeof name);
  return name;
}

/// The first collective of a communicator that two ranks have called by different names or roots; 0: none.
int first_mismatch(const WaitReason& one, const WaitReason& other) {
  if (one.context != other.context) return 0;
  const int first = std::max(1, std::max(one.started, other.started) - kCallsRemembered + 1);
  for (int number = first; number <= std::min(one.started, other.started); ++number) {
    const int place = (number - 1) % kCallsRemembered;
    if (!(one.recent[place] == other.recent[place])) return number;
  }
  return 0;
}

std::string mismatch(const std::vector<Row>& rows) {
  for (const Row& one : rows)
    for (const Row& other : rows) {
      const int number = first_mismatch(one.record.reason, other.record.reason);
      if (number == 0) continue;
      return "rank " + std::to_string(other.rank) + " called " + name_of_call(other.record, number) + " as " +
             ordinal(number, one.record.reason.comm) + ", rank " + std::to_string(one.rank) + ' ' +
             name_of_call(one.record, number) + ": all must call the same, in the same order";
    }
  return "";
}

/// From one rank to the one it waits for, until one comes again or waits for nobody alone.
std::string chain(const std::vector<Row>& rows) {
  std::vector<int> passed;
  const auto start = std::find_if(rows.begin(), rows.end(), std::mem_fn(&Row::is_waiting));
  if (start == rows.end()) return "";
  int rank = start->rank;
  while (std::find(passed.begin(), passed.end(), rank) == passed.end()) {
    passed.push_back(rank);
    const int peer = row_of(rows, rank).record.reason.peer;
    if (peer < 0) break;
    rank = peer;
  }
  const Row& last = row_of(rows, passed.back());
  const bool is_cycle = last.record.reason.peer >= 0;
  if (is_cycle) passed.erase(passed.begin(), std::find(passed.begin(), passed.end(), rank));
  std::string text = named(row_of(rows, passed.front()));
  for (std::size_t i = 1; i < passed.size(); ++i)
    text += (i == 1 ? " waits for " : ", which waits for ") + named(row_of(rows, passed[i]));
  const std::string verb = passed.size() == 1 ? " " : ", which ";
  if (is_cycle)
    return text + verb + "waits for " + (passed.size() == 1 ? "itself" : "rank " + std::to_string(rank));
  if (!last.state.empty()) return text + verb + last.state;
  if (last.record.reason.peer == WaitReason::kAny)
    return text + verb + "waits for a message from any rank, and no rank is about to send it one";
  return text + verb + "waits for " + last.record.reason.what;
}

/// Whether everybody who has not ended waits, and somebody by testing.
bool is_suspicious(const std::vector<Row>& rows, const std::vector<pid_t>& pids) {
  const auto goes_on = [&](const Row& row) { return !row.is_waiting() && pids[std::size_t(row.rank)] > 0; };
  return std::none_of(rows.begin(), rows.end(), goes_on) &&
         std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.tests > 0; });
}

}  // namespace

void ask_for_tests(boot::LaunchPage& page, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) page.waits(rank, ranks).ask_for_tests();
}

std::vector<std::string> wait_table(boot::LaunchPage& page, const std::vector<pid_t>& pids,
                                    bool is_deadlock) {
  std::vector<Row> rows = read_rows(page, pids);
  for (int rank = 0; rank < int(pids.size()); ++rank) page.waits(rank, int(pids.size())).stop_asking();
  add_source_lines(rows);
  std::vector<std::string> lines;
  print_rows(rows, lines);
  for (const Row& row : rows)
    if (row.record.reason.hint[0])
      lines.push_back("rank " + std::to_string(row.rank) + ": " + row.record.reason.hint);
  for (const Row& row : rows)
    if (row.tests > 0)
      lines.push_back("rank " + std::to_string(row.rank) + " does not wait, but calls " + row.record.call +
                      " in a loop and finds nothing: " + std::to_string(row.tests) +
                      " times in half a second");
  if (!is_deadlock && !is_suspicious(rows, pids)) return lines;
  const char* const certainty = is_deadlock ? "" : "suspected deadlock: ";
  if (const std::string text = mismatch(rows); !text.empty()) lines.push_back(certainty + text);
  if (const std::string text = chain(rows); !text.empty()) lines.push_back(certainty + text);
  return lines;
}

}  // namespace dunlin::launcher
