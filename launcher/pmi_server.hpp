// mpirun's side of PMI-1: put, get and fence for our ranks, and all of start-up for ranks of other MPI
// libraries (MPICH and its family).  Used by supervisor.cpp; docs/launcher.md lists the commands.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "launcher/event_loop.hpp"

namespace dunlin::launcher {

class PmiServer {
 public:
  /// `app_of_rank[i]` is the part of the command line that rank i belongs to.
  PmiServer(EventLoop& loop, std::vector<int> app_of_rank);
  ~PmiServer();
  PmiServer(const PmiServer&) = delete;

  /// A connected socket for a new rank (the caller closes it after the start), or -1.
  int open_for_rank(int rank);
  /// Answers what a rank has sent and nobody has read yet.
  void drain(int rank);

  /// A rank that needs the others no more has ended: no barrier waits for it.
  void leave(int rank);

  std::function<void(int rank)> on_init;
  std::function<void(int rank)> on_finalize;
  std::function<void(int rank, int code)> on_abort;

 private:
  struct Client {
    int fd = -1;
    std::string received;  // up to the next line end
    bool is_asking_spawn = false;  // between "mcmd=spawn" and "endcmd"
  };

  bool read_some(int rank);
  void obey(int rank, std::string_view line);
  std::string answer(int rank, std::string_view command, std::string_view line);
  std::string answer_get(std::string_view line);
  void enter_barrier(int rank);
  void end_barrier_if_complete();
  void send(int rank, const std::string& line);
  void close(int rank);

  EventLoop& loop_;
  std::vector<int> app_of_rank_;
  std::vector<Client> clients_;
  std::set<int> in_barrier_;
  int left_ = 0;  // ranks
  std::unordered_map<std::string, std::string> values_;
};

}  // namespace dunlin::launcher
