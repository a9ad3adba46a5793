//! Permission rules as Claude Code's settings write them, judged by the kit's.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use vertebra::{
    Args, ToolSpec,
    shell::{Completeness, ParseLimits, parse},
};
use vertebra_kit::permissions::{Effect, Permissions, Rule, RuleTexts, Rules};

use super::{
    handler::{Level, Origin},
    settings::{RuleText, Settings},
};
use crate::literal_glob;

/// Where a call is made: what rules are relative to.
#[derive(Debug, Clone, Default)]
pub(super) struct Ground {
    pub(super) cwd: PathBuf,
    pub(super) project: PathBuf,
    pub(super) home: Option<PathBuf>,
}

/// A call in Claude Code's words.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClaudeCall<'c> {
    pub(super) tool: &'c str,
    pub(super) input: &'c Map<String, Value>,
}

/// What the rules say, and which of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ruled {
    pub(super) effect: Effect,
    pub(super) by: String,
}

/// Every permission rule of the settings.
#[derive(Debug)]
pub(super) struct PermissionRules {
    kit: Rules,
    /// As the kit has them, and as they are written.
    written: Vec<(String, RuleText)>,
    /// What the kit has no words for.
    about_input: Vec<(InputRule, RuleText)>,
    /// Why a rule that refuses something, or a whole file, is missing. Then calls that change something need a question.
    missing: Option<String>,
    pub(super) warnings: Vec<String>,
}

impl PermissionRules {
    pub(super) fn new(settings: &Settings, ground: &Ground) -> Self {
        let mut permissions = Permissions::default();
        if let Some(home) = &ground.home {
            permissions = permissions.home(home.to_string_lossy());
        }
        let (mut written, mut about_input, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        // What a file that cannot be read would refuse is not known.
        let (mut kit_rules, mut missing) = (Vec::new(), settings.broken().map(str::to_owned));
        for rule in settings.rules() {
            let refuses = rule.effect != "allow";
            let mut left_out = |why: String| {
                let (file, effect) = (rule.origin.file.display(), rule.effect);
                let warning = format!("{file}: permissions.{effect}: `{}`: {why}; it is left out", rule.text);
                if refuses {
                    missing.get_or_insert_with(|| warning.clone());
                }
                warnings.push(warning);
            };
            let parts = match Parts::of(&rule.text) {
                Ok(parts) => parts,
                Err(why) => {
                    left_out(why);
                    continue;
                }
            };
            if !refuses && let Err(why) = parts.may_allow() {
                left_out(why);
                continue;
            }
            if let Some(of_input) = InputRule::read(parts) {
                about_input.push((of_input, rule.clone()));
                continue;
            }
            let ours = in_our_words(parts, refuses, &rule.origin, ground);
            if let Err(error) = ours.parse::<Rule>() {
                // What spans several commands refuses by the text of them all.
                match parts.whole_line().filter(|_| refuses) {
                    Some(of_input) => about_input.push((of_input, rule.clone())),
                    None => left_out(error.to_string()),
                }
                continue;
            }
            kit_rules.push((effect(rule.effect), ours, rule.clone()));
        }
        // If there are too many, what refuses is kept.
        kit_rules.sort_by_key(|(effect, ..)| std::cmp::Reverse(*effect));
        let kit = permissions.rules();
        for (at, (effect, ours, rule)) in kit_rules.iter().enumerate() {
            let mut texts = RuleTexts::default();
            match effect {
                Effect::Deny => texts.deny.push(ours.clone()),
                Effect::Ask => texts.ask.push(ours.clone()),
                Effect::Allow => texts.allow.push(ours.clone()),
            }
            permissions = match permissions.texts("Claude Code settings", &texts) {
                Ok(permissions) => permissions,
                Err(error) => {
                    let count = kit_rules.len() - at;
                    let warning = format!("{error}: {count} permission rules are left out, from `{}` on", rule.text);
                    missing.get_or_insert_with(|| warning.clone());
                    warnings.push(warning);
                    break;
                }
            };
            written.push((ours.clone(), rule.clone()));
        }
        Self { kit, written, about_input, missing, warnings }
    }

    /// Whether a rule that refuses something is missing.
    pub(super) fn is_incomplete(&self) -> bool {
        self.missing.is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.written.is_empty() && self.about_input.is_empty() && self.missing.is_none()
    }

    /// What the rules say about a call: deny, then ask, then allow.
    pub(super) fn judge(&self, call: ClaudeCall<'_>, ground: &Ground) -> Option<Ruled> {
        let of_kit = self.judge_by_kit(call, ground);
        let of_input = self
            .about_input
            .iter()
            .filter(|(rule, _)| rule.holds(call))
            .map(|(_, text)| Ruled { effect: effect(text.effect), by: shown(text) });
        let of_missing = self
            .missing
            .iter()
            .filter(|_| !spec_of(call.tool).read_only)
            .map(|why| Ruled { effect: Effect::Ask, by: format!("not all permission rules could be read: {why}") });
        of_missing.chain(of_input).chain(of_kit).max_by_key(|ruled| ruled.effect)
    }

    fn judge_by_kit(&self, call: ClaudeCall<'_>, ground: &Ground) -> Option<Ruled> {
        if self.written.is_empty() {
            return None;
        }
        let (spec, mut args) = (spec_of(call.tool), args_of(call.input));
        let folder = ground.cwd.to_string_lossy();
        let mut told = self.kit.explain("", &spec, &args, &folder);
        if told.rules.is_empty()
            && let Some(line) = args.text("command").filter(|_| is_shell(call.tool)).and_then(without_xargs)
        {
            args.set("command", line);
            told = self.kit.explain("", &spec, &args, &folder);
        }
        let Some(first) = told.rules.first() else {
            // Too much to be judged is refused, where there is anything that refuses.
            return (told.effect == Some(Effect::Deny)).then_some(Ruled { effect: Effect::Deny, by: told.reason });
        };
        let is_it = |(ours, text): &&(String, RuleText)| **ours == *first.rule && effect(text.effect) == first.effect;
        let text = &self.written.iter().find(is_it)?.1;
        Some(Ruled { effect: told.effect?, by: shown(text) })
    }
}

fn shown(rule: &RuleText) -> String {
    format!("permission rule `{}` ({}) of {}", rule.text, rule.effect, rule.origin.file.display())
}

fn effect(named: &str) -> Effect {
    match named {
        "deny" => Effect::Deny,
        "ask" => Effect::Ask,
        _ => Effect::Allow,
    }
}

/// Whether an `if` holds for a call. A call that cannot be read is one that it holds for.
pub(super) fn condition_holds(rule: &str, origin: &Origin, call: ClaudeCall<'_>, ground: &Ground) -> bool {
    // A rule that nobody can read keeps nobody from being asked.
    let Ok(parts) = Parts::of(rule) else { return true };
    if !names_tool(parts.name, call.tool) {
        return false;
    }
    let Some(inside) = parts.inside else { return true };
    if let Some(rule) = InputRule::read(parts) {
        return rule.holds(call);
    }
    let line = call.input.get("command").and_then(Value::as_str).filter(|_| is_shell(call.tool));
    if let Some(line) = line
        && (parse(line, ParseLimits::default()).completeness() != Completeness::Whole
            || (says_more_than_a_name(inside) && runs_or_expands(line)))
    {
        return true;
    }
    let Ok(rule) = in_our_words(parts, false, origin, ground).parse::<Rule>() else { return true };
    let home = ground.home.as_deref().map(Path::to_string_lossy);
    rule.is_about(&spec_of(call.tool), &args_of(call.input), &ground.cwd.to_string_lossy(), home.as_deref())
}

/// A rule taken apart.
#[derive(Debug, Clone, Copy)]
struct Parts<'r> {
    /// Its tool.
    name: &'r str,
    /// What of it; nothing is all of it.
    inside: Option<&'r str>,
}

impl<'r> Parts<'r> {
    /// Takes a rule apart, or says why it is none.
    fn of(rule: &'r str) -> Result<Self, String> {
        let rule = rule.trim();
        let Some((name, inside)) = rule.split_once('(') else { return Ok(Self { name: rule, inside: None }) };
        let inside = inside.strip_suffix(')').ok_or("it does not end with `)`")?.trim();
        Ok(Self { name: name.trim(), inside: Some(inside).filter(|inside| *inside != "*") })
    }

    /// Whether it may allow something: what names parameters, or many tools, only refuses and asks.
    fn may_allow(self) -> Result<(), String> {
        let server = self.name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).map(|(server, _)| server);
        if self.name.contains('*') && server.is_none_or(|server| server.contains('*')) {
            return Err("a pattern for the names of tools can deny and ask, and not allow".to_owned());
        }
        match self.parameter() {
            Some((field, _)) => Err(format!("a rule about the parameter `{field}` can deny and ask, and not allow")),
            None => Ok(()),
        }
    }

    /// The parameter of the tool that it is about, and the pattern for it.
    fn parameter(self) -> Option<(&'r str, &'r str)> {
        let is_name = |field: &str| field.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        let (field, value) = self.inside?.split_once(':')?;
        let known = PARAMETERS.iter().find(|(tools, _)| tools.contains(&self.name)).map(|(_, fields)| *fields);
        // `Bash(timeout:*)` is about a command.
        let is_prefix = is_shell(self.name) && value == "*";
        let is_one = known.map_or(is_name(field), |fields| fields.contains(&field));
        (!value.is_empty() && !is_prefix && is_one).then_some((field, value))
    }

    /// A pattern for a line of several commands, as text.
    fn whole_line(self) -> Option<InputRule> {
        let pattern = self.inside.filter(|inside| is_shell(self.name) && inside.contains(['|', '&', ';', '\n']))?;
        Some(InputRule { tool: self.name.to_owned(), fields: vec!["command".to_owned()], pattern: pattern.to_owned() })
    }
}

/// The parameters that rules can be about, where something else may stand before a colon too.
const PARAMETERS: &[(&[&str], &[&str])] = &[
    (&["Bash", "PowerShell"], &["description", "run_in_background", "timeout"]),
    (
        &["Agent", "Task"],
        &["description", "isolation", "model", "name", "prompt", "run_in_background", "subagent_type"],
    ),
    (&["Skill"], &["args"]),
    (&["WebFetch"], &["prompt", "url"]),
    (READS, &["-i", "glob", "limit", "multiline", "offset", "output_mode", "pattern", "type"]),
    (EDITS, &["content", "edit_mode", "new_source", "new_string", "old_string", "replace_all"]),
];

const READS: &[&str] = &["Read", "Grep", "Glob", "LS", "NotebookRead"];
const EDITS: &[&str] = &["Edit", "Write", "MultiEdit", "NotebookEdit"];

/// Whether a rule's tool is this one: `Read` and `Edit` speak for their families, `mcp__server` for all of a server.
fn names_tool(name: &str, tool: &str) -> bool {
    let is_server = name.starts_with("mcp__") && tool.strip_prefix(name).is_some_and(|rest| rest.starts_with("__"));
    let family = match name {
        "Read" => READS.contains(&tool),
        "Edit" => EDITS.contains(&tool),
        "Agent" | "Task" => matches!(tool, "Agent" | "Task"),
        _ => false,
    };
    name == tool || is_server || family || (name.contains('*') && fits(name, tool))
}

fn is_shell(tool: &str) -> bool {
    matches!(tool, "Bash" | "PowerShell")
}

/// Whether a pattern of commands says more than which program.
fn says_more_than_a_name(pattern: &str) -> bool {
    let pattern = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix('*')).unwrap_or(pattern).trim();
    pattern.contains(' ')
}

/// Whether what a line runs depends on what only a shell can tell.
fn runs_or_expands(line: &str) -> bool {
    let starts_name = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '{' | '(');
    line.contains('`') || line.match_indices('$').any(|(at, _)| line[at + 1..].starts_with(starts_name))
}

/// The line with what a bare `xargs` runs in place of the `xargs`, as allowances read it; none if there is no such.
fn without_xargs(line: &str) -> Option<String> {
    let mut found = false;
    let parts = line.split('|').map(|part| match part.trim_start().strip_prefix("xargs ") {
        Some(rest) if !rest.trim_start().starts_with('-') => {
            found = true;
            format!(" {}", rest.trim_start())
        }
        _ => part.to_owned(),
    });
    let line = parts.collect::<Vec<_>>().join("|");
    found.then_some(line)
}

/// A rule about a field of a call's input: `Agent(Explore)`, `Skill(commit)`, `Agent(model:opus)`.
#[derive(Debug, Clone)]
struct InputRule {
    tool: String,
    fields: Vec<String>,
    pattern: String,
}

impl InputRule {
    fn read(parts: Parts<'_>) -> Option<Self> {
        let (name, inside) = (parts.name, parts.inside?);
        let of = |fields: &[&str], pattern: &str| {
            let fields = fields.iter().map(|field| (*field).to_owned()).collect();
            Some(Self { tool: name.to_owned(), fields, pattern: pattern.to_owned() })
        };
        match (name, parts.parameter()) {
            (_, Some((field, value))) => of(&[field], value),
            ("Agent" | "Task", None) => of(&["subagent_type"], inside),
            // A plugin's name may stand before that of its skill.
            ("Skill", None) => match inside.strip_suffix(":*") {
                Some(skill) => of(&["skill", "command"], &format!("{skill}*")),
                None => of(&["skill", "command"], inside),
            },
            (_, None) => None,
        }
    }

    fn holds(&self, call: ClaudeCall<'_>) -> bool {
        let fits_field = |value: &Value| match value {
            Value::String(text) => fits(&self.pattern, text),
            other => fits(&self.pattern, &other.to_string()),
        };
        names_tool(&self.tool, call.tool)
            && self.fields.iter().filter_map(|field| call.input.get(field)).any(fits_field)
    }
}

/// Whether a text fits a pattern in which `*` stands for any text.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    for piece in pieces {
        if let Some(before) = last.replace(piece) {
            let Some(at) = rest.find(before) else { return false };
            rest = &rest[at + before.len()..];
        }
    }
    match last {
        Some(last) => rest.ends_with(last),
        None => rest.is_empty(),
    }
}

/// A rule in the kit's words. Where a path begins differs, and refusals hold at any depth.
fn in_our_words(Parts { name, inside }: Parts<'_>, refuses: bool, origin: &Origin, ground: &Ground) -> String {
    let Some(inside) = inside else { return name.to_owned() };
    if name == "PowerShell" {
        return format!("Bash({inside})");
    }
    if !READS.contains(&name) && !EDITS.contains(&name) {
        return format!("{name}({inside})");
    }
    let path = if inside.starts_with("//") || inside.starts_with("~/") || inside == "~" {
        inside.to_owned()
    } else if let Some(below) = inside.strip_prefix('/') {
        format!("{}/{below}", literal_glob(&root_of(origin, ground)))
    } else if refuses && inside.contains('/') && !inside.starts_with("./") && !inside.starts_with("**/") {
        format!("**/{inside}")
    } else {
        inside.to_owned()
    };
    format!("{name}({path})")
}

/// What `/` stands for in a rule: the folder of the settings it is in.
fn root_of(origin: &Origin, ground: &Ground) -> PathBuf {
    match &origin.level {
        Level::Project | Level::Local => ground.project.clone(),
        Level::CommandLine => ground.cwd.clone(),
        Level::Plugin(plugin) => plugin.root.clone(),
        Level::User | Level::Managed => origin.file.parent().map(Path::to_owned).unwrap_or_default(),
    }
}

/// A tool of Claude Code, as the kit knows tools.
fn spec_of(tool: &str) -> ToolSpec {
    let spec = ToolSpec::new(tool, "");
    let spec = if tool == "PowerShell" { spec.alias("Bash") } else { spec };
    let only_reads = READS.contains(&tool) || matches!(tool, "WebFetch" | "WebSearch" | "TodoWrite" | "ToolSearch");
    if only_reads { spec.read_only() } else { spec }
}

fn args_of(input: &Map<String, Value>) -> Args {
    Args::try_from(Value::Object(input.clone())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ground() -> Ground {
        Ground { cwd: "/repo".into(), project: "/repo".into(), home: Some("/home/me".into()) }
    }

    fn holds(rule: &str, tool: &str, input: &Value) -> bool {
        let origin = Origin { file: "/repo/.claude/settings.json".into(), level: Level::Project };
        let input = input.as_object().expect("an object");
        condition_holds(rule, &origin, ClaudeCall { tool, input }, &ground())
    }

    #[test]
    fn a_condition_looks_at_what_a_line_runs() {
        let cases = [
            ("Bash(git *)", "npm test && git push", true),
            ("Bash(git *)", "FOO=1 git push", true),
            ("Bash(git *)", "npm test", false),
            ("Bash(git *)", "gitk", false),
            ("Bash(rm *)", "echo $(rm -r x)", true),
            ("Bash(rm *)", "echo `rm -r x`", true),
            ("Bash(rm *)", "echo $(date)", false),
            ("Bash(rm:*)", "rm x", true),
            ("Bash(git push *)", "echo $(date)", true),
            ("Bash(git push *)", "echo $HOME", true),
            ("Bash(git push *)", "echo costs 5$", false),
            ("Bash(git *)", "echo 'unterminated", true),
            ("Bash(git *)", "echo $(date", true),
            ("Bash", "anything", true),
            ("Bash(*)", "anything", true),
            ("Edit(src/**)", "cat src/a", false),
        ];
        for (rule, line, expected) in cases {
            assert_eq!(holds(rule, "Bash", &json!({ "command": line })), expected, "{rule}: {line}");
        }
    }

    #[test]
    fn a_condition_about_files_begins_at_the_working_folder() {
        let cases = [
            ("Edit(src/**)", "Edit", "/repo/src/a.rs", true),
            ("Edit(src/**)", "Write", "/repo/src/a.rs", true),
            ("Edit(src/**)", "Edit", "/repo/pkg/src/a.rs", false),
            ("Edit(src/**)", "Read", "/repo/src/a.rs", false),
            ("Edit(*.ts)", "Edit", "/repo/deep/a.ts", true),
            ("Edit(/src/**)", "Edit", "/repo/src/a.rs", true),
            ("Read(//etc/**)", "Read", "/etc/passwd", true),
            ("Read(~/.ssh/**)", "Read", "/home/me/.ssh/id", true),
            ("Write(*.md)", "Edit", "/repo/a.md", false),
        ];
        for (rule, tool, path, expected) in cases {
            assert_eq!(holds(rule, tool, &json!({ "file_path": path })), expected, "{rule}: {tool} {path}");
        }
    }

    #[test]
    fn a_condition_names_agents_servers_and_fields() {
        assert!(holds("Agent(Explore)", "Agent", &json!({ "subagent_type": "Explore" })));
        assert!(holds("Task(Explore)", "Agent", &json!({ "subagent_type": "Explore" })));
        assert!(!holds("Agent(Explore)", "Agent", &json!({ "subagent_type": "Plan" })));
        assert!(holds("Agent(model:opus*)", "Agent", &json!({ "model": "opus-5" })));
        assert!(holds("mcp__git", "mcp__git__log", &json!({})));
        assert!(!holds("mcp__git", "mcp__github__log", &json!({})));
        assert!(holds("WebFetch(domain:example.org)", "WebFetch", &json!({ "url": "https://example.org/x" })));
        assert!(!holds("WebFetch(domain:example.org)", "WebFetch", &json!({ "url": "https://example.com/x" })));
    }

    #[test]
    fn stars_stand_for_any_text() {
        let cases = [("a*", "abc", true), ("*c", "abc", true), ("a*b*c", "axxbyyc", true), ("a*b", "abc", false)];
        for (pattern, text, expected) in cases {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
        assert!(fits("abc", "abc") && !fits("abc", "abcd") && fits("*", ""));
    }
}
