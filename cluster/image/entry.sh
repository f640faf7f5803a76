#!/bin/sh
# Give this container a copy of the machine code that was compiled into the image: new code is written beside it, and the
# root may be read-only. Then run the command.
set -eu
if [ -z "${NUMBA_CACHE_DIR:-}" ] && [ -d /opt/olscale/machine-code ]; then
    NUMBA_CACHE_DIR=$(mktemp -d)
    export NUMBA_CACHE_DIR
    cp -R /opt/olscale/machine-code/. "$NUMBA_CACHE_DIR"
fi
exec "$@"
