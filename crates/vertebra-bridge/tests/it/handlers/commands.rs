//! Commands and our own contract: what goes over, what comes back, what comes of it.

use vertebra::{AgentPoint as _, AnyHook as _, testing::used};

use super::*;

#[tokio::test]
async fn a_command_reads_the_event_and_denies_in_json() {
    let project = Project::new();
    let script = r#"#!/bin/sh
event=$(cat)
case $event in
  *'"tool":"bash"'*'"command":"ls"'*) echo '{"verdict": "deny", "reason": "no listing"}' ;;
esac
"#;
    let fired = project.guards(&project.script("hook", script)).await;
    assert_eq!(fired.to_string(), "denied by outside: no listing");
    let account = account(&fired);
    assert_eq!((&account["end"], &account["exit_code"]), (&json!("exited"), &json!(0)), "{account}");
    assert_eq!(account["stdout"], "{\"verdict\": \"deny\", \"reason\": \"no listing\"}\n");
}

#[tokio::test]
async fn exit_code_two_refuses_with_the_error_output_as_the_reason() {
    let fired = Project::new().guards(&line("echo nothing; echo 'not today' >&2; exit 2")).await;
    assert_eq!(fired.to_string(), "denied by outside: not today");
    assert!(!fired.record.decided_by_failure(), "an opinion is no failure");
    let fired = Project::new().guards(&line("exit 2")).await;
    assert_eq!(fired.to_string(), "denied by outside: no reason was given");
}

#[tokio::test]
async fn of_a_reason_that_nobody_would_read_the_beginning_is_told_and_where_the_rest_is() {
    let fired =
        Project::new().guards(&line("printf 'no: ' >&2; head -c 900000 /dev/zero | tr '\\0' x >&2; exit 2")).await;
    let reason = fired.record.reason.clone().unwrap_or_default();
    assert!(reason.starts_with("no: xxx") && reason.len() < 3000, "{} bytes", reason.len());
    let file =
        reason.rsplit_once("the whole text is in ").and_then(|(_, rest)| rest.strip_suffix(')')).expect("a file");
    assert_eq!(std::fs::read_to_string(file).expect("it is kept").len(), 900_004);
    std::fs::remove_file(file).expect("it can be removed");
}

#[tokio::test]
async fn exit_code_two_refuses_the_end_of_a_run_and_is_a_failure_where_nothing_can_be_refused() {
    assert_eq!(
        vertebra_bridge::handler::refusal(ShouldContinue.info(), "run the tests"),
        Some(vertebra_bridge::wire::Reply::verdict("go_on", "instruction", "run the tests"))
    );
    let project = Project::new();
    let mut set = HookSet::new();
    set.add_hook(
        AfterToolUse.named("outside").fail_open(),
        External::new(project.build(&line("exit 2")), LONG).at(AfterToolUse),
    );
    let fired = fire(&Hooks::new(set).expect("hooks"), AfterToolUse, used("bash", json!({}), "done")).await;
    let failures: Vec<String> = fired.record.failures().map(|(hook, failure)| format!("{hook}: {failure}")).collect();
    assert_eq!(failures.len(), 1);
    assert!(failures[0].ends_with("nothing can be refused at AfterToolUse"), "{failures:?}");
}

#[tokio::test]
async fn exit_code_zero_without_a_word_has_no_opinion() {
    let fired = Project::new().guards(&line("true")).await;
    assert_eq!(fired.to_string(), "proceeded");
}

#[tokio::test]
async fn a_hook_may_change_what_the_point_lets_it_and_a_guard_may_not() {
    let project = Project::new();
    let run = line(r#"echo '{"patch": {"command": "ls -l"}}'"#);
    let mut set = HookSet::new();
    set.add_hook(BeforeToolUse.named("outside"), External::new(project.build(&run), LONG).at(BeforeToolUse));
    let fired = fire(&Hooks::new(set).expect("hooks"), BeforeToolUse, call("bash", json!({ "command": "ls" }))).await;
    assert_eq!(fired.changes(), ["outside: /args/command = \"ls -l\""]);
    let fired = project.guards(&run).await;
    assert!(fired.record.decided_by_failure(), "{fired}");
    assert!(fired.to_string().contains("a guard cannot change anything"), "{fired}");
}

#[tokio::test]
async fn a_command_gets_a_short_list_of_variables_and_what_its_hook_names() {
    let project = Project::new();
    let print = "env | cut -d= -f1 | sort | tr '\\n' ' ' >&2; exit 2";
    let names = |fired: &Fired<BeforeToolUse>| fired.record.reason.clone().unwrap_or_default();
    let said = names(&project.guards(&line(print)).await);
    // The shell itself sets `PWD`, and some shells a few more.
    for name in ["PATH", "LC_ALL", "VERTEBRA_PROJECT_DIR", "VERTEBRA_POINT", "VERTEBRA_SESSION_ID"] {
        assert!(said.split(' ').any(|said| said == name), "{name} in {said}");
    }
    assert!(!said.contains("SOME_API_KEY") && !said.split(' ').any(|name| name == "FILE"), "{said}");
    let command = Words::Line("echo \"$SOME_API_KEY\" >&2; exit 2".to_owned());
    let with_key = RunSettings::Command { command, contract: Contract::Vertebra, env: vec!["SOME_API_KEY".to_owned()] };
    assert_eq!(names(&project.guards(&with_key).await), "s3cret");
}

#[tokio::test]
async fn a_command_finds_the_one_file_that_the_event_is_about_and_runs_in_the_folder_of_the_project() {
    let project = Project::new();
    let handler = project.build(&line("echo \"$FILE in $(pwd -P) at $VERTEBRA_POINT\" >&2; exit 2"));
    let args = json!({ "path": "src/main.rs", "content": "x" });
    let fired = project.guards_with(&handler, FailurePolicy::Closed, LONG, args).await;
    let folder = project.folder.path().canonicalize().expect("a folder");
    let expected = format!("denied by outside: /repo/src/main.rs in {} at BeforeToolUse", folder.display());
    assert_eq!(fired.to_string(), expected);
}

#[tokio::test]
async fn what_the_file_says_when_the_event_happens_is_what_runs() {
    let project = Project::new();
    let says = |word: &str| format!("#!/bin/sh\necho {word} >&2\nmv next hook\nexit 2\n");
    project.file("next", &says("second"), 0o755);
    let handler = project.build(&project.script("hook", &says("first")));
    for word in ["first", "second"] {
        let fired = project.guards_with(&handler, FailurePolicy::Closed, LONG, json!({})).await;
        assert!(fired.to_string().starts_with(&format!("denied by outside: {word}")), "{fired}");
    }
}

#[test]
fn a_command_without_words_is_an_error_before_anything_happens() {
    let services = Services::default();
    for run in [line(" "), list(&[]), list(&[""])] {
        let problem = build(&run, &services).map(drop).expect_err("nothing to start").to_string();
        assert!(problem.starts_with("the command is empty: write"), "{problem}");
    }
}
