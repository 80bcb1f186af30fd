"""The id of a document that has none: the same wherever recalld meets its text."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Optional

# Unicode's White_Space, which is not what str.split() takes for it.
_WHITE_SPACE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def content_id(text: str) -> Optional[str]:
    """`sha256:` and the first 32 hexadecimal digits of the SHA-256 of the text in UTF-8, after NFC, with one space for each
    run of white space and none at the ends. None for a text of white space alone, which tells no document from another.
    """
    plain = _WHITE_SPACE.sub(" ", unicodedata.normalize("NFC", text)).strip(" ")
    if not plain:
        return None
    return "sha256:" + hashlib.sha256(_SURROGATE.sub("\ufffd", plain).encode()).hexdigest()[:32]
