#!/usr/bin/env bash
# Run a command against a Dask cluster of its own on this machine.
# Usage: cluster/local.sh WORKERS COMMAND...     {} in the command becomes the scheduler's address
set -euo pipefail
if [ $# -lt 2 ]; then
    echo "usage: $0 WORKERS COMMAND...   ({} becomes the scheduler's address)" >&2
    exit 2
fi
workers=$1
shift

# The interpreter olscale is installed for: $PYTHON, the checkout's .venv, or the one on the path.
here=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${PYTHON:-}" ]; then
    PYTHON=python
    if [ -x "$here/.venv/bin/python" ]; then
        PYTHON=$here/.venv/bin/python
        export PATH="$here/.venv/bin:$PATH"
    fi
fi

run=$(mktemp -d)
pids=()
stop() {
    code=$?
    trap - EXIT
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait "${pids[@]}" 2>/dev/null || true
    if [ "$code" -ne 0 ]; then tail -n 5 "$run"/*.log >&2 || true; fi
    rm -rf "$run"
    exit "$code"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

DASK_CONFIG=$("$PYTHON" -c "import olscale.execution as e; print(e.__path__[0])")
export DASK_CONFIG
"$PYTHON" -m distributed.cli.dask_scheduler --host 127.0.0.1 --port 0 --no-dashboard \
    --scheduler-file "$run/scheduler.json" >"$run/scheduler.log" 2>&1 &
pids+=($!)
for _ in $(seq 300); do
    [ -s "$run/scheduler.json" ] && break
    kill -0 "${pids[0]}" 2>/dev/null || { echo "the scheduler did not start" >&2; exit 1; }
    sleep 0.1
done
"$PYTHON" -m distributed.cli.dask_worker --scheduler-file "$run/scheduler.json" --nworkers "$workers" --nthreads 1 \
    --no-dashboard --local-directory "$run" >"$run/workers.log" 2>&1 &
pids+=($!)

address=$("$PYTHON" -c "import json, sys; print(json.load(open(sys.argv[1]))['address'])" "$run/scheduler.json")
"${@//\{\}/$address}"
