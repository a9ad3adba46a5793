//! An agent never answers for a person, and does not change its own policy, however it spells the command.

use vertebra_kit::bash::policy::{Class, Decision, Ground, judge, judge_script};

fn judged(command: &str) -> (Decision, bool) {
    let judgement = judge(command, &Ground::new("/home/me/project", "/home/me"));
    (judgement.decision, judgement.classes.contains(&Class::OwnPolicy))
}

#[test]
fn answering_for_a_person_is_denied_in_every_spelling() {
    for command in [
        "vertebra sessions answer 1 --yes",
        "/usr/local/bin/vertebra sessions answer 1",
        "./target/release/vertebra sessions answer 1",
        "~/.cargo/bin/vertebra sessions answer 1",
        "ver''tebra sess\\ions \"answer\" 1",
        "env A=1 vertebra sessions answer 1",
        "env -i PATH=/usr/bin vertebra sessions answer 1",
        "bash -c 'vertebra sessions answer 1'",
        "sh <<'x'\nvertebra sessions answer 1\nx",
        "x=vertebra; $x sessions answer 1",
        "a=verte; b=bra; $a$b sessions answer 1",
        "v='vertebra sessions'; $v answer 1",
        "echo 1 | xargs vertebra sessions answer",
        "echo sessions answer 1 | xargs vertebra",
        "xargs vertebra < words",
        "find . -exec vertebra sessions answer {} \\;",
        "timeout 5 nohup vertebra sessions answer 1 &",
        "nice -n 5 ./vertebra sessions answer 1",
        "command vertebra sessions answer 1",
        "exec vertebra sessions answer 1",
        "eval 'vertebra sessions answer 1'",
        "vertebra $(echo sessions) answer 1",
        "vertebra sessions \"$what\" 1",
        "vertebra \"$@\"",
        "f() { vertebra sessions answer 1; }; f",
        "true && (vertebra sessions answer 1)",
        "python3 -c 'import os; os.system(\"vertebra sessions answer 1\")'",
        "node -e 'require(\"child_process\").execFileSync(\"vertebra\", [\"sessions\", \"answer\", \"1\"])'",
        "parallel vertebra sessions answer ::: 1",
        "vertebra tickets approve 7",
        "vertebra approve 7",
        "printf 'vertebra sessions answer 1' | sh",
    ] {
        assert_eq!(judged(command), (Decision::Deny, true), "{command}");
    }
}

#[test]
fn changing_the_policy_is_asked_about_and_reading_it_is_not() {
    for command in [
        "vertebra trust",
        "vertebra trust --yes",
        "vertebra trust --yes > --show",
        "vertebra trust $(: --show) --yes",
        "vertebra trust --show --yes",
        "sh -c 'vertebra trust --yes'",
        "vertebra install --host claude-code",
        "vertebra uninstall",
        "vertebra run --trust 'go on'",
        "vertebra sessions delete last",
        "vertebra sessions prune",
    ] {
        assert_eq!(judged(command), (Decision::Ask, true), "{command}");
    }
    for command in [
        "vertebra trust --show",
        "vertebra trust --list",
        "vertebra sessions list",
        "git commit -m 'Describe vertebra sessions answer'",
        "grep -rn 'vertebra trust' docs",
        "npm install",
        "cargo install vertebra-cli",
    ] {
        assert!(!judged(command).1, "{command}");
    }
}

#[test]
fn the_words_of_a_script_show_what_it_decides() {
    for text in [
        "#!/bin/sh\nvertebra sessions answer 1\n",
        "import subprocess\nsubprocess.run(['/usr/bin/vertebra', 'sessions', 'answer', i])",
        "V=vertebra\n$V sessions answer 1",
    ] {
        assert_eq!(judge_script(text).map(|found| found.0), Some(Decision::Deny), "{text}");
    }
    assert_eq!(judge_script("vertebra trust --yes").map(|found| found.0), Some(Decision::Ask));
    for text in
        ["", "vertebra.toml trust", "use vertebra::trust", "echo answer", "cargo build -p vertebra-cli && install x"]
    {
        assert_eq!(judge_script(text), None, "{text}");
    }
}

#[test]
fn a_command_that_writes_what_agents_and_editors_run_is_asked_about() {
    for path in [
        ".opencode/plugins/x.js",
        "sub/.kiro/agents/a.json",
        "opencode.json",
        "vertebra.local.toml",
        ".vscode/tasks.json",
        ".envrc",
        ".husky/pre-commit",
        "lefthook.yml",
        ".npmrc",
        ".github/hooks/x.json",
        ".git/modules/a/hooks/x",
        ".git/info/attributes",
        ".git/commondir",
        "nested/.git/config",
        ".git/rebase-merge/git-rebase-todo",
    ] {
        for command in [
            format!("echo x > {path}"),
            format!("cp a {path}"),
            format!("mv a {path}"),
            format!("sed -i s/a/b/ {path}"),
        ] {
            assert_eq!(judged(&command).0, Decision::Ask, "{command}");
        }
        assert_eq!(judged(&format!("cat {path}")).0, Decision::Allow, "{path}");
    }
    for path in [".github/workflows/ci.yml", ".gitignore", "src/config", "hooks/x"] {
        assert_eq!(judged(&format!("echo x > {path}")).0, Decision::Allow, "{path}");
    }
    for path in ["~/.codex/hooks.json", "~/.kiro/agents/x.json", "~/.config/opencode/plugins/x.js"] {
        assert_eq!(judged(&format!("echo x > {path}")).0, Decision::Deny, "{path}");
    }
}
