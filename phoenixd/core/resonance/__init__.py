"""Whether an agent still has the front of its context: what was planted there, when it is asked for, what a loss means.

`state.py` is what is known of it; `checks.py`, `codes.py` and `orders.py` hear events, by `noting.py`. `due.py` says
what a turn's end is to bring, `verdict.py` judges an answer, `exchange.py` keeps a check apart from the work,
`restoring.py` brings a lost agent back, and `moves.py` moves both on with each event.
"""
