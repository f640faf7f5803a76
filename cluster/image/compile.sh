#!/bin/sh
# Compile the loops of LEARNERS once, on dense and on sparse rows.   Usage: compile.sh LEARNER...
set -eu
folder=$(mktemp -d)
olscale datasets generate rotating-xor "$folder/dense" --rows 400
olscale datasets export "$folder/dense" "$folder/rows.svm"
olscale ingest "$folder/rows.svm" "$folder/sparse"
for learner in "$@"; do set -- "$@" --learner "$learner"; shift; done
for order in time permuted; do
    olscale evaluate --dataset "$folder/dense" --dataset "$folder/sparse" "$@" --transform standardize,bias \
        --order "$order" --store "$folder/$order" --in-process
done
rm -rf "$folder"
