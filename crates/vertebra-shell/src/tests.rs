//! What the reader finds in command lines, and that it never stumbles.

use proptest::prelude::*;

use crate::{ParseLimits, parse};

fn simple_commands(line: &str) -> Vec<String> {
    parse(line, ParseLimits::default()).texts().to_vec()
}

fn further_commands(line: &str) -> Vec<String> {
    parse(line, ParseLimits::default()).further().to_vec()
}

/// Each case: a line, and the commands found in it.
fn check(cases: &[(&str, &[&str])]) {
    for (line, commands) in cases {
        assert_eq!(simple_commands(line), *commands, "in {line:?}");
    }
}

/// Each case: a line that runs `rm -rf /`, however it says so.
fn check_finds(lines: &[&str]) {
    for line in lines {
        let commands = simple_commands(line);
        let shown: String = line.chars().take(200).collect();
        assert!(commands.iter().any(|command| command == "rm -rf /"), "in {shown:?}: {} commands", commands.len());
    }
}

#[test]
fn a_plain_line_is_its_only_command() {
    check(&[
        ("ls", &["ls"]),
        ("cargo test --workspace -p a=b", &["cargo test --workspace -p a=b"]),
        ("grep -r foo* src/[ab]?.rs", &["grep -r foo* src/[ab]?.rs"]),
        ("", &[]),
        ("rm  -rf /", &["rm -rf /"]),
        (" rm -rf /", &["rm -rf /"]),
        ("A=b rm x", &["A=b rm x", "rm x"]),
    ]);
}

#[test]
fn quotes_are_removed_where_they_are_literal() {
    check(&[
        (r#"r\m -r"f" /"#, &["rm -rf /"]),
        ("r''m '-rf' \"/\"", &["rm -rf /"]),
        ("r\\\nm -rf /", &["rm -rf /"]),
        (r"$'\x72\155' $'-\u0072f' $'/'", &["rm -rf /"]),
        (r#"echo "a\"b\$c\d" $"e""#, &[r#"echo a"b$c\d e"#]),
        (r#"echo "$HOME/x" ${y:-z}"#, &["echo $HOME/x ${y:-z}"]),
        ("echo 'a; rm x' \"b | rm y\" c\\;d", &["echo a; rm x b | rm y c;d"]),
        ("echo a # ; rm x", &["echo a"]),
        ("échø 'ü' \\ä", &["échø ü ä"]),
        ("'if' x", &["if x"]),
    ]);
}

#[test]
fn lists_and_pipelines_are_followed() {
    check(&[
        ("a;b&c&&d||e|f|&g\nh", &["a", "b", "c", "d", "e", "f", "g", "h"]),
        ("! a | time -p b", &["a", "time -p b", "b"]),
        ("a; a; b", &["a", "b"]),
    ]);
}

#[test]
fn compound_commands_are_followed() {
    check(&[
        ("{ a; b; }", &["a", "b"]),
        ("(a; (b))", &["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("while a; do b; done", &["a", "b"]),
        ("until a; do b; done", &["a", "b"]),
        ("for i in x $(y); do b $i; done", &["y", "b $i"]),
        ("for i do b; done", &["b"]),
        ("for i\ndo b; done", &["b"]),
        ("for ((i=0; i<$(n); i++)); do b; done", &["n", "b"]),
        ("select i in x; do b; done", &["b"]),
        ("case $(a) in x|y) b;; (z) c;& *) d;; esac; e", &["a", "b", "c", "d", "e"]),
        ("case a in b) case c in d) e;; esac;; f) g;; esac", &["e", "g"]),
        ("(case a in b) c;; esac; d); e", &["c", "d", "e"]),
        ("f() { a; }; f", &["a", "f"]),
        ("f ()\n(a)", &["a"]),
        ("function f { a; }", &["a"]),
        ("function f() { a; }", &["a"]),
        ("coproc a b", &["coproc a b", "a b"]),
        ("coproc N { a; }", &["coproc N", "N", "a"]),
        ("time { a; }", &["time", "a"]),
        ("[[ a < b && ( c || $(d) ) ]] && e", &["d", "e"]),
        ("((x = $(a) + 1)) && b", &["a", "x = $(a) + 1", "b"]),
        ("((rm x))", &["rm x"]),
        ("((a); (b) )", &["a", "b"]),
    ]);
}

#[test]
fn substitutions_are_followed_wherever_they_stand() {
    check(&[
        ("a $(b) `c` <(d) >(e)", &["a $(b) `c` <(d) >(e)", "b", "c", "d", "e"]),
        (r#"a "x $(b "$(c)") `d`""#, &[r#"a x $(b "$(c)") `d`"#, "b $(c)", "c", "d"]),
        (r"a `b \`c\``", &[r"a `b \`c\``", "b `c`", "c"]),
        ("x=$(a)", &["x=$(a)", "a"]),
        ("x=(1 $(a) # )\n2) b", &["x=(1 $(a) # ) 2) b", "b", "a"]),
        ("x=<(a) b", &["x=<(a) b", "b", "a"]),
        ("a ${x:-$(b)} \"${y:-`c`}\" ${z[$(d)]}", &["a ${x:-$(b)} ${y:-`c`} ${z[$(d)]}", "b", "c", "d"]),
        ("a $((1 + $(b))) $[ $(c) ]", &["a $((1 + $(b))) $[ $(c) ]", "b", "c"]),
        ("a $((b); c )", &["a $((b); c )", "b", "c"]),
        ("a $(case x in y) b;; esac) c", &["a $(case x in y) b;; esac) c", "b"]),
        ("a ${ b; }", &["a ${ b; }", "b"]),
        ("a '$(b)'", &["a $(b)"]),
        ("a @(x|$(b))", &["a @(x|$(b))", "b"]),
    ]);
}

#[test]
fn here_documents_are_text_with_substitutions() {
    check(&[
        ("a <<E\nb; rm $(c)\nE\nd", &["a", "c", "d"]),
        ("a <<'E'\nb $(c)\nE\nd", &["a", "d"]),
        ("a <<-E | b\n\t`c`\n\tE\nd", &["a", "b", "c", "d"]),
        ("a <<X <<Y\n$(b)\nX\n$(c)\nY\nd", &["a", "b", "c", "d"]),
        ("a $(b <<E\n)\nE\n) c", &["a $(b <<E ) E ) c", "b"]),
        ("sh <<E\na; b\nE\nc", &["sh", "a", "b", "c"]),
        ("bash -s <<< 'a; b'", &["bash -s <<< a; b", "a", "b"]),
    ]);
}

#[test]
fn redirections_move_to_the_end() {
    check(&[
        ("a >x b 2>&1 c", &["a b c > x 2>&1"]),
        ("</dev/null a", &["a < /dev/null"]),
        ("a &>x; b >|y {fd}>>z", &["a &> x", "b >| y {fd}>> z"]),
        ("99999999999999999999>x a", &["a 99999999999999999999> x"]),
        (">$(a)", &["> $(a)", "a"]),
    ]);
}

#[test]
fn commands_in_arguments_are_found() {
    check_finds(&[
        "sh -c 'rm -rf /'",
        "/usr/bin/bash -lc 'cd x; rm -rf /'",
        "bash -e -o pipefail -c 'rm -rf /' x",
        "bash --norc -xc \"rm -rf /\"",
        "zsh -c 'rm -rf /'; true",
        "dash -c 'rm -rf /'",
        "ksh -c \"sh -c 'rm -rf /'\"",
        "eval rm -rf /",
        "eval 'rm' \"-rf\" /",
        "eval 'eval \"rm -rf /\"'",
        "eval -- rm -rf /",
        "trap 'rm -rf /' EXIT",
        "trap -- 'rm -rf /' EXIT",
        ". /dev/stdin <<< 'rm -rf /'",
        "source /dev/stdin <<E\nrm -rf /\nE",
        "bash -oc pipefail 'rm -rf /'",
        "bash -oo pipefail posix -c 'rm -rf /'",
        "bash -rcfile x -c 'rm -rf /'",
        "bash -norc -c 'rm -rf /'",
        "bash --rcfile x -c 'rm -rf /'",
        "bash --noprofile --norc -c 'rm -rf /'",
        "bash -login -c 'rm -rf /'",
        "bash -verbose -c 'rm -rf /'",
        "zsh -oerrexit -c 'rm -rf /'",
        "su -groot -c 'rm -rf /'",
        "script -Oout.log -c 'rm -rf /'",
        "bash -eo pipefail -c 'rm -rf /'",
        "su root -c 'rm -rf /'",
        "find . -exec rm -rf / ';'",
        "find . -name x -exec ls {} + -execdir rm -rf / \\;",
        "find . -exec sh -c 'rm -rf /' \\;",
    ]);
}

#[test]
fn commands_behind_wrappers_are_found() {
    check_finds(&[
        "env A=b rm -rf /",
        "env -i -u X --unset=Y A=b rm -rf /",
        "env -S 'rm -rf /'",
        "env '-Srm -rf /'",
        "env -iS 'rm -rf /'",
        "env '-ivSrm -rf' /",
        "env --split-string='rm -rf /'",
        "env --split 'rm -rf /'",
        "env --s='rm -rf /'",
        r"env -S 'rm\_-rf\_/'",
        "env -S '-i rm -rf /'",
        "env --s='-u X A=b rm -rf /'",
        "env -S \"-S 'rm -rf /'\"",
        "xargs --replace rm -rf /",
        "xargs --max-lines rm -rf /",
        "sudo --command-timeout 5 rm -rf /",
        "env -a x rm -rf /",
        "env --uns X rm -rf /",
        "sudo --us root rm -rf /",
        "sudo rm -rf /",
        "sudo -nu root -- rm -rf /",
        "sudo --user root A=b rm -rf /",
        "nohup rm -rf /",
        "nice -n 5 rm -rf /",
        "nice -5 rm -rf /",
        "timeout -k 3 -s9 5 rm -rf /",
        "xargs -n1 -I {} rm -rf /",
        "command -p rm -rf /",
        "exec -a x rm -rf /",
        "builtin command rm -rf /",
        "time rm -rf /",
        "/usr/bin/time -f %e rm -rf /",
        "stdbuf -o0 -e L rm -rf /",
        "doas -u x rm -rf /",
        "ionice -c3 rm -rf /",
        "ionice -c 3 rm -rf /",
        "setsid -w rm -rf /",
        "watch -n 5 'rm -rf /'",
        "watch rm -rf /",
        "taskset 1 chrt -o 0 busybox rm -rf /",
        "A=b C=d rm -rf /",
        "nohup nice -n 5 sudo sh -c 'A=b timeout 5 rm -rf /' &",
    ]);
    check(&[("sudo -u x rm y", &["sudo -u x rm y", "rm y"])]);
}

#[test]
fn words_that_spread_are_listed_spread() {
    check_finds(&[
        "{rm,-rf,/}",
        "rm${IFS}-rf${IFS}/",
        "rm$IFS-rf $IFS/",
        "sudo {rm,-rf} /",
        "r{m..m} -rf /",
        "r{m..m..1} -rf /",
        "{rm,-{r..r}f} /",
        "{bash,-c} 'rm -rf /'",
        "{bash,-s} <<< 'rm -rf /'",
        "{rm,-rf,\"}\",/}",
        "{rm,-rf,\"{\",/}",
    ]);
    let lists = |line: &str, expected: &str| {
        let found = simple_commands(line);
        assert!(found.iter().any(|command| command == expected), "{line}: {found:?}");
    };
    lists("r{m,} -rf /", "rm r -rf /");
    lists("{{r,}m,-rf,/}", "rm m -rf /");
    lists("{a,b}{c,d} x", "ac ad bc bd x");
    lists("a{b,{c,d}} {e}f,{g", "ab ac ad {e}f,{g");
    lists("a{c..a}", "ac ab aa");
    lists("{rm,-rf,\"a b\",/}", "rm -rf a b /");
    lists("{rm,-rf,$(echo /)}", "rm -rf $(echo /)");
    lists("{rm$IFS-rf$IFS/,x}", "rm -rf / x");
    // More than anybody means: cut at every brace.
    let many = "{a,b}".repeat(20);
    let cut = format!("{}rm x", "a b ".repeat(20));
    lists(&format!("{many}{{rm,}} x"), &cut);
    let open = "{".repeat(2000) + &"{a,b}".repeat(400);
    lists(&format!("{open} x"), &format!("{}x", "a b ".repeat(400)));
    let deep = format!("{}rm{} x", "{a,".repeat(3000), "}".repeat(3000));
    lists(&deep, &format!("{}rm x", "a ".repeat(3000)));
}

#[test]
fn a_line_that_does_not_parse_is_cut_at_every_separator() {
    check_finds(&[
        "echo 'a; rm -rf /",
        "echo \"a\nrm -rf /",
        "a ) rm -rf /",
        "a $(rm -rf /",
        "a `rm -rf /",
        "${x rm; rm -rf /",
        "case x in x) rm -rf /",
        "case x; rm -rf /",
        "[[ a; rm -rf /",
        "echo a\rrm -rf /",
        "a <<E\nrm -rf /",
        "sh -c 'rm -rf /",
        "echo (rm -rf /)",
        "x=(a; rm -rf /",
        "!(rm -rf /)",
    ]);
}

#[test]
fn commands_that_other_programs_carry_are_listed() {
    check_finds(&[
        "parallel rm -rf / ::: a b",
        "parallel 'rm -rf /' ::: a",
        "parallel ::: 'rm -rf /'",
        "tmux new-session -d 'rm -rf /'",
        "tmux new -d -s x rm -rf /",
        "screen -dmS x rm -rf /",
        "ssh host 'rm -rf /'",
        "ssh -p 22 me@host rm -rf /",
        "ssh -o ProxyCommand='rm -rf /' host",
        "git -c alias.x='!rm -rf /' x",
        "git -c core.sshCommand='rm -rf /' fetch",
        "git bisect run rm -rf /",
        "git rebase -x 'rm -rf /' main",
        "git rebase --exec='rm -rf /' main",
        "git submodule foreach 'rm -rf /'",
        "git filter-branch --tree-filter 'rm -rf /'",
        "docker run --rm -v a:b alpine sh -c 'rm -rf /'",
        "docker run -it --name x alpine rm -rf /",
        "podman exec -it x rm -rf /",
        "docker compose exec web rm -rf /",
        "kubectl exec -n x pod -- sh -c 'rm -rf /'",
        "lxc exec box -- rm -rf /",
        "awk 'BEGIN { system(\"rm -rf /\") }'",
        "perl -e 'system(\"rm -rf /\")'",
        "perl -e 'system(\"rm\", \"-rf\", \"/\")'",
        "python3 -c 'import os; os.system(\"rm -rf /\")'",
        "python3 -c 'import subprocess; subprocess.run([\"rm\", \"-rf\", \"/\"])'",
        "node -e 'require(\"child_process\").execSync(\"rm -rf /\")'",
        "vim -c '!rm -rf /' x",
        "vim '+silent !rm -rf /' x",
        "make SHELL='rm -rf /'",
        "ls | entr rm -rf /",
        "ls | entr -s 'rm -rf /'",
        "fd x -x rm -rf /",
        "rg --pre 'rm -rf /' x",
        "gdb --args rm -rf /",
        "setpriv --reuid 1000 rm -rf /",
        "unshare -r rm -rf /",
        "nsenter -t 1 -m rm -rf /",
        "strace -o x rm -rf /",
        "systemd-run --user --unit x rm -rf /",
        "pkexec --user me rm -rf /",
        "at now <<< 'rm -rf /'",
        "batch <<E\nrm -rf /\nE",
        "su -c 'rm -rf /'",
        "script -c 'rm -rf /'",
        "flock x rm -rf /",
        "sudo docker run alpine rm -rf /",
        "ls | xargs -n 1 ssh host rm -rf /",
    ]);
    let lists = |line: &str, other: &str| simple_commands(line).iter().any(|command| command == other);
    assert!(!lists("python3 -c 'print(\"rm\")'", "rm"), "code that runs nothing carries nothing");
    assert!(!lists("docker run --name rm alpine ls", "rm alpine ls"));
    assert!(lists("docker run --name rm alpine ls", "ls"));
    assert!(!lists("git commit -m 'rm x'", "rm x"));
}

#[test]
fn limits_are_kept() {
    let limits = ParseLimits::default();
    let long = format!("{} ; rm -rf /", "x".repeat(limits.bytes));
    check_finds(&[long.as_str()]);
    for (open, close) in
        [("$(", ")"), ("\"$(", ")\""), ("( ", " )"), ("((", "))"), ("{ ", ";}"), ("${x:-", "}"), ("if ", "; then fi")]
    {
        for deep in [5, 15, 16, 17, 40, 5000] {
            let start = if open.contains("${") { "$(rm -rf /)" } else { "rm -rf /" };
            let line = format!("{}{start}{}", open.repeat(deep), close.repeat(deep));
            check_finds(&[line.as_str(), &line[..open.len() * deep + start.len()]]);
        }
    }
    let many: String = (0..3000).map(|n| n.to_string() + ";").collect();
    assert_eq!(simple_commands(&many).len(), limits.commands);
    check_finds(&[format!("{}rm -rf /", "env ".repeat(10_000)).as_str()]);
}

/// Wraps a command in a construct that runs it.
fn wrap(kind: usize, inner: &str) -> String {
    match kind {
        0 => format!("echo $({inner})"),
        1 => format!("echo \"a $({inner}) b\""),
        2 => format!("a; ( {inner} )"),
        3 => format!("{{ {inner}; }}"),
        4 => format!("if true; then {inner}; fi"),
        5 => format!("case x in (x|y) {inner};; esac"),
        6 => format!("case x in x) {inner}\nesac"),
        7 => format!("while {inner}; do break; done"),
        8 => format!("f() {{ {inner}; }}; f"),
        9 => format!("a <({inner}) | b"),
        10 => format!("x=$({inner}) y=1 true"),
        11 => format!("echo ${{x:-$({inner})}}"),
        12 => format!("echo $((1 + $({inner})))"),
        13 => format!("! {inner} && b"),
        14 => format!("a=(1 \"$({inner})\")"),
        15 => format!("sh -ec '{}'", inner.replace('\'', r"'\''")),
        16 => format!("eval '{}'", inner.replace('\'', r"'\''")),
        17 => format!("sudo -u me bash -c '{}'", inner.replace('\'', r"'\''")),
        18 => format!("echo `{}`", inner.replace('\\', r"\\").replace('`', r"\`").replace('$', r"\$")),
        19 => format!("for i in $({inner}); do a; done"),
        20 => format!("a # comment '\n{inner}"),
        21 => format!("cat <<E\n$({inner})\nE\n"),
        22 => format!("[[ -n $({inner}) ]]"),
        _ => format!("true; {inner} & b"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_without_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "$(", "((", "))", "(", ")", "{", "}", "${", "`", "\"", "'", "$'", "\\", "\n", ";", ";;", "&", "|", "<", ">",
                "<<", "<<-E", "<<<", "E", "<(", "#", "$", "!", "[[", "]]", "=", "=(", "@(", " ", "\t", "\r", "\0", "é", "1",
                "rm", "if", "then", "fi", "for", "in", "do", "done", "case", "esac", "function", "time", "coproc", "eval",
                "sh", "-c", "env", "-S", "sudo", "-u", "xargs", "find", "-exec", "watch", "IFS", ",", "\\x", "u12",
            ]),
            0..60,
        ),
    ) {
        simple_commands(&parts.concat());
        simple_commands(&parts.join(" "));
    }

    #[test]
    fn any_unicode_is_read_without_panic(line in "\\PC*") {
        simple_commands(&line);
    }

    #[test]
    fn a_command_is_found_in_any_nesting(kinds in prop::collection::vec(0usize..24, 0..5)) {
        let line = kinds.iter().fold("rm -rf /".to_owned(), |inner, kind| wrap(*kind, &inner));
        let commands = simple_commands(&line);
        prop_assert!(
            kinds.is_empty() || commands.iter().any(|command| command == "rm -rf /"),
            "in {:?}: {:?}", line, commands
        );
    }
}

#[test]
fn a_refusing_pattern_also_sees_what_may_run() {
    for line in [
        "/bin/rm -rf /",
        "sudo /usr/bin/rm -rf /",
        "poetry run rm -rf /",
        "conda run -n base rm -rf /",
        "uv run --with x -- rm -rf /",
        "npx -c 'rm -rf /'",
        "npm exec -- rm -rf /",
        "yarn exec rm -rf /",
        "mise x -- rm -rf /",
        "perf stat -e cycles rm -rf /",
        "faketime yesterday rm -rf /",
        "setarch x86_64 -R rm -rf /",
        "mosh host -- rm -rf /",
        "ssh -p 22 me@host -- rm -rf /",
        "watchexec -- rm -rf /",
        "nodemon --exec 'rm -rf /'",
        "nix-shell -p x --run 'rm -rf /'",
        "tar xf x.tar --to-command='rm -rf /'",
        "tar cf x y --checkpoint=1 --checkpoint-action=exec='rm -rf /'",
        "tar -I 'rm -rf /' -xf x",
        "rsync -e 'rm -rf /' a b:c",
        "split --filter='rm -rf /' f",
        "sort --compress-program 'rm -rf /' f",
        "man -P 'rm -rf /' ls",
        "git difftool --extcmd='rm -rf /'",
        "git clone -u 'rm -rf /' a b",
        "go test -exec 'rm -rf /'",
        "mapfile -C 'rm -rf /' -c 1 x",
        "gdb -batch -ex 'shell rm -rf /'",
        "EDITOR='rm -rf /' git commit",
        "GIT_SSH_COMMAND='rm -rf /' git fetch",
        "GIT_PAGER='rm -rf /' git log",
        "echo 'rm -rf /' | sh",
        "printf 'rm -rf /' | bash -s",
        "bash <(echo rm -rf /)",
        ". <(echo rm -rf /)",
        "echo 'rm -rf /' > x.sh && ./x.sh",
        "x='rm -rf /'; $x",
        "x='$(rm -rf /)'; echo ${x@P}",
        "alias y='rm -rf /'",
        "awk 'BEGIN { \"rm -rf /\" | getline }'",
        "awk 'BEGIN { print 1 | \"rm -rf /\" }'",
        "python3 - <<< 'import os; os.system(\"rm -rf /\")'",
        "python3 <<E\nimport os\nos.popen('rm -rf /')\nE",
        "Rscript -e 'system(\"rm -rf /\")'",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm -rf /",
        "x=rm; $x -rf /",
        "/???/rm -rf /",
        "git config alias.x '!rm -rf /'",
        "sed '1e rm -rf /' f",
        "less '+!rm -rf /' f",
        "sshpass -p x ssh h rm -rf /",
        "autossh h rm -rf /",
        "socat - EXEC:'rm -rf /'",
        "sqlite3 x '.shell rm -rf /'",
        "psql -c '\\! rm -rf /'",
        "CC='rm -rf /' make",
        "pwsh -c 'rm -rf /'",
        "expect -c 'spawn rm -rf /'",
    ] {
        let commands = simple_commands(line);
        let further = further_commands(line);
        let starts = |command: &String| command.starts_with("rm -rf /");
        assert!(commands.iter().chain(&further).any(starts), "{line}: {commands:?} {further:?}");
    }
    for line in
        ["cargo test", "git log --oneline | head -5", "echo rm x", "ls; rm x", "tar xf x.tar -C y", "make CC=gcc"]
    {
        let further = further_commands(line);
        assert!(further.is_empty(), "{line}: {further:?}");
    }
}
