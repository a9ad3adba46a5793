//! The cases as `vertebra.toml`: in words where a file has them, else as programs that answer.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use vertebra::Role;
use vertebra_bridge::{
    handler::Services,
    policy::Policy,
    settings::{Level, parse},
    wire::Happened,
};

use super::{
    case::{Case, Does, HookCase, Outcome, Saw, cases, check_all},
    closures::fired,
    matching::in_toml,
};

#[tokio::test]
async fn hooks_of_a_file_come_to_what_the_cases_say() {
    check_all("file", async |case: &Case, saw: &Saw| run(case, saw).await).await;
}

/// Which cases can be written at all, and which hooks need a program: the page of conformance tells.
#[test]
fn a_file_says_most_cases_in_its_own_words() {
    let cases = cases();
    let said: Vec<&Case> =
        cases.iter().map(|(_, case)| case).filter(|case| !case.not_in.contains_key("file")).collect();
    let wholly = said.iter().filter(|case| case.hooks.iter().all(|hook| words(hook, case).is_some())).count();
    let told =
        format!("A file can say {} of the {} cases, {wholly} of them without a program.", said.len(), cases.len());
    let page = include_str!("../../../../../conformance/README.md");
    assert!(page.contains(&told), "conformance/README.md should say: {told}");
}

async fn run(case: &Case, saw: &Saw) -> Outcome {
    let folder = TempDir::new().expect("a folder");
    let text = match toml(case, folder.path()) {
        Ok(text) => text,
        Err(why) => panic!("{}: a file cannot say this: {why}", case.name),
    };
    let settings = match parse(&text, Level::User, "vertebra.toml") {
        Ok(parsed) => parsed.settings,
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let path = std::env::var("PATH").expect("a PATH");
    let variables = BTreeMap::from([("PATH".to_owned(), path)]);
    let services = Services { folder: folder.path().to_owned(), variables, ..Services::default() };
    let policy = match Policy::new(&settings, &services) {
        Ok(policy) => policy,
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let happened = Happened::read(&case.event).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let trial = policy.fire(&happened).await;
    for hook in &case.hooks {
        if let Ok(event) = fs::read_to_string(folder.path().join(&hook.name).with_extension("event")) {
            saw.note(&hook.name, serde_json::from_str(&event).unwrap_or_default());
        }
    }
    fired(&trial)
}

fn toml(case: &Case, folder: &Path) -> Result<String, String> {
    // A file declares the tools that no agent is known to have.
    let mut text = "[tools]\nknown = [\"bas\", \"deploy\"]\n".to_owned();
    for hook in &case.hooks {
        let mut said = Map::new();
        let mut say = |key: &str, value: Value| _ = said.insert(key.to_owned(), value);
        say("name", hook.name.as_str().into());
        say("point", hook.point(case).into());
        say("role", hook.role.to_string().into());
        if let Some(matcher) = &hook.matcher {
            say("match", matcher.clone().into());
        }
        if let Some(priority) = hook.priority {
            say("priority", priority.into());
        }
        for (key, names) in [("before", &hook.before), ("after", &hook.after)] {
            if !names.is_empty() {
                say(key, json!(names));
            }
        }
        if let Some(limit) = hook.timeout_ms {
            say("timeout", format!("{limit}ms").into());
        }
        if hook.max_retries > 0 {
            say("max_retries", hook.max_retries.into());
        }
        if let Some(policy) = hook.on_failure {
            say("on_failure", json!(policy));
        }
        for (key, flag) in [("shadow", hook.shadow), ("detached", hook.detached)] {
            if flag {
                say(key, true.into());
            }
        }
        said.extend(words(hook, case).unwrap_or_else(|| program(hook, folder)));
        text += "[[hook]]\n";
        for (key, value) in &said {
            writeln!(text, "{key} = {}", in_toml(value)?).expect("text");
        }
    }
    Ok(text)
}

/// The answer in the words of files, if they have them for all of it.
fn words(hook: &HookCase, case: &Case) -> Option<Map<String, Value>> {
    let runs = hook.timeout_ms.is_some() || hook.max_retries > 0 || !hook.sees.is_empty();
    // What cannot be honoured is refused when it stands in a file as a word. Here it is to fail as an answer.
    let traces = case.expect["hooks"].as_array().into_iter().flatten();
    let fails = traces.filter(|trace| trace["hook"] == hook.name).any(|trace| trace["ran"] == "failed");
    let answer = hook.answers.as_ref()?.as_object()?;
    if runs || fails || hook.role == Role::Watch || answer.is_empty() {
        return None;
    }
    let mut words = Map::new();
    let verdict = answer.get("verdict").map(|word| word.as_str().unwrap_or_default());
    for (key, value) in answer {
        let (key, value) = match (key.as_str(), verdict) {
            ("verdict", Some("allow")) => ("allow", true.into()),
            ("verdict", _) => continue,
            ("reason", Some(word @ ("deny" | "ask" | "stop" | "halt"))) => (word, value.clone()),
            ("instruction", Some("go_on")) => ("continue", value.clone()),
            ("after_ms", Some("retry")) => ("retry", format!("{value}ms").into()),
            ("set" | "patch", _) => (key.as_str(), value.clone()),
            ("context", _) => ("add_context", value.clone()),
            _ => return None,
        };
        in_toml(&value).ok()?;
        words.insert(key.to_owned(), value);
    }
    let plain =
        verdict.is_none_or(|word| matches!(word, "allow" | "deny" | "ask" | "stop" | "halt" | "go_on" | "retry"));
    (plain && !words.is_empty()).then_some(words)
}

/// A program that keeps the event and gives the answer.
fn program(hook: &HookCase, folder: &Path) -> Map<String, Value> {
    let place = |ending: &str| folder.join(&hook.name).with_extension(ending);
    let then = match hook.does() {
        Does::Says(text) => {
            fs::write(place("answer"), text).expect("the answer can be written");
            "cat \"$1\""
        }
        Does::Fails(_) => "exit 1",
        Does::Hangs => "sleep 60",
    };
    let command = json!(["sh", "-c", format!("cat >\"$0\"; {then}"), place("event"), place("answer")]);
    Map::from_iter([("run".to_owned(), json!({ "command": command }))])
}
