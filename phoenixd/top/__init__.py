"""`phoenixctl top`: the list of all agents, live. A functional core (model, view, keys, press) below a thin shell."""
