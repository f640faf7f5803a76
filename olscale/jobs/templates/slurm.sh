#!/bin/bash
#SBATCH --job-name=olscale-{{ name }}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --time={{ "%d" % (seconds // 60) }}
#SBATCH --requeue
#SBATCH --signal=B:TERM@90
#SBATCH --output={{ home }}.log
#SBATCH --open-mode=append
# Give it to sbatch. Where the site has scrontab, `scrontab -e` with
#   #SCRON --time={{ "%d" % (seconds // 60) }}
#   {{ cron_minute }} {{ cron_hour }} * * * bash THIS-FILE
# repeats it every night; else a line of cron on the login node that calls sbatch.
# bash hears of the end of its time first, and passes it on.
night= asked=
trap 'asked=1; [ -z "$night" ] || kill -TERM "$night"' TERM
{{ command }} &
night=$!
[ -z "$asked" ] || kill -TERM "$night"  # heard before there was anybody to pass it on to
wait "$night"; code=$?
if [ "$code" -gt 128 ]; then wait "$night"; code=$?; fi
# 75: stopped in time, to be continued; a job that was cancelled stops as well, but is no longer running.
state=$(squeue --noheader --job "$SLURM_JOB_ID" --format %T)
if [ "$code" -eq 75 ] && [ "$state" = RUNNING ]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$code"
