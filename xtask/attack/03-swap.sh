# Point 3: Look, then start. What is started is what was hashed.

_swapping() {
    good=$1 evil=$2 target=$3
    while :; do cp "$evil" "$target.new" && mv -f "$target.new" "$target"; cp "$good" "$target.new" && mv -f "$target.new" "$target"; done 2> /dev/null &
    swapper=$!
}

# A trusted script is swapped while its hook starts, forty times
swapped_script() {
    mkdir -p .vertebra/hooks
    printf '#!/bin/sh\ncat > /dev/null\n' > .vertebra/hooks/check.sh
    chmod +x .vertebra/hooks/check.sh
    guard '[".vertebra/hooks/check.sh"]'
    trusted
    cp .vertebra/hooks/check.sh "$ROOT/good"
    printf '#!/bin/sh\ntouch %s\n' "$MARK" > "$ROOT/evil"; chmod +x "$ROOT/evil"
    # Whoever swaps is outside of the sandbox here: another agent, an editor, a build.
    _swapping "$ROOT/good" "$ROOT/evil" "$PROJECT/.vertebra/hooks/check.sh"
    for _ in $(seq 40); do
        if is_control; then echo '{}' | .vertebra/hooks/check.sh > /dev/null 2>&1; else verdict 'touch x' > /dev/null; fi
    done
    kill $swapper; wait $swapper 2> /dev/null
    broken_if_marked
}

# A helper module is swapped while a Python hook starts, twenty times
swapped_module() {
    mkdir -p .vertebra/hooks
    printf 'import helper, sys\nsys.stdin.read()\n' > .vertebra/hooks/check.py
    echo 'VALUE = 1' > .vertebra/hooks/helper.py
    guard '["python3", ".vertebra/hooks/check.py"]'
    trusted
    cp .vertebra/hooks/helper.py "$ROOT/good"
    printf 'open("%s", "w")\n' "$MARK" > "$ROOT/evil"
    _swapping "$ROOT/good" "$ROOT/evil" "$PROJECT/.vertebra/hooks/helper.py"
    for _ in $(seq 20); do
        if is_control; then echo '{}' | python3 -B .vertebra/hooks/check.py > /dev/null 2>&1; else verdict 'touch x' > /dev/null; fi
    done
    kill $swapper; wait $swapper 2> /dev/null
    broken_if_marked
}
