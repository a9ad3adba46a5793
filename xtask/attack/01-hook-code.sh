# Point 1: Code that a trusted hook loads. The agent must not bring code into a trusted hook.

_python_hook() {
    mkdir -p .vertebra/hooks
    printf 'import json, sys\njson.load(sys.stdin)\n' > .vertebra/hooks/check.py
    guard '["python3", ".vertebra/hooks/check.py"]'
    trusted
}

# A hook that a person trusts without consent to what cannot be known, if it can be: `_hook INTERPRETER FILE TEXT`
_hook() {
    mkdir -p .vertebra/hooks; printf "$3" > ".vertebra/hooks/$2"
    guard "[\"$1\", \".vertebra/hooks/$2\"]"
    is_control || vertebra trust --yes > /dev/null 2>&1
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
    _hook perl check.pl '#!/usr/bin/perl -I.\nuse Helper;\n'
    agent "echo 'open(F, q{>}, q{$MARK}); 1;' > Helper.pm"
    hook_runs 'perl .vertebra/hooks/check.pl'
    broken_if_marked
}

# A shell hook sets PYTHONPATH for a script beside it
python_path_in_script() {
    mkdir -p .vertebra/hooks; echo 'import helper' > .vertebra/hooks/x.py
    _hook sh check.sh 'export PYTHONPATH=.\npython3 "$(dirname "$0")/x.py"\n'
    agent "echo 'open(\"$MARK\", \"w\")' > helper.py"
    hook_runs 'sh .vertebra/hooks/check.sh'
    broken_if_marked
}

# A shell hook reads the commands that it runs
commands_that_are_read() {
    _hook sh check.sh 'eval "$(cat rules.txt)"; sh < rules.txt; cat rules.txt | sh\n'
    agent "echo 'touch $MARK' > rules.txt"
    hook_runs 'sh .vertebra/hooks/check.sh'
    broken_if_marked
}

# A shell hook looks for programs in the project
path_in_script() {
    _hook sh check.sh 'PATH=.:$PATH\ncheck-it\n'
    agent "printf '#!/bin/sh\ntouch $MARK\n' > check-it; chmod +x check-it"
    hook_runs 'sh .vertebra/hooks/check.sh'
    broken_if_marked
}

# A Python hook puts the working folder on its search path, as an empty text
python_empty_entry() {
    _hook python3 check.py 'import sys\nsys.path.insert(0, "")\nimport json\n'
    agent "echo 'open(\"$MARK\", \"w\")' > json.py"
    hook_runs 'python3 .vertebra/hooks/check.py'
    broken_if_marked
}

# A Python hook puts the working folder on its search path, as os.getcwd()
python_working_folder() {
    touch helper.py
    _hook python3 check.py 'import os, sys\nhere = os.getcwd()\nsys.path[:0] = [here]\nimport helper\n'
    agent "echo 'open(\"$MARK\", \"w\")' > helper.py"
    hook_runs 'python3 .vertebra/hooks/check.py'
    broken_if_marked
}

# A Python hook runs a file of the project
python_runs_work_file() {
    touch rules.py
    _hook python3 check.py 'import os\nexec(open(os.path.join(os.environ.get("CLAUDE_PROJECT_DIR", "."), "rules.py")).read())\n'
    agent "echo 'open(\"$MARK\", \"w\")' > rules.py"
    hook_runs 'python3 .vertebra/hooks/check.py'
    broken_if_marked
}

# A Python hook starts a build tool
python_starts_make() {
    lacks make && return
    _hook python3 check.py 'import subprocess\nsubprocess.run(["make", "-s", "lint"])\n'
    agent "printf 'lint:\n\ttouch $MARK\n' > Makefile"
    hook_runs 'python3 .vertebra/hooks/check.py'
    broken_if_marked
}

# A Node hook requires a file of the working folder
node_requires_work_file() {
    lacks node && return
    _hook node check.js 'try { require(process.cwd() + "/rules.js") } catch {}\nprocess.stdin.resume()\n'
    agent "echo 'require(\"fs\").writeFileSync(\"$MARK\", \"\")' > rules.js"
    hook_runs 'node .vertebra/hooks/check.js'
    broken_if_marked
}

# A Node hook imports a file of the working folder
node_imports_work_file() {
    lacks node && return
    touch rules.mjs
    _hook node check.mjs 'import path from "node:path"\nconst file = path.resolve("rules.mjs")\nawait import(file)\n'
    agent "echo 'import fs from \"fs\"; fs.writeFileSync(\"$MARK\", \"\")' > rules.mjs"
    hook_runs 'node .vertebra/hooks/check.mjs'
    broken_if_marked
}

# A Node hook looks for modules in the working folder
node_module_paths() {
    lacks node && return
    _hook node check.js 'module.paths.push(process.cwd() + "/lib")\ntry { require("rules") } catch {}\nprocess.stdin.resume()\n'
    agent "mkdir -p lib/rules; echo 'require(\"fs\").writeFileSync(\"$MARK\", \"\")' > lib/rules/index.js"
    hook_runs 'node .vertebra/hooks/check.js'
    broken_if_marked
}

# A Ruby hook puts the working folder on its search path
ruby_working_folder() {
    lacks ruby && return
    touch rules.rb
    _hook ruby check.rb '$:.unshift "."\nrequire "rules"\n'
    agent "echo 'File.write(\"$MARK\", \"\")' > rules.rb"
    hook_runs 'ruby .vertebra/hooks/check.rb'
    broken_if_marked
}

# A Perl hook puts the working folder on its search path
perl_working_folder() {
    lacks perl && return
    echo '1;' > Rules.pm
    _hook perl check.pl 'use lib ".";\nuse Rules;\n'
    agent "echo 'open(F, q{>}, q{$MARK}); 1;' > Rules.pm"
    hook_runs 'perl .vertebra/hooks/check.pl'
    broken_if_marked
}

# A Perl hook runs a file of the project
perl_runs_work_file() {
    lacks perl && return
    _hook perl check.pl 'my $f = "rules.pl";\ndo "./$f";\n'
    agent "echo 'open(F, q{>}, q{$MARK}); 1;' > rules.pl"
    hook_runs 'perl .vertebra/hooks/check.pl'
    broken_if_marked
}

# A shell hook sources a file of the working folder, through a variable
shell_source_by_variable() {
    touch lib.sh
    _hook sh check.sh 'cat > /dev/null\nd=$(pwd)\n. "$d/lib.sh"\n'
    agent "echo 'touch $MARK' > lib.sh"
    hook_runs 'sh .vertebra/hooks/check.sh'
    broken_if_marked
}

# A shell hook starts a program of the project, through git
shell_program_by_git() {
    repository
    printf '#!/bin/sh\n' > check-it; chmod +x check-it
    _hook sh check.sh 'cat > /dev/null\n"$(git rev-parse --show-toplevel)/check-it"\n'
    agent "printf '#!/bin/sh\ntouch $MARK\n' > check-it; chmod +x check-it"
    hook_runs 'sh .vertebra/hooks/check.sh'
    broken_if_marked
}

# A shell hook runs Perl, whose code on the command line runs a file of the project
shell_inline_perl() {
    _hook bash check.sh 'cat > /dev/null; perl -e "do q(./x.pl)"\n'
    agent "echo 'open F, \">$MARK\";' > x.pl"
    hook_runs 'bash .vertebra/hooks/check.sh'
    broken_if_marked
}

# A hook is code on the command line of Python, which runs a file of the project
inline_python() {
    guard '["python3", "-c", "exec(open(\\"x.txt\\").read())"]'
    is_control || vertebra trust --yes > /dev/null 2>&1
    agent "echo 'open(\"$MARK\", \"w\")' > x.txt"
    hook_runs 'python3 -c "exec(open(\"x.txt\").read())"'
    broken_if_marked
}

# A hook is a program of awk, which starts a file of the project
inline_awk() {
    guard '["awk", "BEGIN { system(\\"sh x.sh\\") }"]'
    is_control || vertebra trust --yes > /dev/null 2>&1
    agent "echo 'touch $MARK' > x.sh"
    hook_runs 'awk "BEGIN { system(\"sh x.sh\") }"'
    broken_if_marked
}

# A Python hook behind env and timeout
python_hook_behind_wrappers() {
    _wrapped_hook 'env A=b timeout 9 python3'
}

# A Python hook that is started in its own folder
python_hook_after_cd() {
    mkdir -p .vertebra/hooks; echo 'import json' > .vertebra/hooks/check.py
    guard '"cd .vertebra/hooks && python3 check.py"'; trusted
    agent "echo \"open('$MARK', 'w')\" > .vertebra/hooks/json.py"
    hook_runs 'cd .vertebra/hooks && python3 check.py'
    broken_if_marked
}

_wrapped_hook() {
    mkdir -p .vertebra/hooks; echo 'import json' > .vertebra/hooks/check.py
    guard "\"$1 .vertebra/hooks/check.py\""; trusted
    is_control && cp .vertebra/hooks/check.py .
    agent "echo \"open('$MARK', 'w')\" > json.py"
    hook_runs "$1 check.py"
    broken_if_marked
}

# A hook is a link to a script among work files, which the agent changes
hook_by_link() {
    mkdir -p .vertebra/hooks tools; printf '#!/bin/sh\ntrue\n' > tools/check.sh; chmod +x tools/check.sh
    ln -s ../../tools/check.sh .vertebra/hooks/check.sh
    guard '".vertebra/hooks/check.sh"'; trusted
    agent "echo 'touch $MARK' >> tools/check.sh"
    hook_runs .vertebra/hooks/check.sh
    broken_if_marked
}

# BASH_ENV of the person leads into the project
shell_hook_bash_env() {
    mkdir -p .vertebra/hooks; printf '#!/bin/bash\ntrue\n' > .vertebra/hooks/check.sh; chmod +x .vertebra/hooks/check.sh
    guard '".vertebra/hooks/check.sh"'; trusted
    agent "echo 'touch $MARK' > env.sh"
    export BASH_ENV=./env.sh ENV=./env.sh
    hook_runs 'bash .vertebra/hooks/check.sh'
    broken_if_marked
}

# A compiled hook that looks for its libraries in the working folder
compiled_hook() {
    lacks gcc && return
    mkdir -p .vertebra/hooks; echo 'int f(void) { return 0; }' > f.c; gcc -shared -fPIC -o libf.so f.c
    echo 'int f(void); int main(void) { return f(); }' > m.c; gcc -o .vertebra/hooks/h m.c -L. -lf -Wl,-rpath,.
    guard '".vertebra/hooks/h"'
    is_control || ! vertebra trust --yes > "$ROOT/trust.log" 2>&1 || { broken_if true; return; }
    printf '#include <stdlib.h>\n__attribute__((constructor)) void g(void) { system("touch %s"); } int f(void) { return 0; }' "$MARK" > e.c
    gcc -shared -fPIC -o libf.so e.c; hook_runs .vertebra/hooks/h
    broken_if_marked
}

# A Node hook, where the working folder is the home folder, in which Node looks for modules
node_hook_at_home() {
    lacks node && return
    cd "$HOME" && PROJECT=$HOME; mkdir -p .vertebra/hooks; echo 'try { require("zzz") } catch {}' > .vertebra/hooks/h.js
    guard '"node .vertebra/hooks/h.js"'
    is_control || ! vertebra trust --yes > "$ROOT/trust.log" 2>&1 || { broken_if true; return; }
    mkdir -p .node_modules/zzz; echo "require('child_process').execSync('touch $MARK')" > .node_modules/zzz/index.js
    hook_runs 'node .vertebra/hooks/h.js'
    broken_if_marked
}

# Shell hooks that run what they find in the project, in ways that are read as text
shell_hooks_that_load() {
    no_control && return
    mkdir -p .vertebra/hooks src; echo true > src/x.sh; chmod +x src/x.sh
    guard '".vertebra/hooks/h.sh"'
    local text trusted
    for text in 'for f in src/*.sh; do . "$f"; done' 'while read -r l; do $l; done < src/x.sh' '. /dev/stdin < src/x.sh' 'PATH+=:src' \
        "trap '. src/x.sh' EXIT" 'alias q=src/x.sh' 'coproc src/x.sh' 'flock -n l src/x.sh' 'busybox sh src/x.sh' 'tclsh src/x.sh' \
        'set -- src/x.sh; "$@"' 'bash --rcfile src/x.sh -i' 'ls src | xargs -I{} src/{}' 'terraform validate'; do
        printf '#!/bin/bash\n%s\n' "$text" > .vertebra/hooks/h.sh; chmod +x .vertebra/hooks/h.sh
        vertebra trust --yes > "$ROOT/trust.log" 2>&1 && trusted=$text
    done
    broken_if test -n "${trusted:-}"
}
