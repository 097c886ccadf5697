"""Which experiment is measured next, so that a run ends in the time it was given.

Used by compare.  Every experiment gets one round of all its MPIs first.  What time is left goes to those that
were seen least in a state of the machine in which all their MPIs were met, with preference for the state that the
machine is in now.
"""

import math
import time

from suite.samples import STATES

LEAST_S = 60  # of a quick run on a machine that builds slowly: enough for a conclusion
LOW_SHARE = 0.1  # this part of an experiment's points may be worse covered than its figure says


def budget_s(minutes, spent_s, is_quick):
    """Time for measuring.  A quick run promises its end, so what building the programs took comes off."""
    return max(60 * minutes - spent_s, LEAST_S) if is_quick else 60 * minutes


class Schedule:
    """Invariant: an experiment whose round would not fit into the time left is not begun, except in its first."""

    def __init__(self, chosen, rounds, rounds_extra, budget_s, clock=time.monotonic):
        self.chosen, self.rounds, self.rounds_extra, self.clock = chosen, rounds, rounds_extra, clock
        self.deadline = clock() + budget_s
        self.started = clock()
        self.spent_s = {}  # experiment name -> seconds of each round
        self.counts = {}  # experiment name -> state -> samples that every MPI has, at nearly every point
        self.found = {}  # experiment name -> point -> state -> MPI -> samples

    def next(self, state):
        """The experiment to measure now, or None when all is done or the time is over."""
        if self.left_s() <= 0:
            return None
        for experiment in self.chosen:
            if experiment.name not in self.spent_s:
                return experiment
        fitting = [entry for entry in self.chosen if self.wants(entry) and self.cost_s(entry) < self.left_s()]
        return min(fitting, key=lambda entry: self.need(entry, state), default=None)

    def wants(self, experiment):
        done = len(self.spent_s[experiment.name])
        if experiment.rounds_max:
            return done < min(experiment.rounds_max, self.rounds)
        return done < self.rounds or done < self.rounds + self.rounds_extra and self.best_count(experiment) == 0

    def need(self, experiment, state):
        counts = self.counts[experiment.name]
        return (self.best_count(experiment), counts.get(state, 0), len(self.spent_s[experiment.name]))

    def best_count(self, experiment):
        return max(self.counts[experiment.name].values(), default=0)

    def cost_s(self, experiment):
        return max(self.spent_s[experiment.name])

    def note(self, experiment, found, seconds):
        """A round is over: what it found and what it took."""
        self.spent_s.setdefault(experiment.name, []).append(seconds)
        points = self.found.setdefault(experiment.name, {})
        for sample in found:
            by_mpi = points.setdefault(sample.key, {}).setdefault(sample.state, {})
            by_mpi[sample.mpi] = by_mpi.get(sample.mpi, 0) + 1
        names = {mpi for states in points.values() for by_mpi in states.values() for mpi in by_mpi}
        self.counts[experiment.name] = {state: self.covered(points.values(), names, state) for state in STATES}

    @staticmethod
    def covered(points, names, state):
        counts = sorted(min(states.get(state, {}).get(name, 0) for name in names) for states in points)
        return counts[math.floor(LOW_SHARE * len(counts))] if counts else 0

    def left_s(self):
        return self.deadline - self.clock()

    def estimate_s(self):
        """Time until the end, as far as the rounds so far tell."""
        done = sum(map(len, self.spent_s.values()))
        if not done:
            return self.left_s()
        wanted = sum(min(entry.rounds_max or self.rounds, self.rounds) for entry in self.chosen)
        mean = (self.clock() - self.started) / done
        return max(0.0, min(self.left_s(), mean * (wanted - done)))

    def missed(self):
        """Names of experiments for which there was no time."""
        return [entry.name for entry in self.chosen if entry.name not in self.spent_s]

    def times(self):
        """Experiment name -> [seconds of all rounds, rounds], for the report."""
        return {name: [round(sum(spent), 1), len(spent)] for name, spent in self.spent_s.items()}
