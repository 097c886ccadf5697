# In each of two guests that are wired together: vm0 starts jobs over both by Hydra, vm1 waits.
. "$SOURCE/guest.sh"
modprobe virtio_net
ip link set eth0 mtu 9000
roce eth0 "10.0.0.$((${VM_NAME#vm} + 1))"

if [ "$VM_NAME" != vm0 ]; then
  busybox nc -ll -p 2222 -e /bin/sh &  # who connects sends what is to run here
  touch /out/ready
  until [ -e /out/over ]; do sleep 0.5; done
  exit 0
fi

# Stands in for ssh.
cat >/run/remote_shell <<'SHELL'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
echo "cd '$PWD' && exec $*" | busybox nc "$host" 2222
SHELL
chmod +x /run/remote_shell
export HYDRA_LAUNCHER_EXEC=/run/remote_shell DUNLIN_REMOTE_LAUNCHER="mpiexec.hydra -localhost 10.0.0.1"
until [ -e /out/ready ]; do sleep 0.5; done

# job NAME RANKS PROGRAM VARIABLES...
job() {
  local name="$1, two guests, $2 ranks${4:+, $4}"
  check "$name" "" env "${@:4}" "$BUILD/bin/mpirun" --timeout $limit_s --hosts 10.0.0.1,10.0.0.2 -n "$2" "$BUILD/test/$3"
}
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
