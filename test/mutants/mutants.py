#!/usr/bin/env python3
"""Faults of one line, each put into a copy of the sources: does the fast test that is to find it fail?

    mutants.py SOURCE BUILD [NAME...]      SOURCE: the repository; BUILD: a folder for the copy, kept between runs

Prints a table, and fails where a test passes with the fault, or where the line that a fault changes is no more.
Part of `make test-long`: a fault in a header takes minutes, since much is compiled.
"""
import os
import subprocess
import sys

# Name, file below src/, what stands there once, what it becomes, the test program, its filter.
MUTANTS = [
    ("a_claim_from_the_wrong_end", "transport/shm/transfer.hpp",
     "return {is_front ? front : chunks - back - taken, taken};", "return {front, taken};",
     "unit_transport", "Transfer.*"),
    ("a_claim_of_another_use", "transport/shm/transfer.hpp",
     "while (std::uint32_t(word >> 32) == use) {", "while (use != 0) {",
     "unit_transport", "Transfer.*"),
    ("done_a_chunk_too_soon", "protocol/shared_copy.cpp",
     "return peer.chunks + copied_ == chunks_.count;", "return peer.chunks + copied_ + 1 >= chunks_.count;",
     "unit_protocol", "SharedCopyRounds.*"),
    ("a_copy_is_always_valid", "protocol/shared_copy.cpp",
     "if (!peer_->memory->is_still_valid(theirs_.mapping)) is_spoilt_ = true;",
     "(void)peer_->memory->is_still_valid(theirs_.mapping);",
     "simulate", "RandomTraffic.*"),
    ("nobody_takes_all", "protocol/shared_copy.cpp",
     "takes_all ? chunks_.count : 1", "takes_all ? 1 : 1",
     "unit_protocol", "SharedCopyRounds.*"),
    ("all_is_taken_of_any_length", "protocol/shared_copy.cpp",
     "each->chunks_.count <= 2 && has_sends_to_copy()", "has_sends_to_copy()",
     "unit_protocol", "SharedCopyRounds.*"),
    ("all_is_taken_by_helpers", "protocol/shared_copy.cpp",
     "each->side_ == CopySide::receiver && each->chunks_.count <= 2", "each->chunks_.count <= 2",
     "unit_protocol", "SharedCopyRounds.*"),
    ("help_at_once", "protocol/shared_copy.cpp",
     "!has_receives || idle_rounds_ >= int(help_polls.get())", "true",
     "unit_protocol", "SharedCopyRounds.*"),
    ("help_never", "protocol/shared_copy.cpp",
     "!has_receives || idle_rounds_ >= int(help_polls.get())", "false",
     "unit_protocol", "SharedCopyRounds.*"),
    ("a_stopped_peer_is_not_noticed", "protocol/shared_copy.cpp",
     "return now - waits_since_ns_ > 1'000'000'000;", "return false;",
     "simulate", "Death.*"),
    ("a_limit_of_a_way_off_by_one", "protocol/choose.hpp",
     "facts.bytes >= facts.shared_bytes", "facts.bytes > facts.shared_bytes",
     "unit_protocol", "Choose.*"),
    ("senders_are_held_for_ever", "protocol/receiver.cpp",
     "if (!told_to_hold_.empty() && unexpected_bytes_", "if (told_to_hold_.size() > 99 && unexpected_bytes_",
     "simulate", "SimulatedPointToPoint.*"),
    ("synchronous_sends_are_not_answered", "protocol/receiver.cpp",
     "if (envelope.kind == transport::MessageKind::eager_synchronous) {",
     "if (envelope.kind == transport::MessageKind::eager_synchronous && head > 0) {",
     "simulate", "SimulatedPointToPoint.*"),
    ("a_sleeper_without_a_barrier", "transport/shm/attention.hpp",
     "!M::global_barrier()) ask_for_fences();", "false) ask_for_fences();",
     "unit_transport", "SleepInterleavings.*"),
    ("a_line_too_many", "transport/shm/ring.hpp",
     "std::memory_order_acquire) + place_.line_count;", "std::memory_order_acquire) + place_.line_count + 1;",
     "unit_transport", "RingInterleavings.*"),
    ("a_doorbell_of_16_bits", "transport/shm/channel.cpp",
     ".store(ring_.position(), std::memory_order_release);",
     ".store(ring_.position() & 0xffff, std::memory_order_release);",
     "unit_transport", "ShmDoorbells.*"),
    ("two_keys_are_alike", "match/queue.hpp",
     "return run_.first && run_.first->key == key ? run_.first : nullptr;", "return run_.first;",
     "unit_match", "*"),
    ("an_idle_wait_never_sleeps", "progress/engine.cpp",
     "if (now - idle_since_ < yield_ns_max_) return Step::yield;", "if (now > 0) return Step::yield;",
     "unit_progress", "*"),
    ("a_tree_without_its_last_leaves", "coll/algorithms/bcast_binomial.cpp",
     "if (place + bit < cx.size) cx.post_send", "if (place + bit + 1 < cx.size) cx.post_send",
     "simulate", "SimulatedCollectives.*"),
    ("a_registration_a_granule_short", "peer/registration_cache.cpp",
     "(at + bytes + limits_.granule - 1) / limits_.granule", "(at + bytes) / limits_.granule",
     "unit_peer", "RegistrationCache.*"),
    ("a_receive_reported_with_its_sender_unnamed", "pt2pt/completion.cpp",
     "set_status(status, request.completion);", "set_empty_status(status, false);",
     "simulate", "SimulatedPointToPoint.*"),
]


def run(words, **more):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


class Copy:
    """Of the sources, where faults are put in and taken out."""

    def __init__(self, source, folder):
        # The one lies in the other as in the repository, so that ccache finds what it knows.
        self.source, self.tree, self.build = source, folder, os.path.join(folder, "build")
        os.makedirs(self.tree, exist_ok=True)
        names = run(["git", "-C", source, "ls-files"]).stdout.split("\n")
        for name in filter(None, names):
            self.put(name, self.original(name))
        settings = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DDUNLIN_TESTS=ON"]
        made = run(["cmake", "-S", self.tree, "-B", self.build, *settings])
        if made.returncode:
            sys.exit(made.stdout)

    def original(self, name):
        with open(os.path.join(self.source, name), "rb") as file:
            return file.read()

    def put(self, name, content):
        """Leaves a file alone that is as it should be: it is not compiled again."""
        path = os.path.join(self.tree, name)
        if os.path.exists(path):
            with open(path, "rb") as file:
                if file.read() == content:
                    return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)

    def outcome(self, program, test):
        """Of the sources as they are: "passes", "fails" or why neither."""
        made = run(["ninja", "-C", self.build, program])
        if made.returncode:
            return "does not compile:\n" + made.stdout[-2000:]
        words = [os.path.join(self.build, "test", program), "--gtest_filter=" + test, "--gtest_fail_fast"]
        try:
            done = run(words, timeout=300, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return "fails"  # it hangs: ctest would end it
        if done.returncode == 0 and "[  PASSED  ] 0 tests" in done.stdout:
            return "no test matches " + test
        return "fails" if done.returncode else "passes"

    def judge(self, mutant):
        name, file, before, after, program, test = mutant
        path = "src/" + file
        content = self.original(path).decode()
        if content.count(before) != 1:
            return "the line is there %d times" % content.count(before)
        self.put(path, content.replace(before, after).encode())
        found = self.outcome(program, test)
        self.put(path, content.encode())
        return "found" if found == "fails" else "NOT FOUND" if found == "passes" else found


def main():
    copy = Copy(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
    chosen = [each for each in MUTANTS if each[0] in sys.argv[3:] or len(sys.argv) == 3]
    bad = 0
    for program, test in dict.fromkeys((each[4], each[5]) for each in chosen):
        found = copy.outcome(program, test)
        if found != "passes":
            sys.exit("without a fault %s %s %s" % (program, test, found))
    for mutant in chosen:
        verdict = copy.judge(mutant)
        bad += verdict != "found"
        print("%-45s %-16s %-22s %s" % (mutant[0], mutant[4], mutant[5], verdict), flush=True)
    print("%d of %d faults found" % (len(chosen) - bad, len(chosen)))
    return bad != 0 or not chosen


if __name__ == "__main__":
    sys.exit(main())
