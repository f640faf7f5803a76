import sys

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier

at_once = int(sys.argv[2])  # rows that are predicted, then learned
X, y = load_svmlight_file(sys.argv[1])
X = csr_array(hstack([X, np.ones((len(y), 1))]))
model = SGDClassifier(
    loss="hinge",
    penalty=None,
    learning_rate="pa1",
    eta0=1.0,
    shuffle=False,
    fit_intercept=False,
)
mistakes = 0
for start in range(0, len(y), at_once):
    rows, labels = X[start : start + at_once], y[start : start + at_once]
    predicted = model.predict(rows) if start else np.full(len(labels), -1)
    mistakes += (predicted != labels).sum()
    model.partial_fit(rows, labels, classes=[-1, 1])
print(f"error {100 * mistakes / len(y):.2f} %")
