import os

from benchopt import BaseDataset


class Dataset(BaseDataset):
    name = "a9a"

    def get_data(self):
        return {"file": os.environ["ROWS"]}
