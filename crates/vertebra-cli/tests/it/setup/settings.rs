//! What files say holds, and what they say wrong is told.

use super::{Machine, bash, say};

#[test]
fn a_mistake_ends_the_run_before_it_begins_and_shows_the_line() {
    let machine = Machine::new();
    machine.user_settings("[permissions]\n# never\ndney = [\"Bash\"]\n");
    let told = machine.plays(&[say("done")], &[]);
    assert_eq!(told.code, 2);
    insta::assert_snapshot!(told.err, @r"
    error: [here]/home/.config/vertebra/vertebra.toml, line 3: `[permissions]` has no `dney`; did you mean `deny`?
      3 | dney = …
    ");
    machine.user_settings("[permissions]\ndeny = [\"Bash(\"]\n");
    let told = machine.plays(&[say("done")], &[]);
    assert_eq!(told.code, 2);
    assert!(told.err.contains("line 2") && told.err.contains("Bash("), "{}", told.err);
    assert!(machine.heard().is_empty(), "no model was asked");
}

#[test]
fn limits_of_settings_hold_and_the_command_line_is_nearer() {
    let machine = Machine::new();
    machine.user_settings("[limits]\nsteps = 1\n");
    let turns = [bash("ls"), bash("ls"), say("done")];
    assert_eq!(machine.plays(&turns, &[]).code, 3);
    assert_eq!(machine.plays(&turns, &["--max-steps", "9"]).code, 0);
}

#[test]
fn a_refusal_in_a_file_is_stronger_than_an_allowance_on_the_command_line() {
    let machine = Machine::new();
    machine.user_settings("[permissions]\ndeny = [\"Bash(touch *)\"]\nallow = [\"Bash(mkdir *)\"]\n");
    let turns = [bash("touch made.txt"), bash("mkdir made"), say("done")];
    let told = machine.plays(&turns, &["--allow", "Bash(touch *)", "--mode", "bypass"]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(!machine.path("project/made.txt").exists());
    assert!(machine.path("project/made").exists());
}

#[test]
fn the_agent_changes_neither_its_settings_nor_what_is_trusted() {
    let machine = Machine::new();
    machine.user_settings("[permissions]\nallow = [\"Read(**)\"]\n");
    let write = |path: &str| serde_json::json!({ "call": { "tool": "write_file", "args": { "path": path, "content": "x", "create_parents": true } } });
    let home = machine.path("home").display().to_string();
    let turns = [
        write("vertebra.toml"),
        write(".config/vertebra/vertebra.toml"),
        write(".local/state/vertebra/trust.json"),
        bash(
            "echo x > .config/vertebra/more.toml; mkdir -p .local/state/vertebra && echo x > .local/state/vertebra/trust.json",
        ),
        say("done"),
    ];
    // The worst case: it works in the home itself.
    machine.plays(&turns, &["--mode", "bypass", "--dir", &home]);
    assert!(machine.read("home/.config/vertebra/vertebra.toml").starts_with("[permissions]"));
    for name in ["vertebra.toml", ".config/vertebra/more.toml", ".local/state/vertebra/trust.json"] {
        assert!(!machine.path("home").join(name).exists(), "{name}");
    }
}

#[test]
fn every_rule_of_the_agent_is_known_by_where_it_was_written() {
    let machine = Machine::new();
    machine.write("project/vertebra.toml", "[permissions]\n\ndeny = [\"Bash(touch *)\"]\n");
    machine.plays(&[bash("touch made.txt"), say("done")], &["--trust", "--mode", "bypass"]);
    assert!(machine.heard().contains("vertebra.toml, line 3"), "{}", machine.heard());
}

#[test]
fn what_may_not_be_read_is_read_by_no_tool() {
    let machine = Machine::new();
    machine.user_settings("[sandbox]\ndeny_read = [\"private\"]\n");
    machine.write("project/private/diary.txt", "the-canary-sings\n");
    let call = |tool: &str, path: &str| serde_json::json!({ "call": { "tool": tool, "args": { "path": path } } });
    let grep = serde_json::json!({ "call": { "tool": "grep", "args": { "pattern": "canary" } } });
    let turns = [
        call("read_file", "private/diary.txt"),
        call("list_dir", "private"),
        grep,
        bash("cat private/diary.txt"),
        bash("cat priv*/di*.txt"),
        say("done"),
    ];
    machine.plays(&turns, &["--mode", "bypass"]);
    assert!(!machine.heard().contains("the-canary-sings"), "{}", machine.heard());
}
