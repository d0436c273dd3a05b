"""A whole fleet in virtual time: the real runtime and core over a host that exists only here, under seeded storms."""
