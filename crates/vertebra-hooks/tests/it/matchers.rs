//! Matchers: every field, alone and combined.

use serde_json::json;
use vertebra_hooks::{Attach, HookOptions, HookSet, Match, Matcher, Registration, Test, proceed};

use crate::world::{Call, Calling, Desk, MatchCall, call, fire_at, hooks};

/// Whether a hook, a guard and a watch with this matcher run on the call. All three agree, with each other and with
/// what `explain` says.
pub(crate) async fn holds(matcher: &Matcher, call: &Call, desk: &Desk) -> bool {
    holds_at(|| Calling.matching(matcher.clone()), call, desk).await
}

async fn holds_at(site: impl Fn() -> Registration<Calling>, call: &Call, desk: &Desk) -> bool {
    let mut set = HookSet::new();
    set.on(site(), async |_| proceed());
    set.guard(site(), async |_| proceed());
    set.watch(site(), async |_| Ok(()));
    let hooks = hooks(set);
    let explained: Vec<bool> = hooks.explain(Calling, call, desk).iter().map(|one| one.matches).collect();
    let fired = fire_at(&hooks, call.clone(), desk.clone(), vertebra_hooks::Retries::Allowed).await;
    let ran = fired.outcome.record().hooks.len() == 3;
    assert_eq!(explained, [ran; 3]);
    ran
}

async fn check<const N: usize>(call: Call, cases: [(Registration<Calling>, bool); N]) {
    let desk = Desk {
        metadata: [("mode".to_owned(), json!("dry-run")), ("empty".to_owned(), json!(null))].into(),
        ..Desk::default()
    };
    for (site, expected) in cases {
        let matcher = matcher_of(site);
        assert_eq!(holds(&matcher, &call, &desk).await, expected, "{matcher:?}");
    }
}

/// The matcher as it is registered.
fn matcher_of(site: Registration<Calling>) -> Matcher {
    let mut set = HookSet::new();
    set.on(site.named("h"), async |_| proceed());
    hooks(set).get("h").and_then(|hook| hook.matcher.clone()).expect("it has a matcher")
}

#[tokio::test]
async fn a_tool_is_matched_by_its_whole_name_without_regard_to_case() {
    let cases = [
        (Calling.tool("read_file"), true),
        (Calling.tool("READ_FILE"), true),
        (Calling.tool("read"), false),
        (Calling.tool("file"), false),
        (Calling.tool("bash|read_file"), true),
        (Calling.tool("bash | Read_File"), true),
        (Calling.tool("bash|write"), false),
        (Calling.tool("read_*"), true),
        (Calling.tool("Read_?ile"), true),
        (Calling.tool("ead_*"), false),
        (Calling.tool("*"), true),
        (Calling.tool("{read,write}_file"), true),
        (Calling.tool("/read_.+/"), true),
        (Calling.tool("/READ_.+/"), true),
        (Calling.tool("/ead_.+/"), false),
        (Calling.tool("/read|write/"), false),
        (Calling.tool(""), false),
    ];
    check(call("Read_File"), cases).await;
}

#[tokio::test]
async fn a_policy_written_for_another_name_of_the_tool_holds() {
    let aliased = Call { aliases: vec!["Write".into(), "create_file".into()], ..call("write_file") };
    let cases = [
        (Calling.tool("write"), true),
        (Calling.tool("create_*"), true),
        (Calling.tool("/cre.te_file/"), true),
        (Calling.tool("writ"), false),
    ];
    check(aliased, cases).await;
}

#[tokio::test]
async fn a_command_is_matched_as_a_line_and_as_each_simple_command_in_it() {
    let piped = Call {
        command: Some("cat a | sh -c 'rm -rf b'".into()),
        commands: vec!["cat a".into(), "sh -c 'rm -rf b'".into(), "rm -rf b".into()],
        ..call("bash")
    };
    let cases = [
        (Calling.command(r"\brm\b"), true),
        (Calling.command("^rm"), true),
        (Calling.command("^cat a$"), true),
        (Calling.command(r"a \| sh"), true),
        (Calling.command("^RM"), false),
        (Calling.command("(?i)^RM"), true),
        (Calling.command("mv"), false),
        (Calling.tool("bash").command("^rm"), true),
        (Calling.tool("zsh").command("^rm"), false),
    ];
    check(piped, cases).await;
    check(call("bash"), [(Calling.command(""), false), (Calling.command(".*"), false)]).await;
}

#[tokio::test]
async fn a_path_is_matched_in_every_form_the_event_gives() {
    let editing = Call {
        paths: vec!["/repo/src/deep/lib.rs".into(), "src/deep/lib.rs".into(), "/repo/b".into(), "b".into()],
        ..call("edit")
    };
    let cases = [
        (Calling.path("src/deep/lib.rs"), true),
        (Calling.path("./src/deep/lib.rs"), true),
        (Calling.path("/repo/src/deep/lib.rs"), true),
        (Calling.path("*.rs"), true),
        (Calling.path("lib.rs"), true),
        (Calling.path("src/*.rs"), false),
        (Calling.path("src/*/*.rs"), true),
        (Calling.path("src/**"), true),
        (Calling.path("src/**/lib.{rs,toml}"), true),
        (Calling.path("/repo/*"), true),
        (Calling.path("/etc/**"), false),
        (Calling.path("SRC/**"), false),
    ];
    check(editing, cases).await;
    check(call("edit"), [(Calling.path("**"), false)]).await;
}

#[tokio::test]
async fn session_agent_and_step_are_matched_by_what_the_event_says() {
    let told = Call {
        session: Some("s-1".into()),
        agent: Some("Reviewer".into()),
        step: Some("tool_execution".into()),
        ..call("t")
    };
    let cases = [
        (Calling.session("s-1"), true),
        (Calling.session("s-2"), false),
        (Calling.session("S-1"), false),
        (Calling.agent("reviewer"), true),
        (Calling.agent("review"), false),
        (Calling.step("tool_execution"), true),
        (Calling.step("final_response"), false),
        (Calling.session("s-1").agent("Reviewer").step("Tool_Execution"), true),
        (Calling.session("s-1").agent("writer"), false),
    ];
    check(told, cases).await;
    let cases = [(Calling.session(""), false), (Calling.agent(""), false), (Calling.step(""), false)];
    check(call("t"), cases).await;
}

#[tokio::test]
async fn metadata_and_arguments_are_tested_for_being_there_being_equal_and_reading_like() {
    let with_args = Call { args: json!({"options": {"force": true, "path": "a/b"}, "list": [1, 2]}), ..call("t") };
    let cases = [
        (Calling.metadata("mode", Test::Exists), true),
        (Calling.metadata("empty", Test::Exists), true),
        (Calling.metadata("missing", Test::Exists), false),
        (Calling.metadata("mode", Test::Equals("dry-run".into())), true),
        (Calling.metadata("mode", Test::Equals("dry".into())), false),
        (Calling.metadata("mode", Test::Matches("^dry".into())), true),
        (Calling.arg("/options/force", Test::Exists), true),
        (Calling.arg("/options/force", Test::Equals(true.into())), true),
        (Calling.arg("/options/force", Test::Equals("true".into())), false),
        (Calling.arg("/options/force", Test::Matches("true".into())), false),
        (Calling.arg("/options/path", Test::Matches("/b$".into())), true),
        (Calling.arg("/list/1", Test::Equals(2.into())), true),
        (Calling.arg("/list/2", Test::Exists), false),
        (Calling.arg("", Test::Exists), true),
        (Calling.arg("options", Test::Exists), false),
    ];
    check(with_args, cases).await;
}

#[tokio::test]
async fn matchers_combine_by_all_any_and_not() {
    let (yes, no) = (Matcher::attribute("tool", "t"), Matcher::attribute("command", "x"));
    let cases = [
        (Calling.matching(Matcher::All(vec![])), true),
        (Calling.matching(Matcher::Any(vec![])), false),
        (Calling.matching(Matcher::All(vec![yes.clone(), no.clone()])), false),
        (Calling.matching(Matcher::Any(vec![no.clone(), yes.clone()])), true),
        (Calling.matching(no.clone().negated()), true),
        (Calling.matching(yes.clone().negated()), false),
        (Calling.matching(Matcher::Any(vec![no.clone(), no.clone().negated()])), true),
        (Calling.matching(Matcher::All(vec![yes.clone(), no.clone().negated()])), true),
        (Calling.matching(yes.clone().and(no.clone()).negated()), true),
        (Calling.tool("t").matching(no), false),
    ];
    check(call("t"), cases).await;
}

/// A call of a line with these commands in it, and those that it may run.
fn line(commands: &[&str], further: &[&str]) -> Call {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let command = Some(commands.join("; "));
    let commands = if commands.len() == 1 { Vec::new() } else { owned(commands) };
    Call { command, commands, further: owned(further), ..call("bash") }
}

fn command(regex: &str) -> Matcher {
    Matcher::attribute("command", regex)
}

#[tokio::test]
async fn an_exception_for_one_command_does_not_excuse_the_others() {
    let only_git = command("^git ").negated();
    let deploys = command("^deploy ").and(command("--dry-run").negated());
    let spans = command("curl.*sh").and(command(r"docs\.rs").negated());
    let cases: [(&Matcher, &[&str], &[&str], bool); 14] = [
        (&only_git, &["git log"], &[], false),
        (&only_git, &["git log", "git diff"], &[], false),
        (&only_git, &["git log", "rm x"], &[], true),
        (&only_git, &["rm x", "git log"], &[], true),
        (&only_git, &["rm x"], &[], true),
        // What a line may run by uncertain ways counts only for patterns that look for commands.
        (&only_git, &["git log"], &["log"], false),
        (&deploys, &["cd app", "deploy --dry-run"], &[], false),
        (&deploys, &["ls --dry-run", "deploy now"], &[], true),
        (&deploys, &["deploy now"], &[], true),
        (&deploys, &["make x"], &[], false),
        (&deploys, &["run deploy now"], &["deploy now"], true),
        (&deploys, &["run deploy now --dry-run"], &["deploy now --dry-run"], false),
        // A pattern across commands holds for the line, which is excused only if all of it is.
        (&spans, &["curl https://docs.rs", "sh x"], &[], true),
        (&spans, &["curl https://docs.rs", "sh docs.rs"], &[], false),
    ];
    for (matcher, commands, further, expected) in cases {
        assert_eq!(
            holds(matcher, &line(commands, further), &Desk::default()).await,
            expected,
            "{matcher:?} {commands:?}"
        );
    }
    assert!(holds(&only_git, &call("read_file"), &Desk::default()).await);
}

#[tokio::test]
async fn an_exception_for_one_path_does_not_excuse_the_others() {
    let outside_docs = Matcher::attribute("path", "docs/**").negated();
    let locks = Matcher::attribute("path", "*.lock").and(Matcher::attribute("path", "vendor/**").negated());
    let cases: [(&Matcher, &[&str], bool); 7] = [
        (&outside_docs, &["docs/a", "/repo/docs/a"], false),
        (&outside_docs, &["docs/a", "/repo/docs/a", "src/b", "/repo/src/b"], true),
        (&outside_docs, &["docs/a", "/repo/docs/a", "x/docs/a", "/repo/x/docs/a"], true),
        (&outside_docs, &["docs/a", "/repo/docs/a", "/etc/docs/a"], true),
        (&outside_docs, &[], true),
        (&locks, &["vendor/a.lock", "/repo/vendor/a.lock", "src/b.rs", "/repo/src/b.rs"], false),
        (&locks, &["vendor/a.lock", "/repo/vendor/a.lock", "b.lock", "/repo/b.lock"], true),
    ];
    for (matcher, paths, expected) in cases {
        let call = Call { paths: paths.iter().map(|path| (*path).to_owned()).collect(), ..call("edit_file") };
        assert_eq!(holds(matcher, &call, &Desk::default()).await, expected, "{matcher:?} {paths:?}");
    }
}

#[tokio::test]
async fn a_matcher_for_every_command_and_path_is_not_satisfied_by_one() {
    let (git, no_rm) = (command("^git ").for_every(), command("^rm ").negated().for_every());
    let cases: [(&Matcher, &[&str], &[&str], bool); 8] = [
        (&git, &["git log"], &["log"], true),
        (&git, &["git log", "git diff"], &[], true),
        (&git, &["git log", "rm x"], &[], false),
        (&git, &["make x"], &[], false),
        (&no_rm, &["git log", "make x"], &[], true),
        (&no_rm, &["git log", "rm x"], &[], false),
        (&no_rm, &["poetry run rm x"], &["rm x"], false),
        (&no_rm, &["poetry run make x"], &["make x"], true),
    ];
    for (matcher, commands, further, expected) in cases {
        assert_eq!(
            holds(matcher, &line(commands, further), &Desk::default()).await,
            expected,
            "{matcher:?} {commands:?}"
        );
    }
    let docs = Matcher::attribute("path", "docs/**").for_every();
    for (paths, expected) in [(vec!["docs/a", "/r/docs/a"], true), (vec!["docs/a", "/r/docs/a", "b", "/r/b"], false)] {
        let call = Call { paths: paths.iter().map(|path| (*path).to_owned()).collect(), ..call("edit_file") };
        assert_eq!(holds(&docs, &call, &Desk::default()).await, expected, "{paths:?}");
    }
}

#[tokio::test]
async fn a_closure_narrows_further_and_all_closures_must_agree() {
    let short = || Calling.when(|call: &Call| call.tool.len() < 3);
    let cases =
        [(call("rm"), [true, true, true]), (call("ls"), [true, false, false]), (call("long"), [false, false, false])];
    for (call, expected) in cases {
        let desk = Desk::default();
        let held = [
            holds_at(short, &call, &desk).await,
            holds_at(|| short().tool("rm"), &call, &desk).await,
            holds_at(|| short().when(|call| call.tool.starts_with('r')), &call, &desk).await,
        ];
        assert_eq!(held, expected, "{}", call.tool);
    }
}
