//! Tool names in rules and matchers. A name that no tool can have is an error, because such a rule protects nothing.

use vertebra::{Matcher, nearest};

use crate::host::{HOSTS, claude_tools};

/// Our tools.
const OURS: &[&str] = &[
    "bash",
    "background",
    "delete_file",
    "edit_file",
    "grep",
    "list_dir",
    "list_metadata",
    "load_skill",
    "plan_with_subagent",
    "read_file",
    "read_metadata",
    "read_offloaded",
    "search_files",
    "spawn_subagent",
    "store_metadata",
    "structured_output",
    "todo_write",
    "tools",
    "web_fetch",
    "web_search",
    "write_file",
];

/// Tools of other agents that have no counterpart here, so that the tables of the hosts do not list them.
const OF_OTHERS: &[&str] = &[
    "AskUserQuestion",
    "BashOutput",
    "EnterPlanMode",
    "ExitPlanMode",
    "KillShell",
    "ListMcpResourcesTool",
    "LSP",
    "NotebookRead",
    "ReadMcpResourceTool",
    "SlashCommand",
    "TaskOutput",
    "TaskStop",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "update_plan",
    "view_image",
];

/// Checks that the tool of a permission rule is known: ours, one of another agent, of an MCP server, or declared.
pub fn check_rule_tool(rule: &str, declared: &[String]) -> Result<(), String> {
    KnownTools(declared).check_rule(rule)
}

/// The names that tools can have.
pub(super) struct KnownTools<'d>(pub(super) &'d [String]);

impl KnownTools<'_> {
    /// Checks the tool of a permission rule, such as `Bash(git *)` or `mcp__server`.
    pub(super) fn check_rule(&self, rule: &str) -> Result<(), String> {
        let rule = rule.trim();
        let name = rule.split('(').next().unwrap_or_default().trim_end();
        // The syntax of rules has its own errors.
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-*.".contains(c));
        if !is_name {
            return Ok(());
        }
        if !self.has(name) {
            return Err(self.unknown("rule", rule, name));
        }
        match common_name(name).zip(rule.split_once('(')) {
            // Under that name, the pattern would be one of paths.
            Some((common, (_, inside))) => {
                let inside = inside.trim_end_matches(')');
                Err(format!("`{name}` is the name of one agent's tool; write `{common}({inside})`, for all agents"))
            }
            None => Ok(()),
        }
    }

    /// Checks the tool pattern of a matcher: `bash|edit_file`, `read_*`, `/regex/`.
    pub(super) fn check_pattern(&self, pattern: &str) -> Result<(), String> {
        if pattern.starts_with('/') && pattern.len() > 1 {
            let names: Vec<&str> = self.all().collect();
            let fits = pattern.contains("mcp") || Matcher::name_pattern_holds(pattern, &names).unwrap_or(true);
            return if fits { Ok(()) } else { Err(self.unknown("matcher", pattern, pattern)) };
        }
        let unknown = pattern.split('|').map(str::trim).find(|name| !name.is_empty() && !self.has(name));
        unknown.map_or(Ok(()), |name| Err(self.unknown("matcher", pattern, name)))
    }

    fn has(&self, name: &str) -> bool {
        let lower = name.to_ascii_lowercase();
        let mut prefixes = HOSTS.iter().filter_map(|host| host.mcp_prefix);
        // A tool of a server, in our form or in that of another agent.
        if lower.contains("__")
            || lower == "mcp*"
            || prefixes.any(|start| name.len() > start.len() && name.starts_with(start))
        {
            return true;
        }
        if lower.contains(['*', '?', '[', '{']) {
            let names: Vec<&str> = self.all().collect();
            return Matcher::name_pattern_holds(&lower, &names).unwrap_or(true);
        }
        self.all().any(|known| known.eq_ignore_ascii_case(name))
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        let hosts =
            HOSTS.iter().flat_map(|host| host.tools).chain(claude_tools()).flat_map(|(theirs, ours)| [*theirs, *ours]);
        let declared = self.0.iter().map(String::as_str);
        OURS.iter().copied().chain(hosts).chain(OF_OTHERS.iter().copied()).chain(declared)
    }

    fn unknown(&self, what: &str, whole: &str, name: &str) -> String {
        let lower = name.to_ascii_lowercase();
        let names: Vec<(String, &str)> = self.all().map(|known| (known.to_ascii_lowercase(), known)).collect();
        let meant = nearest(&lower, names.iter().map(|(lower, _)| lower.as_str()));
        let meant =
            meant.and_then(|meant| names.iter().rev().find(|(lower, _)| lower == meant)).map(|(_, known)| *known);
        // Rules are written with the names of other agents.
        let meant = meant.map(|known| match known {
            known if what == "rule" => {
                self.all().find(|other| other.eq_ignore_ascii_case(known) && starts_upper(other)).unwrap_or(known)
            }
            known => known,
        });
        let meant = meant.map_or_else(String::new, |meant| format!("did you mean `{meant}`? "));
        format!(
            "unknown tool `{name}` in the {what} `{whole}`; {meant}declare a tool of your own with `[tools] known = [\"{name}\"]`"
        )
    }
}

/// Returns the name under which rules know what a host calls otherwise, for tools whose patterns are not paths.
fn common_name(name: &str) -> Option<&'static str> {
    let of_hosts = HOSTS.iter().flat_map(|host| host.tools).find(|(theirs, _)| theirs.eq_ignore_ascii_case(name));
    let ours = of_hosts.map_or(name, |(_, ours)| ours);
    match ours {
        "bash" if !name.eq_ignore_ascii_case("bash") => Some("Bash"),
        "web_fetch" if !name.eq_ignore_ascii_case("WebFetch") => Some("WebFetch"),
        _ => None,
    }
}

fn starts_upper(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_tool_has_is_an_error_with_the_nearest_one() {
        let declared = ["deploy".to_owned(), "app.*".to_owned()];
        let known = KnownTools(&declared);
        let rules = [
            ("Read(**/.env)", None),
            ("read(**/.env)", None),
            ("Raed(**/.env)", Some("did you mean `Read`?")),
            ("Bsh(git *)", Some("did you mean `Bash`?")),
            ("Wirte", Some("did you mean `Write`?")),
            ("Raed", Some("did you mean `Read`?")),
            ("Sehll", Some("did you mean `Shell`?")),
            ("*", None),
            ("deploy", None),
            ("Deploy(prod)", None),
            ("deplyo", Some("did you mean `deploy`?")),
            ("mcp__anything", None),
            ("mcp_github_create", None),
            ("mcp__*", None),
            ("Web*", None),
            ("Xyz*", Some("unknown tool `Xyz*`")),
            ("apply_patch", None),
            ("execute_bash", None),
            ("execute_bash(rm *)", Some("write `Bash(rm *)`")),
            ("Shell(rm *)", Some("write `Bash(rm *)`")),
            ("web_fetch(domain:x.example)", Some("write `WebFetch(domain:x.example)`")),
            ("bash(rm *)", None),
            ("fs_write(a/**)", None),
            ("Execute", None),
            ("frobnicate", Some("declare a tool of your own")),
            // Other errors are found when the rule is read.
            ("(git *)", None),
        ];
        for (rule, expected) in rules {
            match (known.check_rule(rule), expected) {
                (Ok(()), None) => {}
                (Err(error), Some(expected)) => assert!(error.contains(expected), "{rule}: {error}"),
                (found, _) => panic!("{rule}: {found:?}"),
            }
        }
        let patterns = [
            ("bash|edit_file", None),
            ("Bash | Edit", None),
            ("bash|edti_file", Some("did you mean `edit_file`?")),
            ("read_*", None),
            ("raed_*", Some("unknown tool `raed_*`")),
            ("/read_.*/", None),
            ("MCP:push", None),
            ("@postgres/query", None),
            ("/mcp__.*__delete/", None),
            ("/raed.*/", Some("unknown tool")),
        ];
        for (pattern, expected) in patterns {
            match (known.check_pattern(pattern), expected) {
                (Ok(()), None) => {}
                (Err(error), Some(expected)) => assert!(error.contains(expected), "{pattern}: {error}"),
                (found, _) => panic!("{pattern}: {found:?}"),
            }
        }
    }
}
