// `dunlin-info --measure`: finds the thresholds of large copies on this machine and keeps them
// (base/machine_settings.hpp).  docs/memory.md, "Measured thresholds".
#pragma once

/// The settings that are measured, without DUNLIN_.
inline constexpr const char* kMeasuredSettings[] = {"COPY_SHARE_BYTES_MIN", "COPY_SHARE_CHUNK_BYTES",
                                                    "COPY_STREAM_BYTES_MIN", "COPY_NEAR_LINES_NS",
                                                    "COPY_SLOW_LINES_NS"};

/// Measures, prints and writes; the exit status of the program.
int measure_machine();
