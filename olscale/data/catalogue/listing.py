"""What lies in a directory of datasets."""

from olscale.data.dataset import Dataset, open_dataset
from olscale.data.ingest.sources import natural_key
from olscale.data.manifest import MANIFEST, MARKER
from olscale.errors import DatasetError
from olscale.storage.open import open_storage


def datasets_under(root: str) -> list[tuple[str, Dataset | str]]:
    """Return name and dataset of every dataset directly under `root`, in natural order.

    A dataset that does not open is represented by a word: ``"unfinished"`` or ``"broken"``.

    Raises
    ------
    DatasetError
        When there is no directory `root`.
    """
    directory = open_storage(root)
    if not directory.exists():
        raise DatasetError(f"there is no directory {root}")
    datasets: list[tuple[str, Dataset | str]] = []
    for name in sorted(directory.entries(), key=natural_key):
        path = f"{directory.path}/{name}"
        if directory.exists(f"{name}/{MANIFEST}"):
            try:
                datasets.append((name, open_dataset(path)))
            except DatasetError:
                datasets.append((name, "broken"))
        elif directory.exists(f"{name}/{MARKER}"):
            datasets.append((name, "unfinished"))
    return datasets
