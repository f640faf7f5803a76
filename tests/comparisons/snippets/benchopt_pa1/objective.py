from benchopt import BaseObjective


class Objective(BaseObjective):
    name = "Prequential error"
    sampling_strategy = "run_once"

    def set_data(self, file):
        self.file = file

    def get_objective(self):
        return {"file": self.file}

    def evaluate_result(self, accuracy):
        return {"value": 100 - 100 * accuracy}

    def get_one_result(self):
        return {"accuracy": 0.0}
