# What the scripts of both guests begin with; BUILD is the tree with the programs, VM_NAME the guest.
failed=0
# How long a program may take: longer where the machine is slow or busy, as the first check tells (7 s on a quiet one).
limit_s=1000
follow_pace() { limit_s=$((200 + 40 * $1)); }

# address INTERFACE ADDRESS: gives it.
address() {
  ip addr add "$2/24" dev "$1"
  ip link set "$1" up
  until ip -4 addr show dev "$1" | grep -q "state UP"; do sleep 0.1; done
}

# roce INTERFACE ADDRESS: soft RoCE on it.
roce() {
  modprobe -a rdma_rxe rdma_ucm
  address "$1" "$2"
  rdma link add rxe0 type rxe netdev "$1"
  until rdma link show rxe0/1 2>/dev/null | grep -q "state ACTIVE"; do sleep 0.1; done
  export DUNLIN_OFI_PROVIDER=verbs
}

# Where two guests are wired together, vm0 starts jobs over both by Hydra, and vm1 waits and ends here.
# wire COMMAND: the interface of this one is eth0; the command, given it and an address, sets it up.
wire() {
  modprobe virtio_net
  ip link set eth0 mtu 9000
  "$1" eth0 "10.0.0.$((${VM_NAME#vm} + 1))"
}
lead_or_follow() {
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
}

# job NAME RANKS "PROGRAM ARGUMENTS" VARIABLES...: over both.
job() {
  local name="$1, two guests, $2 ranks${4:+, $4}"
  # shellcheck disable=SC2086  # lists of words
  check "$name" "" env "${@:4}" "$BUILD/bin/mpirun" --timeout $limit_s --hosts 10.0.0.1,10.0.0.2 -n "$2" $BUILD/test/$3
}

# check NAME PATTERN COMMAND...: one line of what came of it; its output, too, where it fails or says nothing like PATTERN (empty: anything).
check() {
  local name=$1 pattern=$2 begin=$SECONDS code=0
  shift 2
  timeout -k 5 $((limit_s + 100)) "$@" >/run/said 2>&1 </dev/null || code=$?
  [ -z "$pattern" ] || grep -qE -- "$pattern" /run/said || [ $code != 0 ] || code="0, without \"$pattern\""
  if [ "$code" = 0 ]; then
    echo "$VM_NAME: passed: $name ($((SECONDS - begin)) s)"
  else
    echo "$VM_NAME: FAILED: $name, exit code $code"
    sed 's/^/    /' /run/said | tail -n 40
    failed=$((failed + 1))
  fi
}
