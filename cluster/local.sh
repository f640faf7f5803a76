#!/usr/bin/env bash
# Run a command against a Dask cluster of its own on this machine.
# Usage: cluster/local.sh WORKERS COMMAND...     {} in the command becomes the scheduler's address
# The scheduler listens on 127.0.0.1 only.
#   OLSCALE_TLS  folder of a certificate, made if missing: encrypts all connections, where others listen to the loopback
set -euo pipefail
if [ $# -lt 2 ]; then
    echo "usage: $0 WORKERS COMMAND...   ({} becomes the scheduler's address)" >&2
    exit 2
fi
exec "$(dirname "$0")/ssh.sh" localhost "$@"
