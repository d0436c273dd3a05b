"""The control API: one table of operations, served over a unix socket, described by OpenAPI, spoken by phoenixctl."""
