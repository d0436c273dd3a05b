"""The whole daemon from outside: real tmux, real processes, kill -9 where it hurts, phoenixctl for every question."""
