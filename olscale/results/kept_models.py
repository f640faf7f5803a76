"""The final models that a store keeps, where ``[protocol] keep_model`` asks for them: ``STORE/models/<run id>.olm``.

A model is written before the record of its run, which is the commit: a run that is done under that
option has its model.
"""

from collections.abc import Collection

from olscale.results.store_files import StoreFiles

_FOLDER, _SUFFIX = "models", ".olm"


def kept_name(id: str) -> str:
    """Return the file of the model of a run, below the store."""
    return f"{_FOLDER}/{id}{_SUFFIX}"


def kept_ids(store: StoreFiles) -> set[str]:
    """Return the ids of the runs whose models the store keeps."""
    names = (name.rpartition("/")[2] for name in store.names(_FOLDER))
    return {name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)}


def forget_models(store: StoreFiles, ids: Collection[str]) -> None:
    """Remove the models of runs."""
    store.discard(kept_name(id) for id in kept_ids(store) & set(ids))
