"""One agent's lifecycle: an event in, a decision out.

                    start                exec (command) / first hook
    stopped ----> backing_off ----> starting ----------------------> running
       ^              ^   released by the fleet                        |
       |              |                                                | stop, hung, overtime, shim lost
       |              |            tree known gone                     v
       +--------------+------------------------------------------- stopping (terminate -> kill -> fence)
       |
    quarantined: restart intensity exceeded; only an operator's start leaves it

Every start passes through `backing_off`, where the fleet releases it (`begin`). Every end of a run passes through
`ended`, which is reached only when the old tree is known gone: unknown is not gone.
"""
