#!/bin/sh
# phoenixctl, in front of the interpreter beside it. Starting python without `site` and without a wrapper that imports `re`
# halves what a status costs; the shell itself costs less than a millisecond. phoenixctl imports `site` when it needs it.
me=$0
if [ -h "$me" ]; then
    # A link from where the installers for tools put it: to read one costs a process, and more than all else here. A
    # directory of somebody else's, as HOME may lead to below sudo, may hold the same file beside another python.
    for tools in "${UV_TOOL_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/uv/tools}" \
        "${PIPX_HOME:-$HOME/.local/share/pipx}/venvs" "$HOME/.local/pipx/venvs"; do
        [ -O "$tools/phoenixd/bin" ] && [ "$tools/phoenixd/bin/phoenixctl" -ef "$me" ] || continue
        me=$tools/phoenixd/bin/phoenixctl
        break
    done
fi
while [ -h "$me" ]; do
    link=$(readlink -- "$me")
    case $link in /*) me=$link ;; *) me=${me%/*}/$link ;; esac
done
here=${me%/*}
python=$here/python
[ -x "$python" ] || python=python3
for packages in "$here"/../lib/python3.*/site-packages; do
    [ -e "$packages/phoenixd/ctl/__main__.py" ] || continue
    # A look has no use for what both packages say, nor for the directories in which they would be looked for.
    exec "$python" -S -E -I -c 'import sys
place = sys.argv.pop(1)
sys.path.append(place)
outer, inner = map(type(sys), ("phoenixd", "phoenixd.ctl"))
outer.__path__, inner.__path__ = [place + "/phoenixd"], [place + "/phoenixd/ctl"]
sys.modules.update({"phoenixd": outer, "phoenixd.ctl": inner})
from phoenixd.ctl.__main__ import entry
entry()' "$packages" "$@"
done
exec "$python" -P -m phoenixd.ctl "$@"
