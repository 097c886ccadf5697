// See wait_table.hpp.
#include "launcher/wait_table.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

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
  std::string state;  // of a rank that does not wait
  std::string line;   // of source
};

constexpr std::size_t kColumns = 8;
using Cells = std::array<std::string, kColumns>;

std::string number_or(int number, const char* none, const char* any) {
  return number == WaitReason::kNone ? none : number == WaitReason::kAny ? any : std::to_string(number);
}

std::string waited(std::int64_t since_ns) {
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

std::vector<Row> read_rows(boot::LaunchPage& page, const std::vector<pid_t>& pids) {
  std::vector<Row> rows;
  for (int rank = 0; rank < int(pids.size()); ++rank) {
    const pid_t pid = pids[std::size_t(rank)];
    const RankState state = page.state(rank);
    RankWaits::Counts counts;
    WaitRecord records[RankWaits::kRecords];
    int count = 0;
    const bool is_waiting = pid > 0 && state == RankState::initialized &&
                            page.waits(rank).try_read(counts, records, count) && count > 0;
    if (!is_waiting) rows.push_back(row_of_idle(rank, pid, state));
    for (int i = 0; is_waiting && i < count; ++i) rows.push_back({rank, records[i], "", ""});
  }
  return rows;
}

/// The program is known by the name that it was started with.
std::string path_of(const Row& row, const std::vector<pid_t>& pids) {
  if (row.record.file[0] == '/') return row.record.file;
  const std::string link = "/proc/" + std::to_string(pids[std::size_t(row.rank)]) + "/exe";
  char path[4096];
  const ssize_t bytes = ::readlink(link.c_str(), path, sizeof path);
  return bytes > 0 ? std::string(path, std::size_t(bytes)) : row.record.file;
}

void add_source_lines(std::vector<Row>& rows, const std::vector<pid_t>& pids) {
  std::vector<CodePlace> places;
  for (const Row& row : rows) places.push_back({path_of(row, pids), row.record.address, ""});
  find_source_lines(places);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].line = places[i].line;
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
  return row.record.call[0] ? name + " (" + row.record.call + ')' : name;
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
  const auto start =
      std::find_if(rows.begin(), rows.end(), [](const Row& row) { return row.record.call[0] != 0; });
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
    return text + verb + "waits for a message from any rank; none is about to send it one";
  return text + verb + "waits for " + last.record.reason.what;
}

}  // namespace

std::vector<std::string> wait_table(boot::LaunchPage& page, const std::vector<pid_t>& pids,
                                    bool is_deadlock) {
  std::vector<Row> rows = read_rows(page, pids);
  add_source_lines(rows, pids);
  std::vector<std::string> lines;
  print_rows(rows, lines);
  for (const Row& row : rows)
    if (row.record.reason.hint[0])
      lines.push_back("rank " + std::to_string(row.rank) + ": " + row.record.reason.hint);
  if (!is_deadlock) return lines;
  if (const std::string text = mismatch(rows); !text.empty()) lines.push_back(text);
  if (const std::string text = chain(rows); !text.empty()) lines.push_back(text);
  return lines;
}

}  // namespace dunlin::launcher
