"""Files, local and remote, behind one interface, `olscale.storage.base.Storage`.

`open_storage` returns one.
"""
