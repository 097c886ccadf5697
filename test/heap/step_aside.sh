#!/bin/sh
# When the preloaded allocator must step aside, and that programs then run as without it.
# usage: step_aside.sh LIBRARY DIRECTORY   (the programs of this folder)
heap=$1
dir=$2
failures=0

expect() {  # expect WHAT PATTERN COMMAND...
  what=$1 pattern=$2
  shift 2
  said=$("$@" 2>&1)
  status=$?
  if [ $status -ne 0 ] || ! printf '%s' "$said" | grep -q "$pattern"; then
    echo "FAILED: $what: expected '$pattern', got '$said' (status $status)"
    failures=$((failures + 1))
  else
    echo "ok: $what: $said"
  fi
}

preloaded() { env LD_PRELOAD="$heap" "$@"; }

expect "a plain program" "^in use$" preloaded "$dir/heap_report"
expect "without the preload" "^absent$" "$dir/heap_report"
expect "a linked program" "^in use$" "$dir/heap_linked"
expect "a program at fixed addresses" "^in use$" preloaded "$dir/heap_fixed"
expect "switched off" "DUNLIN_HEAP=private" preloaded env DUNLIN_HEAP=private "$dir/heap_report"
expect "a static program" "^static ok$" preloaded "$dir/heap_static"
expect "an allocator in the program" "brings an allocator of its own" preloaded "$dir/heap_own_allocator"
expect "another preloaded allocator" "another allocator" \
  env LD_PRELOAD="$heap:$dir/libheap_other_allocator.so" "$dir/heap_report"
expect "another allocator preloaded before ours" "brings an allocator of its own" \
  env LD_PRELOAD="$dir/libheap_other_allocator.so:$heap" "$dir/heap_report"
expect "a limit on data" "limited" sh -c "ulimit -d 4000000; LD_PRELOAD=$heap $dir/heap_report"
expect "a small limit on address space" "resource limit" sh -c "ulimit -v 400000; LD_PRELOAD=$heap $dir/heap_report"
expect "a large limit on address space" "^in use$" sh -c "ulimit -v 40000000; LD_PRELOAD=$heap $dir/heap_report"
expect "out of address space" "^no memory$" sh -c "ulimit -v 1000000; LD_PRELOAD=$heap $dir/heap_report 2000"
expect "a limit on file size" "resource limit" sh -c "ulimit -f 1000; LD_PRELOAD=$heap $dir/heap_report"
expect "a nearly full table of descriptors" "in use" sh -c "ulimit -n 20; LD_PRELOAD=$heap $dir/heap_report"
if command -v valgrind >/dev/null; then
  expect "valgrind" "runs under valgrind" env LD_PRELOAD="$heap" valgrind -q --error-exitcode=9 "$dir/heap_report"
fi
for sanitizer in address thread; do
  # gcc's run-time libraries must come first in the list; clang's are in the program itself.
  [ -x "$dir/heap_$sanitizer" ] || continue
  runtime=$(ldd "$dir/heap_$sanitizer" | sed -n 's/.*=> \(.*lib[at]san[^ ]*\).*/\1/p')
  expect "$sanitizer sanitizer" "sanitizer\|allocator" env LD_PRELOAD="$runtime $heap" "$dir/heap_$sanitizer"
done
exit $failures
