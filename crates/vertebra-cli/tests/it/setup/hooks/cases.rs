//! Cases next to a policy.

use super::{CLAUDE_PUSH, machine};

const CASES: &str = r#"
[[case]]
name = "force is for humans"
event = { point = "BeforeToolUse", tool = "bash", args = { command = "git push --force" } }
decision = "deny"
reason = "/^force/"
decided_by = "no-force-push"
context = ["mind the gap"]

[[case]]
name = "Claude Code asks the same"
event = "claude.json"
decision = "deny"

[[case]]
name = "listing is fine"
event = { point = "BeforeToolUse", tool = "bash", args = { command = "ls" } }
decision = "none"
args = { command = "ls" }
continue = true
"#;

#[test]
fn cases_pass_and_a_build_server_reads_it() {
    let machine = machine();
    machine.write("project/vertebra.test.toml", CASES);
    machine.write("project/claude.json", CLAUDE_PUSH);
    let told = machine.runs(&["hooks", "test", "--config", "vertebra.toml", "--junit", "out/junit.xml"]);
    assert_eq!(told.code, 0, "{}{}", told.out, told.err);
    let names: Vec<&str> = told.out.lines().filter_map(|line| line.trim().strip_prefix("✓ ")).collect();
    assert_eq!(names, ["force is for humans", "Claude Code asks the same", "listing is fine"]);
    let junit = machine.read("project/out/junit.xml");
    assert!(junit.contains("<testsuites tests=\"3\" failures=\"0\">"), "{junit}");

    let told = machine.runs(&["hooks", "test", "--config", "vertebra.toml", "--filter", "listing"]);
    assert!(told.code == 0 && told.out.contains("1 case passed"), "{}", told.out);
    let told = machine.runs(&["hooks", "test", "--config", "vertebra.toml", "--filter", "nothing"]);
    assert!(told.code == 1 && told.err.contains("no case has `nothing` in its name"), "{}", told.err);
}

#[test]
fn a_case_that_fails_says_what_was_expected_and_what_came() {
    let machine = machine();
    machine.write(
        "project/vertebra.test.toml",
        &CASES.replace("decision = \"none\"", "decision = \"ask\"").replace("/^force/", "be gentle"),
    );
    machine.write("project/claude.json", CLAUDE_PUSH);
    let told = machine.runs(&["hooks", "test", "--config", "vertebra.toml", "--junit", "junit.xml"]);
    assert_eq!(told.code, 1, "{}", told.out);
    for words in [
        "decision: expected ask",
        "got      none",
        "reason: expected be gentle",
        "got      force is for humans",
        "2 of 3 cases failed",
    ] {
        assert!(told.out.contains(words), "{words}: {}", told.out);
    }
    assert!(machine.read("project/junit.xml").contains("<failure message=\"reason: expected be gentle\">"));
}

#[test]
fn a_mistake_in_a_file_of_cases_is_told_with_its_line_and_nothing_to_test_is_one() {
    let machine = machine();
    for (text, told_as) in [
        ("", "the file has no cases"),
        ("[[case]]\nname = \"a\"\nevnt = {}\n", "line 3: unknown key `evnt` in a case; did you mean `event`?"),
        (
            "[[case]]\nname = \"a\"\nevent = { point = \"BeforeToolUse\" }\ndecision = \"denied\"\n",
            "line 4: `decision` must be one of",
        ),
        (
            "[[case]]\nname = \"a\"\nevent = { point = \"BeforeToolUse\" }\nreason = \"/(/\"\n",
            "line 4: invalid regex `/(/`",
        ),
        ("[[case]]\nname = \"a\"\nevent = { point = \"BeforeToolUse\" }\n", "line 1: the case has no expectation"),
        ("[[case]\n", "line 1: invalid TOML"),
    ] {
        machine.write("project/vertebra.test.toml", text);
        let told = machine.runs(&["hooks", "test", "--config", "vertebra.toml"]);
        assert!(told.code == 1 && told.err.contains(told_as), "{told_as}: {}", told.err);
    }
    std::fs::remove_file(machine.path("project/vertebra.test.toml")).expect("removed");
    let told = machine.runs(&["hooks", "test", "--config", "vertebra.toml"]);
    assert!(told.code == 1 && told.err.contains("no test files found"), "{}", told.err);
}

#[test]
fn cases_of_an_untrusted_folder_start_nothing() {
    let machine = machine();
    machine.write("project/vertebra.test.toml", CASES);
    machine.write("project/claude.json", CLAUDE_PUSH);
    let told = machine.runs(&["hooks", "test"]);
    assert!(told.code == 1 && told.err.contains("starts programs and is not trusted"), "{}", told.err);
    assert!(!machine.path("project/ran").exists());
    assert_eq!(machine.runs(&["trust", "--yes"]).code, 0);
    let told = machine.runs(&["hooks", "test"]);
    assert_eq!(told.code, 0, "{}{}", told.out, told.err);
}
