#!/usr/bin/env bash
# shellcheck disable=SC2317
# Be one of several equal nodes, which run a command against a Dask cluster of their own. The first has the scheduler, the
# command and workers, the others have workers. For any launcher of N equal nodes: SLURM, Kubernetes, compose, by hand.
# Usage: cluster/node.sh COMMAND...     {} in the command becomes the scheduler's address
#   OLSCALE_NODE          number of this node, 0 for the first (default: $JOB_COMPLETION_INDEX, as Kubernetes sets it)
#   OLSCALE_MEET          how the others find the first: its NAME:PORT, or a file that all see and the first writes
#   OLSCALE_TLS           folder of a certificate that all nodes have, or `none` on a network that nobody else uses
#   OLSCALE_WORKERS       worker processes of this node (default: its cores)
#   OLSCALE_MEMORY        memory of each of them, as Dask says it, e.g. 2GB (default: its share of what this node may take)
#   OLSCALE_HOST          name or address that the others reach the first by (default: hostname)
#   OLSCALE_DEBUG         not empty: what scheduler and workers log is shown, and not only after a failure
#   OLSCALE_WAIT_WORKERS  seconds: how long nodes look for the first, and the command for workers (default: 600)
# The first ends with the command's exit code. SIGTERM to it reaches the command only, which saves and goes; then its
# scheduler ends, and all workers with it. The others serve any scheduler that comes to the place until they are told to
# end, or the file is gone.
set -euo pipefail
fail() { echo "$0: $1" >&2; exit 2; }
[ $# -gt 0 ] || fail "usage: $0 COMMAND...   ({} becomes the scheduler's address)"
node=${OLSCALE_NODE:-${JOB_COMPLETION_INDEX:-}}
[ -n "$node" ] || fail "set OLSCALE_NODE to the number of this node, 0 for the first"
[ -n "${OLSCALE_MEET:-}" ] || fail "set OLSCALE_MEET to the NAME:PORT of the first node, or to a file that all nodes see"
[ -n "${OLSCALE_TLS:-}" ] || fail "whoever reaches Dask over the network can run code as you: set OLSCALE_TLS to a folder \
that all nodes have (python -m olscale.execution.tls FOLDER makes it), or to 'none' on a network that nobody else uses"
export OLSCALE_WAIT_WORKERS=${OLSCALE_WAIT_WORKERS:-600}
python=${PYTHON:-python}

# Dask's figures of cores and memory know of control groups.
facts=$("$python" -c "
import os, sys
import olscale.execution
from dask.system import CPU_COUNT
from distributed.system import MEMORY_LIMIT
workers = int(os.environ.get('OLSCALE_WORKERS') or CPU_COUNT)
print(olscale.execution.__path__[0], workers, int(0.95 * MEMORY_LIMIT / workers), sep='\n')")
{ read -r DASK_CONFIG; read -r processes; read -r memory; } <<<"$facts"
export DASK_CONFIG
run=$(mktemp -d)   # for its owner only
trap 'rm -rf "$run"' EXIT
protocol=tcp
if [ "$OLSCALE_TLS" != none ]; then
    if [ -d "$OLSCALE_TLS" ] && [ ! -w "$OLSCALE_TLS" ]; then   # a secret of Kubernetes: its group may read it
        install -D -m 600 -t "$run/tls" "$OLSCALE_TLS/cert.pem" "$OLSCALE_TLS/key.pem"
        OLSCALE_TLS=$run/tls
    fi
    "$python" -m olscale.execution.tls "$OLSCALE_TLS"
    protocol=tls
    export DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=True DASK_DISTRIBUTED__COMM__TLS__CA_FILE="$OLSCALE_TLS/cert.pem"
    for role in CLIENT SCHEDULER WORKER; do
        export "DASK_DISTRIBUTED__COMM__TLS__${role}__CERT=$OLSCALE_TLS/cert.pem"
        export "DASK_DISTRIBUTED__COMM__TLS__${role}__KEY=$OLSCALE_TLS/key.pem"
    done
fi

# numba's cache is a pickle, so it must be ours alone; and local, as there are no locks on NFS.
if [ -z "${NUMBA_CACHE_DIR:-}" ]; then
    NUMBA_CACHE_DIR=${TMPDIR:-/tmp}/olscale-numba-$(id -u)
    mkdir -m 700 "$NUMBA_CACHE_DIR" 2>/dev/null || true
    if [ -L "$NUMBA_CACHE_DIR" ] || [ ! -O "$NUMBA_CACHE_DIR" ] || [ "$(stat -c %a "$NUMBA_CACHE_DIR")" != 700 ]; then
        NUMBA_CACHE_DIR=$run/numba
    fi
    export NUMBA_CACHE_DIR
fi

log=$run/dask.log
if [ -n "${OLSCALE_DEBUG:-}" ]; then log=/dev/stderr; fi
asked='' command='' scheduler='' workers=''
# Wait for a child to its end, whatever signals come meanwhile; its exit code is in $code.
outlast() {
    while :; do
        code=0
        wait "$1" || code=$?
        kill -0 "$1" 2>/dev/null || break
    done
    wait "$1" 2>/dev/null || { last=$?; [ "$last" -eq 127 ] || code=$last; }
}
# Give children ten seconds to end by themselves, ten after SIGTERM, and no more.
leave() {
    local tenths=0 pid
    for pid in "$@"; do
        while kill -0 "$pid" 2>/dev/null; do
            tenths=$((tenths + 1))
            if [ "$tenths" -eq 100 ]; then kill -TERM "$pid" 2>/dev/null || true; fi
            if [ "$tenths" -gt 200 ]; then kill -KILL "$pid" 2>/dev/null || true; fi
            sleep 0.1
        done
    done
}
end() {
    code=$?
    trap - EXIT
    trap '' TERM INT
    if [ "$node" = 0 ] && [ -f "$OLSCALE_MEET" ] && [ -n "$scheduler" ]; then rm -f "$OLSCALE_MEET"; fi
    # A scheduler that is asked to end ends its workers first.
    for pid in $command ${scheduler:-$workers}; do kill -TERM "$pid" 2>/dev/null || true; done
    # shellcheck disable=SC2086
    leave $command $scheduler $workers
    # What Dask says of connections that end is for nobody, unless something went wrong.
    case $code in 0 | 75 | 130 | 143) ;; *) tail -n 10 "$run"/*.log >&2 2>/dev/null || true ;; esac
    rm -rf "$run"
    exit "$code"
}
trap end EXIT
# shellcheck disable=SC2154
trap 'asked=1; for pid in ${command:-${scheduler:-$workers}}; do kill -TERM "$pid" 2>/dev/null || true; done' TERM INT

start_workers() {   # at an address
    # On a busy machine, or from a slow file system, workers take minutes to start.
    set -m   # a group of their own: Ctrl-C of a terminal is for the command, and would end Dask's processes at once
    "$python" -m distributed.cli.dask_worker "$1" --nthreads 1 --no-dashboard --dashboard-address 127.0.0.1:0 \
        --preload olscale.execution.dask_logs --nworkers "$processes" --memory-limit "${OLSCALE_MEMORY:-$memory}" --death-timeout 300 --local-directory "$run" \
        </dev/null >>"$log" 2>&1 &
    workers=$!
    set +m
}

if [ "$node" != 0 ]; then
    # Print the address of the first node, if somebody listens there.
    meet() {
        local address=$OLSCALE_MEET
        if [[ "$address" != *:* || "$address" == */* ]]; then
            [ -s "$address" ] || return
            address=$(sed -n 's/.*"address": "[a-z]*:\/\/\([^"]*\)".*/\1/p' "$address")
        fi
        # shellcheck disable=SC2016
        timeout 5 bash -c '</dev/tcp/${0%:*}/${0##*:}' "$address" 2>/dev/null && echo "$protocol://$address"
    }
    met='' since=$SECONDS
    while [ -z "$asked" ]; do
        if address=$(meet); then
            met=1
            start_workers "$address"
            outlast "$workers"
            workers='' since=$SECONDS
        fi
        if [ -n "$met" ] && [[ "$OLSCALE_MEET" == */* ]] && [ ! -e "$OLSCALE_MEET" ]; then exit 0; fi
        if [ $((SECONDS - since)) -ge "${OLSCALE_WAIT_WORKERS%.*}" ]; then
            [ -n "$met" ] && exit 0
            echo "$0: the first node was not to be found at $OLSCALE_MEET for $OLSCALE_WAIT_WORKERS s; is it there?" >&2
            exit 1
        fi
        sleep 1
    done
    exit 143
fi

port=0
if [[ "$OLSCALE_MEET" != */* ]]; then port=${OLSCALE_MEET##*:}; fi
set -m
"$python" -m distributed.cli.dask_scheduler --protocol "$protocol" --host "${OLSCALE_HOST:-$(hostname)}" --port "$port" \
    --no-dashboard --dashboard-address 127.0.0.1:0 --scheduler-file "$run/scheduler.json" \
    </dev/null >>"$log" 2>&1 &
scheduler=$!
set +m
for _ in $(seq 600); do
    [ -s "$run/scheduler.json" ] && break
    kill -0 "$scheduler" 2>/dev/null || { echo "$0: the scheduler did not start" >&2; exit 1; }
    [ -z "$asked" ] || exit 143
    sleep 0.1
done
if [ "$port" = 0 ]; then
    mkdir -p "$(dirname "$OLSCALE_MEET")"
    cp "$run/scheduler.json" "$OLSCALE_MEET.new"
    mv "$OLSCALE_MEET.new" "$OLSCALE_MEET"
fi
address=$(sed -n 's/.*"address": "\([^"]*\)".*/\1/p' "$run/scheduler.json")
start_workers "$address"
[ -z "$asked" ] || exit 143
"${@//\{\}/$address}" &
command=$!
outlast "$command"
command=''
exit "$code"
