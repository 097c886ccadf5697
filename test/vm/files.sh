# In each of two guests that are wired together: files that vm0 serves by NFS, and that ranks of both use at once.
. "$SOURCE/guest.sh"
wire address
export DUNLIN_OFI_PROVIDER=tcp
modprobe nfs
rpcbind
if [ "$VM_NAME" = vm0 ]; then
  modprobe nfsd
  modprobe brd rd_size=200000
  mkfs.ext4 -q /dev/ram0
  mkdir -p /run/served
  mount /dev/ram0 /run/served
  mount -t nfsd nfsd /proc/fs/nfsd
  exportfs -o rw,no_root_squash,no_subtree_check,fsid=0 "*:/run/served"
  rpc.nfsd -G 10 4
  rpc.mountd
  touch /out/served
fi
until [ -e /out/served ]; do sleep 0.5; done
mkdir -p /run/v4 /run/v3
mount -t nfs -o vers=4.2 10.0.0.1:/ /run/v4
mount -t nfs -o vers=3,nolock 10.0.0.1:/run/served /run/v3
lead_or_follow

begin=$SECONDS
job nodes 4 cluster/nodes
follow_pace $((SECONDS - begin))
two_phase="DUNLIN_FILE_COLLECTIVE=two_phase DUNLIN_FILE_COLLECTIVE_BYTES=65536"
for version in v4 v3; do
  job "files_clients by $version" 4 "mpi/mpi_files_clients /run/$version 1"
  job "files_random by $version" 4 "mpi/mpi_files_random 0 10 /run/$version"
  # shellcheck disable=SC2086  # a list of words
  job "files_random by $version" 4 "mpi/mpi_files_random 0 10 /run/$version" $two_phase
done
job "files_atomic by v4" 2 "mpi/mpi_files_atomic 1 /run/v4 5000"
# One client: what is written is seen at once.
for program in basic views at_once huge edges in_place; do
  check "files_$program by v4, one guest, 3 ranks" "" \
    env TEST_FOLDER=/run/v4 "$BUILD/bin/mpirun" --timeout $limit_s -n 3 "$BUILD/test/mpi/mpi_files_$program"
done
touch /out/over
exit $((failed > 0))
