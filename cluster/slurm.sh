#!/usr/bin/env bash
#SBATCH --job-name=olscale
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=32G
#SBATCH --time=04:00:00
# Usage: sbatch cluster/slurm.sh EXPERIMENT.toml STORE
# Paths must be on a file system that all nodes share. Submitted again after a time limit, it computes what is missing.
#   OLSCALE_TLS  folder of a certificate on that file system, made if missing (default: ~/.config/olscale/tls): encrypts all
#                connections. Who reaches a scheduler that does not encrypt can run code as you; `none` is for a cluster
#                that nobody else uses
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
# Print a folder for numba's cache, local to the node: no locks on NFS. Its index is a pickle, so it must be ours alone.
cache() {
    local folder
    folder="${TMPDIR:-/tmp}/olscale-numba-$(id -u)"
    mkdir -m 700 "$folder" 2>/dev/null || true
    if [ -L "$folder" ] || [ ! -O "$folder" ] || [ "$(stat -c %a "$folder")" != 700 ]; then folder=$(mktemp -d); fi
    echo "$folder"
}
export -f cache
protocol=tcp
tls=${OLSCALE_TLS:-$HOME/.config/olscale/tls}
if [ "$tls" != none ]; then
    python -m olscale.execution.tls "$tls"
    protocol=tls
    export DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION=True DASK_DISTRIBUTED__COMM__TLS__CA_FILE="$tls/cert.pem"
    for role in CLIENT SCHEDULER WORKER; do
        export "DASK_DISTRIBUTED__COMM__TLS__${role}__CERT=$tls/cert.pem" "DASK_DISTRIBUTED__COMM__TLS__${role}__KEY=$tls/key.pem"
    done
fi
host=$(hostname)
port=$((20000 + SLURM_JOB_ID % 20000))

dask scheduler --protocol "$protocol" --host "$host" --port "$port" --no-dashboard --dashboard-address 127.0.0.1:0 &
scheduler=$!
trap 'kill "$scheduler" 2>/dev/null || true' EXIT
# shellcheck disable=SC2016
srun --ntasks-per-node=1 bash -c 'export NUMBA_CACHE_DIR=${NUMBA_CACHE_DIR:-$(cache)}
    exec dask worker "$@" --local-directory "$(mktemp -d)"' worker \
    "$protocol://$host:$port" --nworkers "$SLURM_CPUS_PER_TASK" --nthreads 1 --no-dashboard \
    --dashboard-address 127.0.0.1:0 --death-timeout 120 &

NUMBA_CACHE_DIR=${NUMBA_CACHE_DIR:-$(cache)} \
    olscale evaluate "$experiment" --store "$store" --scheduler "$protocol://$host:$port"
olscale results "$store"
