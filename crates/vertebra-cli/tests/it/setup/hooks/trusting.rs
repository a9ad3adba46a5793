//! Hooks of a folder run only once they are trusted, and only as they were.

use super::{super::say, machine};

#[test]
fn hooks_of_an_untrusted_folder_are_skipped_loudly_everywhere() {
    let machine = machine();
    let loud = ["SKIPPED 4 hooks", "no-force-push", "vertebra trust"];
    let told = machine.runs(&["hooks", "fire", &machine.event()]);
    let warnings = told.json()["warnings"].to_string();
    for words in loud {
        assert!(told.err.contains(words) && warnings.contains(words), "{words}: {} {warnings}", told.err);
    }
    assert!(!told.err.contains("--trust"), "nothing here takes that: {}", told.err);
    for options in [&[][..], &["--quiet"]] {
        let told = machine.plays(&[say("hi")], options);
        assert!(told.err.contains("Use --trust to trust it for one run"), "{}", told.err);
        assert!(loud.iter().all(|words| told.err.contains(words)), "{options:?}: {}", told.err);
    }
    for output in ["json", "stream-json"] {
        let told = machine.plays(&[say("hi")], &[&format!("--output={output}")]);
        assert!(loud.iter().all(|words| told.out.contains(words)), "{output}: {}", told.out);
    }
    let told = machine.runs(&["hooks", "explain", &machine.event()]);
    assert!(told.err.contains(loud[0]) && told.json()["skipped"].to_string().contains(loud[0]), "{}", told.err);
    assert!(!machine.path("project/ran").exists(), "nothing ran");
}

#[test]
fn trust_is_given_listed_and_taken_back_without_a_terminal() {
    let machine = machine();
    let shown = machine.runs(&["trust", "--show"]);
    let script = shown.out.lines().find(|line| line.contains("script hooks/gap.sh")).expect("the script is shown");
    assert!(script.contains("bytes, "), "{script}");
    let object = machine.runs(&["trust", "--json"]).json();
    assert_eq!(object["standing"], "unknown");
    assert_eq!(object["hooks"][1]["scripts"][0], "hooks/gap.sh");
    let told = machine.runs(&["trust"]);
    assert!(told.code == 1 && told.err.contains("vertebra trust --yes"), "{}", told.err);

    assert_eq!(machine.runs(&["trust", "--yes"]).code, 0);
    assert!(machine.runs(&["trust", "--list"]).out.starts_with("trusted"));
    assert_eq!(machine.runs(&["hooks", "fire", &machine.event()]).json()["decision"], "deny");
    assert!(machine.path("project/ran").exists());

    machine.script("project/hooks/gap.sh", "touch changed");
    let list = machine.runs(&["trust", "--list", "--json"]).json();
    assert_eq!(list[0]["standing"], "changed", "a script of the same name is another script");
    let told = machine.runs(&["hooks", "fire", &machine.event()]);
    assert!(
        told.err.contains("changed since it was trusted") && !machine.path("project/changed").exists(),
        "{}",
        told.err
    );

    assert_eq!(machine.runs(&["trust", "--revoke"]).code, 0);
    assert!(machine.runs(&["trust", "--list"]).out.contains("No folder is trusted"));
}

#[test]
fn a_script_that_changes_after_trust_was_looked_up_is_not_started() {
    let machine = machine();
    // The first hook changes the second one's script between the look-up and the start.
    machine.write(
        "project/vertebra.toml",
        "[[hook]]\nname = \"a\"\npoint = \"BeforeToolUse\"\nrun = { command = 'cat >/dev/null; f=gap; echo touch swapped >> hooks/$f.sh' }\n\
         [[hook]]\nname = \"b\"\npoint = \"BeforeToolUse\"\nafter = [\"a\"]\nrun = { command = \"./hooks/gap.sh\" }\n",
    );
    assert_eq!(machine.runs(&["trust", "--yes"]).code, 0);
    let told = machine.runs(&["hooks", "fire", &machine.event()]);
    assert!(told.out.contains("hooks/gap.sh changed since it was trusted"), "{}\n{}", told.out, told.err);
    assert!(!machine.path("project/swapped").exists() && !machine.path("project/ran").exists());
}
