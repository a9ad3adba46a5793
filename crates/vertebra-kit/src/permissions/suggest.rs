//! Suggests the narrowest useful rules that would allow a call.

use super::{
    command::{only_wraps, parts},
    host::host_of,
    subject::Subject,
};

/// Programs whose second word says what they do.
const WITH_SUBCOMMANDS: &[&str] = &[
    "bun", "cargo", "deno", "docker", "gh", "git", "go", "kubectl", "npm", "pip", "pnpm", "poetry", "rustup", "uv",
    "yarn",
];

/// Subcommands whose next word says what they do: `npm run test`.
const WITH_SCRIPTS: &[&str] = &["compose", "pr", "remote", "run", "stash", "workspace"];

/// Returns rules that together allow this call and few others. Returns none if no rule can.
pub(super) fn suggest(subject: &Subject) -> Vec<String> {
    let mut rules: Vec<String> = if subject.is_bash() {
        subject.commands.iter().flat_map(|command| for_command(subject, command)).collect()
    } else if !subject.hosts.is_empty() && subject.names.iter().any(|name| name.eq_ignore_ascii_case("WebFetch")) {
        subject.hosts.iter().flatten().map(|host| format!("WebFetch(domain:{host})")).collect()
    } else if (subject.read_only || subject.is_edit()) && !subject.places.is_empty() {
        let tool = if subject.read_only { "Read" } else { "Edit" };
        let paths = subject.places.iter().filter_map(|place| subject.as_rule(place));
        paths.map(|path| format!("{tool}({path})")).collect()
    } else {
        subject.names.first().map(ToString::to_string).into_iter().collect()
    };
    let mut seen = std::collections::HashSet::new();
    rules.retain(|rule| seen.insert(rule.clone()));
    rules
}

fn for_command(subject: &Subject, command: &str) -> Vec<String> {
    let (words, redirections) = parts(command);
    let mut rules = Vec::new();
    let text = words.join(" ");
    if !words.is_empty() && !only_wraps(&text, &subject.commands) {
        // A `*` or a parenthesis of the command's own would mean something else in a rule.
        let literal = |text: &str| !text.contains(['*', '(', ')', '\n']);
        let known = subcommand(&words).filter(|start| literal(start));
        let rule = known.map(|start| format!("Bash({start} *)"));
        rules.extend(rule.or_else(|| literal(&text).then(|| format!("Bash({text})"))));
    }
    for redirection in redirections.iter().filter(|redirection| !redirection.is_harmless()) {
        let path = subject.target(redirection).and_then(|place| subject.as_rule(&place));
        rules.extend(path.map(|path| format!("Edit({path})")));
    }
    rules
}

/// Returns the words that name the action, such as `cargo test` or `npm run test`, or `None` if the program has none.
fn subcommand(words: &[&str]) -> Option<String> {
    let program = words.first().filter(|program| WITH_SUBCOMMANDS.contains(program))?;
    let plain = |word: &&&str| word.starts_with(|c: char| c.is_ascii_alphabetic()) && host_of(word).is_none();
    let second = words.get(1).filter(plain)?;
    let third = WITH_SCRIPTS.contains(second).then(|| words.get(2).filter(plain)).flatten();
    Some(match third {
        Some(third) => format!("{program} {second} {third}"),
        None if WITH_SCRIPTS.contains(second) => return None,
        None => format!("{program} {second}"),
    })
}
