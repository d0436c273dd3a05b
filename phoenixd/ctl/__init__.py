"""phoenixctl: what people type. The way to `status` imports next to nothing; all else is imported when it is needed."""
