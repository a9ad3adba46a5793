//! Which scripts are reported, and which are not.

use super::*;

fn found(name: &str, text: &str) -> Vec<String> {
    reported(Path::new("/p/.vertebra/hooks"), Path::new(name), text.as_bytes(), Path::new("/p"))
}

#[test]
fn a_script_that_loads_from_the_project_is_reported() {
    for (name, text) in [
        ("c.py", "#!/usr/bin/env -S PYTHONPATH=. python3\nimport x\n"),
        ("c.py", "#!/usr/bin/env -SPYTHONPATH=. python3\nimport x\n"),
        ("c.pl", "#!/usr/bin/perl -I.\nuse X;\n"),
        ("c.pl", "#!/usr/bin/perl -wI.\nuse X;\n"),
        ("c.rb", "#!/usr/bin/env -S ruby -rfoo -I.\n1\n"),
        ("c.js", "#!/usr/bin/env -S node --require=./x.js\n1\n"),
        ("c.js", "#!/usr/bin/env -S NODE_OPTIONS=--require=./x.js node\n1\n"),
        ("c", "#!/usr/bin/guile\n1\n"),
        ("c", "#!/usr/bin/env lua\n1\n"),
        ("c.sh", "PYTHONPATH=. python3 \"$(dirname \"$0\")/x.py\"\n"),
        ("c.sh", "export PYTHONPATH=$X\n"),
        ("c.sh", "PATH=.:$PATH\nchk\n"),
        ("c.sh", "export PATH=\"$PWD/bin:$PATH\"\n"),
        ("c.sh", "eval \"$(cat rules.txt)\"\n"),
        ("c.sh", "perl -e 'do q(./x.pl)'\n"),
        ("c.sh", "python3 -I -c 'exec(open(\"x.txt\").read())'\n"),
        ("c.sh", "ruby -e 'load \"./x.rb\"'\n"),
        ("c.sh", "awk 'BEGIN { system(\"sh x.sh\") }'\n"),
        ("c.sh", "awk -f x.awk\n"),
        ("c.sh", "sed -n '1e sh x.sh'\n"),
        ("c.sh", "eval './rules.sh'\n"),
        ("c.sh", "sh < rules.sh\n"),
        ("c.sh", "cat rules.sh | sh\n"),
        ("c.sh", "sh -c ./rules.sh\n"),
        ("c.sh", "bash -ec \"$x\"\n"),
        ("c.sh", "find tools -name '*.sh' -exec {} \\;\n"),
        ("c.sh", "find tools -name '*.sh' -exec sh {} \\;\n"),
        ("c.sh", "ls tools/*.sh | xargs -n1 sh\n"),
        ("c.sh", "perl -I. -MFoo -e 1\n"),
        ("c.sh", "node -e 'require(1)'\n"),
        ("c.sh", "d=$(pwd)\n. \"$d/lib.sh\"\n"),
        ("c.sh", "d=.\nsource \"$d/lib.sh\"\n"),
        ("c.sh", "d=$PWD; python3 \"$d/x.py\"\n"),
        ("c.sh", ". \"$(git rev-parse --show-toplevel)/lib.sh\"\n"),
        ("c.sh", "$(git rev-parse --show-toplevel)/check.sh\n"),
        ("c.sh", "tool=./check.sh\n\"$tool\"\n"),
        ("c.sh", "for f in *.sh; do . \"./$f\"; done\n"),
        ("c.sh", "for f in tools/*.sh; do . \"$f\"; done\n"),
        ("c.sh", "for f in tools/*; do\n\"$f\" now\ndone\n"),
        ("c.sh", "while read -r l; do $l; done < rules\n"),
        ("c.sh", "mapfile -t a < rules\n\"${a[@]}\"\n"),
        ("c.sh", "set -- tools/x.sh\n\"$@\"\n"),
        ("c.sh", ". /dev/stdin < rules\n"),
        ("c.sh", "PATH+=:tools\n"),
        ("c.sh", "trap '. ./rules.sh' EXIT\n"),
        ("c.sh", "alias q=./rules.sh\n"),
        ("c.sh", "coproc ./rules.sh\n"),
        ("c.sh", "busybox sh rules.sh\n"),
        ("c.sh", "flock -n lock ./rules.sh\n"),
        ("c.sh", "ls tools | xargs -I{} tools/{}\n"),
        ("c.sh", "parallel < rules\n"),
        ("c.sh", "bash --rcfile rules.sh -i\n"),
        ("c.sh", "tclsh ./rules.tcl\n"),
        ("c.sh", "terraform validate\n"),
        ("c", "\u{7f}ELF\n"),
        (". lib", "#!/bin/sh\n. lib.sh\n"),
    ] {
        assert!(!found(name, text).is_empty(), "{text}");
    }
}

#[test]
fn an_ordinary_script_is_not_reported() {
    for (name, text) in [
        ("c.py", "#!/usr/bin/env python3\nimport json\n"),
        ("c.pl", "#!/usr/bin/perl -w\nuse strict;\n"),
        ("c.pl", "#!/usr/bin/perl -MIO::File\n1;\n"),
        ("c.rb", "#!/usr/bin/env -S ruby -rjson\n1\n"),
        ("c.js", "#!/usr/bin/env node\n1\n"),
        ("c.sh", "#!/bin/bash\nset -eu\ndir=$(dirname \"$0\")\n. \"$dir/lib.sh\"\npython3 \"$dir/x.py\"\n"),
        ("c.sh", "PATH=/usr/bin:/bin:$PATH\nexport PATH\njq -r .tool | grep -q x\n"),
        ("c.sh", "command=$(jq -r .args.command)\ncase $command in *rm*) exit 2 ;; esac\n"),
        ("c.sh", "find . -name '*.rs' -exec grep -l x {} +\necho a | xargs -n1 echo\n"),
        ("c.sh", "sh -c 'echo x'\nbash --version\ndir=${0%/*}\nbash \"$dir/x.sh\"\n"),
        (
            "c.sh",
            "DIR=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"\nLIB=\"$DIR/lib\"\nsource \"$LIB/a.sh\"\n\"$DIR/x.sh\"\n",
        ),
        ("c.sh", ". /etc/profile\n. \"$HOME/.profile\"\ntmp=$(mktemp)\n\"$@\"\ngrep -q x \"$file\"\n"),
        ("c.awk", "#!/usr/bin/awk -f\n{ print }\n"),
        ("c.sh", "trap 'rm -f \"$tmp\"' EXIT\ntrap - EXIT\nalias ll='ls -l'\n"),
        ("c.sh", "while read -r name; do echo \"$name\"; done\nfor f in a b; do echo $f; done\n"),
        ("c.sh", "exec 9> /tmp/lock\nflock 9\nflock -n /tmp/l grep -q x y\ngh api repos/x/y\n"),
    ] {
        assert_eq!(found(name, text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_long_script_is_read_to_its_end() {
    let long = "echo a\n".repeat(20_000);
    assert_eq!(found("c.sh", &long), Vec::<String>::new());
    assert!(!found("c.sh", &format!("{long}make x\n")).is_empty());
}
