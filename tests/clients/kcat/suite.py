"""The functional suite of kcat."""

import kit
import places  # noqa: F401
import records  # noqa: F401

kit.main("kcat")
