"""A sequence: agents that have their turns one after the other, and are judged together as one iteration (G36, G49).

The first member is an ordinary loop, and everything is kept in its iteration: when its own run is over, each other
member has its turn, if the condition of that turn holds, and then the work is measured. A member runs once for each
turn, whatever its end. What follows is derived from what the awaited agent is now, so nothing of it can get lost.
"""
