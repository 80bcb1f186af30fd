"""Tests that need only the standard library: python3 -m unittest discover -t . -s tests"""

import logging

# Hides warnings of the client; tests of warnings attach their own handler.
logging.getLogger("recalld").addHandler(logging.NullHandler())
logging.getLogger("recalld").propagate = False
