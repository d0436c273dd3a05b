#!/bin/sh
# phoenixctl, in front of the interpreter beside it. Starting python without `site` and without a wrapper that imports `re`
# halves what a status costs; the shell itself costs less than a millisecond. phoenixctl imports `site` when it needs it.
me=$0
while [ -h "$me" ]; do
    link=$(readlink -- "$me")
    case $link in /*) me=$link ;; *) me=${me%/*}/$link ;; esac
done
here=${me%/*}
python=$here/python
[ -x "$python" ] || python=python3
for packages in "$here"/../lib/python3.*/site-packages; do
    [ -e "$packages/phoenixd/ctl/__main__.py" ] || continue
    # First in the path only for phoenixd itself, which then is not looked for in three other directories.
    exec "$python" -S -E -I -c 'import sys
sys.path.insert(0, sys.argv.pop(1))
from phoenixd.ctl.__main__ import entry
sys.path.append(sys.path.pop(0))
entry()' "$packages" "$@"
done
exec "$python" -m phoenixd.ctl "$@"
