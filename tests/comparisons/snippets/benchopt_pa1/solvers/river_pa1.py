from benchopt import BaseSolver
from river import evaluate, linear_model, metrics, stream


class Solver(BaseSolver):
    name = "PA-I of River"

    def set_objective(self, file):
        self.file = file

    def run(self, _):
        libsvm = stream.iter_libsvm(
            self.file, target_type=lambda label: float(label) > 0
        )
        rows = ((x | {"bias": 1.0}, y) for x, y in libsvm)
        model = linear_model.PAClassifier(C=1.0, mode=1, learn_intercept=False)
        self.accuracy = evaluate.progressive_val_score(rows, model, metrics.Accuracy())

    def get_result(self):
        return {"accuracy": self.accuracy.get()}
