import sys

import numpy as np
from capymoa.classifier import PassiveAggressiveClassifier
from capymoa.evaluation import prequential_evaluation
from capymoa.stream import NumpyStream
from sklearn.datasets import load_svmlight_file

X, y = load_svmlight_file(sys.argv[1])
X = np.hstack([X.toarray(), np.ones((len(y), 1))])
stream = NumpyStream(X, (y > 0).astype(int))
learner = PassiveAggressiveClassifier(stream.get_schema(), fit_intercept=False)
results = prequential_evaluation(stream, learner)
print(f"error {100 - results['cumulative'].accuracy():.2f} %")
