# What the scripts of both guests begin with; BUILD is the tree with the programs, VM_NAME the guest.
failed=0
# How long a program may take: longer where the machine is slow or busy, as the first check tells (7 s on a quiet one).
limit_s=1000
follow_pace() { limit_s=$((200 + 40 * $1)); }

# roce INTERFACE ADDRESS: soft RoCE on it.
roce() {
  modprobe -a rdma_rxe rdma_ucm
  ip addr add "$2/24" dev "$1"
  ip link set "$1" up
  until ip -4 addr show dev "$1" | grep -q "state UP"; do sleep 0.1; done
  rdma link add rxe0 type rxe netdev "$1"
  until rdma link show rxe0/1 2>/dev/null | grep -q "state ACTIVE"; do sleep 0.1; done
  export DUNLIN_OFI_PROVIDER=verbs
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
