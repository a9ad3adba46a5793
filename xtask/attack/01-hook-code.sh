# Point 1: Code that a trusted hook loads. The agent must not bring code into a trusted hook.

_python_hook() {
    mkdir -p .vertebra/hooks
    printf 'import json, sys\njson.load(sys.stdin)\n' > .vertebra/hooks/check.py
    guard '["python3", ".vertebra/hooks/check.py"]'
    trusted
}

# A json.py beside a Python hook
python_module_beside() {
    _python_hook
    agent "echo 'open(\"$MARK\", \"w\")' > .vertebra/hooks/json.py"
    hook_runs 'python3 .vertebra/hooks/check.py'
    broken_if_marked
}

# A package json/ beside a Python hook
python_package_beside() {
    _python_hook
    agent "mkdir .vertebra/hooks/json; echo 'open(\"$MARK\", \"w\")' > .vertebra/hooks/json/__init__.py"
    hook_runs 'python3 .vertebra/hooks/check.py'
    broken_if_marked
}

# A json.py beside a Python hook, written by the file tool
python_module_by_file_tool() {
    _python_hook
    call write_file "{\"path\": \".vertebra/hooks/json.py\", \"content\": $(json "open('$MARK', 'w')")}" \
        "echo \"open('$MARK', 'w')\" > .vertebra/hooks/json.py"
    hook_runs 'python3 .vertebra/hooks/check.py'
    broken_if_marked
}

# A json.py beside a Python hook that lies in a folder of its own
python_module_in_own_folder() {
    mkdir -p tools/hooks
    printf 'import json, sys\njson.load(sys.stdin)\n' > tools/hooks/check.py
    guard '["python3", "tools/hooks/check.py"]'
    trusted
    agent "echo 'open(\"$MARK\", \"w\")' > tools/hooks/json.py"
    hook_runs 'python3 tools/hooks/check.py'
    broken_if_marked
}

# A json.py in the working folder, for a Python hook started with -m
python_module_option() {
    mkdir -p .vertebra/hooks
    guard '["python3", "-m", "json.tool"]'
    is_control || vertebra trust --yes > /dev/null 2>&1
    agent "mkdir json; echo 'open(\"$MARK\", \"w\")' > json/__init__.py; echo > json/tool.py"
    hook_runs 'python3 -m json.tool'
    broken_if_marked
}

# A sitecustomize in the user's own site folder
python_user_site() {
    _python_hook
    site=$(python3 -c 'import site; print(site.getusersitepackages())')
    agent "mkdir -p $site; echo 'open(\"$MARK\", \"w\")' > $site/usercustomize.py"
    hook_runs 'python3 .vertebra/hooks/check.py'
    broken_if_marked
}

# Compiled code beside a helper module of a Python hook
python_cached_bytecode() {
    mkdir -p .vertebra/hooks
    printf 'VALUE = 1\n' > .vertebra/hooks/helper.py
    printf 'import helper, sys\nsys.stdin.read()\n' > .vertebra/hooks/check.py
    guard '["python3", ".vertebra/hooks/check.py"]'
    trusted
    agent "cd .vertebra/hooks && printf 'open(\"$MARK\", \"w\")\n' > /tmp/evil-$$.py && touch -r helper.py /tmp/evil-$$.py && python3 -c 'import py_compile; py_compile.compile(\"/tmp/evil-$$.py\", cfile=\"__pycache__/helper.cpython-\" + \"%d%d\" % __import__(\"sys\").version_info[:2] + \".pyc\", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)'; rm -f /tmp/evil-$$.py"
    hook_runs 'python3 .vertebra/hooks/check.py'
    broken_if_marked
}

# A helper script that a shell hook sources
shell_source() {
    mkdir -p .vertebra/hooks
    printf '#!/bin/sh\ncat > /dev/null\n. "$(dirname "$0")/lib.sh"\n' > .vertebra/hooks/check.sh
    echo : > .vertebra/hooks/lib.sh
    chmod +x .vertebra/hooks/check.sh
    guard '[".vertebra/hooks/check.sh"]'
    trusted
    agent "echo 'touch $MARK' > .vertebra/hooks/lib.sh"
    hook_runs .vertebra/hooks/check.sh
    broken_if_marked
}

# A module in node_modules beside a Node hook
node_module() {
    lacks node && return
    mkdir -p .vertebra/hooks/node_modules/left
    echo 'module.exports = 1' > .vertebra/hooks/node_modules/left/index.js
    printf 'require("left"); process.stdin.resume()\n' > .vertebra/hooks/check.js
    guard '["node", ".vertebra/hooks/check.js"]'
    trusted
    agent "echo 'require(\"fs\").writeFileSync(\"$MARK\", \"\")' > .vertebra/hooks/node_modules/left/index.js"
    hook_runs 'node .vertebra/hooks/check.js'
    broken_if_marked
}

# A module in node_modules of the project, above a Node hook's folder
node_module_above() {
    lacks node && return
    mkdir -p .vertebra/hooks
    printf 'try { require("left") } catch {}\nprocess.stdin.resume()\n' > .vertebra/hooks/check.js
    guard '["node", ".vertebra/hooks/check.js"]'
    trusted
    agent "mkdir -p node_modules/left; echo 'require(\"fs\").writeFileSync(\"$MARK\", \"\")' > node_modules/left/index.js"
    hook_runs 'node .vertebra/hooks/check.js'
    broken_if_marked
}

# A Perl module in the working folder, through PERL5LIB=. of the person
perl_module() {
    lacks perl && return
    mkdir -p .vertebra/hooks
    printf 'use JSON::PP; undef $/; <STDIN>;\n' > .vertebra/hooks/check.pl
    guard '["perl", ".vertebra/hooks/check.pl"]'
    trusted
    export PERL5LIB=.
    agent "mkdir JSON; printf 'package JSON::PP; open(my \$f, \">\", \"$MARK\"); 1;' > JSON/PP.pm"
    hook_runs 'perl .vertebra/hooks/check.pl'
    broken_if_marked
}

# A program of the project that a hook finds by its name, because PATH holds the working folder
path_lookup() {
    mkdir -p .vertebra/hooks
    printf '#!/bin/sh\ncat > /dev/null\nfrobnicate\nexit 0\n' > .vertebra/hooks/check.sh
    chmod +x .vertebra/hooks/check.sh
    guard '[".vertebra/hooks/check.sh"]'
    trusted
    export PATH=.:$PATH
    agent "printf '#!/bin/sh\ntouch $MARK\n' > frobnicate; chmod +x frobnicate"
    hook_runs .vertebra/hooks/check.sh
    broken_if_marked
}

# The folder of a trusted hook is moved away and made anew
hook_folder_replaced() {
    _python_hook
    agent "mv .vertebra v2; mkdir -p .vertebra/hooks; echo 'open(\"$MARK\", \"w\")' > .vertebra/hooks/check.py"
    hook_runs 'python3 .vertebra/hooks/check.py'
    broken_if_marked
}

# A hook that runs make, trusted without consent to whatever make loads
make_without_consent() {
    no_control && return
    mkdir -p ci; printf 'check:\n\t@true\n' > ci/Makefile
    guard '["make", "-C", "ci", "check"]'
    broken_if vertebra trust --yes
}

# A hook in a script among work files is trusted
script_among_work_files() {
    no_control && return
    printf '#!/bin/sh\ncat > /dev/null\n' > check.sh; chmod +x check.sh; echo x > main.py
    guard '["./check.sh"]'
    broken_if vertebra trust --yes
}

# The first line of a hook sets PYTHONPATH
python_path_in_first_line() {
    mkdir -p .vertebra/hooks; printf '#!/usr/bin/env -S PYTHONPATH=. python3\nimport helper\n' > .vertebra/hooks/check; chmod +x .vertebra/hooks/check
    guard '".vertebra/hooks/check"'
    is_control || vertebra trust --yes > /dev/null 2>&1
    agent "echo 'open(\"$MARK\", \"w\")' > helper.py"
    hook_runs .vertebra/hooks/check
    broken_if_marked
}

# The first line of a Perl hook names a folder of modules
perl_folder_in_first_line() {
    lacks perl && return
    mkdir -p .vertebra/hooks; printf '#!/usr/bin/perl -I.\nuse Helper;\n' > .vertebra/hooks/check.pl
    guard '["perl", ".vertebra/hooks/check.pl"]'
    is_control || vertebra trust --yes > /dev/null 2>&1
    agent "echo 'open(F, q{>}, q{$MARK}); 1;' > Helper.pm"
    hook_runs 'perl .vertebra/hooks/check.pl'
    broken_if_marked
}

# A shell hook sets PYTHONPATH for a script beside it
python_path_in_script() {
    mkdir -p .vertebra/hooks; printf 'export PYTHONPATH=.\npython3 "$(dirname "$0")/x.py"\n' > .vertebra/hooks/check.sh
    echo 'import helper' > .vertebra/hooks/x.py
    guard '["sh", ".vertebra/hooks/check.sh"]'
    is_control || vertebra trust --yes > /dev/null 2>&1
    agent "echo 'open(\"$MARK\", \"w\")' > helper.py"
    hook_runs 'sh .vertebra/hooks/check.sh'
    broken_if_marked
}

# A shell hook reads the commands that it runs
commands_that_are_read() {
    mkdir -p .vertebra/hooks; printf 'eval "$(cat rules.txt)"; sh < rules.txt; cat rules.txt | sh\n' > .vertebra/hooks/check.sh
    guard '["sh", ".vertebra/hooks/check.sh"]'
    is_control || vertebra trust --yes > /dev/null 2>&1
    agent "echo 'touch $MARK' > rules.txt"
    hook_runs 'sh .vertebra/hooks/check.sh'
    broken_if_marked
}

# A shell hook looks for programs in the project
path_in_script() {
    mkdir -p .vertebra/hooks; printf 'PATH=.:$PATH\ncheck-it\n' > .vertebra/hooks/check.sh
    guard '["sh", ".vertebra/hooks/check.sh"]'
    is_control || vertebra trust --yes > /dev/null 2>&1
    agent "printf '#!/bin/sh\ntouch $MARK\n' > check-it; chmod +x check-it"
    hook_runs 'sh .vertebra/hooks/check.sh'
    broken_if_marked
}
