//! Hooks of files: in force in the built-in agent, listed with their lines, described for editors.

use serde_json::Value;

use super::super::{Machine, bash, say};

const NO_PUSH: &str = "[[hook]]\nname = \"no-push\"\npoint = \"BeforeToolUse\"\nmatch = { tool = \"Bash\", command = 'git\\s+push' }\ndeny = \"pushing is for humans\"\n";

#[test]
fn a_hook_of_a_file_refuses_and_the_model_reads_why() {
    let machine = Machine::new();
    machine.user_settings(NO_PUSH);
    let turns = [bash("cd . && git push origin main"), say("I was not allowed to.")];
    let told = machine.plays(&turns, &["--mode", "bypass"]);
    assert_eq!((told.code, told.out.trim()), (0, "I was not allowed to."), "{}", told.err);
    assert!(machine.heard().contains("pushing is for humans"), "{}", machine.heard());
}

#[test]
fn a_mistyped_tool_in_a_rule_or_a_matcher_is_an_error() {
    let cases = [
        (
            "[[hook]]\nname = \"x\"\npoint = \"BeforeToolUse\"\nmatch = { tool = \"bahs\" }\ndeny = \"no\"\n",
            "line 4: unknown tool `bahs`",
            "`bash`",
        ),
        ("[permissions]\ndeny = [\"Raed(**/.env)\"]\n", "line 2: unknown tool `Raed`", "`Read`"),
    ];
    for (settings, expected, meant) in cases {
        let machine = Machine::new();
        machine.user_settings(settings);
        let told = machine.plays_once(&[say("hello")], &[]);
        let shown = told.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(expected) && shown.contains(&format!("did you mean {meant}?")), "{}", told.err);
    }
    let machine = Machine::new();
    let told = machine.plays(&[say("hello")], &["--deny", "Raed(**/.env)"]);
    assert!(told.code != 0 && told.err.contains("did you mean `Read`?"), "{}", told.err);
}

#[test]
fn a_hook_for_a_tool_that_the_agent_does_not_have_is_reported() {
    let machine = Machine::new();
    machine.user_settings(
        "[tools]\nknown = [\"deploy\"]\n[[hook]]\nname = \"x\"\npoint = \"BeforeToolUse\"\nmatch = { tool = \"deploy\" }\ndeny = \"no\"\n",
    );
    let told = machine.plays(&[say("hello")], &[]);
    let expected = "hook `x` ([here]/home/.config/vertebra/vertebra.toml:3) never runs: it matches tool `deploy`";
    assert!(told.err.contains(expected), "{}", told.err);
}

#[test]
fn a_mistake_in_a_hook_is_reported_with_its_line() {
    let machine = Machine::new();
    machine.user_settings("[[hook]]\npoint = \"PostToolUse\"\ndeny = \"too late\"\n");
    let told = machine.plays_once(&[say("hello")], &[]);
    let shown = told.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("vertebra.toml, line 3: `deny` is not possible at AfterToolUse"), "{}", told.err);
    assert!(shown.contains("3 | deny = \"too late\" | ^^^^^^^^^^"), "{}", told.err);
}

#[test]
fn the_list_has_what_is_in_force_in_order_and_what_is_not_and_why() {
    let machine = Machine::new();
    let first =
        "[[hook]]\nname = \"first\"\npoint = \"BeforeToolUse\"\nrole = \"hook\"\npriority = 1\nset = { timeout = 5 }\n";
    let off = "[[hook]]\nname = \"off\"\npoint = \"PromptSubmit\"\nenabled = false\ndeny = \"no\"\n";
    machine.user_settings(&[NO_PUSH, first, off].concat());
    machine.write("project/vertebra.toml", "[[hook]]\nname = \"theirs\"\npoint = \"Stop\"\nstop = \"enough\"\n");
    let told = machine.runs(&["hooks", "list"]);
    assert_eq!(told.code, 0, "{}", told.err);
    let rows: Value = serde_json::from_str(&told.out).expect("JSON in a pipe");
    let line = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let place = text("origin").rsplit('/').next().unwrap_or_default().to_owned();
        let why = if row["in_force"] == true { row["order"].to_string() } else { text("because") };
        format!(
            "{} {} {} | {} | {} | {place} | {why}",
            text("point"),
            text("role"),
            text("name"),
            text("when"),
            text("does")
        )
    };
    let lines: Vec<String> = rows.as_array().expect("a list").iter().map(line).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    PromptSubmit guard off | always | denies: no | vertebra.toml:12 | disabled
    BeforeToolUse hook first | always | sets {"timeout":5} | vertebra.toml:6 | 1
    BeforeToolUse guard no-push | tool Bash, command git\s+push | denies: pushing is for humans | vertebra.toml:1 | 2
    ShouldContinue guard theirs | always | stops: enough | vertebra.toml:1 | the folder is not trusted
    "#);
    machine.runs(&["trust", "--yes"]);
    let rows: Value = serde_json::from_str(&machine.runs(&["hooks", "list", "--json"]).out).expect("JSON");
    assert!(rows.as_array().expect("a list").iter().any(|row| row["name"] == "theirs" && row["in_force"] == true));
}

#[test]
fn the_schema_is_one_that_editors_can_use() {
    let schema: Value = serde_json::from_str(&Machine::new().runs(&["hooks", "schema"]).out).expect("JSON");
    let hook = &schema["properties"]["hook"]["items"];
    assert_eq!(hook["properties"]["role"]["enum"], serde_json::json!(["hook", "guard", "watch"]));
    assert!(
        hook["if"]["properties"]["point"]["enum"]
            .as_array()
            .is_some_and(|names| names.contains(&"pre_tool_use".into()))
    );
    assert_eq!(hook["then"]["properties"]["match"]["$ref"], "#/$defs/match");
    assert!(schema["$defs"]["match"]["properties"]["command"].is_object());
}
