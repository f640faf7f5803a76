import sys

import olscale

file, learner = sys.argv[1:]
olscale.ingest(file, "rows")
experiment = olscale.Experiment(
    transforms=["bias"],
    protocol={"order": "time"},
    datasets=[{"path": "rows"}],
    learners=[{"name": learner}],
)
done = olscale.evaluate(experiment, "results", in_process=True)
print(done.results())
