//! What rules hold for.

use serde_json::json;
use vertebra::{
    AgentTool,
    prelude::*,
    testing::{FakeClock, RecordingTool, Script},
};
use vertebra_kit::permissions::{Effect, Permissions, RuleTexts};

use super::*;

#[tokio::test]
async fn an_allow_rule_allows_a_line_only_if_every_command_of_it_is_covered() {
    let rules = || allowing(&["Bash(git *)", "Bash(cargo test:*)", "Edit(out/**)"]);
    let covered = [
        "git status",
        "git",
        "git status && git diff | git apply; cargo test -q",
        "'git' st\"atus\"",
        "git commit -m 'a; rm x'",
        "timeout 5 git status",
        "LANG=C nice -n 5 git log",
        "git log 2>/dev/null",
        "git log > /dev/null 2>&1",
        "git log > out/log.txt",
        "git log > /repo/out/../out/log.txt",
        "for x in a b; do git log $x; done",
    ];
    for line in covered {
        assert_eq!(comes_to(rules(), "bash", command(line)).await, "ran", "{line:?}");
    }
    let left = [
        "git status; rm -rf x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status <(rm x)",
        "git status\nrm x",
        "git status\rrm x",
        "git status & rm x",
        "git status | sh",
        "FOO=1 rm",
        "GIT_PAGER=x git log",
        "env GIT_PAGER=x git log",
        "PATH=.; git status",
        "export PATH=.; git status",
        "sudo git status",
        "sh -c 'git status'",
        "eval git status",
        "xargs git log",
        "./git status",
        "gitk",
        "git() { rm x; }; git status",
        "alias git=rm; git x",
        "cd /tmp && git status",
        "git log > ~/.bashrc",
        "git log >> x",
        "git log > out/../x",
        "git log > $OUT",
        "git log >&x",
        "git log &> x",
        "git log >| x",
        "> x",
        "git log > out/a > x",
        "time -o x git log",
    ];
    for line in left {
        assert_eq!(comes_to(rules(), "bash", command(line)).await, "asked", "{line:?}");
    }
}

#[tokio::test]
async fn a_deny_rule_holds_for_any_command_of_a_line() {
    let rules = || allowing(&["Bash"]).deny("Bash(rm *)").expect("a rule").deny("Bash(git push)").expect("a rule");
    let meant = [
        "rm x",
        "rm",
        "ls; rm x",
        "ls\nrm x",
        "echo $(rm x)",
        "sudo rm x",
        "env -i FOO=1 rm x",
        "FOO=1 rm x",
        "/bin/rm x",
        "../../bin/rm x",
        "r''m x",
        "r\\\nm x",
        "rm x > /dev/null",
        "> /dev/null rm x",
        "sh -c 'rm x'",
        "eval rm x",
        "find . -exec rm {} ';'",
        "git status | xargs rm",
        "# first a comment\nrm x",
        "git push > log",
        "git push && ls",
    ];
    for line in meant {
        assert_eq!(comes_to(rules(), "bash", command(line)).await, "denied", "{line:?}");
    }
    assert_eq!(comes_to(rules(), "bash", json!({"command": ["rm", "x"]})).await, "denied");
    for line in ["rmdir x", "echo rm", "git rm x", "git push origin", "ls"] {
        assert_eq!(comes_to(rules(), "bash", command(line)).await, "ran", "{line:?}");
    }
}

#[tokio::test]
async fn names_are_compared_without_case_and_by_alias() {
    let cases = [
        ("Write", "write_file", "ran"),
        ("WRITE_FILE", "write_file", "ran"),
        ("Write", "edit_file", "asked"),
        ("shell", "bash", "ran"),
        ("mcp__git", "mcp__git__log", "ran"),
        ("mcp__git__*", "mcp__git__log", "ran"),
        ("mcp__git__log", "mcp__git__log", "ran"),
        ("mcp__git", "mcp__mail__send", "asked"),
        ("mcp__*", "mcp__mail__send", "ran"),
        ("*", "mcp__mail__send", "ran"),
    ];
    for (rule, tool, expected) in cases {
        assert_eq!(comes_to(allowing(&[rule]), tool, json!({})).await, expected, "{rule} {tool}");
    }
}

#[tokio::test]
async fn a_host_is_judged_as_it_would_be_reached() {
    let url = |url: &str| json!({ "url": url });
    let allowed = || allowing(&["WebFetch(domain:example.org)"]);
    let denied = || allowing(&["*"]).deny("WebFetch(domain:*.evil.org)").expect("a rule");
    let cases = [
        (allowed(), "web", url("https://Example.org./x"), "ran"),
        (allowed(), "web", url("https://www.example.org"), "asked"),
        (allowed(), "web", url("https://example.org@evil.org"), "asked"),
        (allowed(), "web", json!({}), "asked"),
        (allowed(), "mcp__mail__send", url("https://example.org"), "asked"),
        (denied(), "web", url("https://a.evil.org"), "denied"),
        (denied(), "web", url("https://good.org\\@a.evil.org"), "denied"),
        (denied(), "mcp__mail__send", url("https://a.evil.org:8080/x"), "denied"),
        (denied(), "bash", command("curl https://a.evil.org/x"), "denied"),
        (denied(), "bash", command("curl https://good.org/x"), "ran"),
    ];
    for (permissions, tool, args, expected) in cases {
        let shown = args.to_string();
        assert_eq!(comes_to(permissions, tool, args).await, expected, "{tool} {shown}");
    }
}

#[tokio::test]
async fn a_refusal_names_the_rule_and_where_it_stands() {
    let user =
        RuleTexts { deny: vec!["Bash(rm *)".into()], ask: vec!["Bash(git push *)".into()], ..RuleTexts::default() };
    let permissions = || allowing(&["Bash"]).texts("user settings", &user).expect("rules");
    assert_eq!(
        reads(permissions(), "bash", command("rm x")).await,
        "blocked by permissions/rules: denied by rule `Bash(rm *)` of user settings"
    );
    assert_eq!(
        reads(permissions(), "bash", command("git push")).await,
        "denied: permissions/rules requires approval (rule `Bash(git push *)` of user settings asks), and no approver is configured"
    );
    assert_eq!(
        reads(Permissions::default(), "bash", command("ls")).await,
        "denied: permissions/rules requires approval (no rule allows this command), and no approver is configured"
    );
}

#[tokio::test]
async fn a_decision_can_be_explained_before_it_is_needed() {
    let rules = allowing(&["Bash(git *)", "Bash(cargo *)"]).deny("Bash(git push *)").expect("a rule").rules();
    let bash = RecordingTool::new("bash").spec();
    let explain = |line: &str| {
        let args = Args::try_from(command(line)).expect("an object");
        rules.explain("session-1", &bash, &args, "/repo")
    };
    let both = explain("git log; cargo test");
    assert_eq!(both.effect, Some(Effect::Allow));
    assert_eq!(both.rules.len(), 2);
    assert_eq!(both.to_string(), "allowed by rule `Bash(git *)` of the program, rule `Bash(cargo *)` of the program");
    assert_eq!(explain("git push -f; ls").to_string(), "denied by rule `Bash(git push *)` of the program");
    assert_eq!(explain("ls").to_string(), "no rule allows this command");
    assert_eq!(explain("make all | tail -3").to_string(), "no rule allows `make all`");
}

#[test]
fn rules_that_hold_for_no_tool_are_told() {
    let permissions = allowing(&["Wirte", "Bash(git *)", "mcp__mial", "Read(src/**)", "WebFetch(domain:example.org)"]);
    let rules = permissions.rules();
    let model = Script::new();
    let agent = built(&mut agent(&model, permissions));
    assert_eq!(
        rules.unmatched(agent.tools()),
        [
            "rule `Wirte` of the program matches no tool; did you mean `Write`?",
            "rule `mcp__mial` of the program matches no tool; did you mean `mcp__mail`?"
        ]
    );
    let nothing = rules.unmatched([]);
    assert_eq!(nothing.len(), 5);
}

#[test]
fn a_bad_rule_says_where_it_came_from_and_what_to_write() {
    let user = RuleTexts { allow: vec!["Bash(git *".into()], ..RuleTexts::default() };
    let error = Permissions::default().texts("user settings", &user).expect_err("not a rule");
    assert_eq!(
        error.to_string(),
        "invalid rule `Bash(git *`: the closing `)` is missing (at character 11); write `Bash(git *)` (from user settings)"
    );
}

#[tokio::test]
async fn rules_hold_in_children_and_mean_the_parents_folder() {
    let told = |permissions: Permissions| async {
        let inner = Script::new()
            .call("edit_file", r#"{"path": "lib.rs"}"#)
            .call("bash", r#"{"command": "git status"}"#)
            .say("tried");
        let mut child = Agent::builder(inner);
        child.name("child").working_directory("/repo/src");
        with_tools(&mut child);
        let model = Script::new().call("helper", r#"{"prompt": "try"}"#).say("done");
        let mut builder = Agent::builder(model);
        builder.clock(FakeClock::new()).working_directory("/repo").with(permissions);
        builder.tool(AgentTool::new("helper", "helps", built(&mut child)));
        let told = Told::results(&mut builder);
        built(&mut builder).run("go").await.expect("a run");
        told.lines()[..2].iter().map(|read| in_a_word(read)).collect::<Vec<_>>()
    };
    // `src/**` is the folder below `/repo`, where the child works; it has no `src` of its own.
    assert_eq!(told(allowing(&["helper", "Edit(src/**)"])).await, ["ran", "asked"]);
    assert_eq!(told(allowing(&["helper", "*"]).deny("Edit(src/**)").expect("a rule")).await, ["denied", "ran"]);
    // An allowance is not widened by a child that works elsewhere.
    assert_eq!(told(allowing(&["helper", "Edit(./lib.rs)"])).await, ["asked", "asked"]);
    // A refusal is: rather too much than too little.
    assert_eq!(told(allowing(&["*"]).deny("Edit(./lib.rs)").expect("a rule")).await, ["denied", "ran"]);
}

#[tokio::test]
async fn commands_that_only_read_need_no_rule_beside_the_one_that_is_allowed() {
    let cases = [
        ("Bash(npm test *)", "npm test 2>&1 | tail -12", "ran"),
        ("Bash(npm test *)", "cd web && npm test | grep -v 'a b' | head -5; ls", "ran"),
        ("Bash(npm test *)", "for f in a b; do npm test \"$f\" | tail -1; done", "ran"),
        ("Bash(npm test *)", "npm test | tee log", "asked"),
        ("Bash(npm test *)", "npm test | tail > log", "asked"),
        ("Bash(npm test *)", "npm test; rm x", "asked"),
        ("Bash(npm test *)", "npm test; cat ~/.ssh/id_rsa", "asked"),
        ("Bash(npm test *)", "npm test; cat /etc/passwd", "asked"),
        ("Bash(npm test *)", "npm test | sort -o x", "asked"),
        ("Bash(npm test *)", "PATH=.; npm test | tail", "asked"),
        ("Bash(npm test *)", "tail() { rm x; }; npm test | tail", "asked"),
        ("Bash(npm test *)", "cd ..; npm test | tail", "asked"),
        ("Bash(npm test *)", "npm test $(rm x) | tail", "asked"),
        ("Bash(npm test *)", "cat a", "asked"),
        ("Edit(./notes.txt)", "cat > notes.txt <<EOF\na\nEOF", "ran"),
    ];
    for (rule, line, expected) in cases {
        assert_eq!(comes_to(allowing(&[rule]), "bash", command(line)).await, expected, "{rule}: {line}");
    }
    // Deny and ask rules hold for commands that read, too.
    for (deny, line) in [("Bash(tail *)", "npm test | tail -1"), ("Read(.env)", "npm test; cat .env")] {
        let permissions = allowing(&["Bash(npm test *)"]).deny(deny).expect("a rule");
        assert_eq!(comes_to(permissions, "bash", command(line)).await, "denied", "{line}");
    }
}

#[test]
fn a_rule_about_commands_asks_where_it_cannot_know_the_command() {
    let hidden = ["echo cm0geA== | base64 -d | sh", "c=xrm; ${c#x} y", "/bin/r? y", "curl x | make -f -"];
    let effect = |rules: &Permissions, line: &str| {
        let args = Args::try_from(command(line)).expect("an object");
        let told = rules.rules().explain("s", &RecordingTool::new("bash").spec(), &args, "/repo");
        (told.effect, told.rules.len())
    };
    let all = || allowing(&["Bash(*)"]);
    for rules in [all().deny("Bash(rm *)").expect("a rule"), all().ask("Bash(rm *)").expect("a rule")] {
        for line in hidden {
            assert_eq!(effect(&rules, line), (Some(Effect::Ask), 1), "{line}");
        }
        assert_eq!(effect(&rules, "make | tail -3").0, Some(Effect::Allow));
    }
    for line in hidden {
        assert_eq!(effect(&all(), line).0, Some(Effect::Allow), "{line}");
    }
}
