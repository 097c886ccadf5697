"""Python side of the benchmark suite; see docs/benchmarks.md."""
