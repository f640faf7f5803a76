#!/usr/bin/env bash
#SBATCH --job-name=olscale
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=32G
#SBATCH --time=04:00:00
# Usage: sbatch cluster/slurm.sh EXPERIMENT.toml STORE
# Paths must be on a file system that all nodes share. Submitted again after a time limit, it computes what is missing.
set -euo pipefail
if [ $# -ne 2 ]; then
    echo "usage: sbatch $0 EXPERIMENT.toml STORE" >&2
    exit 2
fi
experiment=$1
store=$2

# The environment olscale is installed in; on the shared file system, or the same on all nodes.
# shellcheck disable=SC1091
source "${OLSCALE_VENV:-$SLURM_SUBMIT_DIR/.venv}/bin/activate"

DASK_CONFIG=$(python -c "import olscale.execution as e; print(e.__path__[0])")
export DASK_CONFIG
export NUMBA_CACHE_DIR="${NUMBA_CACHE_DIR:-${TMPDIR:-/tmp}/olscale-numba-$USER}"   # local to the node: no locks on NFS
host=$(hostname)
port=$((20000 + SLURM_JOB_ID % 20000))

dask scheduler --host "$host" --port "$port" --no-dashboard &
scheduler=$!
trap 'kill "$scheduler" 2>/dev/null || true' EXIT
srun --ntasks-per-node=1 dask worker "tcp://$host:$port" --nworkers "$SLURM_CPUS_PER_TASK" --nthreads 1 --no-dashboard \
    --local-directory "${TMPDIR:-/tmp}" --death-timeout 120 &

olscale evaluate "$experiment" --store "$store" --scheduler "tcp://$host:$port"
olscale results "$store"
