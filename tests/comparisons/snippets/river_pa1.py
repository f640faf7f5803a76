import sys

from river import evaluate, linear_model, metrics, stream

libsvm = stream.iter_libsvm(sys.argv[1], target_type=lambda label: float(label) > 0)
rows = ((x | {"bias": 1.0}, y) for x, y in libsvm)
model = linear_model.PAClassifier(C=1.0, mode=1, learn_intercept=False)
accuracy = evaluate.progressive_val_score(rows, model, metrics.Accuracy())
print(f"error {100 - 100 * accuracy.get():.2f} %")
