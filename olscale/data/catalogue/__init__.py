"""The catalogue: public data sets by name, and how they are fetched."""
