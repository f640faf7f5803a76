"""The final models that a metrics store keeps, where ``[protocol] keep_model`` asks for them: ``STORE/models/<run id>.olm``.

A model is written before the record of its run, which is the commit: a run that is done under that option has its model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from olscale.errors import StoreError
from olscale.results.single import why
from olscale.results.store_files import StoreFiles

if TYPE_CHECKING:
    from olscale.models.final_model import FinalModel

FOLDER, SUFFIX = "models", ".olm"


def kept_name(id: str) -> str:
    """Return the file of the model of a run, below the store."""
    return f"{FOLDER}/{id}{SUFFIX}"


def kept_ids(store: StoreFiles) -> set[str]:
    """Return the ids of the runs whose models the store keeps."""
    names = (name.rpartition("/")[2] for name in store.names(FOLDER))
    return {name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)}


def keep_model(store: StoreFiles, id: str, model: FinalModel) -> None:
    """Write the model of a run to the store, whole or not at all.

    Raises
    ------
    StoreError
        If the store cannot be written to.
    """
    from olscale.models.file import write_model

    try:
        with store.files.writing(kept_name(id)) as file:
            write_model(model, file)
    except OSError as fault:
        raise StoreError(
            f"cannot write {kept_name(id)} to the metrics store {store.path}: {why(fault)}; check its permissions and free "
            "space, or name another store"
        ) from fault
