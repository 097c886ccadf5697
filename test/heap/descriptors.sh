#!/bin/sh
# Each way to take a peer's descriptors, forced, for a process that others may look into and for one that they may not.
# usage: descriptors.sh PROGRAM
failures=0
program=$1
expect() {  # expect WAY KIND WANTED
  said=$(DUNLIN_SHM_COPY=shared_heap DUNLIN_HEAP_DESCRIPTORS=$1 "$program" "$2" 2>&1)
  if [ "$said" != "$3" ]; then
    echo "FAILED: $2 by $1: expected '$3', got '$said'"
    failures=$((failures + 1))
  else
    echo "ok: $2 by $1: $said"
  fi
}
expect proc dumpable "reached"
expect socket dumpable "reached"
expect auto dumpable "reached"
expect proc hidden "not reached"
expect pidfd hidden "not reached"
expect socket hidden "reached"
expect auto hidden "reached"
case $(DUNLIN_SHM_COPY=shared_heap DUNLIN_HEAP_DESCRIPTORS=pidfd "$program" dumpable 2>&1) in
  reached) echo "ok: dumpable by pidfd: reached" ;;
  "not reached") echo "not tried: this kernel does not permit pidfd_getfd" ;;
  *) echo "FAILED: dumpable by pidfd"; failures=$((failures + 1)) ;;
esac
exit $failures
