"""Releases as they are stored: files and tables, their manifests, seals and signatures, whether their rows agree."""
