//! Long lists of commands that run without a question, and of such that must not.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::{super::Ground, does_more, only_reads};

fn ground() -> Ground {
    Ground::new("/home/me/project", "/home/me")
}

/// Commands that only read.
const FREE: &[&str] = &[
    "ls -la src && git status | head -3",
    "cd src; pwd 2>&1",
    "git log --oneline --format=%h -n 5",
    "grep -rn 'fn main' . 2>/dev/null | wc -l",
    "cat 'a b.txt' || true",
    "cat /home/me/project/src/main.rs src/lib.rs",
    "find . -name '*.rs' -not -path './target/*' | sort",
    "find . \\( -name a -o -name b \\) -type f -print0",
    "rg -n 'Store::default()' src || grep -rn 'Store::default()' src",
    "grep 'a()' src",
    "grep -rn \"a{2,3}\" --include='*.py' . | sort | uniq -c | sort -rn | head -20",
    "for f in *; do cat \"$f\"; done",
    "for f in src/*.rs; do echo \"== $f\"; head -5 \"$f\"; done",
    "for d in a b c; do ls $d; done",
    "git stash list && git clean -n && git clean -nd && git clean --dry-run -dx src",
    "git -C . log",
    "git --no-pager diff --stat main..HEAD -- src",
    "git show HEAD~2:src/lib.rs | sed -n '1,40p'",
    "git branch -a && git tag -l 'v*' && git remote -v",
    "git ls-files | xargs wc -l",
    "find . -name '*.py' | xargs grep -n foo",
    "wc -l $(git ls-files)",
    "jq '.scripts | keys' package.json",
    "jq -r .name package.json",
    "sed -n '10,20p' src/main.rs",
    "sed -n -e '/fn/p' a | head",
    "awk '{print}' a",
    "awk -F: '{print $1}' a | sort -u",
    "awk '$3 > 100 {print $1}' a",
    "cd src && grep x a | sort",
    "cd src && git log -3",
    "ls; pwd; date; whoami",
    "date +%Y-%m-%d",
    "if [ -f Cargo.toml ]; then cat Cargo.toml; else echo none; fi",
    "[ -d src ] && ls src",
    "[[ -f a && -f b ]] && echo both",
    "x=src; ls $x; ls \"$x/sub\"",
    "n=$(wc -l < a); echo \"lines: $n\"",
    "echo $(git rev-parse HEAD)",
    "for i in $(seq 1 3); do echo $i; done",
    "echo \"$(cat a)\"",
    "x=$(cat a); echo \"$x\"; y=$x; echo \"$y\"",
    "n=$(wc -l < a); echo $n",
    "echo `date`",
    "find . -type f | while read -r f; do wc -l \"$f\"; done",
    "tail -n +10 a | head -5",
    "cut -d, -f1 a.csv | tr a-z A-Z",
    "diff -u a b",
    "stat -c %s a; file a; du -sh .; df -h .",
    "ls *.rs src/*",
    "command -v node; which python3",
    "seq 1 5; sleep 1",
    "timeout 5 grep -rn x src",
    "LC_ALL=C sort a",
    "set -e; ls",
    "! grep -q x a",
    "(cd src && ls)",
    "{ ls; pwd; }",
    "tree -L 2 -I node_modules",
    "cat a # a comment",
    "grep x <<< \"$HOME\"",
    "cat < a",
    "ls \\\n  -la",
    "ls a &> /dev/null",
    "printf '%s\\n' a b",
    "python3 --version; node -v",
    "echo $((1 + 2))",
    "grep -E 'a|b' f | grep -v c",
];

/// Commands that do more than read files of the folder.
const ASKED: &[&str] = &[
    "",
    "# a comment",
    "cargo test",
    "touch a",
    "cat a > b",
    "cat a >> b",
    "cat a >| b",
    "cat a &> b",
    "cat a 2> b",
    "cat a > /dev/null2",
    "ls > \"$HOME\"",
    "ls >& b",
    "exec 3> b; ls",
    "GIT_EXTERNAL_DIFF=./x git diff",
    "ls;A_B=1 git log",
    "PATH=. ls",
    "PATH=.; ls",
    "export PATH=.; ls",
    "for PATH in .; do ls; done",
    "read PATH; ls",
    "IFS=/; ls",
    "LD_PRELOAD=./x ls",
    "LANG=../../x ls",
    "git diff --output=x",
    "git log --output x",
    "git -c core.pager=x log",
    "git -c alias.x='!id' x",
    "git diff --ext-diff",
    "git log -p --textconv",
    "git diff --no-index /etc/passwd a",
    "git --git-dir=x log",
    "git -C .. log",
    "git --exec-path=. log",
    "git -p log",
    "git grep -O x",
    "git grep --open-files-in-pager=x y",
    "git log --show-signature",
    "git log --format='%G?'",
    "git push",
    "git branch x",
    "git branch -D x",
    "git tag x",
    "git tag -d x",
    "git stash",
    "git stash drop",
    "git clean -d -e -n",
    "git stash pop",
    "git remote add a b",
    "git remote show origin",
    "git reflog expire --all",
    "git reflog delete x",
    "git worktree add x",
    "git config --list",
    "git fetch",
    "git bisect run x",
    "git archive HEAD -o x",
    "git cat-file --textconv HEAD:a",
    "git blame --contents /etc/passwd a",
    "ls & rm x",
    "ls &",
    "echo $(rm x)",
    "echo `rm x`",
    "echo \"$(rm x)\"",
    "diff <(rm a) b",
    "diff <(ls) b",
    "ls >(tee x)",
    "env ls",
    "env",
    "printenv",
    "echo $AWS_SECRET_ACCESS_KEY",
    "echo \"${GITHUB_TOKEN}\"",
    "declare -p",
    "export -p",
    "set",
    "ls\nrm x",
    "ls\n\\rm x",
    "ls \\ -la",
    "find . -delete",
    "find . -exec rm {} +",
    "find . -exec rm {} \\;",
    "find . -execdir id \\;",
    "find . -ok rm {} \\;",
    "find . -okdir rm {} \\;",
    "find . -fprint x",
    "find . -fprintf x %p",
    "find . -fls x",
    "find . -fprint0 x",
    "find -L . -name x",
    "find . -follow",
    "find . -files0-from x",
    "find / -name id_rsa",
    "find ~ -name id_rsa",
    "find .. -name x",
    "find . {-delete,}",
    "find . $(cat x)",
    "find . \"$x\"",
    "find * -name x -delete",
    "./ls",
    "/tmp/ls",
    "\"ls\" -l; 'rm' x",
    "l\\s",
    "$cmd x",
    "sort -o a b",
    "sort -oa b",
    "sort -uo a b",
    "sort --output=a b",
    "sort --outp a b",
    "sort --compress-program=./x a",
    "sort -T /tmp a",
    "sort --files0-from=x",
    "uniq a b",
    "shuf -o a b",
    "xxd -r a b",
    "xxd a b",
    "tree -o x",
    "file -C -m x",
    "file -f x",
    "file -z x",
    "date -s 2020-01-01",
    "date --set=x",
    "date 010100002020",
    "hostname evil",
    "sed -i s/a/b/ f",
    "sed -n -i p f",
    "sed -ni p f",
    "sed --in-place p f",
    "sed 'w out' f",
    "sed -n 's/a/b/w out' f",
    "sed 's/a/id/e' f",
    "sed '1e id' f",
    "sed 'r /etc/passwd' f",
    "sed -f script f",
    "sed -n -e p -e 'w x' f",
    "sed --expression='w x' f",
    "sed \"$x\" f",
    "sed -n \"${x}p\" f",
    "awk '{print > \"x\"}' f",
    "awk '{print | \"sh\"}' f",
    "awk 'BEGIN{system(\"id\")}'",
    "awk 'BEGIN{while((\"id\"|getline l)>0) print l}'",
    "awk 'BEGIN{getline l < \"/etc/passwd\"; print l}'",
    "awk -f x f",
    "awk --source x f",
    "awk -i inplace '{print}' f",
    "awk -l readdir '{print}' f",
    "awk \"$x\" f",
    "awk '{print}' /etc/passwd",
    "rg --pre ./x y",
    "rg --pre=./x y",
    "rg --hostname-bin ./x y",
    "rg -z y",
    "rg --search-zip y",
    "rg -L y",
    "rg --follow y",
    "rg --files /etc",
    "rg x /etc",
    "fd -x rm",
    "fd . -X rm",
    "fd --exec rm",
    "jq env a",
    "jq '$ENV' a",
    "jq -n '[inputs]' a",
    "jq -f x a",
    "jq --slurpfile a /etc/passwd . b",
    "jq --rawfile a /etc/passwd . b",
    "jq . /etc/passwd",
    "jq -L x . a",
    "ls | xargs rm",
    "cat list | xargs cat",
    "find . | xargs -I{} sh -c 'cat {}'",
    "find . | xargs -a x cat",
    "find . | xargs sed -i s/a/b/",
    "xargs cat < list",
    "ls | while read f; do rm $f; done",
    "cat list | while read f; do cat \"$f\"; done",
    "for f in $(cat list); do cat $f; done",
    "less a",
    "more a",
    "man ls",
    "vim a",
    "tee x",
    "cat a | tee x",
    "f() { rm x; }; f",
    "ls() { rm x; }; ls",
    "alias ls=rm; ls",
    "eval ls",
    "source a",
    ". a",
    "exec ls",
    "trap 'rm x' EXIT; ls",
    "bash -c ls",
    "sh -c 'rm x'",
    "sudo ls",
    "nohup ls",
    "time rm x",
    "timeout 5 rm x",
    "coproc ls",
    "hash -p /tmp/x ls; ls",
    "enable -f x ls",
    "cat ~/.ssh/id_rsa",
    "cat \"$HOME/.ssh/id_rsa\"",
    "cat ${HOME}/.netrc",
    "x=~/.ssh; cat $x/id_rsa",
    "x=/etc; if true; then x=src; fi; cat $x/passwd",
    "false && x=src; cat $x/etc/passwd",
    "(x=src); cat $x/etc/passwd",
    "x=a; x=/etc/passwd; cat $x",
    "cat /home/me/other/notes.txt",
    "cat /home/me/project2/a",
    "cat ../notes.txt",
    "cat src/../../x",
    "cat .*",
    "ls .*/x",
    "cat {/etc/passwd,a}",
    "cat {/etc/passwd,}",
    "cat a{,/../../x}",
    "cat \"a\"{b,../c}",
    "set -o",
    "set -a; ls",
    "set -- x; ls",
    "cat /etc/passw?",
    "cat < /etc/passwd",
    "grep -f/home/me/words a",
    "grep -f /home/me/words a",
    "grep --file=/home/me/words a",
    "grep x /home/me/words",
    "cat '/home/me/a b'",
    "cat $'/etc/passwd'",
    "cat -- /etc/passwd",
    "cd .. && ls",
    "cd && ls",
    "cd - && ls",
    "cd / && ls",
    "cd \"$x\" && ls",
    "pushd src",
    "ls ~",
    "ls ~root",
    "grep -Rn x .",
    "grep --dereference-recursive x .",
    "diff -ru a b",
    "diff --to-file=/etc/passwd a",
    "tail -f a",
    "curl http://x",
    "cat /dev/tcp/x/80",
    "cat < /dev/tcp/x/80",
    "echo ${x:=y}",
    "echo ${!x}",
    "echo ${x@P}",
    "echo ${x:$(rm y)}",
    "echo ${a[$(rm y)]}",
    "a[$(rm x)]=1; ls",
    "x=(a b); ls",
    "((x=1)); ls",
    "echo $((x))",
    "x=$(cat a); echo $((x))",
    "[[ $x -eq 1 ]] && ls",
    "x=$(cat a); [[ $x -eq 1 ]]",
    "[ -v 'a[$(rm x)]' ]",
    "test -v 'a[$(rm x)]'",
    "printf -v x y",
    "printf -v 'a[$(rm x)]' y",
    "for ((i=0; i<3; i++)); do ls; done",
    "select x in a b; do ls; done",
    "cat <<EOF\n$(rm x)\nEOF",
    "cat <<EOF > x\na\nEOF",
    "ls | sh",
    "echo rm x | bash",
    "ls |& tee x",
    "ls; rm x",
    "ls && rm x",
    "ls || rm x",
    "ls | rm x",
    "(ls; rm x)",
    "{ ls; rm x; }",
    "if ls; then rm x; fi",
    "while ls; do rm x; done",
    "until rm x; do ls; done",
    "! rm x",
    "npm test",
    "npm test | tail -5",
    "cargo --version",
    "python3 -c 'print(1)'",
    "node -e 1",
    "node -v x.js",
    "ls \u{202e}x",
    "ls \u{200b}",
    "ls\r\nrm x",
    "ps aux",
    "kill 1",
    "watch ls",
    "parallel ls",
    "sleep 1 & ls",
    "type -a ls > x",
    "cat a 3<> b",
    "cat <&3",
    "ls 2>&3",
    "column -t a > b",
    "comm -12 a /etc/passwd",
    "realpath --relative-to=/etc a > b",
    "mapfile x < a",
    "readarray x < a",
    "unset PATH; ls",
    "local x=1",
    "shopt -s expand_aliases; ls",
    "ulimit -c 0; ls",
    "umask 0; ls",
    "history -w x",
    "fc -l",
    "let x=1",
    "ls ${x}",
    "echo ~/.ssh/*",
    "echo /etc/*",
    "printf '%s\\n' /home/*/.ssh",
    "echo {/etc/*,a}",
    "x='/etc/*'; echo $x",
    "x=/etc; echo $x/*",
    "echo $(cat a)",
    "x=$(cat a); echo $x",
    "for x in $(cat a); do echo $x; done",
    "for x in ~/.ssh/*; do echo $x; done",
    "echo $(echo '/etc/*')",
    "echo $(date '+/etc/*')",
    "[ -f ~/.ssh/id_rsa ] && echo there",
    "[ -f /etc/shadow ] && echo there",
    "test -f /etc/shadow && echo there",
    "[[ -d /home/me/other ]]",
    "awk '{print}' /tmp/a=b/../../etc/passwd",
    "awk '{print}' /tmp/a=b",
    "git diff --name-only --line-prefix=/etc/ | xargs cat",
    "git ls-files :/ | xargs cat",
    "git ls-files ':(top)' | xargs cat",
    "git show HEAD:../secret",
];

#[test]
fn commands_that_only_read_need_no_question() {
    let asked: Vec<_> = FREE.iter().filter(|command| !only_reads(command, &ground())).collect();
    assert!(asked.is_empty(), "{asked:#?}");
}

#[test]
fn commands_that_do_more_are_not_free() {
    let free: Vec<_> = ASKED.iter().filter(|command| only_reads(command, &ground())).collect();
    assert!(free.is_empty(), "{free:#?}");
}

#[test]
fn nothing_that_is_added_to_a_reading_command_stays_free() {
    for command in FREE {
        let command = command.split(" # ").next().unwrap_or_default();
        for more in [
            " > x",
            " >> x",
            " 2> x",
            " &> x",
            "; rm x",
            " && rm x",
            " | rm x",
            " | tee x",
            "\nrm x",
            " & rm x",
            " &",
            " > ../x",
            "; cat ~/.ssh/id_rsa",
            "; cat /etc/passwd",
            " | sh",
            " | xargs rm",
            "; f() { :; }",
            "; eval x",
        ] {
            let line = format!("{command}{more}");
            assert!(!only_reads(&line, &ground()), "{line}");
        }
        for line in [
            format!("find . -name x -exec rm {{}} + ; {command}"),
            format!("X=$(rm x); {command}"),
            format!("rm x || {command}"),
        ] {
            assert!(!only_reads(&line, &ground()), "{line}");
        }
    }
}

#[test]
fn the_parts_that_do_more_are_found_between_those_that_read() {
    let more = |command: &str| does_more(command, &ground());
    assert_eq!(more("npm test 2>&1 | tail -12"), ["npm test"]);
    assert_eq!(more("cd src && cargo build && ls"), ["cargo build"]);
    assert_eq!(more("for f in *; do python3 \"$f\" | head -1; done"), ["python3 \"$f\""]);
    assert_eq!(more("FOO=1 npm test | tail"), ["FOO=1 npm test"]);
    assert_eq!(more("npm test | tail > x"), ["npm test | tail > x"]);
    assert_eq!(more("if [ -f a ]; then make; fi"), ["make"]);
    for whole in [
        "PATH=.; npm test | tail",
        "export A=1; npm test",
        "cd ..; npm test | tail",
        "npm test &",
        "f() { ls; }; npm test",
    ] {
        assert_eq!(more(whole), [whole]);
    }
}

/// A project with a file, and a file beside it.
fn project() -> (tempfile::TempDir, Ground) {
    let outer = tempfile::tempdir().expect("a folder");
    let folder = outer.path().canonicalize().expect("a path").join("project");
    fs::create_dir_all(folder.join("src")).expect("folders");
    fs::write(folder.join("src/a.rs"), "").expect("a file");
    fs::write(outer.path().join("private.txt"), "").expect("a file");
    let ground = Ground::new(folder.to_string_lossy(), "/home/me");
    (outer, ground)
}

#[test]
fn a_link_that_leads_out_is_found_wherever_it_stands_in_a_command() {
    let (outer, ground) = project();
    let folder = Path::new(&ground.folder);
    let commands =
        ["cat src/a.rs", "cd src && cat a.rs", "cat src/*.rs | head", "grep -rn 'fn *main' .", "ls *", "cat src/b.rs"];
    symlink("a.rs", folder.join("src/b.rs")).expect("a link");
    for fine in commands {
        assert!(only_reads(fine, &ground), "{fine}");
    }
    symlink(outer.path().join("private.txt"), folder.join("a link")).expect("a link");
    symlink(outer.path(), folder.join("src/out")).expect("a link");
    for out in [
        "cat 'a link'",
        "cat src/a.rs;cat a\" link\"",
        "cat a*",
        "cat src/out/private.txt",
        "cd src && cat out/private.txt",
        "cd src && cd out && cat private.txt",
        "cd src; cd out; ls",
        "ls s*/out",
        "cat */out/private.txt",
        "for d in *; do cat $d/out/private.txt; done",
        "for d in *; do cat \"$d\"; done",
        "for f in a; do cat \"src/out\"; done",
        "grep --file='a link' -r x",
        "grep -f'a link' x",
        "find . -name x | xargs cat",
        "cat $(find . -type l)",
        "cat < 'a link'",
        "x='a link'; cat \"$x\"",
    ] {
        assert!(!only_reads(out, &ground), "{out}");
    }
}

#[test]
fn a_file_whose_name_is_an_option_is_not_given_to_a_program_that_would_obey_it() {
    let (_outer, ground) = project();
    for command in ["sort *", "grep x *", "git ls-files | xargs sort"] {
        assert!(only_reads(command, &ground), "{command}");
        fs::write(Path::new(&ground.folder).join("-ox"), "").expect("a file");
        assert!(!only_reads(command, &ground), "{command}");
        fs::remove_file(Path::new(&ground.folder).join("-ox")).expect("gone");
    }
    assert!(only_reads("cat $(git ls-files)", &ground));
    fs::create_dir_all(Path::new(&ground.folder).join("a /etc")).expect("folders");
    assert!(!only_reads("cat $(git ls-files)", &ground));
}

#[test]
fn git_reads_only_where_the_folder_makes_it_start_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n\tbare = false\n")] {
        fs::create_dir_all(root.join(".git/hooks")).expect("folders");
        fs::write(root.join(".git").join(name), text).expect("a file");
    }
    fs::create_dir(root.join("src")).expect("a folder");
    let ground = Ground::new(root.to_string_lossy(), "/home/me");
    let commands = [
        "git status",
        "git diff",
        "git log -p | head",
        "git show HEAD",
        "git blame a",
        "cd src && git log",
        "git -C src log",
    ];
    let free = || commands.iter().filter(|command| only_reads(command, &ground)).count();
    assert_eq!(free(), commands.len());
    // A hook that runs at a commit does not run here.
    fs::write(root.join(".git/hooks/pre-commit"), "x").expect("a file");
    assert_eq!(free(), commands.len());
    let cases: &[(&str, &str)] = &[
        (".git/hooks/post-index-change", "x"),
        (".git/config", "[core]\n\tfsmonitor = ./x\n"),
        (".git/config", "[diff \"x\"]\n\ttextconv = ./x\n"),
        (".git/config.worktree", "[core]\n\thooksPath = x\n"),
        (".git/modules/a/HEAD", "x"),
        (".git/commondir", "../elsewhere\n"),
    ];
    for (name, text) in cases {
        let path = root.join(name);
        let before = fs::read(&path).ok();
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(&path, text).expect("a file");
        if name.ends_with("a/HEAD") {
            fs::write(root.join(".git/modules/a/config"), "[core]\n\tfsmonitor = x\n").expect("a file");
        }
        if name.ends_with("commondir") {
            fs::create_dir_all(root.join("elsewhere")).expect("a folder");
            fs::write(root.join("elsewhere/config"), "[core]\n\tfsmonitor = x\n").expect("a file");
        }
        assert_eq!(free(), 0, "{name}: {text}");
        match before {
            Some(before) => fs::write(&path, before).expect("a file"),
            None => fs::remove_file(&path).expect("gone"),
        }
    }
    assert_eq!(free(), commands.len());
}
