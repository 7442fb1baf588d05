"""Digests of bytes, for keys of caches.

From the module where ``hashlib`` has them from: ``hashlib`` itself loads OpenSSL, which takes a
tenth of the time to a first result whose kernels are on disk.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # a Python that keeps it elsewhere
    from hashlib import blake2b


def digest(content: bytes) -> str:
    """256 bits that tell this content from others, as text."""
    return blake2b(content, digest_size=32).hexdigest()
