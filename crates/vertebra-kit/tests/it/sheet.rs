//! `docs/capabilities.md` matches the code: its table is generated from installed capabilities.
//!
//! After a change: `UPDATE_EXPECTED=1 cargo test -p vertebra-kit sheet`.

use std::{fmt::Write as _, fs, path::PathBuf};

use vertebra::{Agent, AgentBuilder, testing::Script};

/// One row of the table.
pub(crate) struct Sheet {
    /// The type name of the capability.
    pub(crate) name: &'static str,
    /// What the capability does, in one line.
    pub(crate) purpose: &'static str,
    /// Installs the capability with its defaults into an agent.
    pub(crate) install: fn(&mut AgentBuilder),
    /// The settings and their defaults.
    pub(crate) knobs: Vec<(&'static str, String)>,
}

fn sheets() -> Vec<Sheet> {
    let mut sheets = vec![
        crate::bash::sheet(),
        crate::bash_policy::sheet(),
        crate::files::sheet(),
        crate::permissions::sheet(),
        crate::metadata::sheet(),
        crate::planning::sheet(),
        crate::skills::sheet(),
        crate::subagents::sheet(),
        crate::subagents::planner::sheet(),
        crate::structured::sheet(),
        crate::summary::sheet(),
        crate::critique::sheet(),
        crate::registry::sheet(),
        #[cfg(feature = "mcp")]
        crate::mcp::sheet(),
        crate::bundle::sheet(),
        crate::redaction::sheet(),
        crate::steering::sheet(),
    ];
    sheets.extend(crate::resilience::sheets());
    sheets
}

const BEGIN: &str = "<!-- begin: made by tests/it/sheet.rs -->\n";
const END: &str = "<!-- end -->";

#[test]
fn the_page_of_capabilities_matches_the_code() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/capabilities.md");
    let page = fs::read_to_string(&path).expect("docs/capabilities.md");
    let (head, rest) = page.split_once(BEGIN).expect("the page marks the start of its table");
    let (_, tail) = rest.split_once(END).expect("the page marks the end of its table");
    let wanted = format!("{head}{BEGIN}{}{END}{tail}", made());
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(&path, &wanted).expect("docs/capabilities.md can be written");
        return;
    }
    assert_eq!(page, wanted, "docs/capabilities.md does not match the code; run with UPDATE_EXPECTED=1");
}

/// Returns an overview as a table, then a section for each capability.
fn made() -> String {
    let mut text =
        "| capability | what it does | tools | hooks | settings |\n| --- | --- | --- | --- | --- |\n".to_owned();
    let mut sections = String::new();
    for sheet in sheets() {
        let agent = installed(&sheet);
        let mut tools: Vec<_> = agent.tools().map(|spec| format!("`{}`", spec.name)).collect();
        tools.sort();
        let Sheet { name, purpose, knobs, .. } = &sheet;
        let (hooks, knobs) = (agent.hooks().count(), knobs.len());
        let anchor = name.to_lowercase().replace(' ', "-");
        let tools = if tools.is_empty() { "–".to_owned() } else { tools.join(", ") };
        writeln!(text, "| [{name}](#{anchor}) | {purpose} | {tools} | {hooks} | {knobs} |").expect("text");
        sections += &section(&sheet, &agent);
    }
    text + &sections
}

fn installed(sheet: &Sheet) -> Agent {
    let mut builder = Agent::builder(Script::new());
    (sheet.install)(&mut builder);
    builder.build().unwrap_or_else(|error| panic!("{}: {error}", sheet.name))
}

fn section(sheet: &Sheet, agent: &Agent) -> String {
    let mut tools: Vec<String> = agent
        .tools()
        .map(|spec| {
            let aliases: Vec<_> = spec.aliases.iter().map(|alias| format!("`{alias}`")).collect();
            let also = if aliases.is_empty() { String::new() } else { format!(" (also {})", aliases.join(", ")) };
            format!("`{}`({}){also}", spec.name, parameters(&spec.schema))
        })
        .collect();
    tools.sort();
    let hooks: Vec<String> =
        agent.hooks().list().iter().map(|hook| format!("`{}` {} at {}", hook.name, hook.role, hook.point)).collect();
    let knobs: Vec<String> = sheet.knobs.iter().map(|(name, value)| format!("`{name}` = {value}")).collect();
    let mut text = format!("\n### {}\n\n{}\n\n", sheet.name, sheet.purpose);
    for (title, list) in [("Tools", tools), ("Hooks", hooks), ("Settings", knobs)] {
        let list = if list.is_empty() { "none".to_owned() } else { list.join("; ") };
        writeln!(text, "- {title}: {list}").expect("text");
    }
    text
}

/// Returns the names of the arguments; required ones have a star.
fn parameters(schema: &serde_json::Value) -> String {
    let required = |name: &str| schema["required"].as_array().is_some_and(|list| list.iter().any(|r| r == name));
    let names = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name);
    names.map(|name| format!("{name}{}", if required(name) { "*" } else { "" })).collect::<Vec<_>>().join(", ")
}
