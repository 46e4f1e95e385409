"""What cases there are (cases.toml) and which of them a client may lack, with the reason (skips.toml)."""

import fnmatch
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Catalog:
    def __init__(self):
        features = tomllib.loads((HERE / "cases.toml").read_text())
        self._skips = tomllib.loads((HERE / "skips.toml").read_text())
        self._only = {name: cases.pop("only", None) for name, cases in features.items()}
        self.features = {name: list(cases) for name, cases in features.items()}

    def cases(self, client):
        """The full names of the cases that this client should have."""
        return [
            f"{feature}.{name}"
            for feature, names in self.features.items()
            if self._only[feature] in (None, client)
            for name in names
        ]

    def skip_reason(self, client, case):
        """Why this client lacks the case, or nothing if it must have it."""
        for pattern, reason in self._skips.get(client, {}).items():
            if fnmatch.fnmatchcase(case, pattern):
                return reason
        return ""
