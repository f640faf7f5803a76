olscale ingest "$1" rows
olscale evaluate --dataset rows --learner "$2" --order time --store results
olscale results results
