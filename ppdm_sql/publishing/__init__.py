"""Source to perturbed release with its manifest, streaming."""

from ppdm_sql.publishing.keyfile import create_key, load_key
from ppdm_sql.publishing.release import publish

__all__ = ["create_key", "load_key", "publish"]
