# In one guest: small disks that all ranks fill, by a quota of their user, and by a server that finds out late.
. "$SOURCE/guest.sh"
modprobe nfs
modprobe nfsd
modprobe quota_v2
modprobe brd rd_nr=2 rd_size=20480
mkdir -p /run/quota /run/served /run/mounted
small="-q -m 0 -N 32 -O ^has_journal"

begin=$SECONDS
# shellcheck disable=SC2086  # a list of words
mkfs.ext4 $small /dev/ram0 10M
mount /dev/ram0 /run/served
mount -t nfsd nfsd /proc/fs/nfsd
rpcbind
exportfs -o rw,no_root_squash,no_subtree_check,fsid=0 "*:/run/served"
rpc.nfsd -G 10 4
rpc.mountd
mount -t nfs -o vers=4.2 127.0.0.1:/ /run/mounted
follow_pace $((SECONDS - begin))

# fill NAME FOLDER SHORTEST [quota]: by what is in `as`.
fill() {
  # shellcheck disable=SC2086  # a list of words
  check "files_full, $1" "" $as "$BUILD/bin/mpirun" --timeout $limit_s -n 3 "$BUILD/test/mpi/mpi_files_full" "${@:2}"
}
as="" fill "a disk" /run/served 4096
as="" fill "a disk, served by NFS 4.2" /run/mounted 65536

# The kernel lets root write beyond any quota.
# shellcheck disable=SC2086
mkfs.ext4 $small -O quota -E quotatype=usrquota,root_owner=1000:1000 /dev/ram1 20M
mount -o usrquota /dev/ram1 /run/quota
python3 - <<'PYTHON' || failed=1
import ctypes, struct
kSetQuota, kBlockLimits = 0x800008 << 8, 1  # of users; hard and soft, KiB
limits = struct.pack("8QI4x", 10240, 10240, 0, 0, 0, 0, 0, 0, kBlockLimits)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.quotactl(kSetQuota, b"/dev/ram1", 1000, limits) == 0, ctypes.get_errno()
PYTHON
as="setpriv --reuid 1000 --regid 1000 --clear-groups" fill "a quota" /run/quota 4096 quota
exit $((failed > 0))
