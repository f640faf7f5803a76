import sys

from capymoa import classifier
from capymoa.evaluation import prequential_evaluation
from capymoa.stream import stream_from_file

stream = stream_from_file(sys.argv[1])
schema = stream.get_schema()
if sys.argv[2] == "knn":
    learner = classifier.KNN(schema, k=5, window_size=1000)
else:
    learner = classifier.NaiveBayes(schema)
results = prequential_evaluation(stream, learner)
print(f"error {100 - results['cumulative'].accuracy():.2f} %")
