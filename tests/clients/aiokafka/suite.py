"""The functional suite of aiokafka."""

import groups  # noqa: F401
import harness
import places  # noqa: F401
import records  # noqa: F401
import settings  # noqa: F401
import timestamps  # noqa: F401
import topics  # noqa: F401

harness.main("aiokafka")
