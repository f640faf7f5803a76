"""Files, local and remote, behind one interface: `olscale.storage.base.Storage`, got from `open_storage`."""
