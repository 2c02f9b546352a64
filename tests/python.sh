#!/bin/bash
# The Python package: by one process, by several with mpi4py, and as it is installed. Skipped without NumPy; the part of
# several processes is left out, with a word, where mpi4py uses another MPI than the library.
set -euo pipefail
for python in "${PYTHON:-}" /usr/bin/python3 python3 ''; do
    [ -z "$python" ] || ! "$python" -c 'import numpy' 2>/dev/null || break
done
[ -n "$python" ] || { echo "no python3 here has NumPy ('make setup DEV=1' installs it)" && exit 77; }
case $CFLAGS in *-fsanitize*) echo 'python3 cannot load an instrumented library' && exit 77 ;; esac

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export SLUICE_LIBRARY=$SLUICE_BUILD/lib/libsluice.so PYTHONPATH=$SLUICE_SRC/python PYTHONDONTWRITEBYTECODE=1
"$python" -W error "$SLUICE_SRC/tests/python/local.py"
(mkdir page && cd page && "$python" -W error "$SLUICE_SRC/tests/python/page.py" "$SLUICE_SRC/docs/PYTHON.md")

echo '-- where the library is looked for'
said=$(SLUICE_LIBRARY=/nowhere/libsluice.so "$python" -c 'import sluice' 2>&1 || :)
[[ $said == *'libsluice was not found'*'/nowhere/libsluice.so'* ]] || { echo "$said" && exit 1; }
cmake --install "$SLUICE_BUILD" --prefix "$folder/prefix" >log
package=$(dirname "$(dirname "$(find "$folder/prefix" -path '*/sluice/__init__.py')")")
unset SLUICE_LIBRARY
PYTHONPATH=$package "$python" -c 'import sluice; print(sluice.library(), sluice.__version__)' | tee found
grep -q "^$folder/prefix/" found

echo '-- pip'
if "$python" -c 'import pip, setuptools, wheel' 2>/dev/null; then
    cp -r "$SLUICE_SRC/python" "$SLUICE_SRC/include" .
    "$python" -m pip install -q --no-index --no-build-isolation --no-deps --root-user-action=ignore \
        --disable-pip-version-check --target "$folder/pip" ./python
    SLUICE_LIBRARY=$SLUICE_BUILD/lib/libsluice.so PYTHONPATH=$folder/pip "$python" -c \
        'import sluice; assert sluice.__file__.startswith("'"$folder"'/pip"), sluice.__file__'
    [ "$(ls pip | grep -c "^sluice-$(cut -d' ' -f2 found).dist-info$")" = 1 ]
else
    echo 'left out: pip, setuptools or wheel is missing'
fi

echo '-- several processes'
export SLUICE_LIBRARY=$SLUICE_BUILD/lib/libsluice.so
status=0
"$python" "$SLUICE_SRC/tests/python/same_mpi.py" || status=$?
if [ $status = 0 ]; then
    for n in 1 2 3; do
        # shellcheck disable=SC2086 # several words
        $MPIEXEC -n $n "$python" -W error "$SLUICE_SRC/tests/python/together.py"
    done
    # shellcheck disable=SC2086
    $MPIEXEC -n 2 "$python" -W error "$SLUICE_SRC/tests/python/page.py" "$SLUICE_SRC/docs/PYTHON.md" together
elif [ $status != 77 ]; then
    exit 1
fi
