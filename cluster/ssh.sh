#!/usr/bin/env bash
# shellcheck disable=SC2317
# Run a command against a Dask cluster of its own: a scheduler here, workers on other hosts.
# Usage: cluster/ssh.sh HOSTS WORKERS COMMAND...     {} in the command becomes the scheduler's address
#   HOSTS    HOST,HOST,... or a file with a host a line, as hosts.example; WORKERS on each that says no other number
#   The command is asked to stop in good order by Ctrl-C, SIGTERM, or `--stop-after 8h` among its options.
#   OLSCALE_HOST    name or address of this machine that the hosts reach it by (default: hostname)
#   OLSCALE_TLS     folder of a certificate that all hosts have, made if missing: encrypts all connections, those of the
#                   command too. Who reaches a scheduler that does not encrypt can run code as you: with other hosts this
#                   must be given, or `none` on a network that nobody else uses
#   OLSCALE_REMOTE  what runs a command on a host (default: ssh -o BatchMode=yes); the host `localhost` needs none
# Hosts need the same paths: environment, datasets, store and the certificate lie on a shared file system, or are copies.
set -euo pipefail
if [ $# -lt 3 ]; then
    echo "usage: $0 HOST,HOST,...|FILE WORKERS COMMAND...   ({} becomes the scheduler's address)" >&2
    exit 2
fi
hosts=() counts=()
while read -r host count; do
    case $host in '' | '#'*) continue ;; esac
    hosts+=("$host") counts+=("${count:-$2}")
done < <(if [ -f "$1" ]; then cat "$1"; else tr ',' '\n' <<<"$1"; fi)
shift 2
if [ "${hosts[*]}" != localhost ] && [ -z "${OLSCALE_TLS:-}" ]; then
    echo "whoever reaches Dask over the network can run code as you: set OLSCALE_TLS to a folder that all hosts have" \
        "(a certificate is made there), or to 'none' on a network that nobody else uses" >&2
    exit 2
fi
read -ra remote <<<"${OLSCALE_REMOTE:-ssh -o BatchMode=yes}"

# The interpreter olscale is installed for: $PYTHON, the checkout's .venv, or the one on the path.
here=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "${PYTHON:-}" ]; then
    PYTHON=$(command -v python || echo python3)
    if [ -x "$here/.venv/bin/python" ]; then
        PYTHON=$here/.venv/bin/python
        export PATH="$here/.venv/bin:$PATH"
    fi
fi

run=$(mktemp -d)
pids=() command=''
stop() {
    code=$?
    trap - EXIT
    trap '' TERM INT
    ended=
    for pid in "${pids[@]}"; do kill -0 "$pid" 2>/dev/null || ended=1; done
    # A scheduler that is asked to end ends its workers first, on whatever host; what goes on after ten seconds is told, too.
    kill "${pids[@]:0:1}" 2>/dev/null || true
    for _ in $(seq 100); do
        kill -0 "${pids[@]}" 2>/dev/null || break
        sleep 0.1
    done
    kill "${pids[@]}" 2>/dev/null || true
    wait "${pids[@]}" 2>/dev/null || true
    if [ "$code" -ne 0 ] && [ -n "$ended" ]; then tail -n 5 "$run"/*.log >&2 || true; fi
    rm -rf "$run"
    exit "$code"
}
trap stop EXIT
trap '[ -n "$command" ] || exit 130' INT    # of a terminal: the command hears of it as we do
trap '[ -n "$command" ] || exit 143; kill -TERM "$command"' TERM

listen=${OLSCALE_HOST:-$(hostname)}
if [ "${hosts[*]}" = localhost ]; then listen=127.0.0.1; fi
tls=()
if [ -n "${OLSCALE_TLS:-}" ] && [ "$OLSCALE_TLS" != none ]; then
    "$PYTHON" -m olscale.execution.tls "$OLSCALE_TLS"
    folder=$(cd "$OLSCALE_TLS" && pwd)
    tls=(--tls-ca-file "$folder/cert.pem" --tls-cert "$folder/cert.pem" --tls-key "$folder/key.pem")
    export DASK_DISTRIBUTED__COMM__TLS__CA_FILE=$folder/cert.pem DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT=$folder/cert.pem
    export DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY=$folder/key.pem
fi

DASK_CONFIG=$("$PYTHON" -c "import olscale.execution as e; print(e.__path__[0])")
export DASK_CONFIG
set -m   # groups of their own: Ctrl-C of a terminal is for the command, and would end Dask's processes at once
"$PYTHON" -m distributed.cli.dask_scheduler --host "$listen" --port 0 --no-dashboard \
    --dashboard-address 127.0.0.1:0 ${tls:+--protocol tls} "${tls[@]}" \
    --scheduler-file "$run/scheduler.json" </dev/null >"$run/scheduler.log" 2>&1 &
set +m
pids+=($!)
for _ in $(seq 300); do
    [ -s "$run/scheduler.json" ] && break
    kill -0 "${pids[0]}" 2>/dev/null || { echo "the scheduler did not start" >&2; exit 1; }
    sleep 0.1
done
address=$("$PYTHON" -c "import json, sys; print(json.load(open(sys.argv[1]))['address'])" "$run/scheduler.json")

# A worker that loses its scheduler ends by itself: nothing stays behind on a host that could not be told. The seconds below
# are those to start and to find it, minutes on a busy machine or from a slow file system.
set -m
for number in "${!hosts[@]}"; do
    host=${hosts[$number]}
    worker=("$PYTHON" -m distributed.cli.dask_worker "$address" --nworkers "${counts[$number]}" --nthreads 1
        --no-dashboard --dashboard-address 127.0.0.1:0 --death-timeout 300 --preload olscale.execution.dask_logs "${tls[@]}")
    if [ "$host" = localhost ]; then
        "${worker[@]}" --host "$listen" --local-directory "$run" </dev/null >"$run/$host.log" 2>&1 &
    else
        printf -v line ' %q' cd "$PWD"
        printf -v start ' %q' env "DASK_CONFIG=$DASK_CONFIG" "${worker[@]}" --local-directory
        # shellcheck disable=SC2016
        private='private=$(mktemp -d)' clean='"$private"; rm -rf "$private"'   # made there, for its owner only
        "${remote[@]}" "$host" "$line && $private && {$start $clean; }" </dev/null >"$run/$host.log" 2>&1 &
    fi
    pids+=($!)
done
set +m

# In the background, or bash would hear of SIGTERM after its end only; there bash lets commands ignore Ctrl-C, python does not.
"$PYTHON" -c "import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])" "${@//\{\}/$address}" <&0 &
command=$!
while :; do   # wait returns when a signal comes, too
    code=0
    wait "$command" || code=$?
    kill -0 "$command" 2>/dev/null || break
done
wait "$command" 2>/dev/null || { last=$?; [ "$last" -eq 127 ] || code=$last; }
exit "$code"
