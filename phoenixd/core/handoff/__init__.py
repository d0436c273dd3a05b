"""The handoff: a seat passes from one generation to the next, and nothing of its project is lost or done twice."""
