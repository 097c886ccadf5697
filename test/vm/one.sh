# In one guest: the network channel by each of its steps, then programs whose ranks count as two nodes, by each engine.
. "$SOURCE/guest.sh"
modprobe veth
ip link add veth0 mtu 4200 type veth peer name veth1 mtu 4200
ip link set veth1 up
roce veth0 10.0.0.1

begin=$SECONDS
check "conformance: strangers" "PASSED  . 2" "$BUILD/test/conformance" --gtest_filter="NetworkStrangers.*"
follow_pace $((SECONDS - begin))
# programs NAME RANKS PROGRAMS VARIABLES...: each of them, with these settings.
programs() {
  local name=$1 ranks=$2 program
  for program in $3; do
    check "$program, $ranks ranks, $name" "" \
      env "${@:4}" "$BUILD/bin/mpirun" --timeout $limit_s -n "$ranks" "$BUILD/test/mpi/mpi_$program"
  done
}
for stage in messages messages_read messages_write basic piggyback pipeline zerocopy_read zerocopy_write; do
  programs "$stage" 2 pt2pt_random \
    DUNLIN_NODES=2 "DUNLIN_OFI_STAGE=$stage" DUNLIN_OFI_MESSAGES=2 DUNLIN_OFI_LONG_BYTES=20k
done
programs "two nodes" 3 "pt2pt_order pt2pt_modes pt2pt_probe pt2pt_completion large_buffers datatype_transport comm_split
  coll_movement coll_reduction rma_operations rma_windows rma_locks rma_random rma_edges" DUNLIN_NODES=2
programs offload 3 "pt2pt_order pt2pt_modes pt2pt_probe pt2pt_completion pt2pt_deep pt2pt_random datatype_transport
  coll_movement" DUNLIN_P2P=offload
for kind in messages basic piggyback pipeline tiny zerocopy_read zerocopy_write few_rings; do
  check "conformance: $kind" "PASSED  . [1-9]" "$BUILD/test/conformance" --gtest_filter="*/ofi_$kind"
done
exit $((failed > 0))
