#!/usr/bin/env bash
#SBATCH --job-name=olscale
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=32G
#SBATCH --time=04:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
# Usage: sbatch cluster/slurm.sh EXPERIMENT.toml STORE [OPTIONS OF olscale evaluate]
# Paths must be on a file system that all nodes share, this folder too. Before its time limit, or when it is preempted, the
# job saves what goes on; it requeues itself and goes on until all is computed.
#   OLSCALE_VENV      virtual environment that has olscale (default: .venv where sbatch was called)
#   OLSCALE_TLS       folder of a certificate on that file system, made if missing (default: ~/.config/olscale/tls). Who
#                     reaches a scheduler that does not encrypt can run code as you; `none` is for a cluster that nobody
#                     else uses
#   OLSCALE_RESTARTS  how often the job requeues itself at most (default: 50)
set -euo pipefail
if [ $# -lt 2 ]; then
    echo "usage: sbatch $0 EXPERIMENT.toml STORE [OPTIONS]" >&2
    exit 2
fi
experiment=$1 store=$2
shift 2
# Submitted by cron there is no HOME; and SLURM runs a copy of this file, so that node.sh is not beside it.
export HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
here=$(dirname "$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Command=\([^ ]*\).*/\1/p')")
# The environment olscale is installed in; on the shared file system, or the same on all nodes.
# shellcheck disable=SC1091
source "${OLSCALE_VENV:-$SLURM_SUBMIT_DIR/.venv}/bin/activate"

export OLSCALE_TLS=${OLSCALE_TLS:-$HOME/.config/olscale/tls}
export OLSCALE_MEET=$HOME/.cache/olscale/slurm-$SLURM_JOB_ID.json
export OLSCALE_WORKERS=${OLSCALE_WORKERS:-${SLURM_CPUS_PER_TASK:-1}} OLSCALE_STOP_SECONDS=${OLSCALE_STOP_SECONDS:-90}
if [ -n "${SLURM_MEM_PER_NODE:-}" ]; then
    export OLSCALE_MEMORY=${OLSCALE_MEMORY:-$((SLURM_MEM_PER_NODE * 95 / 100 / OLSCALE_WORKERS))MiB}
fi
# Some sites keep the signal back, and it may come a minute late.
limit=$(date -d "$(squeue --noheader --job "$SLURM_JOB_ID" --format %e)" +%s 2>/dev/null || true)
if [ -n "$limit" ]; then
    left=$((limit - $(date +%s)))
    export OLSCALE_STOP_AT=${OLSCALE_STOP_AT:-$((limit - (left < 480 ? left / 4 : 120)))}
fi
rm -f "$OLSCALE_MEET"

first='' others=''
trap 'kill -TERM ${first:+"$first"} 2>/dev/null || true' TERM
if [ "${SLURM_JOB_NUM_NODES:-1}" -gt 1 ]; then
    OLSCALE_NODE=1 srun --overlap --relative=1 --nodes=$((SLURM_JOB_NUM_NODES - 1)) --ntasks=$((SLURM_JOB_NUM_NODES - 1)) \
        --kill-on-bad-exit=0 "$here/node.sh" worker &
    others=$!
fi
OLSCALE_NODE=0 "$here/node.sh" olscale evaluate "$experiment" --store "$store" --scheduler {} "$@" &
first=$!
while :; do   # wait returns when a signal comes, too
    code=0
    wait "$first" || code=$?
    kill -0 "$first" 2>/dev/null || break
done
wait "$first" 2>/dev/null || { last=$?; [ "$last" -eq 127 ] || code=$last; }
first=''
if [ -n "$others" ]; then wait "$others" || true; fi

# Stopped in time, to be called again; but a job that was cancelled or is being requeued already is no longer running.
if [ "$code" -eq 75 ] || [ "$code" -eq 143 ]; then
    state=$(squeue --noheader --job "$SLURM_JOB_ID" --format %T)
    if [ "$state" = RUNNING ] && [ "${SLURM_RESTART_COUNT:-0}" -lt "${OLSCALE_RESTARTS:-50}" ]; then
        echo "requeueing job $SLURM_JOB_ID"
        scontrol requeue "$SLURM_JOB_ID"
    fi
    exit "$code"
fi
if [ "$code" -eq 0 ]; then olscale results "$store"; fi
exit "$code"
