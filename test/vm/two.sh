# In each of two guests that are wired together: messages by real verbs.
. "$SOURCE/guest.sh"
wire roce
lead_or_follow

begin=$SECONDS
for engine in matching offload; do
  job nodes 4 cluster/nodes "DUNLIN_P2P=$engine"
done
follow_pace $(((SECONDS - begin) / 2))
for stage in messages_read pipeline zerocopy_read zerocopy_write; do
  job pt2pt_random 2 mpi/mpi_pt2pt_random "DUNLIN_OFI_STAGE=$stage"
done
for program in large_buffers datatype_transport coll_movement rma_random; do
  job $program 4 mpi/mpi_$program
done
touch /out/over
exit $((failed > 0))
