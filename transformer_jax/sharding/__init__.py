"""Devices, meshes and what lies where on them."""
