"""Reads exported runs with published packages: `python read_exports.py FOLDER…`. Prints what they found as JSON."""

import json
import sys
from pathlib import Path

import pandas
import pyarrow.dataset


def rows(table):
    return table.astype(object).where(table.notna(), None).to_dict("records")


folders = [Path(folder) for folder in sys.argv[1:]]
first = folders[0]
readers = {"csv": pandas.read_csv, "parquet": pandas.read_parquet}
together = pyarrow.dataset.dataset([str(folder / "trajectories.parquet") for folder in folders]).to_table()
found = {
    "steps": {form: rows(read(first / f"steps.{form}")) for form, read in readers.items()},
    "splits": together["split"].to_pylist(),
    "types": {name: str(together.schema.field(name).type) for name in together.column_names},
}
print(json.dumps(found))
