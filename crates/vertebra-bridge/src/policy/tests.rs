//! Which hooks are in force, in which order, and what a policy makes of events.

use serde_json::{Value, json};

use super::*;
use crate::{
    settings::{merge, parse},
    wire::{Decision, Happened, Judgement},
};

fn settings(levels: &[(Level, &str)]) -> Settings {
    let mut read = levels.iter().map(|(level, text)| {
        // The tests have tools of their own.
        let text = format!("{text}\n[tools]\nknown = [\"other\"]\n");
        parse(&text, *level, &format!("{level}.toml")).unwrap_or_else(|error| panic!("{error}")).settings
    });
    match levels.first() {
        Some((Level::Managed, _)) => merge(read.next().unwrap_or_default(), read).0,
        _ => merge(Settings::default(), read).0,
    }
}

fn policy(levels: &[(Level, &str)]) -> Policy {
    Policy::new(&settings(levels), &Services::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// A hook of this name at `BeforeToolUse`, with these lines besides.
fn hook(name: &str, lines: &str) -> String {
    format!("[[hook]]\nname = \"{name}\"\npoint = \"BeforeToolUse\"\n{lines}\n")
}

async fn judged(policy: &Policy, event: Value) -> Judgement {
    policy.judge(&Happened::read(&event).expect("an event")).await
}

fn bash(command: &str) -> Value {
    json!({ "point": "BeforeToolUse", "tool": "bash", "args": { "command": command } })
}

/// Name, and why it is not in force.
fn listed(policy: &Policy) -> Vec<String> {
    let line = |hook: &&PolicyHook| match &hook.standing {
        Standing::InForce => hook.name.to_string(),
        Standing::Off(why) => format!("{}: {why}", hook.name),
    };
    policy.hooks().iter().map(line).collect()
}

#[tokio::test]
async fn a_path_from_home_is_held_against_rules_about_the_home() {
    let home = std::env::home_dir().expect("a home");
    let rule = format!("match = {{ path = '{}/.ssh/**' }}\ndeny = \"keys are for humans\"", home.display());
    let policy = policy(&[(Level::User, &hook("no-keys", &rule))]);
    let read = |path: &str| json!({ "point": "BeforeToolUse", "tool": "read_file", "args": { "path": path } });
    for path in ["~/.ssh/id", "~/x/../.ssh/id"] {
        assert_eq!(judged(&policy, read(path)).await.decision, Some(Decision::Deny), "{path}");
    }
    for path in ["~/ssh/id", "~other/.ssh/id"] {
        assert_eq!(judged(&policy, read(path)).await.decision, None, "{path}");
    }
    let inside = "match = { not = { path = '/repo/**' } }\ndeny = \"stay inside\"";
    let policy = self::policy(&[(Level::User, &hook("inside", inside))]);
    for (path, decision) in [("a", None), ("~/.ssh/id", Some(Decision::Deny))] {
        let mut event = read(path);
        event["working_directory"] = "/repo".into();
        assert_eq!(judged(&policy, event).await.decision, decision, "{path}");
    }
}

#[tokio::test]
async fn a_decision_names_the_hook_and_its_line() {
    let policy = policy(&[(
        Level::User,
        &hook("no-rm", "match = { command = '\\brm\\b' }\ndeny = \"deletions are for humans\""),
    )]);
    let denied = judged(&policy, bash("cd a && rm b")).await;
    assert_eq!(denied.decision, Some(Decision::Deny));
    assert_eq!(denied.decided_by.as_deref(), Some("no-rm (user.toml:1)"));
    assert_eq!(denied.model_sees.as_deref(), Some("deletions are for humans"));
    assert_eq!(judged(&policy, bash("ls")).await.decision, None);
}

#[test]
fn a_more_specific_level_disables_and_replaces_hooks_by_name() {
    let user = [hook("a", "deny = \"no\""), hook("b", "deny = \"no\""), hook("c", "enabled = false\ndeny = \"no\"")];
    let project = ["[hooks]\ndisable = [\"a\", \"d\", \"nothing\"]\n".to_owned(), hook("b", "ask = \"?\"")];
    let local = [hook("d", "deny = \"no\"")];
    let levels = [(Level::User, user.concat()), (Level::Project, project.concat()), (Level::Local, local.concat())];
    let levels: Vec<(Level, &str)> = levels.iter().map(|(level, text)| (*level, text.as_str())).collect();
    let policy = policy(&levels);
    insta::assert_snapshot!(listed(&policy).join("\n"), @r"
    b
    d
    a: disabled by project.toml:2
    b: replaced by project.toml:3
    c: disabled
    ");
    insta::assert_snapshot!(policy.notices().join("\n"), @r"
    `hooks.disable` in project.toml:2 names an unknown hook `d`; did you mean `a`?
    `hooks.disable` in project.toml:2 names an unknown hook `nothing`
    ");
}

#[tokio::test]
async fn a_managed_hook_cannot_be_disabled_replaced_or_reordered() {
    let managed = hook("fence", "role = \"hook\"\npriority = 500\nmatch = { tool = \"bash\" }\ndeny = \"no\"");
    let project =
        ["[hooks]\ndisable = [\"fence\"]\n".to_owned(), hook("fence", "priority = -500\nallow = true")].concat();
    let policy = policy(&[(Level::Managed, &managed), (Level::Project, &project)]);
    assert_eq!(listed(&policy), ["fence", "fence (project)"]);
    let judged = judged(&policy, bash("ls")).await;
    assert_eq!(judged.decided_by.as_deref(), Some("fence (managed.toml:1)"));
    insta::assert_snapshot!(policy.notices().join("\n"), @r"
    the hook `fence` in project.toml:3 runs in addition to the managed hook of that name
    `hooks.disable` in project.toml:2 is ignored: `fence` is a managed hook
    ");
}

#[test]
fn the_managed_level_can_disable_all_project_hooks() {
    let managed = "[hooks]\nproject = false\n";
    let (user, project) = (hook("mine", "deny = \"no\""), hook("theirs", "allow = true"));
    let disabling = format!("[hooks]\ndisable = [\"mine\"]\n{project}");
    let policy = policy(&[(Level::Managed, managed), (Level::User, &user), (Level::Project, &disabling)]);
    assert_eq!(listed(&policy), ["mine", "theirs: project hooks are disabled by managed.toml:2"]);
}

#[test]
fn an_impossible_order_is_an_error_with_its_line() {
    let told = |levels: &[(Level, &str)]| match Policy::new(&settings(levels), &Services::default()) {
        Ok(_) => panic!("{levels:?}"),
        Err(error) => error.to_string(),
    };
    let (first, plain) = (hook("first", "deny = \"no\""), hook("plain", "deny = \"no\""));
    let before = |name: &str| hook("x", &format!("deny = \"no\"\nbefore = \"{name}\""));
    let circle = [hook("a", "deny = \"no\"\nbefore = \"b\""), hook("b", "deny = \"no\"\nbefore = \"a\"")].concat();
    let across = [plain.clone(), hook("h", "allow = true\nafter = \"plain\"")].concat();
    let errors = [
        told(&[(Level::User, &format!("{first}{}", before("fist")))]),
        told(&[(Level::User, &circle)]),
        told(&[(Level::User, &across)]),
        told(&[(Level::Managed, &first), (Level::Project, &before("first"))]),
        told(&[(Level::Managed, &before("plain")), (Level::Project, &plain)]),
    ];
    insta::assert_snapshot!(errors.join("\n"), @r"
    user.toml, line 5: the hook `x`: `before` names `fist`, but there is no such hook at BeforeToolUse: did you mean `first`?
    user.toml, line 1: the hooks at BeforeToolUse cannot be ordered, because each has to run before the next: a → b → a; remove one of these constraints
    user.toml, line 5: `h` cannot run after `plain`: hooks run first, then guards, then watches
    project.toml, line 1: the hook `x`: no hook can run before the managed hook `first`: remove it from `before`
    managed.toml, line 1: the hook `x`: managed hooks run before all others: remove `plain` from `before`
    ");
}

#[tokio::test]
async fn rules_and_the_judgement_of_commands_count_too() {
    let text = "[permissions]\nallow = [\"Bash(rm *)\"]\nask = [\"Bash(git push *)\"]\ndeny = [\"Read(**/.env)\"]\n";
    let policy = policy(&[(Level::User, &format!("{text}{}", hook("yes", "allow = true")))]);
    let read = json!({ "point": "PreToolUse", "tool": "read_file", "args": { "file_path": "src/.env" } });
    let decided = judged(&policy, read).await;
    assert_eq!(decided.decision, Some(Decision::Deny));
    assert_eq!(decided.decided_by.as_deref(), Some("rule `Read(**/.env)` of user.toml, line 4"));
    let decided = judged(&policy, bash("git push --force")).await;
    assert_eq!(decided.decision, Some(Decision::Ask), "a rule that asks is stronger than a hook that allows");
    let decided = judged(&policy, bash("rm -rf /")).await;
    assert_eq!((decided.decision, decided.decided_by.as_deref()), (Some(Decision::Deny), Some("bash policy")));
    let decided = judged(&policy, bash("make")).await;
    assert_eq!(decided.decided_by.as_deref(), Some("yes (user.toml:5)"));
}

#[tokio::test]
async fn what_hooks_change_and_tell_is_in_the_judgement() {
    let text = r#"
[[hook]]
point = "BeforeToolUse"
set = { timeout = 5 }
add_context = "be quick"

[[hook]]
point = "PromptSubmit"
patch = { prompt = "rewritten" }
add_context = ["one", "two"]

[[hook]]
point = "AfterToolUse"
patch = { result = { output = "hidden" } }

[[hook]]
point = "Stop"
continue = "run the tests first"

[[hook]]
point = "BeforeStep"
stop = "enough"

[[hook]]
name = "some-day"
point = "BeforeToolUse"
shadow = true
deny = "not yet"
"#;
    let policy = policy(&[(Level::User, text)]);
    let call = judged(&policy, bash("ls")).await;
    assert_eq!(call.tool_input, Some(json!({ "command": "ls", "timeout": 5 })));
    assert_eq!((call.model_context, call.decision), (vec!["be quick".to_owned()], None));
    assert_eq!(call.effects["shadow"][0]["hook"], "some-day");
    let prompt = judged(&policy, json!({ "point": "UserPromptSubmit", "prompt": "x", "context": ["zero"] })).await;
    assert_eq!(prompt.model_context, ["one", "two"]);
    assert_eq!(prompt.effects["prompt"], "rewritten");
    let used = judged(&policy, json!({ "point": "AfterToolUse", "tool": "bash" })).await;
    assert_eq!(used.effects["tool_result"]["output"], "hidden");
    let end = judged(&policy, json!({ "point": "Stop" })).await;
    assert_eq!((end.decision, end.reason.as_deref()), (Some(Decision::Block), Some("run the tests first")));
    let step = judged(&policy, json!({ "point": "BeforeStep" })).await;
    assert_eq!((step.goes_on, &step.effects["stop"]), (false, &json!("enough")));
}

#[tokio::test]
async fn a_hook_of_a_project_passes_over_nobody() {
    let skips = hook(
        "skips",
        "role = \"hook\"\npriority = -2000\nrun = { command = \"echo '{\\\"verdict\\\":\\\"skip\\\"}'\" }",
    );
    let denies = hook("denies", "role = \"hook\"\ndeny = \"no\"");
    let services = Services { folder: std::env::temp_dir(), ..Services::default() };
    for (level, expected) in [(Level::User, None), (Level::Project, Some(Decision::Deny))] {
        let settings = settings(&[(Level::User, &denies), (level, &skips)]);
        let policy = Policy::new(&settings, &services).expect("a policy");
        let judged = judged(&policy, bash("ls")).await;
        assert_eq!(judged.decision, expected, "a person may pass over what is their own: {judged:?}");
    }
}

#[test]
fn no_hook_can_run_before_a_managed_hook_under_either_of_its_names() {
    let managed = hook("m-hook", "role = \"hook\"\ndeny = \"no\"");
    for name in ["m-hook", "policy/m-hook"] {
        let before = hook("first", &format!("role = \"hook\"\nbefore = [\"{name}\"]\nallow = true"));
        let settings = settings(&[(Level::Managed, &managed), (Level::Project, &before)]);
        let error = Policy::new(&settings, &Services::default()).err().expect(name).to_string();
        assert!(error.contains("no hook can run before the managed hook"), "{error}");
    }
}

#[tokio::test]
async fn a_line_that_is_more_than_can_be_read_is_no_yes() {
    let policy = policy(&[(Level::User, &hook("no", "match = { command = '^frobnicate' }\ndeny = \"no\""))]);
    let many = (0..1000).map(|number| format!("true {number}")).chain(["frobnicate".to_owned()]);
    let many = many.collect::<Vec<_>>().join("; ");
    let long = format!("# {}\nfro$'\\x62'nicate", "x".repeat(70_000));
    for line in [many, long] {
        let judged = judged(&policy, bash(&line)).await;
        assert_eq!(judged.decision, Some(Decision::Deny), "{}", &line[..40]);
        assert!(judged.reason.is_some_and(|reason| reason.contains("too complex to judge")));
    }
    let plain = super::tests::policy(&[(Level::User, &hook("no", "match = { tool = \"other\" }\ndeny = \"no\""))]);
    let document = format!("cat > a <<'E'\n{}\nE", "x\n".repeat(40_000));
    assert_eq!(super::tests::judged(&plain, bash(&document)).await.decision, None, "nobody asks what it would run");
}

#[tokio::test]
async fn a_line_break_inside_of_a_word_is_a_blank_to_patterns() {
    let force = "match = { tool = \"bash\", command = '\\bgit\\b.*\\spush\\b.*\\s(--force|-f)\\b' }\ndeny = \"no\"";
    let policy = policy(&[(Level::User, &hook("no-force", force))]);
    let line = "git -c user.name=\"a\nb\" push --force";
    assert_eq!(judged(&policy, bash(line)).await.decision, Some(Decision::Deny));
    let two = "git status\necho push --force";
    assert_eq!(judged(&policy, bash(two)).await.decision, None, "two commands are two");
}

#[tokio::test]
async fn a_relative_path_is_meant_from_the_policys_folder_wherever_an_agent_has_gone() {
    let settings = settings(&[(Level::User, &hook("no", "match = { path = \"secret/**\" }\ndeny = \"no\""))]);
    let services = Services { folder: "/p [1]".into(), ..Services::default() };
    let policy = Policy::as_far_as_possible(&settings, &services, Some("BeforeToolUse")).expect("a policy").0;
    for (cwd, path, expected) in [
        ("/p [1]", "secret/k", Some(Decision::Deny)),
        ("/p [1]/sub", "/p [1]/secret/k", Some(Decision::Deny)),
        ("/p [1]/sub", "../secret/k", Some(Decision::Deny)),
        ("/", "/p [1]/secret/k", Some(Decision::Deny)),
        ("/p [1]/sub", "/p [1]/other/k", None),
    ] {
        let args = json!({ "path": path });
        let event = json!({ "point": "BeforeToolUse", "tool": "read_file", "args": args, "working_directory": cwd });
        assert_eq!(judged(&policy, event).await.decision, expected, "{cwd}: {path}");
    }
}
