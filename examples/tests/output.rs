//! Every example does what it promises: it is run as a process, and what it prints is compared with `expected`.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

macro_rules! examples {
    ($($example:literal: $promise:ident;)*) => {
        $(
            #[test]
            fn $promise() {
                check($example, env!(concat!("CARGO_BIN_EXE_", $example)));
            }
        )*

        const TESTED: &[&str] = &[$($example),*];
    };
}

examples! {
    "hello": a_model_uses_a_tool_and_answers;
    "policies": policies_refuse_remember_measure_and_say_what_a_failing_hook_comes_to;
    "skeleton": planning_and_a_bounded_critique_are_made_of_hooks_alone;
    "foreign_loop": a_loop_that_is_not_ours_passes_the_same_hooks_and_guards;
    "middleware": names_decide_the_order_and_arounds_retry_and_cache;
    "engine": hooks_block_restrict_transform_audit_count_and_wait_and_change_at_run_time;
    "mutable_context": hooks_rewrite_calls_and_requests_and_deny_wins_over_allow;
    "approval": a_person_approves_refuses_or_edits_and_guards_judge_the_edit;
    "permissions": rules_decide_a_person_at_a_terminal_adds_one_and_plan_mode_refuses_the_rest;
    "policy_file": a_file_of_hooks_refuses_rewrites_asks_and_tells_and_its_mistakes_are_shown;
    "children": the_guard_of_a_parent_holds_in_its_child_and_they_share_a_budget;
    "subagents": agents_from_files_and_code_keep_to_their_tools_models_and_limits;
    "skills": a_loaded_skill_narrows_tools_chooses_the_model_or_runs_as_a_child;
    "streaming": a_secret_that_comes_in_pieces_is_never_shown;
    "own_points": a_tool_fires_a_point_of_its_own_through_the_agents_hooks;
    "test_a_hook": a_hook_is_tested_without_a_model;
    "steering": a_person_steers_an_agent_at_work;
    "metadata": a_model_remembers_within_limits_and_reaches_nothing_of_the_hooks;
    "planning": a_task_list_is_judged_shown_again_and_reminded_of;
    "registry": of_two_hundred_tools_the_model_is_offered_what_it_looked_up;
    "bundle": a_policy_is_installed_switched_off_and_removed_as_one;
    "mcp": tools_of_a_server_pass_the_same_guards_and_mistakes_in_its_configuration_are_named;
    "files": a_file_is_read_before_it_is_changed_and_no_path_leads_out;
    "retries": what_fails_is_tried_again_elsewhere_or_stopped_and_what_was_asked_costs_nothing;
    "redaction": secrets_reach_neither_the_model_nor_the_screen_nor_the_journal;
    "bash": commands_run_in_a_sandbox_and_a_folder_lasts;
    "structured": an_answer_is_a_typed_value_or_an_error;
    "summary": a_conversation_stays_short_by_files_by_clearing_and_by_a_summary;
    "critique": a_critic_approves_or_sends_back_each_run_anew;
    "bash_policy": commands_are_judged_by_what_they_do_and_not_by_how_they_are_written;
    "models": an_answer_comes_over_the_wire_in_pieces_and_a_wrong_key_is_not_told;
}

#[test]
fn every_example_is_short_explained_listed_and_tested() {
    let readme = read(&folder().join("README.md"));
    let manifest = read(&folder().join("Cargo.toml"));
    let mut complaints = Vec::new();
    for name in names("src/bin", "rs") {
        let source = read(&folder().join(format!("src/bin/{name}.rs")));
        let lines = source.lines().count();
        let wanted = [
            (lines <= 120, format!("it has {lines} lines; at most 120 are read in one sitting")),
            (
                source.contains(&format!("`cargo run -p vertebra-examples --bin {name}`")),
                "its header does not say how to run it".to_owned(),
            ),
            (readme.contains(&format!("| [`{name}`](src/bin/{name}.rs) |")), "README.md has no row for it".to_owned()),
            (manifest.contains(&format!("name = \"{name}\"")), "Cargo.toml has no line for it".to_owned()),
            (TESTED.contains(&&*name), "tests/output.rs does not run it".to_owned()),
            (expected(&name).exists() || updating(), format!("expected/{name}.txt is missing")),
        ];
        let broken = wanted.into_iter().filter(|(holds, _)| !holds);
        complaints.extend(broken.map(|(_, complaint)| format!("{name}: {complaint}")));
    }
    let left_over = names("expected", "txt").into_iter().filter(|name| !TESTED.contains(&&**name));
    complaints.extend(left_over.map(|name| format!("expected/{name}.txt: there is no such example")));
    assert!(complaints.is_empty(), "\n  {}\n", complaints.join("\n  "));
}

#[test]
fn a_difference_is_shown_by_the_lines_that_differ() {
    assert_eq!(difference("a\nb\nc\n", "a\nx\ny\nc\n"), "  line 2\n- b\n+ x\n+ y");
    assert_eq!(difference("a\n", "a\nb\n"), "  line 2\n+ b");
}

#[track_caller]
fn check(name: &str, program: &str) {
    let printed = run(program);
    let path = expected(name);
    if updating() {
        fs::write(&path, &printed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        printed == wanted,
        "`{name}` does not print expected/{name}.txt:\n\n{}\n\nIf this is right: UPDATE_EXPECTED=1 cargo test -p vertebra-examples\n",
        difference(&wanted, &printed),
    );
}

#[expect(clippy::disallowed_methods, reason = "our own short programs, which wait for nothing")]
fn run(program: &str) -> String {
    let output = Command::new(program).output().unwrap_or_else(|error| panic!("cannot start {program}: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} failed ({}):\n{complaint}", output.status);
    String::from_utf8(output.stdout).expect("examples print text")
}

/// What stands between the lines that both begin with and the lines that both end with.
fn difference(wanted: &str, printed: &str) -> String {
    let (wanted, printed): (Vec<_>, Vec<_>) = (wanted.lines().collect(), printed.lines().collect());
    let same = wanted.iter().zip(&printed).take_while(|(a, b)| a == b).count();
    let (wanted, printed) = (&wanted[same..], &printed[same..]);
    let end = wanted.iter().rev().zip(printed.iter().rev()).take_while(|(a, b)| a == b).count();
    let gone = wanted[..wanted.len() - end].iter().map(|line| format!("- {line}"));
    let came = printed[..printed.len() - end].iter().map(|line| format!("+ {line}"));
    [format!("  line {}", same + 1)].into_iter().chain(gone).chain(came).collect::<Vec<_>>().join("\n")
}

/// The names of the files in a folder that end like this, without the ending.
fn names(folder_name: &str, extension: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder().join(folder_name)).expect("the folders of the examples are there");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let named = paths.filter(|path| path.extension().is_some_and(|found| found == extension));
    named.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect()
}

fn updating() -> bool {
    env::var_os("UPDATE_EXPECTED").is_some()
}

fn expected(name: &str) -> PathBuf {
    folder().join(format!("expected/{name}.txt"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Asked at run time: a target folder shared by several clones may hold a test built in another one.
fn folder() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").expect("cargo tells a test where its package is").into()
}
