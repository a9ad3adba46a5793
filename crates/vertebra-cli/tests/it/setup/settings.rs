//! What files say holds, and what they say wrong is told.

use super::{Machine, bash, say};

#[test]
fn a_mistake_is_shown_with_its_line() {
    let machine = Machine::new();
    machine.user_settings("[permissions]\n# never\ndney = [\"Bash\"]\n");
    let told = machine.plays_once(&[say("done")], &[]);
    assert_eq!(told.code, 0);
    let shown: Vec<&str> = told.err.split_whitespace().collect();
    let expected =
        "vertebra.toml, line 3: unknown key `dney` in `[permissions]`; did you mean `deny`? 3 | dney = … | ^^^^";
    assert!(shown.join(" ").contains(expected), "{}", told.err);
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
fn nobody_is_asked_about_a_list_of_tasks() {
    let machine = Machine::new();
    let tasks = serde_json::json!([{ "content": "look", "activeForm": "looking", "status": "in_progress" }]);
    let turn = serde_json::json!({ "call": { "tool": "todo_write", "args": { "todos": tasks } } });
    for mode in ["ask", "plan"] {
        let told = machine.plays(&[turn.clone(), say("done")], &["--mode", mode]);
        assert_eq!(told.code, 0, "{mode}: {}", told.err);
    }
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
    for name in ["vertebra.toml", ".config/vertebra/more.toml"] {
        assert!(!machine.path("home").join(name).exists(), "{name}");
    }
    assert!(!machine.read("home/.local/state/vertebra/trust.json").starts_with('x'), "only vertebra writes it");
}

#[test]
fn what_is_not_there_yet_is_protected_in_a_home_behind_a_link_too() {
    let machine = Machine::new();
    std::os::unix::fs::symlink(machine.path("home"), machine.path("link")).expect("a link");
    let args =
        serde_json::json!({ "path": ".local/state/vertebra/trust.json", "content": "x", "create_parents": true });
    let write = serde_json::json!({ "call": { "tool": "write_file", "args": args } });
    machine.write("script.jsonl", &format!("{write}\n{}\n", say("done")));
    let model = format!("--model=script:{}", machine.path("script.jsonl").display());
    let home = machine.path("link").display().to_string();
    let mut command = machine.command(&["run", &model, "--mode", "bypass", "--dir", &home, "go"]);
    let told = machine.told(command.env("HOME", &home));
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(!machine.path("home/.local/state/vertebra/trust.json").exists());
}

#[test]
fn no_agent_works_where_its_own_rules_are_kept() {
    let machine = Machine::new();
    for folder in ["home/.config/vertebra", "home/.config/vertebra/skills", "home/.local/state/vertebra"] {
        machine.write(&format!("{folder}/.keep"), "");
        let told = machine.plays(&[say("done")], &["--dir", &machine.path(folder).display().to_string()]);
        assert_eq!(told.code, 2, "{folder}");
        assert!(told.err.contains("an agent cannot work in the folder that holds its own rules"), "{}", told.err);
    }
}

#[test]
fn a_key_under_a_name_of_its_own_is_hidden_from_the_model_as_the_usual_ones_are() {
    let machine = Machine::new();
    machine.user_settings("[model.provider.vllm]\nkey = \"OUR_GATEWAY\"\n");
    machine.write("project/notes.txt", "correct-horse-battery\n");
    machine.write("script.jsonl", &format!("{}\n{}\n", bash("cat notes.txt"), say("done")));
    let model = format!("--model=script:{}", machine.path("script.jsonl").display());
    let record = format!("--record={}", machine.path("cassette").display());
    let mut command = machine.command(&["run", &model, &record, "go"]);
    let told = machine.told(command.env("OUR_GATEWAY", "correct-horse-battery"));
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(!machine.heard().contains("correct-horse-battery"), "{}", machine.heard());
}

#[test]
fn an_error_about_a_folder_says_nothing_that_a_terminal_would_obey() {
    let machine = Machine::new();
    let name = "sub\u{1b}[2J";
    machine.write(&format!("project/{name}/vertebra.toml"), "[limits]\n\"\\u001b[2J\" = 1\n\"\\u001b[2J\" = 2\n");
    let missing = "none\u{1b}[2J";
    for arguments in
        [&["run", "--trust", "--dir", name, "go"][..], &["chat", "--trust", "--dir", name], &["trust", missing]]
    {
        let told = machine.runs(arguments);
        assert!(told.err.contains("error: ") && told.code > 0, "{}", told.err);
        assert!(!told.err.contains('\u{1b}'), "{:?}", told.err);
    }
    assert!(!machine.runs(&["trust", "--show", name]).out.contains('\u{1b}'));
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
