//! Which model is asked, and what can be.

use serde_json::Value;

use super::{Listener, Machine, say};

const KEY: &str = "sk-ant-0123456789abcdef";

fn listed(machine: &Machine, variables: &[(&str, &str)]) -> Value {
    let told = machine.told(machine.command(&["models"]).envs(variables.iter().copied()));
    assert!(!told.out.contains(KEY) && !told.err.contains(KEY), "a key is never shown");
    serde_json::from_str(&told.out).expect("JSON in a pipe")
}

#[test]
fn without_a_model_run_and_chat_explain_how_to_get_one() {
    let machine = Machine::without_servers();
    let told = machine.runs(&["run", "hi"]);
    assert_eq!(told.code, 2);
    insta::assert_snapshot!("no_model_for_run", told.err);
    let told = machine.runs(&["chat"]);
    assert_eq!(told.code, 2);
    assert!(told.err.contains("vertebra chat --model") && !told.err.contains("vertebra run"), "{}", told.err);
    let told = machine.runs(&["models"]);
    assert_eq!(told.code, 1);
    let listed: Value = serde_json::from_str(&told.out).expect("JSON in a pipe");
    let problem = listed["problem"].as_str().expect("a reason");
    assert!(problem.contains("ANTHROPIC_API_KEY") && !problem.contains("vertebra models"), "{problem}");
}

#[test]
fn a_key_in_the_environment_is_enough() {
    let machine = Machine::without_servers();
    let listed = listed(&machine, &[("ANTHROPIC_API_KEY", KEY), ("GITHUB_TOKEN", KEY)]);
    let model = listed["chosen"]["model"].as_str().expect("a model");
    assert!(model.starts_with("anthropic:claude-"), "{model}");
    assert_eq!(listed["chosen"]["because"], "ANTHROPIC_API_KEY is set");
    let openai = listed["providers"].as_array().expect("rows").iter().find(|row| row["provider"] == "openai");
    assert_eq!(openai.expect("a row")["because"], "OPENAI_API_KEY is not set");
}

#[test]
fn a_server_that_answers_here_is_found() {
    let (machine, server) = (Machine::without_servers(), Listener::new());
    let settings = machine.read("home/.config/vertebra/vertebra.toml");
    let elsewhere = "[model.provider.\"ollama\"]\nbase_url = \"http://127.0.0.1:1/v1/\"\n";
    assert!(settings.contains(elsewhere), "{settings}");
    let here = elsewhere.replace("http://127.0.0.1:1/v1/", &server.url());
    machine.user_settings(&settings.replace(elsewhere, &here));
    let found = listed(&machine, &[]);
    assert_eq!(found["chosen"]["model"], "ollama:qwen3:8b");
    let found = listed(&machine, &[("ANTHROPIC_API_KEY", KEY)]);
    assert!(found["chosen"]["model"].as_str().expect("a model").starts_with("anthropic:"), "a key goes first");
}

#[test]
fn settings_go_before_keys_and_the_command_line_before_settings() {
    let machine = Machine::new();
    machine.user_settings("[model]\nname = \"openai:gpt-x\"\n[model.provider.openai]\nkey = \"MY_KEY\"\n");
    let chosen = listed(&machine, &[("ANTHROPIC_API_KEY", KEY), ("MY_KEY", KEY)]);
    assert_eq!(chosen["chosen"]["model"], "openai:gpt-x");
    assert_eq!(chosen["chosen"]["because"], "named by [here]/home/.config/vertebra/vertebra.toml, line 2");
    let told = machine.told(machine.command(&["models"]).env("ANTHROPIC_API_KEY", KEY));
    assert!(told.err.contains("line 4: the environment variable MY_KEY is not set"), "{}", told.err);
    machine.user_settings("[model]\nname = \"openai:gpt-x\"\n");
    assert_eq!(machine.plays(&[say("done")], &[]).out, "done\n");
}

#[test]
fn an_unknown_model_is_an_error_that_says_what_to_do() {
    let machine = Machine::new();
    let told = |model: &str| machine.runs(&["run", "--model", model, "hi"]).err;
    assert!(told("antropic:claude").contains("did you mean `anthropic`?"), "{}", told("antropic:claude"));
    assert!(told("anthropic:x").contains("ANTHROPIC_API_KEY is not set"), "{}", told("anthropic:x"));
    assert!(told("script:nowhere").contains("nowhere"), "{}", told("script:nowhere"));
    assert!(told("cassette:nowhere").contains("nowhere"), "{}", told("cassette:nowhere"));
    machine.user_settings("[model.provider.antropic]\nkey = \"A\"\n");
    let told = machine.runs(&["models"]).err;
    assert!(told.contains("line 1") && told.contains("`anthropic`"), "{told}");
}

#[test]
fn what_was_recorded_is_played_back() {
    let machine = Machine::new();
    machine.plays(&[super::bash("ls"), say("Nothing here.")], &[]);
    let model = format!("cassette:{}", machine.path("cassette").display());
    let told = machine.runs(&["run", "--model", &model, "go"]);
    assert_eq!((told.code, told.out.as_str()), (0, "Nothing here.\n"), "{}", told.err);
    let told = machine.runs(&["run", "--model", &model, "something else"]);
    assert_eq!(told.code, 1, "only what was recorded: {}", told.out);
}

#[test]
fn what_looks_like_a_secret_in_an_answer_is_in_no_recording() {
    let machine = Machine::new();
    let token = format!("ghp_{}", "0123456789abcdefghijABCDEFGHIJ012345");
    machine.plays(&[super::bash(&format!("echo {token}")), say(&format!("It is {token}."))], &[]);
    assert!(machine.heard().contains("[REDACTED:github-token]"), "{}", machine.heard());
    assert!(!machine.heard().contains(&token), "{}", machine.heard());
}
