"""Derives an id from the text of a document that has none, in the same way as recalld."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Optional

# Unicode's White_Space property, which differs from str.split().
_WHITE_SPACE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def content_id(text: str) -> Optional[str]:
    """Returns `sha256:` and the first 32 hexadecimal digits of the SHA-256 of the UTF-8 text, after NFC normalization, with
    each run of white space replaced by one space and both ends trimmed. Returns None if the text is only white space.
    """
    plain = _WHITE_SPACE.sub(" ", unicodedata.normalize("NFC", text)).strip(" ")
    if not plain:
        return None
    return "sha256:" + hashlib.sha256(_SURROGATE.sub("\ufffd", plain).encode()).hexdigest()[:32]
